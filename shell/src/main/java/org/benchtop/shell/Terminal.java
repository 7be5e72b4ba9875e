package org.benchtop.shell;

import java.io.Console;
import org.jspecify.annotations.Nullable;

/**
 * What standard output and standard error are connected to.
 *
 * @param out whether standard output is a terminal
 * @param err whether standard error is a terminal
 * @param columns the width of lines
 */
record Terminal(boolean out, boolean err, int columns) {
    private static final int DEFAULT_COLUMNS = 100;
    private static final int MIN_COLUMNS = 40;

    /** The launcher knows and says so in {@code benchtop.tty}; without it the JDK is asked. */
    static Terminal detect() {
        @Nullable String told = System.getProperty("benchtop.tty");
        int columns = columns(System.getenv("COLUMNS"));
        if (told != null) {
            return new Terminal(told.contains("1"), told.contains("2"), columns);
        }
        @Nullable Console console = System.console();
        boolean interactive = console != null && console.isTerminal();
        return new Terminal(interactive, interactive, columns);
    }

    private static int columns(@Nullable String text) {
        try {
            return text == null ? DEFAULT_COLUMNS : Math.max(MIN_COLUMNS, Integer.parseInt(text));
        } catch (NumberFormatException e) {
            return DEFAULT_COLUMNS;
        }
    }
}
