package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Translated code does what the steps of blocks do. */
class TranslatorTest {
    private static final int LOOPS = Integer.getInteger("softcpu.loops", 300);
    private static final long SEED = Long.getLong("softcpu.seed", 20261130L);
    private static final int NIGHTLY_LOOPS = 20_000;
    private static final long CODE = 0x10_0000;
    private static final long DATA = 0x11_0000;
    private static final long STACK = 0x12_0800;
    private static final int PASSES = 24;
    private static final int HOT = 6;
    private static final Set<String> EVERYTHING = Set.of("bmi1", "abm", "bmi2", "adx", "movbe");

    /** A loop around instructions; its counter is in memory behind what they touch. */
    private static byte[] loop(List<byte[]> body) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        body.forEach(out::writeBytes);
        // dec dword [r15+0xe80]; jnz start; hlt
        out.writeBytes(new byte[] {0x41, (byte) 0xff, (byte) 0x8f, (byte) 0x80, 0x0e, 0, 0});
        int distance = -(out.size() + 6);
        out.writeBytes(new byte[] {
            0x0f, (byte) 0x85, (byte) distance, (byte) (distance >> 8), (byte) (distance >> 16), (byte) (distance >> 24)
        });
        out.write(0xf4);
        return out.toByteArray();
    }

    private static long[] run(TestMachine machine, byte[] code, long[] registers, byte[] data) {
        Cpu cpu = machine.cpu;
        machine.write(CODE, code);
        machine.write(DATA, data);
        machine.ram.set(ValueLayout.JAVA_INT, DATA + 0xe80, PASSES);
        System.arraycopy(registers, 0, cpu.r, 0, 16);
        cpu.rflags(2);
        cpu.instructions = 0;
        assertInstanceOf(VcpuExit.Halted.class, machine.run(CODE));
        long[] state = Arrays.copyOf(cpu.r, 19);
        state[16] = cpu.rflags();
        state[17] = cpu.rip;
        state[18] = cpu.instructions;
        return state;
    }

    @Test
    void loopsEndInTheSameStateAsWithoutTranslation() {
        compareLoops(LOOPS, SEED);
    }

    /** Other loops in each run, unless {@code -Dsoftcpu.seed} says which. */
    @Test
    @Tag("nightly")
    void thousandsOfOtherLoopsEndInTheSameStateAsWithoutTranslation() {
        long seed = Long.getLong("softcpu.seed", System.currentTimeMillis());
        System.out.println("softcpu.seed=" + seed);
        compareLoops(NIGHTLY_LOOPS, seed);
    }

    private static void compareLoops(int loops, long seed) {
        try (TestMachine plain = new TestMachine();
                TestMachine translating = new TestMachine()) {
            plain.vm.hot(-1);
            translating.vm.hot(HOT);
            for (TestMachine machine : List.of(plain, translating)) {
                machine.longMode();
                machine.map(CODE, CODE, 0x1000, 3);
                machine.map(DATA, DATA, 0x1000, 3);
                machine.map(STACK & -4096, STACK & -4096, 0x1000, 3);
            }
            for (int i = 0; i < loops; i++) {
                Random random = new Random(seed + i);
                byte[] code = loop(new InsnGenerator(random, EVERYTHING).bare(6));
                long[] registers = random.longs(16).toArray();
                registers[15] = DATA;
                registers[Cpu.RSP] = STACK;
                byte[] data = new byte[4096];
                random.nextBytes(data);

                long[] expected = run(plain, code, registers, data);
                long[] actual = run(translating, code, registers, data);

                if (!Arrays.equals(expected, actual)
                        || plain.ram.asSlice(DATA, 4096).mismatch(translating.ram.asSlice(DATA, 4096)) >= 0) {
                    fail("seed " + (seed + i) + ": "
                            + HexFormat.ofDelimiter(" ").formatHex(code) + "\nsteps      " + hex(expected)
                            + "\ntranslated " + hex(actual));
                }
            }
        }
    }

    /** An instruction of a kind that only regions know beyond plain integer code. */
    private static byte[] extra(Random random) {
        int x = random.nextInt(8);
        int y = random.nextInt(8);
        int slot = 16 * random.nextInt(32);
        byte low = (byte) slot;
        byte high = (byte) (slot >> 8);
        byte registers = (byte) (0xc0 | x << 3 | y);
        // [r15 + disp32] with reg x
        byte memory = (byte) (0x87 | x << 3);
        int[] words = {0xef, 0xeb, 0xdb, 0xd4, 0xfb, 0xfe, 0xfa, 0xfc, 0xf8, 0x74};
        byte word = (byte) words[random.nextInt(words.length)];
        // Not RSP, which the call needs.
        int r = x == Cpu.RSP ? Cpu.RAX : x;
        return switch (random.nextInt(18)) {
            case 0 -> new byte[] {0x66, 0x41, 0x0f, 0x6f, memory, low, high, 0, 0};
            case 1 -> new byte[] {(byte) 0xf3, 0x41, 0x0f, 0x6f, memory, (byte) (low + 3), high, 0, 0};
            case 2 -> new byte[] {0x66, 0x41, 0x0f, 0x7f, memory, low, high, 0, 0};
            case 3, 4, 5 -> new byte[] {0x66, 0x0f, word, registers};
            case 6 -> new byte[] {0x66, 0x41, 0x0f, word, memory, low, high, 0, 0};
            case 7 -> new byte[] {0x66, 0x0f, 0x73, (byte) (0xd0 | y), (byte) random.nextInt(64)};
            case 8 -> new byte[] {0x66, 0x0f, 0x73, (byte) (0xf0 | y), (byte) random.nextInt(64)};
            case 9 -> new byte[] {0x66, 0x48, 0x0f, 0x6e, registers};
            case 10 -> new byte[] {0x66, 0x48, 0x0f, 0x7e, (byte) (0xc0 | y << 3 | r)};
            case 11 -> new byte[] {(byte) 0xf3, 0x0f, 0x7e, registers};
            case 12 -> new byte[] {0x66, 0x41, 0x0f, (byte) 0xd6, memory, low, high, 0, 0};
            case 13 -> new byte[] {0x48, (byte) 0xf7, (byte) (0xe0 | random.nextInt(2) << 3 | r)};
            case 14 -> new byte[] {(byte) 0xf7, (byte) (0xe0 | random.nextInt(2) << 3 | r)};
            // gs:[disp32]
            case 15 -> new byte[] {0x65, 0x48, (byte) 0x8b, (byte) (0x04 | r << 3), 0x25, low, high, 0, 0};
            case 16 -> new byte[] {0x48, 0x0f, (byte) (0xc8 | r)};
            default -> new byte[] {0x0f, (byte) (0x90 | random.nextInt(16)), (byte) (0xc0 | random.nextInt(4))};
        };
    }

    private static byte[] join(List<byte[]> parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        parts.forEach(out::writeBytes);
        return out.toByteArray();
    }

    @Test
    void callsVectorsAndSegmentsEndInTheSameStateAsWithoutTranslation() {
        try (TestMachine plain = new TestMachine();
                TestMachine translating = new TestMachine()) {
            plain.vm.hot(-1);
            translating.vm.hot(HOT);
            for (TestMachine machine : List.of(plain, translating)) {
                machine.longMode();
                machine.cpu.cr4 |= Cpu.CR4_OSFXSR;
                machine.map(CODE, CODE, 0x2000, 3);
                machine.map(DATA, DATA, 0x1000, 3);
                machine.map(STACK & -4096, STACK & -4096, 0x1000, 3);
                machine.cpu.segBase[Cpu.GS] = DATA;
            }
            for (int i = 0; i < LOOPS; i++) {
                Random random = new Random(SEED + i);
                List<byte[]> function = new ArrayList<>(new InsnGenerator(random, EVERYTHING).bare(2));
                List<byte[]> body = new ArrayList<>();
                for (int k = 0; k < 4; k++) {
                    body.add(extra(random));
                    function.add(extra(random));
                }
                function.add(new byte[] {(byte) 0xc3});
                int distance = 0x1000 - (join(body).length + 5);
                body.add(new byte[] {(byte) 0xe8, (byte) distance, (byte) (distance >> 8), 0, 0});
                body.add(extra(random));
                byte[] code = loop(body);
                byte[] called = join(function);
                long[] registers = random.longs(16).toArray();
                registers[15] = DATA;
                registers[Cpu.RSP] = STACK;
                byte[] data = new byte[4096];
                random.nextBytes(data);
                long[] vectors = random.longs(64).toArray();

                List<long[]> states = new ArrayList<>();
                for (TestMachine machine : List.of(plain, translating)) {
                    System.arraycopy(vectors, 0, machine.cpu.fpu.ymm, 0, 64);
                    machine.write(CODE + 0x1000, called);
                    long[] integers = run(machine, code, registers, data);
                    long[] all = Arrays.copyOf(integers, integers.length + 64);
                    System.arraycopy(machine.cpu.fpu.ymm, 0, all, integers.length, 64);
                    states.add(all);
                }

                if (!Arrays.equals(states.get(0), states.get(1))
                        || plain.ram.asSlice(DATA, 4096).mismatch(translating.ram.asSlice(DATA, 4096)) >= 0) {
                    fail("seed " + (SEED + i) + ": "
                            + HexFormat.ofDelimiter(" ").formatHex(code) + " calls "
                            + HexFormat.ofDelimiter(" ").formatHex(called) + "\nsteps      " + hex(states.get(0))
                            + "\ntranslated " + hex(states.get(1)));
                }
            }
        }
    }

    @Test
    void instructionLimitIsMetExactlyInsideTranslatedCode() {
        try (TestMachine machine = new TestMachine(1, new SoftOptions(true, true))) {
            machine.vm.hot(HOT);
            machine.longMode();
            machine.map(CODE, CODE, 0x1000, 3);
            // again: inc rax; add rbx, rax; jmp again
            machine.write(CODE, 0x48, 0xff, 0xc0, 0x48, 0x01, 0xc3, 0xeb, 0xf8);
            for (long stop = 100; stop < 100_000; stop = stop * 3 + 1) {
                machine.vcpu.stopAfter(stop);

                assertInstanceOf(VcpuExit.Debug.class, machine.run(stop == 100 ? CODE : machine.cpu.rip));

                assertEquals(stop, machine.cpu.instructions);
                assertEquals((stop + 2) / 3, machine.cpu.r[Cpu.RAX]);
            }
        }
    }

    private static List<String> hex(long[] values) {
        return Arrays.stream(values).mapToObj(Long::toHexString).toList();
    }

    @Test
    void faultInTranslatedCodeIsThatOfItsInstruction() {
        try (TestMachine machine = new TestMachine()) {
            machine.vm.hot(HOT);
            machine.longMode();
            machine.map(CODE, CODE, 0x1000, 3);
            machine.map(DATA, DATA, 0x2000, 3);
            machine.cpu.idtLimit = 0;
            // again: add rax, [rsi]; add rsi, 8; jmp again: runs off the mapped pages
            machine.write(CODE, 0x48, 0x03, 0x06, 0x48, 0x83, 0xc6, 8, 0xeb, 0xf7);
            machine.cpu.r[Cpu.RSI] = DATA;

            VcpuExit exit = machine.run(CODE);

            assertInstanceOf(VcpuExit.Shutdown.class, exit);
            assertEquals(CODE, machine.cpu.rip);
            assertEquals(DATA + 0x2000, machine.cpu.r[Cpu.RSI]);
            assertEquals(DATA + 0x2000, machine.cpu.cr2);
            assertEquals(3 * 0x400, machine.cpu.instructions);
        }
    }

    @Test
    void requestStopsATranslatedLoop() throws InterruptedException {
        try (TestMachine machine = new TestMachine()) {
            machine.vm.hot(HOT);
            machine.longMode();
            machine.map(CODE, CODE, 0x1000, 3);
            // again: inc rax; jmp again
            machine.write(CODE, 0x48, 0xff, 0xc0, 0xeb, 0xfb);
            machine.cpu.rip = CODE;
            VcpuExit[] exit = new VcpuExit[1];
            Thread thread = new Thread(() -> exit[0] = machine.vcpu.run());
            thread.start();

            machine.vcpu.kick();
            thread.join();

            assertInstanceOf(VcpuExit.Kicked.class, exit[0]);
        }
    }

    @Test
    void changedCodeEndsItsTranslation() {
        try (TestMachine machine = new TestMachine()) {
            machine.vm.hot(HOT);
            machine.longMode();
            machine.map(CODE, CODE, 0x1000, 3);
            // again: add rax, 1; dec ecx; jnz again; hlt
            machine.write(CODE, 0x48, 0x83, 0xc0, 1, 0xff, 0xc9, 0x75, 0xf8, 0xf4);
            machine.cpu.r[Cpu.RCX] = 100;
            machine.run(CODE);
            machine.write(CODE + 3, 2);
            machine.vm.written(CODE + 3, 1);
            machine.cpu.r[Cpu.RCX] = 100;
            machine.run(CODE);

            assertArrayEquals(new long[] {300}, new long[] {machine.cpu.r[Cpu.RAX]});
        }
    }
}
