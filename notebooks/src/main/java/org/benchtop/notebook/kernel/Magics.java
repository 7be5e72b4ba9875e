package org.benchtop.notebook.kernel;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jshell.Snippet;
import jdk.jshell.VarSnippet;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;

/** Finds and runs magics. For the cells' thread, except {@link #stop} and the look-ups. */
final class Magics {
    private static final Map<Long, Object> HANDED_OVER = new ConcurrentHashMap<>();
    private static final AtomicLong HAND_OVERS = new AtomicLong();

    private final Interpreter interpreter;
    private final Map<String, Magic> magics = new TreeMap<>();
    private final JjavaExtensions extensions;
    private final Object lock = new Object();
    private @Nullable Thread waiting;

    Magics(Interpreter interpreter, Environment environment) {
        this.interpreter = interpreter;
        this.extensions = new JjavaExtensions(interpreter);
        CoreMagics.all(this).forEach(this::add);
        environment.magics().forEach(this::add);
    }

    private void add(Magic magic) {
        magics.put(key(magic.name(), magic.takesCell()), magic);
    }

    private static String key(String name, boolean takesCell) {
        return (takesCell ? "%%" : "%") + name.toLowerCase(Locale.ROOT);
    }

    /** All magics by how they are called, such as {@code %%vm}. */
    Collection<Magic> all() {
        return List.copyOf(magics.values());
    }

    /** What can be written after one or two percent signs, with them. */
    List<String> names() {
        List<String> names = new ArrayList<>(magics.keySet());
        extensions.lineMagics().forEach(name -> names.add("%" + name));
        extensions.cellMagics().forEach(name -> names.add("%%" + name));
        return names.stream().distinct().sorted().toList();
    }

    Optional<Magic> find(String name, boolean takesCell) {
        return Optional.ofNullable(magics.get(key(name, takesCell)));
    }

    /** Runs the Java and the magics of a text; gives the value of its last part. */
    Optional<Object> evaluate(Cell cell, Source text, List<String> warnings) throws CellFailure {
        Optional<Object> value = Optional.empty();
        for (CellParser.Part part : CellParser.parse(text.text(), interpreter::complete)) {
            value = switch (part) {
                case CellParser.Java java -> interpreter.evaluate(cell, text, java.line(), java.code(), warnings);
                case CellParser.LineMagic magic ->
                    run(
                            new CallInCell(cell, text, magic.line(), magic.arguments(), "", magic.line(), warnings),
                            magic.name(),
                            false);
                case CellParser.CellMagic magic ->
                    run(
                            new CallInCell(
                                    cell,
                                    text,
                                    magic.line(),
                                    magic.arguments(),
                                    magic.body(),
                                    magic.line() + 1,
                                    warnings),
                            magic.name(),
                            true);
            };
        }
        return value;
    }

    private Optional<Object> run(CallInCell call, String name, boolean takesCell) throws CellFailure {
        Optional<Magic> magic = find(name, takesCell);
        synchronized (lock) {
            waiting = Thread.currentThread();
        }
        try {
            if (magic.isPresent()) {
                return Optional.ofNullable(magic.get().run(call));
            }
            if (extensions.knows(name, takesCell)) {
                return Optional.ofNullable(extensions.run(name, takesCell, call));
            }
            throw unknown(name, takesCell);
        } catch (CellFailure e) {
            throw e;
        } catch (BenchtopException e) {
            throw wrongInput(call, e);
        } catch (InterruptedException e) {
            throw Traceback.interrupted();
        } catch (Exception | LinkageError e) {
            if (call.cell.interrupted()) {
                throw Traceback.interrupted();
            }
            throw Traceback.message(
                    e.getClass().getSimpleName(), (takesCell ? "%%" : "%") + name + ": " + e.getMessage());
        } finally {
            synchronized (lock) {
                waiting = null;
                // What stopping left behind must not reach the compiler: it would close its jars.
                Thread.interrupted();
            }
        }
    }

    private BenchtopException unknown(String name, boolean takesCell) {
        String written = (takesCell ? "%%" : "%") + name;
        if (find(name, !takesCell).isPresent()) {
            return BenchtopException.config(written + ": only "
                    + find(name, !takesCell).orElseThrow().usage()
                    + (takesCell ? ", on a line of its own" : ", on the first line of a cell"));
        }
        return BenchtopException.config("unknown magic " + written + Suggestions.hint(written, names()) + "; there are "
                + String.join(", ", names()));
    }

    /** Mistakes in the body of a cell magic are marked there, without any trace. */
    private static CellFailure wrongInput(CallInCell call, BenchtopException e) {
        List<String> lines = new ArrayList<>();
        lines.add(Ansi.error(e.kind().name().toLowerCase(Locale.ROOT) + ": ") + e.getMessage());
        @Nullable Object source = e.context().get("source");
        @Nullable Object line = e.context().get("line");
        @Nullable Object column = e.context().get("column");
        if (BODY_SOURCE.equals(source) && line instanceof Integer number && number > 0) {
            int from = column instanceof Integer at ? at - 1 : -1;
            int inCell = number - 1;
            String[] cellLines = call.cell().split("\n", -1);
            int to = inCell < cellLines.length ? wordEnd(cellLines[inCell], from) : from + 1;
            lines.addAll(SourceExcerpt.around(call.cell(), inCell, from, to));
        }
        if (e.kind() == ErrorKind.INTERNAL && e.getCause() != null) {
            lines.add(Ansi.soft("Caused by: " + e.getCause()));
        }
        return new CellFailure("BenchtopException", e.getMessage(), lines);
    }

