package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.benchtop.spi.cpu.VcpuExit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random sequences of ring 3 in which one instruction may fault: vector, error code, CR2, the instruction, and the registers,
 * flags and memory at that moment are those of the host's processor. {@code -Dsoftcpu.sequences} and {@code -Dsoftcpu.seed}
 * choose how many, and which.
 */
class ExceptionDifferentialTest {
    private static final int SEQUENCES = Integer.getInteger("softcpu.sequences", 10_000);
    private static final long SEED = Long.getLong("softcpu.seed", 20261130L);
    private static final int STATUS = 0x8d5;

    private static final long KERNEL = 0xffff_8000_0000_0000L;
    private static final int IDT = 0x2000;
    private static final int TSS = 0x3000;
    private static final int STUBS = 0x4000;
    private static final int KERNEL_STACK = 0x6000;
    private static final long CODE_GPA = 0x10_0000;
    private static final long DATA_GPA = 0x10_2000;
    private static final long STACK_GPA = 0x10_4000;
    private static final long EDGE_GPA = 0x10_6000;
    private static final long READ_ONLY_GPA = 0x10_8000;
    private static final long STACK = 0x5000_0000L;
    private static final int USER_CODE = 0x33;
    private static final int USER_DATA = 0x2b;

    /** Both processors, with the same user pages at the same addresses. */
    private static final class Pair implements AutoCloseable {
        final TestMachine machine = new TestMachine();
        final HostVectorUnit host = HostVectorUnit.open();
        /** A page, and behind it one that is not mapped. */
        final MemorySegment edge = map(2);

        final MemorySegment readOnly = map(1);

