package org.benchtop.notebook.kernel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jshell.DeclarationSnippet;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.TypeDeclSnippet;
import jdk.jshell.VarSnippet;
import jdk.jshell.spi.ExecutionControl;
import jdk.jshell.spi.ExecutionControlProvider;
import jdk.jshell.spi.ExecutionEnv;
import org.benchtop.shell.jshell.CellExecution;
import org.jspecify.annotations.Nullable;

/**
 * Compiles and runs Java by JShell in this process.
 *
 * <p>{@link #evaluate} is for the one thread that runs cells; questions about code and {@link #stop} may come from any
 * thread at any time.
 */
final class Interpreter implements AutoCloseable {
    /** How many unnamed results ({@code $1} …) can be reached at a time; older ones are let go. */
    private static final int KEPT_RESULTS = 20;

    /** How many snippets are kept that no name leads to any more; what they left running can be told by cell and line. */
    private static final int KEPT_DEAD = 200;

    private static final long QUESTION_SECONDS = 2;
    private static final Pattern TYPE = Pattern.compile("\\b(?:class|interface|enum|record)\\s+(\\w+)");

    private final CellExecution execution;
    private final ReentrantLock compiler = new ReentrantLock();
    private final CompilerLock unlocked;
    private final JShell shell;
    private final SourceCodeAnalysis analysis;
    private final Map<String, Origin> origins = new ConcurrentHashMap<>();
    private final Deque<VarSnippet> results = new ArrayDeque<>();
    private final Optional<DeadSnippets> dead;
    private final Set<String> rejectedTypes = new TreeSet<>();

    Interpreter() {
        execution = new CellExecution(Interpreter.class.getClassLoader(), true, false);
        unlocked = new CompilerLock(execution, compiler, execution.cellLoader());
        shell = JShell.builder()
                .executionEngine(
                        new ExecutionControlProvider() {
                            @Override
                            public String name() {
                                return "benchtop-notebook";
                            }

                            @Override
                            public ExecutionControl generate(ExecutionEnv env, Map<String, String> parameters) {
                                return unlocked;
                            }
                        },
                        Map.of())
                .compilerOptions("-proc:none", "-XDuseUnsharedTable=true")
                .build();
        analysis = shell.sourceCodeAnalysis();
        dead = DeadSnippets.of(shell, KEPT_DEAD, (snippet, classes) -> {
            execution.forgetClasses(classes);
            if (shell.snippets().noneMatch(known -> known.id().equals(snippet.id()))) {
                origins.remove(snippet.id());
            }
        });
    }

    /** What {@code System.exit} in a cell does. */
    void onExit(IntConsumer handler) {
        execution.onExit(handler);
    }

    /** The loader of cells' classes. */
    ClassLoader cellLoader() {
        return execution.cellLoader();
    }

    /** Evaluates code that is ours, a snippet on each line; a mistake in it is a defect. */
    void prepare(String code) {
        compiler.lock();
        try {
            for (String source : code.lines().toList()) {
                for (SnippetEvent event : shell.eval(source)) {
                    if (event.status() == Snippet.Status.REJECTED || event.exception() != null) {
                        throw new IllegalStateException("cannot prepare cells with: " + source + " "
                                + shell.diagnostics(event.snippet())
                                        .map(diag -> diag.getMessage(null))
                                        .toList());
                    }
                }
            }
        } finally {
            compiler.unlock();
        }
    }

    /**
     * Runs Java.
     *
     * @param text what the code is part of
     * @param line the line of the text, from 0, where the code starts
     * @param warnings takes what is worth saying although the cell succeeds
     * @return the value of the last expression, if the code ends with one that has a value
     */
    Optional<Object> evaluate(Cell cell, Source text, int line, String code, List<String> warnings) throws CellFailure {
        Optional<Object> value = Optional.empty();
        List<Snippet> declared = new ArrayList<>();
        String rest = code;
        int restLine = line;
        compiler.lock();
        try {
            while (!rest.isBlank()) {
                if (cell.interrupted()) {
                    throw Traceback.interrupted();
                }
                CompletionInfo info = analysis.analyzeCompletion(rest);
                String piece =
                        rest.substring(0, rest.length() - info.remaining().length());
                int leading = piece.length() - piece.stripLeading().length();
                Origin origin = new Origin(text, restLine + newlines(piece.substring(0, leading)));
                String source = info.completeness() == SourceCodeAnalysis.Completeness.COMPLETE_WITH_SEMI
                        ? info.source().strip()
                        : piece.strip();
                if (piece.isEmpty()) {
                    // The rest cannot be split: let the compiler say why.
                    source = rest.strip();
                    info = null;
                }
                if (!source.isEmpty() && !isComment(source)) {
                    value = snippet(cell, origin, source, declared);
                }
                restLine += newlines(piece);
                rest = info == null ? "" : info.remaining();
            }
            unresolved(declared, warnings);
        } finally {
            compiler.unlock();
            execution.forget();
        }
        return value;
    }

    private static boolean isComment(String source) {
        return source.startsWith("//") && source.indexOf('\n') < 0;
    }

    private static int newlines(String text) {
        return (int) text.chars().filter(c -> c == '\n').count();
    }

