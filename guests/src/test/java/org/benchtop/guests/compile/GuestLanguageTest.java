package org.benchtop.guests.compile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.benchtop.guests.GuestCompiler;
import org.benchtop.guests.GuestImage;
import org.benchtop.guests.Qemu;
import org.junit.jupiter.api.Test;

/** What generated Java does not reach: stack shuffles, intrinsics, initialisers, exceptions. */
final class GuestLanguageTest {
    private static final String IMPORTS =
            "import org.benchtop.guests.lang.*; import org.benchtop.guests.rt.*; import org.benchtop.guests.GuestLayout;\n";

    private static Qemu.Run run(String source, String... more) throws Exception {
        Map<String, byte[]> classes = JavaSources.compile(Map.of("Main", IMPORTS + source));
        return Qemu.boot(
                GuestCompiler.compile(JavaSources.source(classes), "Main", "main")
                        .elf(),
                "",
                more);
    }

    @Test
    void stackShufflesAgreeWithTheJvm() throws Exception {
        // Parameters: long a (slot 0), long b (2), int c (4), int d (5); result long.
        List<Consumer<CodeBuilder>> bodies = List.of(
                code -> code.iload(4).dup().imul().i2l(),
                code -> code.iload(4).iload(5).dup_x1().isub().imul().i2l(),
                code -> code.iload(4)
                        .iload(5)
                        .bipush(7)
                        .dup_x2()
                        .iadd()
                        .imul()
                        .isub()
                        .i2l(),
                code -> code.lload(0)
                        .iload(4)
                        .dup_x2()
                        .i2l()
                        .ladd()
                        .l2i()
                        .iadd()
                        .i2l(),
                code -> code.iload(4).iload(5).dup2().isub().imul().iadd().i2l(),
                code -> code.lload(0).lconst_1().ladd().dup2().lmul(),
                code -> code.iload(4)
                        .iload(5)
                        .bipush(7)
                        .dup2_x1()
                        .imul()
                        .isub()
                        .ishl()
                        .iadd()
                        .i2l(),
                code -> code.iload(4).lload(0).dup2_x1().l2i().iadd().i2l().ladd(),
                code -> code.lload(0).lload(2).dup2_x2().lsub().lmul(),
                code -> code.iload(4)
                        .iload(5)
                        .lload(0)
                        .dup2_x2()
                        .l2i()
                        .iadd()
                        .iadd()
                        .i2l()
                        .lxor(),
                code -> code.lload(2)
                        .iload(4)
                        .iload(5)
                        .dup2_x2()
                        .isub()
                        .i2l()
                        .lsub()
                        .l2i()
                        .iadd()
                        .iadd()
                        .i2l(),
                code -> code.iload(4).iload(5).swap().isub().i2l(),
                code -> code.iload(4)
                        .iload(5)
                        .iload(4)
                        .pop()
                        .iload(5)
                        .iload(4)
                        .pop2()
                        .isub()
                        .i2l(),
                code -> code.lload(0).lload(2).pop2().iload(4).pop(),
                // The stack is permuted on every turn of the loop.
                code -> {
                    var loop = code.newLabel();
                    code.iload(4)
                            .iload(5)
                            .bipush(5)
                            .istore(4)
                            .labelBinding(loop)
                            .swap()
                            .iinc(4, -1);
                    code.iload(4).ifgt(loop).bipush(3).imul().isub().i2l();
                },
                code -> {
                    var other = code.newLabel();
                    var join = code.newLabel();
                    code.lload(0).iload(4).iload(5).iload(4).iload(5).if_icmplt(other);
                    code.swap().goto_(join).labelBinding(other).dup_x1().iadd().labelBinding(join);
                    code.isub().i2l().ladd();
                });
        ClassDesc shuffles = ClassDesc.of("Shuffles");
        MethodTypeDesc type = MethodTypeDesc.of(
                ConstantDescs.CD_long,
                ConstantDescs.CD_long,
                ConstantDescs.CD_long,
                ConstantDescs.CD_int,
                ConstantDescs.CD_int);
        byte[] classFile = ClassFile.of().build(shuffles, builder -> {
            for (int i = 0; i < bodies.size(); i++) {
                Consumer<CodeBuilder> body = bodies.get(i);
                builder.withMethodBody("m" + i, type, ClassFile.ACC_STATIC | ClassFile.ACC_PUBLIC, code -> {
                    body.accept(code);
                    code.lreturn();
                });
            }
        });
        Map<String, byte[]> classes = new HashMap<>();
        classes.put("Shuffles", classFile);
        StringBuilder main = new StringBuilder(IMPORTS + "final class Main { static int main() {\n");
        List<String> expected = new ArrayList<>();
        ClassLoader loader = JavaSources.loader(classes);
        for (int i = 0; i < bodies.size(); i++) {
            for (int[] cd : new int[][] {{3, 10}, {-7, 4}, {Integer.MIN_VALUE, -1}}) {
                String arguments = "0x123456789abL, -77L, " + cd[0] + ", " + cd[1];
                main.append("Console.printHex(Shuffles.m")
                        .append(i)
                        .append("(")
                        .append(arguments)
                        .append("));\n");
                main.append("Console.newLine();\n");
                Method method =
                        loader.loadClass("Shuffles").getMethod("m" + i, long.class, long.class, int.class, int.class);
                expected.add("0x" + Long.toHexString((long) method.invoke(null, 0x123456789abL, -77L, cd[0], cd[1])));
            }
        }
        main.append("return 0; } }\n");
        String stub = "final class Shuffles {" + stubs(bodies.size()) + "}";
        classes.put(
                "Main",
                JavaSources.compile(Map.of("Main", main.toString(), "Shuffles", stub))
                        .get("Main"));

        Qemu.Run run = Qemu.boot(
                GuestCompiler.compile(JavaSources.source(classes), "Main", "main")
                        .elf(),
                "");

        assertEquals(expected, run.console().lines().toList());
    }

