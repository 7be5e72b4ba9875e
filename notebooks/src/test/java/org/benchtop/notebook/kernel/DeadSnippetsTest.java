package org.benchtop.notebook.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import org.benchtop.shell.jshell.CellExecutionProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DeadSnippetsTest {
    private static final int KEPT = 2;

    private final JShell shell =
            JShell.builder().executionEngine(new CellExecutionProvider(), null).build();
    private final List<Snippet> forgotten = new ArrayList<>();
    private final Set<String> classes = new HashSet<>();
    private final Optional<DeadSnippets> dead = DeadSnippets.of(shell, KEPT, (snippet, names) -> {
        forgotten.add(snippet);
        classes.addAll(names);
    });

    @BeforeEach
    void open() {
        assumeTrue(
                dead.isPresent(),
                "JShell forgets only with --add-opens jdk.jshell/jdk.jshell=ALL-UNNAMED, as the launcher passes");
    }

    @AfterEach
    void close() {
        shell.close();
    }

    private String eval(String code) {
        List<SnippetEvent> events = shell.eval(code);
        for (SnippetEvent event : events) {
            assertEquals(null, event.exception(), code);
            if (!event.snippet().kind().isPersistent()
                    || !shell.status(event.snippet()).isActive()) {
                dead.orElseThrow().add(event.snippet());
            }
        }
        return String.valueOf(events.getFirst().value());
    }

    @Test
    void statementsAreForgottenButTheLast() {
        eval("int x = 1;");
        for (int i = 0; i < 5; i++) {
            eval("x = x + new Object() { int one() { return 1; } }.one();");
        }

        assertEquals("6", eval("x"));
        // The variable, and the last ones: an assignment and the expression.
        assertEquals(1 + KEPT, shell.snippets().count());
        assertEquals(4, forgotten.size());
        assertTrue(classes.stream().anyMatch(name -> name.endsWith("$1")), "with inner classes: " + classes);
    }

    @Test
    void replacedDeclarationsAreForgottenAndTheirUsersGoOn() {
        eval("int f() { return 1; }");
        eval("int g() { return f() + 1; }");
        eval("record Pair(int a, int b) { }");
        eval("Pair p = new Pair(f(), 2);");
        for (int i = 2; i <= 6; i++) {
            eval("int f() { return " + i + "; }");
            eval("long f = " + i + ";");
        }

        assertEquals("7", eval("g()"));
        assertEquals("2", eval("p.b()"));
        assertEquals("6", eval("f"));
        eval("g() + f");
        eval("f + f");
        assertEquals("7", eval("g()"));
        assertFalse(forgotten.isEmpty());
        assertTrue(forgotten.stream().noneMatch(snippet -> shell.status(snippet).isActive()));
    }

    @Test
    void mistakesAreForgotten() {
        for (int i = 0; i < 4; i++) {
            eval("int wrong" + i + " = \"text\";");
        }

        assertEquals(KEPT, shell.snippets().count());
        assertEquals("3", eval("int wrong0 = 3;"));
    }
}