    /** The name of a cell's body in messages. */
    static final String BODY_SOURCE = "cell";

    private static int wordEnd(String line, int from) {
        int end = Math.max(0, from);
        while (end < line.length()
                && (Character.isLetterOrDigit(line.charAt(end)) || "_-.".indexOf(line.charAt(end)) >= 0)) {
            end++;
        }
        return Math.max(end, from + 1);
    }

    /** Compiles within a magic: an interrupt would close the compiler's jars for good. */
    private Optional<Object> uninterrupted(Compilation compilation) throws CellFailure {
        synchronized (lock) {
            waiting = null;
            Thread.interrupted();
        }
        try {
            return compilation.run();
        } finally {
            synchronized (lock) {
                waiting = Thread.currentThread();
            }
        }
    }

    private interface Compilation {
        Optional<Object> run() throws CellFailure;
    }

    /** Interrupts a magic that waits for something. */
    void stop() {
        synchronized (lock) {
            @Nullable Thread thread = waiting;
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    /** For code that defines variables: takes what was put there for it. Public only for cells. */
    static Object handOver(long ticket) {
        @Nullable Object value = HANDED_OVER.remove(ticket);
        if (value == null) {
            throw new IllegalStateException("ticket " + ticket + " was used");
        }
        return value;
    }

    /** The text of a file. */
    static String script(Path file) throws java.io.IOException {
        if (!Files.isRegularFile(file)) {
            throw BenchtopException.config(file + ": no such file");
        }
        return Files.readString(file);
    }

    /** A call with its cell. */
    private final class CallInCell implements Magic.Call {
        private final Cell cell;
        private final Source text;
        private final int line;
        private final String arguments;
        private final String body;
        private final int bodyLine;
        private final List<String> warnings;

        CallInCell(
                Cell cell, Source text, int line, String arguments, String body, int bodyLine, List<String> warnings) {
            this.cell = cell;
            this.text = text;
            this.line = line;
            this.arguments = arguments;
            this.body = body;
            this.bodyLine = bodyLine;
            this.warnings = warnings;
        }

        @Override
        public String arguments() {
            return arguments;
        }

        @Override
        public List<String> words() {
            return CellParser.words(arguments);
        }

        @Override
        public String body() {
            return body;
        }

        @Override
        public int bodyLine() {
            return bodyLine;
        }

        @Override
        public String cell() {
            return text.text();
        }

        @Override
        public int count() {
            return cell.count();
        }

        @Override
        public Optional<Object> java(String code) throws CellFailure {
            return java(body.isEmpty() ? line : bodyLine, code);
        }

        @Override
        public Optional<Object> java(int start, String code) throws CellFailure {
            return uninterrupted(() -> interpreter.evaluate(cell, text, start, code, warnings));
        }

        @Override
        public Optional<Object> script(String name, String script) throws CellFailure {
            return uninterrupted(() -> evaluate(cell, new Source(name, script), warnings));
        }

        @Override
        public void define(String name, Class<?> type, Object value) throws CellFailure {
            if (!javax.lang.model.SourceVersion.isName(name) || name.indexOf('.') >= 0) {
                throw BenchtopException.config("\"" + name + "\" is not a name for a Java variable");
            }
            long ticket = HAND_OVERS.incrementAndGet();
            HANDED_OVER.put(ticket, value);
            try {
                String typeName = type.getCanonicalName();
                String code = typeName + " " + name + " = (" + typeName
                        + ") org.benchtop.notebook.kernel.HandOver.take(" + ticket + "L);";
                uninterrupted(() -> interpreter.evaluate(cell, text, line, code, warnings));
            } finally {
                HANDED_OVER.remove(ticket);
            }
        }

        @Override
        public void addClassPath(String path) {
            interpreter.addClassPath(path);
        }

        @Override
        public List<Magic.Variable> variables() {
            return interpreter
                    .shell()
                    .variables()
                    .filter(variable -> interpreter.shell().status(variable) == Snippet.Status.VALID)
                    .map(variable -> new Magic.Variable(
                            variable.name(), Traceback.plain(variable.typeName()), shortValue(variable)))
                    .toList();
        }

        private String shortValue(VarSnippet variable) {
            String text;
            try {
                text = interpreter.value(variable).map(String::valueOf).orElse("");
            } catch (RuntimeException e) {
                text = "(" + e + ")";
            }
            String line = text.lines().findFirst().orElse("");
            return line.length() > 60 ? line.substring(0, 60) + "…" : line;
        }
    }

    /** Installs extensions that IJava-style jars bring. */
    void installExtensions() {
        extensions.installFrom(interpreter.cellLoader());
    }
}
