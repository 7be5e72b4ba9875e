package org.benchtop.shell;

import java.text.MessageFormat;
import java.util.ResourceBundle;
import org.jspecify.annotations.Nullable;

/** Sends log messages to standard error, one line each; without {@code -v} only warnings and errors. */
public final class ConsoleLog extends System.LoggerFinder {
    private static volatile System.Logger.Level level = System.Logger.Level.WARNING;

    /** Called by the JDK. */
    public ConsoleLog() {}

    /** Shows messages from this level on. */
    static void level(System.Logger.Level least) {
        level = least;
    }

    @Override
    public System.Logger getLogger(String name, Module module) {
        return new LineLogger(name);
    }

    private record LineLogger(String name) implements System.Logger {
        @Override
        public String getName() {
            return name;
        }

        @Override
        public boolean isLoggable(Level asked) {
            if (asked == Level.INFO && name.equals("org.benchtop.boot")) {
                // The user waits for it.
                return true;
            }
            boolean ours = name.startsWith("org.benchtop") || !name.startsWith("java") && !name.startsWith("jdk");
            int least = ours ? level.getSeverity() : Math.max(level.getSeverity(), Level.WARNING.getSeverity());
            return asked != Level.OFF && asked.getSeverity() >= least;
        }

        @Override
        public void log(Level asked, @Nullable ResourceBundle bundle, @Nullable String message, @Nullable Throwable e) {
            if (isLoggable(asked)) {
                System.err.println(line(asked, String.valueOf(message)) + (e == null ? "" : ": " + e));
                if (e != null && level.getSeverity() <= Level.DEBUG.getSeverity()) {
                    e.printStackTrace();
                }
            }
        }

        @Override
        public void log(
                Level asked,
                @Nullable ResourceBundle bundle,
                @Nullable String format,
                @Nullable Object @Nullable ... values) {
            if (isLoggable(asked)) {
                String text = String.valueOf(format);
                System.err.println(
                        line(asked, values == null || values.length == 0 ? text : MessageFormat.format(text, values)));
            }
        }

        private static String line(Level asked, String message) {
            String label = switch (asked) {
                case ERROR -> "error: ";
                case WARNING -> "warning: ";
                case INFO, DEBUG, TRACE, ALL, OFF -> "";
            };
            return "benchtop: " + label + message;
        }
    }
}
