package org.benchtop.shell.jshell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JShellScriptTest {
    private record Result(int code, String err) {}

    private static Result run(String text) {
        StringWriter err = new StringWriter();
        try (JShellScript script = new JShellScript(new PrintWriter(err, true))) {
            int code = script.run(text, "a.jsh");
            return new Result(code, err.toString());
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "int x = 1;\\n\\nint y = x / 0;\\nSystem.exit(9);| 1 | a.jsh:3: error: java.lang.ArithmeticException: / by zero",
                "int ok = 1;\\nint z = \"a\";| 1 | a.jsh:2: error: incompatible types",
                "/exit 5| 5 | ",
                "int a = 1\\nint b = 2\\n/exit| 0 | ",
                "System.exit(3)\\nint q = 1;| 3 | ",
                "int f() {\\n return 1;| 1 | a.jsh:1: error: the script ends within this statement",
                "/reload| 1 | a.jsh:1: error: scripts know",
                "nobody()| 1 | a.jsh:1: error: cannot find symbol",
                "#!/usr/bin/env benchtop\\n// nothing\\n| 0 | ",
                "throw new RuntimeException(\"a\", new java.io.IOException(\"b\"));| 1 | caused by: java.io.IOException: b",
            })
    void scriptEndsAtItsFirstError(String text, int code, String message) {
        Result result = run(text.replace("\\n", "\n"));

        assertEquals(code, result.code(), result.err());
        assertTrue(result.err().contains(message == null ? "" : message), result.err());
        assertEquals(message == null, result.err().isEmpty(), result.err());
    }

    @Test
    void statementsMaySpanLines() {
        Result result = run("""
                int sum = 0;
                for (int i = 0; i < 5; i++) {
                    sum += i;
                }
                if (sum != 10) {
                    throw new IllegalStateException("sum is " + sum);
                }
                """);

        assertEquals(0, result.code(), result.err());
    }

    @Test
    void lineOfAnErrorInsideAStatementIsNamed() {
        Result result = run("""
                int[] cells = new int[2];
                for (int i = 0; i < 5; i++) {
                    // a comment
                    cells[i] = i;
                }
                """);

        assertEquals(1, result.code());
        assertTrue(result.err().contains("a.jsh:4: error: java.lang.ArrayIndexOutOfBounds"), result.err());
        assertTrue(result.err().contains("cells[i] = i;"), result.err());
    }

    @Test
    void errorInAMethodIsToldByItsOwnLine() {
        Result result = run("""
                int half(int n) {
                    // a comment
                    return 1 / n;
                }
                int ok = half(1);

                half(0);
                """);

        assertEquals(1, result.code());
        assertTrue(result.err().contains("a.jsh:3: error: java.lang.ArithmeticException: / by zero"), result.err());
        assertTrue(result.err().contains("    return 1 / n;"), result.err());
        assertTrue(result.err().contains("called from a.jsh:7"), result.err());
    }

    @Test
    void mistakeInAGuestProgramIsToldByItsLine() {
        Result result = run("""
                import org.benchtop.shell.lab.Lab;
                class Heap {
                    static int main() {
                        Object o = new Object();
                        return 0;
                    }
                }
                Lab.guest("heap", Heap.class, "main");
                """);

        assertEquals(1, result.code());
        assertTrue(result.err().contains("a.jsh:4: error: Heap.main() (a.jsh:4): guest code cannot use"), result.err());
        assertTrue(result.err().contains("    Object o = new Object();"), result.err());
    }
}
