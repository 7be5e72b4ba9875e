package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.benchtop.spi.cpu.VcpuExit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random instruction sequences give the same registers, flags and memory here and on the host's processor. {@code
 * -Dsoftcpu.sequences} and {@code -Dsoftcpu.seed} choose how many, and which.
 */
class HostDifferentialTest {
    private static final int SEQUENCES = Integer.getInteger("softcpu.sequences", 20_000);
    private static final long SEED = Long.getLong("softcpu.seed", 20261130L);
    private static final int NIGHTLY_SEQUENCES = 1_000_000;
    private static final int MAX_LENGTH = 8;
    private static final long CODE_GPA = 0x10_0000;
    private static final long DATA_GPA = 0x10_2000;
    private static final long STACK_GPA = 0x10_4000;
    private static final long STACK = 0x5000_0000L;
    private static final int STATUS = 0x8d5;

    private static final long[] CORNERS = {
        0,
        1,
        2,
        -1,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0x7fff_ffffL,
        0x8000_0000L,
        0xffff_ffffL,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
    };

    /** What a run starts from. */
    private record Start(long[] registers, byte[] data) {}

    private static long value(Random random) {
        return switch (random.nextInt(3)) {
            case 0 -> CORNERS[random.nextInt(CORNERS.length)];
            case 1 -> random.nextInt(256) - 128;
            default -> random.nextLong();
        };
    }

    private static Start start(Random random, long dataAddress) {
        long[] registers = new long[HostProcessor.STATE_WORDS];
        for (int i = 0; i < 15; i++) {
            registers[i] = value(random);
        }
        registers[15] = dataAddress;
        registers[16] = 2 | random.nextInt() & STATUS;
        byte[] data = new byte[HostProcessor.DATA_BYTES];
        random.nextBytes(data);
        return new Start(registers, data);
    }

    private static byte[] join(List<byte[]> parts, int... tail) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        parts.forEach(out::writeBytes);
        for (int b : tail) {
            out.write(b);
        }
        return out.toByteArray();
    }

    /** Runs both; null if they agree, else what differs. */
    private static @Nullable String compare(
            TestMachine machine, HostProcessor host, List<byte[]> sequence, Start start) {
        byte[] instructions = join(sequence);
        long[] expected = start.registers.clone();
        MemorySegment.copy(start.data, 0, host.data, ValueLayout.JAVA_BYTE, 0, start.data.length);
        host.run(instructions, expected);
        Cpu cpu = machine.cpu;
        long entry = host.entry();
        long codeAt = CODE_GPA + (entry & 4095);
        machine.write(codeAt, join(sequence, 0xf4));
        machine.write(DATA_GPA, start.data);
        System.arraycopy(start.registers, 0, cpu.r, 0, 16);
        cpu.r[Cpu.RSP] = STACK + 2048;
        cpu.rflags(start.registers[16]);
        VcpuExit exit = machine.run(entry);
        if (!(exit instanceof VcpuExit.Halted) || cpu.rip != entry + instructions.length + 1) {
            return "exit " + exit + " at offset " + (cpu.rip - entry) + " fault " + cpu.fault.getMessage();
        }
        StringBuilder differences = new StringBuilder();
        for (int i = 0; i < 16; i++) {
            if (i != Cpu.RSP && expected[i] != cpu.r[i]) {
                differences.append(String.format(" r%d host=%x soft=%x", i, expected[i], cpu.r[i]));
            }
        }
        if (((expected[16] ^ cpu.rflags()) & STATUS) != 0) {
            differences.append(String.format(" flags host=%x soft=%x", expected[16] & STATUS, cpu.rflags() & STATUS));
        }
        MemorySegment ours = machine.ram.asSlice(DATA_GPA, HostProcessor.DATA_BYTES);
        long mismatch = ours.mismatch(host.data);
        if (mismatch >= 0) {
            differences.append(String.format(
                    " data[%x] host=%02x soft=%02x",
                    mismatch,
                    host.data.get(ValueLayout.JAVA_BYTE, mismatch),
                    ours.get(ValueLayout.JAVA_BYTE, mismatch)));
        }
        return differences.isEmpty() ? null : differences.toString();
    }

    /** Leaves out what the difference does not need. */
    private static List<byte[]> minimise(TestMachine machine, HostProcessor host, List<byte[]> sequence, Start start) {
        List<byte[]> smallest = new ArrayList<>(sequence);
        for (int i = 0; i < smallest.size() && smallest.size() > 1; ) {
            List<byte[]> fewer = new ArrayList<>(smallest);
            fewer.remove(i);
            if (compare(machine, host, fewer, start) != null) {
                smallest = fewer;
            } else {
                i++;
            }
        }
        return smallest;
    }

    @Test
    void randomIntegerSequencesAgreeWithTheHost() {
        compare(SEQUENCES, SEED);
    }

    /** Other sequences in each run, unless {@code -Dsoftcpu.seed} says which. */
    @Test
    @Tag("nightly")
    void aMillionOtherSequencesAgreeWithTheHost() {
        long seed = Long.getLong("softcpu.seed", System.currentTimeMillis());
        System.out.println("softcpu.seed=" + seed);
        compare(NIGHTLY_SEQUENCES, seed);
    }

    private static void compare(int sequences, long seed) {
        assumeTrue(HostProcessor.available(), "needs Linux on x86-64");
        try (TestMachine machine = new TestMachine();
                HostProcessor host = new HostProcessor()) {
            machine.longMode();
            machine.map(host.code.address(), CODE_GPA, 4096, 7);
            machine.map(host.data.address(), DATA_GPA, 4096, 7);
            machine.map(STACK, STACK_GPA, 4096, 7);
            for (int i = 0; i < sequences; i++) {
                Random random = new Random(seed + i);
                InsnGenerator generator = new InsnGenerator(random, HostProcessor.features());
                List<byte[]> sequence = generator.next(MAX_LENGTH);
                Start start = start(random, host.data.address());
                if (compare(machine, host, sequence, start) != null) {
                    List<byte[]> smallest = minimise(machine, host, sequence, start);
                    String difference = compare(machine, host, smallest, start);
                    HexFormat hex = HexFormat.ofDelimiter(" ");
                    fail("seed " + (seed + i) + ": "
                            + smallest.stream().map(hex::formatHex).toList() + difference
                            + " from "
                            + java.util.Arrays.stream(start.registers)
                                    .mapToObj(Long::toHexString)
                                    .toList());
                }
            }
        }
    }
}
