package org.benchtop.notebook.kernel;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShellException;
import jdk.jshell.UnresolvedReferenceException;
import org.benchtop.shell.jshell.SnippetNames;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;

/** Tells what went wrong in a cell: by cell and line instead of by generated classes. */
final class Traceback {
    private static final int MAX_FRAMES = 24;
    private static final int MAX_CAUSES = 16;
    private static final int MAX_MESSAGE = 4000;
    private static final Pattern LAMBDA = Pattern.compile("lambda\\$(.*)\\$\\d+");

    private final Map<String, Origin> origins;

    /** Knows cells by the ids of their snippets. */
    Traceback(Map<String, Origin> origins) {
        this.origins = origins;
    }

    /** Java that does not compile. */
    static CellFailure compilation(Origin origin, String source, List<Diag> problems) {
        List<String> lines = new ArrayList<>();
        String first = "";
        for (Diag problem : problems) {
            if (!problem.isError()) {
                continue;
            }
            String message = plain(problem.getMessage(null));
            first = first.isEmpty() ? message.lines().findFirst().orElse(message) : first;
            int at = Math.clamp(problem.getStartPosition(), 0, source.length());
            int end = Math.clamp(problem.getEndPosition(), at, source.length());
            int line =
                    (int) source.substring(0, at).chars().filter(c -> c == '\n').count();
            int lineStart = source.lastIndexOf('\n', at - 1) + 1;
            int lineEnd = source.indexOf('\n', at);
            int stop = lineEnd < 0 ? end : Math.min(end, lineEnd);
            int inCell = origin.line() + line;
            String[] cellLines = origin.source().text().split("\n", -1);
            // Leading blanks of a snippet's first line were cut off before it was compiled.
            int shift = line == 0 && inCell < cellLines.length
                    ? Math.max(
                            0,
                            cellLines[inCell].indexOf(source.lines().findFirst().orElse("")))
                    : 0;
            lines.add(Ansi.error(origin.source().name() + ", line " + (inCell + 1) + ": ") + message);
            lines.addAll(SourceExcerpt.around(
                    origin.source().text(), inCell, at - lineStart + shift, stop - lineStart + shift));
            lines.add("");
        }
        return new CellFailure("CompilationError", first.isEmpty() ? "the code does not compile" : first, lines);
    }

    /** A mistake of the front end's own, without a place in code. */
    static CellFailure message(String name, String message) {
        return new CellFailure(name, message, List.of(Ansi.error(name + ": ") + message));
    }

    /** A cell that was stopped. */
    static CellFailure interrupted() {
        return message("Interrupted", "the cell was stopped");
    }

    /**
     * An exception that code in a cell threw.
     *
     * @param thrown as JShell tells it, with the names of snippets
     * @param raw the exception itself, if it is known
     * @param here the cell that runs
     */
    CellFailure exception(JShellException thrown, @Nullable Throwable raw, Origin here) {
        List<String> lines = new ArrayList<>();
        String name = simpleName(thrown, raw);
        String value = message(thrown, raw);
        if (raw instanceof BenchtopException own && own.kind() != ErrorKind.INTERNAL) {
            value = placed(own, thrown, value);
            lines.add(Ansi.error(own.kind().name().toLowerCase(java.util.Locale.ROOT) + ": ") + value);
            mark(thrown, here, lines);
            return new CellFailure(name, value, lines);
        }
        lines.add(Ansi.error(className(thrown)) + (value.isEmpty() ? "" : ": " + value));
        frames(thrown.getStackTrace(), lines);
        mark(thrown, here, lines);
        @Nullable Throwable cause = thrown.getCause();
        for (int i = 0; cause instanceof JShellException next && i < MAX_CAUSES; i++) {
            String text = message(next, null);
            lines.add(Ansi.error("Caused by: " + className(next)) + (text.isEmpty() ? "" : ": " + text));
            frames(next.getStackTrace(), lines);
            cause = next.getCause();
        }
        return new CellFailure(name, value, lines);
    }

