package org.benchtop.shell.jshell;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.UnresolvedReferenceException;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Runs JShell scripts that stop at the first error, which the JDK's own tool does not. A mistake is shown with file, line
 * and the line itself.
 *
 * <p>{@code /exit [CODE]} ends a script, {@code /open FILE} runs another one, other commands of the tool that only change
 * how it looks ({@code /set}) are passed over.
 */
public final class JShellScript implements AutoCloseable {
    private static final int MAX_CAUSES = 8;

    /** The exit code of programs that an interrupt has ended. */
    private static final int INTERRUPTED = 130;

    private final CellExecutionProvider provider = new CellExecutionProvider();
    private final JShell jshell;
    private final PrintWriter err;
    private final Map<String, Place> places = new HashMap<>();
    private OptionalInt exit = OptionalInt.empty();

    /** A line of a script, from 1. */
    private record Place(String script, String text, int line) {
        Place down(int lines) {
            return new Place(script, text, line + lines);
        }

        String source() {
            return text.lines().skip(line - 1L).findFirst().orElse("");
        }

        @Override
        public String toString() {
            return script + ":" + line;
        }
    }

    /**
     * A session.
     *
     * @param err where errors go
     */
    public JShellScript(PrintWriter err) {
        this.err = err;
        jshell = JShell.builder().executionEngine(provider, null).build();
        jshell.addToClasspath(System.getProperty("java.class.path"));
        provider.last()
                .ifPresent(execution -> execution.onExit(code -> {
                    exit = OptionalInt.of(code);
                    throw new ScriptExit();
                }));
    }

    /** Ends a script that called {@code System.exit}. */
    private static final class ScriptExit extends Error {
        private static final long serialVersionUID = 1L;

        ScriptExit() {
            super("exit", null, false, false);
        }
    }

    /** The session, for what a front end needs besides scripts. */
    public JShell jshell() {
        return jshell;
    }

    /** Whether a script has ended the session with {@code /exit} or {@code System.exit}. */
    public boolean ended() {
        return exit.isPresent();
    }

    /** Stops what runs; any thread. */
    public void stop() {
        jshell.stop();
    }