    private Optional<Object> snippet(Cell cell, Origin origin, String source, List<Snippet> declared)
            throws CellFailure {
        List<SnippetEvent> events = shell.eval(source);
        Optional<Object> value = Optional.empty();
        @Nullable CellFailure failure = null;
        for (SnippetEvent event : events) {
            Snippet snippet = event.snippet();
            if (event.causeSnippet() == null) {
                origins.put(snippet.id(), origin);
            }
        }
        for (SnippetEvent event : events) {
            Snippet snippet = event.snippet();
            keepHouse(event);
            if (event.causeSnippet() != null) {
                continue;
            }
            if (snippet instanceof TypeDeclSnippet type && event.status() != Snippet.Status.REJECTED) {
                rejectedTypes.remove(type.name());
            }
            if (event.status() == Snippet.Status.REJECTED) {
                rememberTypes(source);
                failure = Traceback.compilation(
                        origin, source, shell.diagnostics(snippet).toList());
            } else if (event.exception() != null) {
                failure = new Traceback(origins)
                        .exception(event.exception(), execution.lastThrown().orElse(null), origin);
            } else if (snippet instanceof DeclarationSnippet) {
                declared.add(snippet);
            }
            value = showsValue(snippet) ? execution.lastValue() : Optional.empty();
        }
        if (cell.interrupted()) {
            throw Traceback.interrupted();
        }
        if (failure != null) {
            throw failure;
        }
        return value;
    }

    private static boolean showsValue(Snippet snippet) {
        return switch (snippet.subKind()) {
            case VAR_VALUE_SUBKIND, OTHER_EXPRESSION_SUBKIND, TEMP_VAR_EXPRESSION_SUBKIND -> true;
            default -> false;
        };
    }

    /** Values and code that no name leads to any more are let go: JShell itself would keep them for ever. */
    private void keepHouse(SnippetEvent event) {
        if (!event.snippet().kind().isPersistent()
                || !shell.status(event.snippet()).isActive()) {
            dead.ifPresent(all -> all.add(event.snippet()));
        }
        if (!(event.snippet() instanceof VarSnippet variable)) {
            return;
        }
        switch (event.status()) {
            case VALID -> {
                unlocked.locate(variable.id(), () -> shell.varValue(variable));
                if (variable.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND) {
                    results.add(variable);
                    if (results.size() > KEPT_RESULTS) {
                        VarSnippet oldest = results.remove();
                        unlocked.release(oldest.id());
                        if (shell.status(oldest) == Snippet.Status.VALID) {
                            drop(oldest);
                        }
                    }
                }
            }
            case DROPPED -> unlocked.release(variable.id());
            default -> {}
        }
    }

    private void drop(Snippet snippet) {
        shell.drop(snippet);
        dead.ifPresent(all -> all.add(snippet));
    }

    private void unresolved(List<Snippet> declared, List<String> warnings) throws CellFailure {
        for (Snippet snippet : declared) {
            Snippet.Status status = shell.status(snippet);
            if (!(snippet instanceof DeclarationSnippet declaration)
                    || status != Snippet.Status.RECOVERABLE_DEFINED
                            && status != Snippet.Status.RECOVERABLE_NOT_DEFINED) {
                continue;
            }
            String missing =
                    String.join(", ", shell.unresolvedDependencies(declaration).toList());
            String message = declaration.name() + " refers to " + missing + ", which is not defined";
            if (status == Snippet.Status.RECOVERABLE_NOT_DEFINED) {
                throw Traceback.message("UnresolvedReference", message + "; it cannot be used until that is");
            }
            warnings.add(message + " yet");
        }
    }

    /** Ends what runs. */
    void stop() {
        shell.stop();
    }

    /** Adds a jar or folder to what cells see. */
    void addClassPath(String path) {
        compiler.lock();
        try {
            shell.addToClasspath(path);
        } finally {
            compiler.unlock();
        }
    }

    /** Asks about code; empty if the compiler is busy for long. */
    <T> Optional<T> ask(Supplier<T> question) throws InterruptedException {
        if (!compiler.tryLock(QUESTION_SECONDS, TimeUnit.SECONDS)) {
            return Optional.empty();
        }
        try {
            return Optional.of(question.get());
        } finally {
            compiler.unlock();
        }
    }

    private void rememberTypes(String rejected) {
        Matcher types = TYPE.matcher(rejected);
        while (types.find()) {
            rejectedTypes.add(types.group(1));
        }
    }

    /**
     * Asks for documentation. JDK 25 gives none as long as a type that once had a mistake is not defined, so for this
     * moment such types are.
     */
    <T> Optional<T> askForDocumentation(Supplier<T> question) throws InterruptedException {
        return ask(() -> {
            List<Snippet> standIns = new ArrayList<>();
            // JShell does not define while it runs something.
            if (!execution.running()) {
                for (String type : rejectedTypes) {
                    if (shell.snippets().noneMatch(known -> isDefined(known, type))) {
                        shell.eval("class " + type + " { }").forEach(event -> standIns.add(event.snippet()));
                    }
                }
            }
            try {
                return question.get();
            } finally {
                standIns.stream()
                        .filter(standIn -> shell.status(standIn) == Snippet.Status.VALID)
                        .forEach(this::drop);
            }
        });
    }

    private boolean isDefined(Snippet snippet, String type) {
        return snippet instanceof TypeDeclSnippet known
                && known.name().equals(type)
                && shell.status(known).isDefined();
    }

    /** Whether code could end where it does: all snippets of it are complete. */
    boolean complete(String code) {
        compiler.lock();
        try {
            String rest = code;
            while (!rest.isBlank()) {
                CompletionInfo info = analysis.analyzeCompletion(rest);
                if (!info.completeness().isComplete()) {
                    return info.completeness() == SourceCodeAnalysis.Completeness.EMPTY;
                }
                rest = info.remaining();
            }
            return true;
        } finally {
            compiler.unlock();
        }
    }

    SourceCodeAnalysis analysis() {
        return analysis;
    }

    JShell shell() {
        return shell;
    }

    /** The values of variables by name, as far as they are objects. */
    Optional<Object> value(VarSnippet variable) {
        return unlocked.value(variable.id());
    }

    @Override
    public void close() {
        shell.close();
    }
}