        private static MemorySegment map(int pages) {
            Linker linker = Linker.nativeLinker();
            try {
                // SAFETY: anonymous private mappings of our own, which stay until the test ends.
                MemorySegment mapped = (MemorySegment) linker.downcallHandle(
                                linker.defaultLookup().findOrThrow("mmap"),
                                FunctionDescriptor.of(
                                        ValueLayout.ADDRESS,
                                        ValueLayout.ADDRESS,
                                        ValueLayout.JAVA_LONG,
                                        ValueLayout.JAVA_INT,
                                        ValueLayout.JAVA_INT,
                                        ValueLayout.JAVA_INT,
                                        ValueLayout.JAVA_LONG))
                        .invokeExact(MemorySegment.NULL, pages * 4096L, 3, 0x22, -1, 0L);
                return mapped.reinterpret(pages * 4096L);
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }

        private static void protect(long address, int protection) {
            Linker linker = Linker.nativeLinker();
            try {
                // SAFETY: one page of a mapping of our own.
                int rc = (int) linker.downcallHandle(
                                linker.defaultLookup().findOrThrow("mprotect"),
                                FunctionDescriptor.of(
                                        ValueLayout.JAVA_INT,
                                        ValueLayout.JAVA_LONG,
                                        ValueLayout.JAVA_LONG,
                                        ValueLayout.JAVA_INT))
                        .invokeExact(address, 4096L, protection);
                if (rc != 0) {
                    throw new IllegalStateException("mprotect failed");
                }
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }

        Pair() {
            protect(edge.address() + 4096, 0);
            readOnly.fill((byte) 0x5a);
            protect(readOnly.address(), 1);
            machine.longMode();
            machine.cpu.cr4 |= Cpu.CR4_OSFXSR | Cpu.CR4_OSXMMEXCPT;
            machine.map(host.entry() & -4096, CODE_GPA, 4096, 7);
            machine.map(host.frame().address() + HostVectorUnit.DATA, DATA_GPA, 4096, 7);
            machine.map(STACK, STACK_GPA, 4096, 7);
            machine.map(edge.address(), EDGE_GPA, 4096, 7);
            machine.map(readOnly.address(), READ_ONLY_GPA, 4096, 5);
            machine.map(KERNEL, 0, 0x8000, 3);
            byte[] halt = new byte[512];
            java.util.Arrays.fill(halt, (byte) 0xf4);
            machine.write(STUBS, halt);
            for (int vector = 0; vector < 256; vector++) {
                long stub = KERNEL + STUBS + vector;
                machine.write64(
                        IDT + 16L * vector,
                        stub & 0xffff | TestMachine.CODE64 << 16 | 0x8eL << 40 | (stub >>> 16 & 0xffff) << 48);
                machine.write64(IDT + 16L * vector + 8, stub >>> 32);
            }
            machine.write64(TSS + 4, KERNEL + KERNEL_STACK + 0x1000);
            // No I/O permission bitmap.
            machine.write64(TSS + 0x60, 0x0068L << 48);
            machine.cpu.gdtBase = KERNEL + TestMachine.GDT;
            machine.cpu.gdtLimit = 0x7f;
            machine.cpu.idtBase = KERNEL + IDT;
            machine.cpu.idtLimit = 0xfff;
            Segments.set(machine.cpu, Cpu.TR, 0x40, KERNEL + TSS, 0x67, 0x8b);
        }

        @Override
        public void close() {
            host.close();
            machine.close();
        }
    }

    /** What a run starts from. */
    private record Start(long[] registers, long flags, byte[] data) {}

    private static Start start(Random random, Pair pair) {
        long[] registers = random.longs(16).toArray();
        for (int i = 0; i < 15; i++) {
            if (random.nextInt(3) == 0) {
                registers[i] = random.nextInt(64) - 8;
            }
        }
        registers[15] = pair.host.frame().address() + HostVectorUnit.DATA;
        byte[] data = new byte[4096];
        random.nextBytes(data);
        return new Start(registers, 2 | random.nextInt() & STATUS, data);
    }

    // ---- instructions that may fault ----

    private static byte[] bytes(int... values) {
        byte[] b = new byte[values.length];
        for (int i = 0; i < b.length; i++) {
            b[i] = (byte) values[i];
        }
        return b;
    }

    private static void emit(ByteArrayOutputStream out, int... values) {
        out.writeBytes(bytes(values));
    }

    private static void emit64(ByteArrayOutputStream out, long value) {
        for (int i = 0; i < 8; i++) {
            out.write((int) (value >>> 8 * i));
        }
    }

    /** An address near which something goes wrong, or not. */
    private static long address(Random random, Pair pair) {
        return switch (random.nextInt(6)) {
            case 0 -> 0x40 + random.nextInt(0xe00);
            case 1 -> 0x0000_8000_0000_0000L << random.nextInt(15) | random.nextInt(1 << 20);
            case 2 -> pair.readOnly.address() + 64 + random.nextInt(3000);
            default -> pair.edge.address() + 4096 - random.nextInt(random.nextInt(4) == 0 ? 200 : 20);
        };
    }

    /** Opcodes with a memory operand through R14: prefixes, opcode, the /digit, the bytes behind. */
    private static final int[][] MEMORY = {
        {0x4d, 0x8b},
        {0x4d, 0x89},
        {0x45, 0x8b},
        {0x45, 0x89},
        {0x45, 0x8a},
        {0x45, 0x88},
        {0x66, 0x45, 0x89},
        {0x4d, 0x01},
        {0x4d, 0x03},
        {0x45, 0x29},
        {0x4d, 0x39},
        {0x45, 0x85},
        {0x4d, 0x87},
        {0x45, 0x86},
        {0x4d, 0x0f, 0xb1},
        {0x4d, 0x0f, 0xc1},
        {0xf0, 0x45, 0x01},
        {0xf0, 0x4d, 0x0f, 0xc1},
        {0x4d, 0x0f, 0xb7},
        {0x4d, 0x0f, 0xbe},
        {0x45, 0x63},
        {0x45, 0x0f, 0x10},
        {0x45, 0x0f, 0x11},
        {0x45, 0x0f, 0x28},
        {0x45, 0x0f, 0x29},
        {0x66, 0x4d, 0x0f, 0x7e},
        {0x4d, 0x0f, 0xc3},
        {0x45, 0x0f, 0x90},
        {0x4d, 0x0f, 0x4f},
        {0x41, 0xd9},
        {0x41, 0xdd},
        {0x41, 0xdb},
        {0x41, 0xff},
        {0x49, 0xff},
        {0x41, 0xf7},
        {0x41, 0xd1},
        {0x49, 0xd3},
        {0x49, 0x0f, 0xc7},
        {0x45, 0x3b},
        {0x66, 0x45, 0x0f, 0xef},
        {0xf3, 0x45, 0x0f, 0x6f},
    };

    private static byte[] memory(Random random, Pair pair) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        boolean stack = random.nextInt(6) == 0;
        // mov r14 or rbp, address: RBP makes the segment SS.
        emit(out, stack ? 0x48 : 0x49, stack ? 0xbd : 0xbe);
        emit64(out, address(random, pair));
        int[] opcode = MEMORY[random.nextInt(MEMORY.length)];
        // Neither R14 nor R15.
        int reg = random.nextInt(6);
        switch (opcode[opcode.length - 1]) {
            case 0xc7 -> reg = 1;

            case 0xff -> reg = new int[] {0, 1, 6}[random.nextInt(3)];
            case 0xf7 -> reg = 2 + random.nextInt(6);
            // Those whose flags are defined: shifts by one.
            case 0xd1 -> reg = new int[] {0, 1, 2, 3}[random.nextInt(4)];
            case 0xd3 -> reg = random.nextInt(2);
            // FLD and FSTP, 32, 64 and 80 bits.
            case 0xd9, 0xdd -> reg = random.nextBoolean() ? 0 : 3;
            case 0xdb -> reg = random.nextBoolean() ? 5 : 7;
            default -> {
                // any register
            }
        }
        for (int i = 0; i < opcode.length; i++) {
            int b = opcode[i];
            boolean rex = b >= 0x40 && b < 0x50 && (i == 0 || opcode[i - 1] == 0x66 || opcode[i - 1] >= 0xf0);
            emit(out, stack && rex ? b & ~1 : b);
        }
        emit(out, 0x40 | reg << 3 | (stack ? 5 : 6), random.nextInt(16) - 8);
        if (opcode[opcode.length - 1] == 0xf7) {
            // cmp eax, eax: what MUL and DIV leave undefined is defined again.
            emit(out, 0x39, 0xc0);
        }
        return out.toByteArray();
    }

