package org.benchtop.shell;

import java.io.PrintWriter;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import picocli.CommandLine;

/** Turns exceptions into one line and an exit code. */
final class ErrorReport {
    private ErrorReport() {}

    static int print(Throwable error, CommandLine command, boolean debug) {
        PrintWriter err = command.getErr();
        String label = command.getColorScheme().errorText("benchtop:").toString();
        int exitCode;
        switch (error) {
            case BenchtopException own -> {
                err.println(label + " " + own.getMessage());
                exitCode = own.kind().exitCode();
            }
            case InterruptedException interrupted -> {
                err.println(label + " interrupted");
                exitCode = 130;
            }
            case OutOfMemoryError exhausted -> {
                err.println(label + " out of Java heap: " + error.getMessage()
                        + " (BENCHTOP_JAVA_OPTS=-Xmx4g gives it more)");
                exitCode = ErrorKind.HOST.exitCode();
            }
            default -> {
                err.println(label + " internal error: " + error + (debug ? "" : " (--debug shows where)"));
                exitCode = ErrorKind.INTERNAL.exitCode();
            }
        }
        if (debug) {
            error.printStackTrace(err);
        }
        err.flush();
        return exitCode;
    }
}