    /**
     * Runs a file.
     *
     * @return 0, the code of {@code /exit} or {@code System.exit}, 130 if it was stopped, or 1 after an error, which has
     *     been printed
     */
    public int run(Path file) {
        String text;
        try {
            text = Files.readString(file);
        } catch (IOException e) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    file + ": " + (Files.exists(file) ? "cannot be read: " + e.getMessage() : "no such file"),
                    e);
        }
        return run(text, file.toString());
    }

    /** Runs a text; {@code name} is what messages call it. */
    public int run(String text, String name) {
        String pending = "";
        int pendingAt = 0;
        int at = 0;
        while (at < text.length()) {
            int end = text.indexOf('\n', at) < 0 ? text.length() : text.indexOf('\n', at) + 1;
            String line = text.substring(at, end);
            // The first line may be one for the kernel, so that a script can be a program.
            boolean skipped = at == 0 && line.startsWith("#!");
            if (pending.isBlank() && isCommand(line)) {
                int code = command(line.strip(), name, line(text, at));
                if (code >= 0) {
                    return code;
                }
                skipped = true;
            }
            if (!skipped) {
                pendingAt = pending.isBlank() ? at : pendingAt;
                pending = pending.isBlank() ? line : pending + line;
            }
            at = end;
            while (!pending.isBlank()) {
                CompletionInfo info = jshell.sourceCodeAnalysis().analyzeCompletion(pending);
                if (info.completeness() == SourceCodeAnalysis.Completeness.EMPTY) {
                    pending = "";
                    break;
                }
                if (!info.completeness().isComplete()) {
                    break;
                }
                boolean good = evaluate(info.source(), text, pendingAt, name);
                if (exit.isPresent()) {
                    return exit.getAsInt();
                }
                if (!good) {
                    return provider.last().filter(CellExecution::stopped).isPresent() ? INTERRUPTED : 1;
                }
                pendingAt += pending.length() - info.remaining().length();
                pending = info.remaining();
            }
        }
        return pending.isBlank()
                ? 0
                : error(
                        name,
                        line(text, pendingAt + blank(pending, 0)),
                        "the script ends within this statement",
                        pending.strip().lines().findFirst().orElse(""));
    }

    private static boolean isCommand(String line) {
        String text = line.strip();
        return text.startsWith("/") && !text.startsWith("//") && !text.startsWith("/*");
    }

    private static int blank(String text, int from) {
        int at = from;
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at - from;
    }

    /** Runs a command of the JShell tool; the exit code, or -1 to go on. */
    private int command(String command, String name, int line) {
        String[] words = command.split("\\s+", 2);
        switch (words[0]) {
            case "/exit" -> {
                if (words.length == 1) {
                    exit = OptionalInt.of(0);
                    return 0;
                }
                try {
                    exit = OptionalInt.of(Integer.parseInt(words[1].strip()));
                    return exit.getAsInt();
                } catch (NumberFormatException e) {
                    return error(name, line, "/exit takes a number", command);
                }
            }
            case "/open" -> {
                if (words.length == 1) {
                    return error(name, line, "/open needs a file", command);
                }
                int code = run(Path.of(words[1].strip()));
                return code == 0 && exit.isEmpty() ? -1 : code;
            }
            case "/set" -> {
                return -1;
            }
            default -> {
                return error(name, line, "scripts know /exit, /open and /set only", command);
            }
        }
    }

    private static int line(String text, int at) {
        return (int) text.substring(0, Math.min(at, text.length()))
                        .chars()
                        .filter(c -> c == '\n')
                        .count()
                + 1;
    }

    private static String lineText(String text, int at) {
        int from = text.lastIndexOf('\n', Math.max(0, at - 1)) + 1;
        int to = text.indexOf('\n', Math.min(at, text.length()));
        return text.substring(Math.min(from, text.length()), to < 0 ? text.length() : Math.max(from, to));
    }

    private int error(String name, int line, String message, String source) {
        err.println(name + ":" + line + ": error: " + message);
        err.println("    " + source.strip());
        err.flush();
        return 1;
    }

    private boolean evaluate(String source, String text, int at, String name) {
        List<SnippetEvent> events = jshell.eval(source);
        Place here = new Place(name, text, line(text, at) + blankLines(source));
        events.stream()
                .filter(event -> event.causeSnippet() == null)
                .forEach(event -> places.put(event.snippet().id(), here));
        if (provider.last().filter(CellExecution::stopped).isPresent()) {
            error(here, "stopped");
            return false;
        }
        for (SnippetEvent event : events) {
            if (event.causeSnippet() != null) {
                continue;
            }
            if (event.exception() != null) {
                thrown(event, here);
                return false;
            }
            if (event.status() == Snippet.Status.REJECTED) {
                Optional<Diag> diagnostic = jshell.diagnostics(event.snippet())
                        .filter(Diag::isError)
                        .findFirst();
                int place =
                        at + (int) Math.max(0, diagnostic.map(Diag::getPosition).orElse(0L));
                String message = diagnostic
                        .map(d -> d.getMessage(Locale.ROOT).lines().findFirst().orElse(""))
                        .orElse("not valid Java");
                error(name, line(text, place), message, lineText(text, place));
                return false;
            }
            if (event.status() == Snippet.Status.RECOVERABLE_NOT_DEFINED) {
                error(name, line(text, at), unresolved(event.snippet()), lineText(text, at));
                return false;
            }
        }
        return true;
    }

    private String unresolved(Snippet snippet) {
        return "not defined: "
                + String.join(
                        ", ",
                        jshell.unresolvedDependencies((jdk.jshell.DeclarationSnippet) snippet)
                                .toList());
    }

    private void thrown(SnippetEvent event, Place here) {
        Throwable cause = provider.last().flatMap(CellExecution::lastThrown).orElse(event.exception());
        if (cause instanceof ScriptExit) {
            return;
        }
        if (event.exception() instanceof UnresolvedReferenceException unresolved) {
            error(here, unresolved(unresolved.getSnippet()));
            return;
        }
        Place place = event.exception() instanceof EvalException thrown
                ? place(thrown.getStackTrace()).orElse(here)
                : here;
        error(place, describe(cause, place));
        if (!place.text.equals(here.text) || place.line < here.line) {
            err.println("    called from " + here);
        }
        Throwable next = cause.getCause();
        for (int i = 0; next != null && i < MAX_CAUSES; i++) {
            err.println("    caused by: " + describe(next, place));
            next = next.getCause();
        }
        err.flush();
    }

    private int error(Place place, String message) {
        return error(place.script, place.line, message, place.source());
    }

    private static int blankLines(String source) {
        int at = blank(source, 0);
        return (int) source.substring(0, at).chars().filter(c -> c == '\n').count();
    }

    /** The line of a script nearest to the top of the stack. */
    private Optional<Place> place(StackTraceElement[] frames) {
        for (StackTraceElement frame : frames) {
            String file = frame.getFileName();
            if (file != null && file.startsWith("#") && frame.getLineNumber() > 0) {
                return Optional.ofNullable(places.get(file.substring(1)))
                        .map(place -> place.down(frame.getLineNumber() - 1));
            }
        }
        return Optional.empty();
    }

    private static String describe(Throwable cause, Place place) {
        return cause instanceof BenchtopException own
                ? SnippetNames.placed(own, place.toString())
                : cause.getClass().getName() + (cause.getMessage() == null ? "" : ": " + cause.getMessage());
    }

    @Override
    public void close() {
        jshell.close();
    }
}
