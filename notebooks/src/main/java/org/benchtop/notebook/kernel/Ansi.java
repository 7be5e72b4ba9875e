package org.benchtop.notebook.kernel;

/** Terminal colours, which front ends turn into theirs. */
final class Ansi {
    private static final String RESET = "\u001b[0m";

    private Ansi() {}

    static String error(String text) {
        return "\u001b[1;31m" + text + RESET;
    }

    static String bold(String text) {
        return "\u001b[1m" + text + RESET;
    }

    static String soft(String text) {
        return "\u001b[90m" + text + RESET;
    }
}
