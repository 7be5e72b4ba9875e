package org.benchtop.guests.compile;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.guests.GuestCompiler;
import org.benchtop.guests.GuestImage;
import org.benchtop.guests.Qemu;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random methods must compute the same on the JVM and in a guest. */
final class DifferentialTest {
    private static final int CLASSES = 4;
    private static final int METHODS = 60;

    @ParameterizedTest
    @ValueSource(longs = {1, 0x5eed})
    void randomMethodsAgreeWithTheJvm(long seed) throws Exception {
        Map<String, String> sources = new LinkedHashMap<>();
        RandomJava generator = new RandomJava(seed);
        for (int i = 0; i < CLASSES; i++) {
            sources.put("Random" + i, generator.classSource("Random" + i, METHODS));
        }
        sources.put("Main", mainSource());
        Map<String, byte[]> classFiles = JavaSources.compile(sources);
        StringBuilder expected = new StringBuilder();
        ClassLoader loader = JavaSources.loader(classFiles);
        for (int i = 0; i < CLASSES; i++) {
            Method check = loader.loadClass("Random" + i).getDeclaredMethod("check", int.class);
            check.setAccessible(true);
            for (int method = 0; method < METHODS; method++) {
                expected.append(String.format("%d.%d 0x%x%n", i, method, (long) check.invoke(null, method)));
            }
        }

        GuestImage image = GuestCompiler.compile(JavaSources.source(classFiles), "Main", "main");
        Qemu.Run run = Qemu.boot(image.elf(), "");

        assertEquals(0, run.exitCode(), () -> "seed " + seed + ": " + run.console());
        List<String> want = expected.toString().lines().toList();
        List<String> got = run.console().lines().toList();
        for (int i = 0; i < want.size(); i++) {
            int line = i;
            assertEquals(want.get(i), got.get(i), () -> "seed " + seed + ", class.method " + want.get(line));
        }
    }

    private static String mainSource() {
        StringBuilder text = new StringBuilder("import org.benchtop.guests.rt.Console;\nfinal class Main {\n");
        text.append("static int main() { for (int c = 0; c < ").append(CLASSES).append("; c++)");
        text.append(" for (int m = 0; m < ").append(METHODS).append("; m++) {");
        text.append(" long value = switch (c) {");
        for (int i = 0; i < CLASSES; i++) {
            String label = i == CLASSES - 1 ? "default" : "case " + i;
            text.append(' ').append(label).append(" -> Random").append(i).append(".check(m);");
        }
        text.append(" }; Console.printDecimal(c); Console.print(\".\"); Console.printDecimal(m);");
        text.append(" Console.print(\" \"); Console.printHex(value); Console.newLine(); } return 0; }\n}\n");
        return text.toString();
    }
}