    /** A message about code of a cell, such as that of a guest program, names the line of the cell. */
    private String placed(BenchtopException own, JShellException thrown, String value) {
        StackTraceElement[] frames = thrown.getStackTrace();
        return frames.length == 0
                ? value
                : origin(frames[0])
                        .map(origin -> SnippetNames.placed(
                                own,
                                origin.source().name() + ", line "
                                        + (origin.line() + Math.max(1, frames[0].getLineNumber()))))
                        .orElse(value);
    }

    private void mark(JShellException thrown, Origin here, List<String> lines) {
        for (StackTraceElement frame : thrown.getStackTrace()) {
            Optional<Origin> origin = origin(frame);
            if (origin.isPresent() && origin.get().source().equals(here.source())) {
                lines.addAll(SourceExcerpt.around(
                        origin.get().source().text(), origin.get().line() + Math.max(1, frame.getLineNumber()) - 1));
                return;
            }
        }
    }

    private Optional<Origin> origin(StackTraceElement frame) {
        @Nullable String file = frame.getFileName();
        return file != null && file.startsWith("#")
                ? Optional.ofNullable(origins.get(file.substring(1)))
                : Optional.empty();
    }

    private void frames(StackTraceElement[] frames, List<String> lines) {
        int shown = 0;
        int i = 0;
        while (i < frames.length) {
            String text = frame(frames[i]);
            int same = 1;
            while (i + same < frames.length && frame(frames[i + same]).equals(text)) {
                same++;
            }
            lines.add(text + (same > 1 ? Ansi.soft(" (" + same + " times)") : ""));
            i += same;
            if (++shown == MAX_FRAMES && i < frames.length) {
                lines.add(Ansi.soft("    … " + (frames.length - i) + " more"));
                return;
            }
        }
    }

    private String frame(StackTraceElement frame) {
        Optional<Origin> origin = origin(frame);
        if (origin.isEmpty()) {
            return Ansi.soft("    at " + plain(frame.getClassName()) + "." + method(frame) + place(frame));
        }
        String where =
                origin.get().source().name() + ", line " + (origin.get().line() + Math.max(1, frame.getLineNumber()));
        String type = plain(frame.getClassName());
        String method = method(frame);
        String code = type.isEmpty() ? method : method.isEmpty() ? type : type + "." + method;
        return "    at " + (code.isEmpty() ? where : code + " (" + where + ")");
    }

    private static String place(StackTraceElement frame) {
        @Nullable String file = frame.getFileName();
        if (file == null) {
            return "";
        }
        return " (" + file + (frame.getLineNumber() > 0 ? ":" + frame.getLineNumber() : "") + ")";
    }

    private static String method(StackTraceElement frame) {
        Matcher lambda = LAMBDA.matcher(frame.getMethodName());
        if (lambda.matches()) {
            String of = lambda.group(1);
            return of.isEmpty() || of.startsWith("do_it$") ? "lambda" : of + " lambda";
        }
        return frame.getMethodName();
    }

    private static String className(JShellException thrown) {
        return switch (thrown) {
            case EvalException exception -> plain(exception.getExceptionClassName());
            case UnresolvedReferenceException ignored -> "Unresolved reference";
            default -> thrown.getClass().getSimpleName();
        };
    }

    private static String simpleName(JShellException thrown, @Nullable Throwable raw) {
        if (thrown instanceof UnresolvedReferenceException) {
            return "UnresolvedReference";
        }
        String name = raw == null ? className(thrown) : raw.getClass().getSimpleName();
        return name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1);
    }

    private static String message(JShellException thrown, @Nullable Throwable raw) {
        if (thrown instanceof UnresolvedReferenceException unresolved) {
            return unresolved.getSnippet().name() + " refers to something that is not defined";
        }
        @Nullable String message = raw instanceof BenchtopException own ? own.getMessage() : thrown.getMessage();
        String text = message == null ? "" : plain(message);
        return text.length() > MAX_MESSAGE ? text.substring(0, MAX_MESSAGE) + "…" : text;
    }

    /** Takes JShell's generated class names out of a text. */
    static String plain(String text) {
        return SnippetNames.plain(text);
    }
}
