package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.Test;

/** Translated code does what the steps of blocks do. */
class TranslatorTest {
    private static final int LOOPS = Integer.getInteger("softcpu.loops", 300);
    private static final long SEED = Long.getLong("softcpu.seed", 20261130L);
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
            for (int i = 0; i < LOOPS; i++) {
                Random random = new Random(SEED + i);
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
                    fail("seed " + (SEED + i) + ": "
                            + HexFormat.ofDelimiter(" ").formatHex(code) + "\nsteps      " + hex(expected)
                            + "\ntranslated " + hex(actual));
                }
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
