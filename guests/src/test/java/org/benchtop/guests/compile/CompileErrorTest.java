package org.benchtop.guests.compile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.benchtop.guests.GuestCompiler;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

final class CompileErrorTest {
    private static final String HEAD = "import org.benchtop.guests.lang.Guest;\nfinal class Bad {\n"
            + "static int counter; static Object thing; int field;\nstatic int main() { return (int) helper(4); }\n"
            + "static long helper(int n) {\n";

    /** Line of the statement under test. */
    private static final int LINE = 6;

    static Stream<Arguments> forbidden() {
        return Stream.of(
                Arguments.of("return new Object().hashCode();", "object creation (new java.lang.Object)"),
                Arguments.of("int[] a = new int[n]; return a[0];", "array creation (newarray)"),
                Arguments.of("return (long) (n * 1.5);", "floating point (i2d)"),
                Arguments.of("float f = 2.5f; return n > 3 ? 1 : (long) f;", "the floating point constant 2.5"),
                Arguments.of("return \"abc\".length();", "a call of the instance method java.lang.String.length"),
                Arguments.of("try { return n / counter; } catch (ArithmeticException e) { return 1; }", "try/catch"),
                Arguments.of("String s = \"n\" + n; return Guest.textLength(s);", "string concatenation"),
                Arguments.of("Runnable r = () -> counter++; r.run(); return 1;", "a lambda or dynamic call"),
                Arguments.of(
                        "System.out.println(n); return 1;",
                        "the static field java.lang.System.out of type java.io.PrintStream"),
                Arguments.of("return thing == null ? 1 : 2;", "the static field Bad.thing of type java.lang.Object"),
                Arguments.of("String s = null; return Guest.textLength(s);", "null"),
                Arguments.of(
                        "return Guest.cpuid(0, 0, n);", "a variable as the register of cpuid (allowed: a constant)"),
                Arguments.of(
                        "return Guest.reserve(n, 8);",
                        "a variable as the size of reserved memory (allowed: a constant)"),
                Arguments.of("return Guest.reserve(8, 3);", "reserved memory of 8 bytes aligned to 3"),
                Arguments.of(
                        "return System.nanoTime();",
                        "a call of java.lang.System.nanoTime, which is unknown or has no bytecode"),
                Arguments.of("return Integer.MIN_VALUE + Integer.parseInt(\"1\");", "comparison of references"),
                Arguments.of("throw null;", "null"));
    }

    @ParameterizedTest
    @MethodSource("forbidden")
    void forbiddenConstructIsNamedWithItsPlace(String statement, String construct) {
        Map<String, byte[]> classes = JavaSources.compile(Map.of("Bad", HEAD + statement + "\n}\n}\n"));

        BenchtopException thrown = assertThrows(
                BenchtopException.class, () -> GuestCompiler.compile(JavaSources.source(classes), "Bad", "main"));

        assertEquals(ErrorKind.CONFIG, thrown.kind());
        String message = String.valueOf(thrown.getMessage());
        assertTrue(message.contains("guest code cannot use " + construct), message);
        assertTrue(message.contains("Bad.helper(int) (Bad.java:" + LINE + ")"), message);
        assertEquals(1, message.lines().count());
    }

    @Test
    void libraryMethodThatThrowsNamesItsCaller() {
        Map<String, byte[]> classes =
                JavaSources.compile(Map.of("Bad", HEAD + "return Math.addExact(n, counter);\n}\n}\n"));

        BenchtopException thrown = assertThrows(
                BenchtopException.class, () -> GuestCompiler.compile(JavaSources.source(classes), "Bad", "main"));

        String message = String.valueOf(thrown.getMessage());
        assertTrue(message.startsWith("java.lang.Math.addExact(int, int) (Math.java:"), message);
        assertTrue(message.endsWith("called from Bad.helper(int) (Bad.java:6)"), message);
    }

    @Test
    void missingClassIsNamed() {
        Map<String, byte[]> classes = new HashMap<>(JavaSources.compile(Map.of(
                "Bad",
                HEAD + "return Other.f(n);\n}\n}\n",
                "Other",
                "final class Other { static long f(int n) { return n; } }")));
        classes.remove("Other");

        BenchtopException thrown = assertThrows(
                BenchtopException.class, () -> GuestCompiler.compile(JavaSources.source(classes), "Bad", "main"));

        assertTrue(
                String.valueOf(thrown.getMessage()).contains("a call of Other.f, which is unknown"),
                thrown.getMessage());
    }

    @Test
    void entryMethodMustExistAndTakeNothing() {
        Map<String, byte[]> classes = JavaSources.compile(Map.of("Bad", HEAD + "return n;\n}\n}\n"));

        BenchtopException thrown = assertThrows(
                BenchtopException.class, () -> GuestCompiler.compile(JavaSources.source(classes), "Bad", "helper"));

        assertEquals(
                "guest class Bad needs one method \"static int helper()\" or \"static void helper()\"",
                thrown.getMessage());
    }

    @Test
    void classThatDoesNotExistIsNamed() {
        BenchtopException thrown = assertThrows(
                BenchtopException.class,
                () -> GuestCompiler.compile(JavaSources.source(Map.of()), "org.example.None", "main"));

        assertEquals("guest class org.example.None not found", thrown.getMessage());
    }
}