    private static byte[] string(Random random, Pair pair) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        // mov rsi, address; mov rdi, address; mov ecx, n. Which fault comes first is not defined: one address is safe.
        boolean source = random.nextBoolean();
        long safe = pair.edge.address() + random.nextInt(1000);
        emit(out, 0x48, 0xbe);
        emit64(out, source ? address(random, pair) : safe);
        emit(out, 0x48, 0xbf);
        emit64(out, source ? safe : address(random, pair));
        emit(out, 0xb9, random.nextInt(80), 0, 0, 0);
        int[] prefixes = {0, 0x66, 0x48};
        emit(out, random.nextInt(4) == 0 ? 0xf2 : 0xf3);
        int prefix = prefixes[random.nextInt(3)];
        if (prefix != 0) {
            emit(out, prefix);
        }
        int[] opcodes = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf};
        emit(out, opcodes[random.nextInt(opcodes.length)]);
        return out.toByteArray();
    }

    private static final int[][] OTHERS = {
        {0x0f, 0x0b},
        {0x06},
        {0x27},
        {0x62, 0xc0},
        {0xd6},
        {0xf0, 0x01, 0xc8},
        {0xf0, 0x8b, 0x07},
        {0x0f, 0xff, 0xc0},
        {0x8d, 0xc0},
        {0xc6, 0xc8, 0x00},
        {0xfe, 0xd0},
        {0x0f, 0xba, 0xc0, 0x01},
        {0x0f, 0x20, 0xc0},
        {0x0f, 0x22, 0xd8},
        {0x0f, 0x20, 0xc8},
        {0x0f, 0x30},
        {0x0f, 0x32},
        {0x0f, 0x09},
        {0x0f, 0x08},
        {0x0f, 0x06},
        {0xfa},
        {0xfb},
        {0xf4},
        {0xe4, 0x60},
        {0xee},
        {0xed},
        {0x6c},
        {0x6f},
        {0xcd, 0x30},
        {0xcd, 0x0e},
        {0xcd, 0x08},
        {0x0f, 0x01, 0xf8},
        {0x0f, 0x00, 0xd8},
        {0x0f, 0x00, 0xd0},
        {0x0f, 0x01, 0xf0},
        {0x41, 0x0f, 0x01, 0x17},
        {0x0f, 0x21, 0xc0},
        {0x0f, 0x23, 0xf8},
        {0x0f, 0x07},
        {0xc4, 0xe2, 0x70, 0xf2, 0xc0, 0xf0, 0x90},
        {0xff, 0xf8},
        {0x0f, 0xc7, 0xc8},
        {0x0f, 0x3a, 0x0e, 0xc0, 0x01},
        {0x0f, 0xae, 0xf8, 0x90},
    };

    private static byte[] risky(Random random, Pair pair) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        switch (random.nextInt(8)) {
            case 0, 1, 2 -> {
                return memory(random, pair);
            }
            case 3 -> {
                return string(random, pair);
            }
            case 4 -> {
                // DIV or IDIV of any size by a register other than RSP.
                int reg = new int[] {1, 3, 6, 7}[random.nextInt(4)];
                int size = random.nextInt(4);
                if (size == 1) {
                    emit(out, 0x66);
                } else if (size == 2) {
                    emit(out, 0x48);
                } else if (size == 3) {
                    emit(out, 0x40);
                }
                emit(out, size == 3 ? 0xf6 : 0xf7, (random.nextBoolean() ? 0xf0 : 0xf8) | reg);
                // cmp eax, eax: what the division leaves undefined is defined again.
                emit(out, 0x39, 0xc0);
            }
            case 5 -> {
                // mov eax, selector beyond every table; mov ds, es, fs or gs, eax
                emit(out, 0xb8, 0xf8 | random.nextInt(4), 0xff, 0, 0);
                emit(out, 0x8e, 0xc0 | new int[] {0, 3, 4, 5}[random.nextInt(4)] << 3);
            }
            default -> {
                return bytes(OTHERS[random.nextInt(OTHERS.length)]);
            }
        }
        return out.toByteArray();
    }

    private static byte[] join(List<byte[]> parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        parts.forEach(out::writeBytes);
        return out.toByteArray();
    }

    // ---- running ----

    private int lastVector;

    /** Runs both; null if they agree, else what differs. */
    private @Nullable String compare(Pair pair, List<byte[]> sequence, Start start) {
        byte[] code = join(sequence);
        MemorySegment f = pair.host.frame();
        f.asSlice(HostVectorUnit.STATE_IN, 1024).fill((byte) 0);
        f.set(ValueLayout.JAVA_INT, HostVectorUnit.STATE_IN + 24, 0x1f80);
        for (int i = 0; i < 16; i++) {
            f.set(ValueLayout.JAVA_LONG, HostVectorUnit.REGISTERS_IN + 8L * i, start.registers[i]);
        }
        f.set(ValueLayout.JAVA_LONG, HostVectorUnit.FLAGS_IN, start.flags | 0x200);
        MemorySegment hostData = f.asSlice(HostVectorUnit.DATA, 4096);
        MemorySegment hostEdge = pair.edge.asSlice(0, 4096);
        MemorySegment.copy(start.data, 0, hostData, ValueLayout.JAVA_BYTE, 0, 4096);
        MemorySegment.copy(start.data, 0, hostEdge, ValueLayout.JAVA_BYTE, 0, 4096);
        pair.host.execute(code);

        TestMachine machine = pair.machine;
        Cpu cpu = machine.cpu;
        long entry = pair.host.entry();
        byte[] halting = java.util.Arrays.copyOf(code, code.length + 1);
        halting[code.length] = (byte) 0xf4;
        machine.write(CODE_GPA + (entry & 4095), halting);
        machine.write(DATA_GPA, start.data);
        machine.write(EDGE_GPA, start.data);
        machine.ram.asSlice(READ_ONLY_GPA, 4096).fill((byte) 0x5a);
        System.arraycopy(start.registers, 0, cpu.r, 0, 16);
        cpu.r[Cpu.RSP] = STACK + 2048;
        cpu.fpu.reset();
        cpu.fpu.x87.controlWord(0x37f);
        cpu.fpu.x87.abridgedTags(0);
        Segments.set(cpu, Cpu.CS, USER_CODE, 0, 0xffff_ffffL, 0xa0fb);
        Segments.set(cpu, Cpu.SS, USER_DATA, 0, 0xffff_ffffL, 0xc0f3);
        cpu.cpl = 3;
        cpu.rflags(start.flags | 0x200);
        cpu.mmu.flush();
        cpu.modeChanged();
        VcpuExit exit = machine.run(entry);
        long stub = cpu.rip - 1 - (KERNEL + STUBS);
        if (!(exit instanceof VcpuExit.Halted) || stub < 0 || stub >= 256) {
            return " exit " + exit + " at " + Long.toHexString(cpu.rip);
        }
        boolean hasError = Interrupts.hasErrorCode((int) stub);
        long frame = KERNEL_STACK + 0x1000 - (hasError ? 48 : 40);
        long error = hasError ? machine.read64(frame) : 0;
        long rip = machine.read64(frame + (hasError ? 8 : 0));
        long flags = machine.read64(frame + (hasError ? 24 : 16));
        boolean ended = rip == entry + code.length;
        int vector = ended ? -1 : (int) stub;
        lastVector = vector;
        long signal = f.get(ValueLayout.JAVA_LONG, HostVectorUnit.SIGNAL);
        long trap = signal == 0 ? -1 : f.get(ValueLayout.JAVA_LONG, HostVectorUnit.TRAP);
        StringBuilder s = new StringBuilder();
        differs(s, "vector", trap, vector);
        if (signal != 0 && !ended) {
            differs(s, "offset", pair.host.signalOffset(), rip - entry);
            if (hasError) {
                differs(s, "error code", f.get(ValueLayout.JAVA_LONG, HostVectorUnit.ERROR), error);
            }
            if (vector == CpuFault.PF) {
                differs(s, "cr2", f.get(ValueLayout.JAVA_LONG, HostVectorUnit.FAULT_ADDRESS), cpu.cr2);
            }
        }
        for (int i = 0; i < 16; i++) {
            if (i != Cpu.RSP) {
                differs(s, "r" + i, f.get(ValueLayout.JAVA_LONG, HostVectorUnit.REGISTERS_OUT + 8L * i), cpu.r[i]);
            }
        }
        // Undefined after a divide error. A repeated comparison that faults has flags of before (Intel) or of so far
        // (AMD).
        if (vector != CpuFault.DE && !(vector >= 0 && repeatedComparison(code, (int) (rip - entry)))) {
            differs(s, "flags", f.get(ValueLayout.JAVA_LONG, HostVectorUnit.FLAGS_OUT) & STATUS, flags & STATUS);
        }
        differs(s, "data", -1, hostData.mismatch(machine.ram.asSlice(DATA_GPA, 4096)));
        differs(s, "edge", -1, hostEdge.mismatch(machine.ram.asSlice(EDGE_GPA, 4096)));
        return s.isEmpty() ? null : s.toString();
    }

    private static boolean repeatedComparison(byte[] code, int offset) {
        int at = offset;
        if ((code[at] & 0xfe) != 0xf2) {
            return false;
        }
        at++;
        if (code[at] == 0x66 || code[at] == 0x48) {
            at++;
        }
        int opcode = code[at] & 0xfe;
        return opcode == 0xa6 || opcode == 0xae;
    }

    private static void differs(StringBuilder s, String what, long host, long soft) {
        if (host != soft) {
            s.append(String.format(" %s host=%x soft=%x", what, host, soft));
        }
    }

    private List<byte[]> minimise(Pair pair, List<byte[]> sequence, Start start) {
        List<byte[]> smallest = new ArrayList<>(sequence);
        for (int i = 0; i < smallest.size() && smallest.size() > 1; ) {
            List<byte[]> fewer = new ArrayList<>(smallest);
            fewer.remove(i);
            if (compare(pair, fewer, start) != null) {
                smallest = fewer;
            } else {
                i++;
            }
        }
        return smallest;
    }

    @Test
    void exceptionsAgreeWithTheHost() {
        assumeTrue(HostProcessor.available(), "needs Linux on x86-64");
        BitSet seen = new BitSet();
        int faults = 0;
        try (Pair pair = new Pair()) {
            for (int i = 0; i < SEQUENCES; i++) {
                Random random = new Random(SEED + i);
                InsnGenerator generator = new InsnGenerator(random, HostProcessor.features());
                List<byte[]> sequence = new ArrayList<>(generator.next(2));
                sequence.add(risky(random, pair));
                sequence.addAll(generator.next(1));
                Start start = start(random, pair);
                if (compare(pair, sequence, start) != null) {
                    List<byte[]> smallest = minimise(pair, sequence, start);
                    String difference = compare(pair, smallest, start);
                    HexFormat hex = HexFormat.ofDelimiter(" ");
                    fail("-Dsoftcpu.seed=" + (SEED + i) + " -Dsoftcpu.sequences=1: "
                            + smallest.stream().map(hex::formatHex).toList() + difference + " from "
                            + java.util.Arrays.stream(start.registers)
                                    .mapToObj(Long::toHexString)
                                    .toList());
                }
                if (lastVector >= 0) {
                    seen.set(lastVector);
                    faults++;
                }
            }
        }
        if (SEQUENCES >= 10_000) {
            BitSet expected = new BitSet();
            for (int vector : new int[] {CpuFault.DE, CpuFault.UD, CpuFault.SS, CpuFault.GP, CpuFault.PF}) {
                expected.set(vector);
            }
            expected.andNot(seen);
            assertTrue(expected.isEmpty(), "never seen: vectors " + expected);
            assertTrue(faults > SEQUENCES / 4, "only " + faults + " sequences fault");
        }
    }
}
