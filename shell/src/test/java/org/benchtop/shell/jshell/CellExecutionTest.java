package org.benchtop.shell.jshell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.jshell.JShell;
import jdk.jshell.SnippetEvent;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class CellExecutionTest {
    private static final CellExecutionProvider PROVIDER = new CellExecutionProvider();
    private static JShell shell =
            JShell.builder().executionEngine(PROVIDER, null).build();

    @BeforeAll
    static void open() {
        evaluate("int started = 0;");
    }

    @AfterAll
    static void close() {
        shell.close();
    }

    private static SnippetEvent evaluate(String source) {
        List<SnippetEvent> events = shell.eval(source);
        return events.getLast();
    }

    private static CellExecution execution() {
        return PROVIDER.last().orElseThrow();
    }

    /** Runs a cell on a thread of its own, stops it once it runs, and waits for its end. */
    private static SnippetEvent stopped(String source) throws Exception {
        CompletableFuture<SnippetEvent> done = CompletableFuture.supplyAsync(() -> evaluate(source));
        while (!execution().running() && !done.isDone()) {
            Thread.onSpinWait();
        }
        execution().stop();
        return done.get(60, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "while (true) { }",
                "for (long i = 0; ; i++) { started = (int) i; }",
                "do { try { started++; } catch (Throwable t) { } } while (true);",
                "while (true) { try { Thread.sleep(1000000); } catch (InterruptedException e) { } }",
                "Thread.sleep(1000000);",
                "java.util.stream.LongStream.range(0, Long.MAX_VALUE).forEach(i -> { started++; });",
            })
    void stopEndsEndlessCell(String source) throws Exception {
        stopped(source);

        assertTrue(execution().stopped());
        assertFalse(execution().running());
        assertEquals("4", evaluate("2 + 2").value());
        assertFalse(Thread.currentThread().isInterrupted());
    }

    @Test
    void stopEndsEndlessRecursion() throws Exception {
        evaluate("long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }");

        stopped("fib(200)");

        assertTrue(execution().stopped());
    }

    @Test
    void valueIsTheVeryObject() {
        evaluate("var words = java.util.List.of(\"a\", \"b\");");
        evaluate("words");

        assertEquals(List.of("a", "b"), execution().lastValue().orElseThrow());
    }

    @Test
    void exceptionKeepsItsTypeAndCause() {
        evaluate("throw new IllegalStateException(\"outer\", new java.io.IOException(\"inner\"));");

        Throwable thrown = execution().lastThrown().orElseThrow();
        assertInstanceOf(IllegalStateException.class, thrown);
        assertInstanceOf(java.io.IOException.class, thrown.getCause());
    }

    @Test
    void exceptionOfToStringIsTheCells() {
        evaluate("class Broken { public String toString() { throw new IllegalStateException(\"no text\"); } }");
        SnippetEvent event = evaluate("new Broken()");

        assertNotNull(event.exception());
        assertEquals("no text", execution().lastThrown().orElseThrow().getMessage());
    }

    @Test
    void stackOverflowIsAnException() {
        evaluate("int deep(int n) { return deep(n + 1) + 1; }");
        evaluate("deep(0)");

        assertInstanceOf(StackOverflowError.class, execution().lastThrown().orElseThrow());
        assertEquals("3", evaluate("1 + 2").value());
    }

    @Test
    void systemExitIsTheFrontEndsDecision() {
        AtomicInteger code = new AtomicInteger(-1);
        execution().onExit(code::set);

        evaluate("System.exit(7);");
        assertEquals(7, code.get());
        evaluate("Runtime.getRuntime().halt(8);");
        assertEquals(8, code.get());
    }

    @Test
    void contextClassLoaderSeesCellsAndIsRestored() {
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        evaluate("Thread.currentThread().getContextClassLoader()");

        assertEquals(execution().cellLoader(), execution().lastValue().orElseThrow());
        assertEquals(before, Thread.currentThread().getContextClassLoader());
    }

    @Test
    void originalClassFilesAreResources() throws Exception {
        evaluate("record Pair(int a, int b) { }");
        evaluate("Pair.class");
        Class<?> type = (Class<?>) execution().lastValue().orElseThrow();

        try (var stream =
                execution().cellLoader().getResourceAsStream(type.getName().replace('.', '/') + ".class")) {
            byte[] bytes =
                    java.util.Objects.requireNonNull(stream, "class file").readAllBytes();
            assertFalse(new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1).contains("stopCheck"));
        }
    }

    @Test
    void switchesAndTryBlocksSurviveWeaving() {
        evaluate("""
                String classify(Object o) {
                    for (int i = 0; ; i++) {
                        try {
                            String s = switch (o) {
                                case Integer n when n > 10 -> "big";
                                case Integer n -> "small";
                                case String t -> "text" + t.length();
                                default -> throw new IllegalStateException();
                            };
                            if (i > 3) { return s + i; }
                        } catch (IllegalStateException e) {
                            return "other";
                        } finally {
                            started = i;
                        }
                    }
                }
                """);

        assertEquals("\"big4\"", evaluate("classify(11)").value());
        assertEquals("\"text24\"", evaluate("classify(\"ab\")").value());
        assertEquals("\"other\"", evaluate("classify(1.5)").value());
    }
}