    private static String stubs(int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append("static long m").append(i).append("(long a, long b, int c, int d) { return 0; }");
        }
        return text.toString();
    }

    @Test
    void memoryAndAtomicsDoWhatTheirNamesSay() throws Exception {
        Qemu.Run run = run("""
                final class Main {
                  static final long AREA = Guest.reserve("area", 4096, 4096);
                  static void show(long value) { Console.printHex(value); Console.print(" "); }
                  static int main() {
                    show(AREA & 4095);
                    Guest.store64(AREA, 0x8182838485868788L);
                    show(Guest.load8(AREA)); show(Guest.load8Signed(AREA)); show(Guest.load16(AREA + 6));
                    show(Guest.load32(AREA + 4)); show(Guest.load32Unsigned(AREA + 4));
                    Guest.store8(AREA + 1, -1); Guest.store16(AREA + 2, 0x11234); Guest.store32(AREA + 4, -2);
                    show(Guest.load64(AREA));
                    show(Guest.compareAndSet32(AREA, 1, 2) ? 1 : 0);
                    show(Guest.compareAndSet64(AREA, Guest.load64(AREA), 5) ? 1 : 0);
                    show(Guest.fetchAdd64(AREA, -7)); show(Guest.fetchAdd32(AREA, 9)); show(Guest.exchange32(AREA, 3));
                    show(Guest.exchange64(AREA, -1)); show(Guest.load64Acquire(AREA));
                    Guest.store64Volatile(AREA + 16, 42); Guest.copy(AREA + 32, AREA + 16, 8);
                    Guest.fill8(AREA + 40, 0xab, 3); Guest.fill64(AREA + 48, 7, 2);
                    show(Guest.load64(AREA + 32)); show(Guest.load64(AREA + 40)); show(Guest.load64(AREA + 56));
                    show(Guest.divide128(1, 0, 3)); show(Guest.readMsr(0xc0000080) & 0x500);
                    Guest.writeMsr(0x174, 0x1234); show(Guest.readMsr(0x174)); show(Guest.cpu());
                    show(Guest.textLength("abc")); show(Guest.load8(Guest.textAddress("abc") + 2));
                    show(Guest.symbol("area") - AREA);
                    Console.newLine();
                    return 0;
                  }
                }
                """);

        assertEquals(
                "0x0 0x88 0xffffffffffffff88 0x8182 0xffffffff81828384 0x81828384 0xfffffffe1234ff88 0x0 0x1 0x5"
                        + " 0xfffffffffffffffe 0x7 0xffffffff00000003 0xffffffffffffffff 0x2a 0xababab 0x7"
                        + " 0x5555555555555555 0x500 0x1234 0x0 0x3 0x63 0x0 \n",
                run.console());
    }

    @Test
    void initialisersRunInOrderOfReference() throws Exception {
        Qemu.Run run = run("""
                final class Main {
                  static int first = Second.value * 2 + Second.LIMIT;
                  static long counter = 5;
                  static byte small = -3;
                  static final long CONSTANT = Guest.reserve(8, 8);
                  static int main() {
                    counter += small;
                    Console.printDecimal(first); Console.print(" "); Console.printDecimal(counter); Console.newLine();
                    Guest.store64(CONSTANT, 1);
                    return (int) Guest.load64(CONSTANT);
                  }
                }
                final class Second { static int value = initial(); static final int LIMIT = 100;
                  static int initial() { return 21; } }
                """);

        assertEquals("142 2\n", run.console());
        assertEquals(1, run.exitCode());
    }

    @Test
    void tasksRunOnOtherCpus() throws Exception {
        Qemu.Run run = run("""
                final class Main {
                  static final long SUM = Guest.reserve(8, 64);
                  static void add(int cpu) { for (int i = 0; i < 1000; i++) Guest.fetchAdd64(SUM, cpu + 1); }
                  static int main() {
                    int cpus = Smp.start();
                    for (int round = 0; round < 50; round++) Smp.run(Main::add, cpus);
                    Smp.run(cpu -> Guest.fetchAdd64(SUM, 7), 2);
                    Console.printDecimal(Guest.load64(SUM)); Console.newLine();
                    return 0;
                  }
                }
                """, "-smp", "3");

        assertEquals(50 * 1000 * (1 + 2 + 3) + 14 + "\n", run.console());
    }

    @Test
    void divisionByZeroIsReportedWithItsLine() throws Exception {
        Qemu.Run run = run("""
                final class Main {
                  static int zero;
                  static int main() {
                    Console.print("before");
                    return divide(7);
                  }
                  static int divide(int n) {
                    return n / zero;
                  }
                }
                """);

        assertEquals(127, run.exitCode());
        assertTrue(
                run.console().startsWith("before\nguest exception 0 (division by zero) at Main.divide(Main.java:9)\n"),
                run.console());
    }

    @Test
    void stackOverflowIsReported() throws Exception {
        Qemu.Run run = run("""
                final class Main {
                  static int depth;
                  static int main() { return down(1) + down(2); }
                  static int down(int n) { depth++; return down(n + 1) + down(n + depth); }
                }
                """);

        assertEquals(127, run.exitCode());
        assertTrue(run.console().contains("(page fault) at Main.down(Main.java:5)"), run.console());
        assertTrue(run.console().contains("the stack has overflowed"), run.console());
    }

    @Test
    void nullAddressIsReported() throws Exception {
        Qemu.Run run = run("final class Main { static int main() {\n return Guest.load32(16); } }");

        assertEquals(127, run.exitCode());
        assertTrue(run.console().contains("(page fault) at Main.main(Main.java:3)"), run.console());
        assertTrue(run.console().contains("cr2=0x10 "), run.console());
    }

    @Test
    void badMsrIsReportedAtTheCallInTheProgram() throws Exception {
        Qemu.Run run = run(
                "final class Main { static int main() {\n Guest.writeMsr(0x1b, -1L); Guest.load8(-1L << 48 >>> 1);\n return 0; } }");

        assertEquals(127, run.exitCode());
        assertTrue(run.console().contains("Main.main(Main.java:3)"), run.console());
    }

    @Test
    void haltReturnsWhenATimerTicks() throws Exception {
        Qemu.Run run = run("""
                final class Main {
                  static int main() {
                    long counter = GuestLayout.INTERRUPT_COUNTERS + 8L * LocalApic.TICK_VECTOR;
                    LocalApic.startTicks(78125);
                    for (int i = 0; i < 5; i++) Guest.waitWhileEqual(counter, Guest.load64(counter));
                    LocalApic.stopTicks();
                    Console.println("woken");
                    return Guest.load64(counter) >= 5 ? 0 : 1;
                  }
                }
                """);

        assertEquals(0, run.exitCode(), run.console());
    }

    @Test
    void lineTableFindsMethods() {
        Map<String, byte[]> classes =
                JavaSources.compile(Map.of("Main", "final class Main {\n\nstatic int main() {\n return 3;\n }\n}"));
        GuestImage image = GuestCompiler.compile(JavaSources.source(classes), "Main", "main");

        long address = image.symbols().getOrDefault("Main.main()I", 0L);
        GuestImage.Line line = image.lineOf(address).orElseThrow();

        assertEquals("Main.main()I", line.method());
        assertEquals("Main.java", line.sourceFile());
        assertEquals(4, line.line());
        assertTrue(image.lineOf(0x1000).isEmpty());
    }
}
