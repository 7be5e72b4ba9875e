package org.benchtop.softcpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import org.benchtop.softcpu.fp.X87Unit;

/**
 * Executes the same instructions with the same registers on the host's processor and on ours, and compares registers,
 * defined flags, x87 and vector state, MXCSR, memory and exceptions.
 */
final class Differential implements AutoCloseable {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    /** CF, PF, AF, ZF, SF, OF. */
    private static final int STATUS = 0x8d5;

    private static final int IMAGE_BYTES = 1024;
    /** The part of the data page that is set and compared. */
    static final int DATA_BYTES = 1024;

    /** One thing to try. */
    static final class Case {
        final List<byte[]> instructions = new ArrayList<>();
        final long[] registers = new long[16];
        int status;
        /** An XSAVE image of 832 bytes. */
        final byte[] state = new byte[IMAGE_BYTES];

        final byte[] data = new byte[DATA_BYTES];
        /** Units in the last place that x87 results may differ by. */
        long x87Tolerance;
        /** Whether C1, which tells the direction of rounding, is not compared. */
        boolean ignoreC1;
        /** Ranges of the data, as pairs of offset and length, that are not compared: pointers to code and data. */
        int[] ignoredData = {};

        byte[] code() {
            int length = instructions.stream().mapToInt(i -> i.length).sum();
            byte[] all = new byte[length];
            int at = 0;
            for (byte[] insn : instructions) {
                System.arraycopy(insn, 0, all, at, insn.length);
                at += insn.length;
            }
            return all;
        }

        MemorySegment image() {
            return MemorySegment.ofArray(state);
        }

        private Case with(List<byte[]> fewer) {
            Case c = new Case();
            c.instructions.addAll(fewer);
            System.arraycopy(registers, 0, c.registers, 0, 16);
            c.status = status;
            System.arraycopy(state, 0, c.state, 0, state.length);
            System.arraycopy(data, 0, c.data, 0, data.length);
            c.x87Tolerance = x87Tolerance;
            c.ignoreC1 = ignoreC1;
            c.ignoredData = ignoredData;
            return c;
        }
    }

    final HostVectorUnit host;
    final SoftProcessor soft;
    /** The seed of the random cases: {@code -Dbenchtop.test.seed} repeats a failure. */
    final long seed = Long.getLong("benchtop.test.seed", 20261130L);

    /** Cases are multiplied by this: {@code -Dbenchtop.test.factor} for the nightly run. */
    final int factor = Integer.getInteger("benchtop.test.factor", 1);

    /** How many cases have been compared. */
    long cases;

    Differential() {
        soft = new SoftProcessor("max");
        host = HostVectorUnit.open();
    }

    /** Compares; on a difference, drops instructions that do not matter and says what remains. */
    void check(Case c) {
        String difference = difference(c);
        cases++;
        if (difference.isEmpty()) {
            return;
        }
        Case smallest = c;
        boolean again = true;
        while (again) {
            again = false;
            for (int i = 0; i < smallest.instructions.size() && smallest.instructions.size() > 1; i++) {
                List<byte[]> fewer = new ArrayList<>(smallest.instructions);
                fewer.remove(i);
                Case candidate = smallest.with(fewer);
                String d = difference(candidate);
                if (!d.isEmpty()) {
                    smallest = candidate;
                    difference = d;
                    again = true;
                    break;
                }
            }
        }
        throw new AssertionError(describe(smallest, difference));
    }

    private String describe(Case c, String difference) {
        HexFormat hex = HexFormat.of();
        StringBuilder s = new StringBuilder(
                "case " + cases + " (repeat with -Dbenchtop.test.seed=" + seed + "): the host and we differ\ncode:");
        for (byte[] insn : c.instructions) {
            s.append(' ').append(hex.formatHex(insn));
        }
        MemorySegment image = c.image();
        s.append(String.format(
                "%nfcw %04x fsw %04x ftw %02x mxcsr %04x status %x%n",
                image.get(SHORT, 0), image.get(SHORT, 2), image.get(BYTE, 4), image.get(INT, 24), c.status));
        for (int i = 0; i < 16; i++) {
            s.append(String.format("r%-2d %016x", i, c.registers[i]));
            if (i < 8) {
                s.append(String.format(
                        "  st%d %04x %016x", i, image.get(SHORT, 40 + 16 * i), image.get(LONG, 32 + 16 * i)));
            }
            s.append(String.format(
                    "  ymm%-2d %016x %016x %016x %016x%n",
                    i,
                    image.get(LONG, 584 + 16 * i),
                    image.get(LONG, 576 + 16 * i),
                    image.get(LONG, 168 + 16 * i),
                    image.get(LONG, 160 + 16 * i)));
        }
        MemorySegment data = MemorySegment.ofArray(c.data);
        for (int i = 0; i < 64; i += 32) {
            s.append(String.format(
                    "[%02x] %016x %016x %016x %016x%n",
                    i, data.get(LONG, i + 24), data.get(LONG, i + 16), data.get(LONG, i + 8), data.get(LONG, i)));
        }
        return s.append(difference).toString();
    }

    private String difference(Case c) {
        runHost(c);
        runSoft(c);
        return compare(c);
    }

    private void runHost(Case c) {
        MemorySegment f = host.frame();
        MemorySegment.copy(c.state, 0, f, BYTE, HostVectorUnit.STATE_IN, c.state.length);
        long present = c.image().get(LONG, 512) & host.stateComponents();
        f.set(LONG, HostVectorUnit.STATE_IN + 512L, present);
        for (int i = 0; i < 16; i++) {
            f.set(LONG, HostVectorUnit.REGISTERS_IN + 8L * i, c.registers[i]);
        }
        f.set(LONG, HostVectorUnit.REGISTERS_IN + 8L * Cpu.RDI, f.address() + HostVectorUnit.DATA);
        f.set(LONG, HostVectorUnit.FLAGS_IN, c.status | 0x202L);
        MemorySegment.copy(c.data, 0, f, BYTE, HostVectorUnit.DATA, c.data.length);
        f.asSlice(HostVectorUnit.STATE_OUT, IMAGE_BYTES).fill((byte) 0);
        host.execute(c.code());
    }

    private void runSoft(Case c) {
        Cpu cpu = soft.cpu;
        MemorySegment image = c.image();
        long present = image.get(LONG, 512);
        X87Unit unit = cpu.fpu.x87;
        boolean x87 = (present & 1) != 0;
        unit.controlWord(x87 ? image.get(SHORT, 0) & 0xffff : 0x37f);
        unit.statusWord(x87 ? image.get(SHORT, 2) & 0xffff : 0);
        unit.abridgedTags(x87 ? image.get(BYTE, 4) & 0xff : 0);
        int top = unit.statusWord() >> 11 & 7;
        for (int i = 0; i < 8; i++) {
            unit.register(
                    top + i & 7,
                    x87 ? image.get(SHORT, 40 + 16 * i) & 0xffff : 0,
                    x87 ? image.get(LONG, 32 + 16 * i) : 0);
        }
        unit.forgetPointers();
        cpu.fpu.mxcsr(image.get(INT, 24));
        boolean sse = (present & 2) != 0;
        boolean avx = (present & 4) != 0;
        for (int i = 0; i < 16; i++) {
            cpu.fpu.ymm[4 * i] = sse ? image.get(LONG, 160 + 16 * i) : 0;
            cpu.fpu.ymm[4 * i + 1] = sse ? image.get(LONG, 168 + 16 * i) : 0;
            cpu.fpu.ymm[4 * i + 2] = avx ? image.get(LONG, 576 + 16 * i) : 0;
            cpu.fpu.ymm[4 * i + 3] = avx ? image.get(LONG, 584 + 16 * i) : 0;
            cpu.r[i] = c.registers[i];
        }
        cpu.r[Cpu.RDI] = SoftProcessor.DATA;
        cpu.setStatus(c.status);
        MemorySegment.copy(c.data, 0, soft.memory(), BYTE, SoftProcessor.DATA, c.data.length);
        soft.execute(c.code());
    }

    private String compare(Case c) {
        StringBuilder s = new StringBuilder();
        MemorySegment f = host.frame();
        MemorySegment out = f.asSlice(HostVectorUnit.STATE_OUT, IMAGE_BYTES);
        Cpu cpu = soft.cpu;
        long signal = f.get(LONG, HostVectorUnit.SIGNAL);
        int expected = switch (soft.vector) {
            case -1 -> 0;
            case CpuFault.UD -> HostVectorUnit.SIGILL;
            case CpuFault.MF, CpuFault.XM -> HostVectorUnit.SIGFPE;
            default -> HostVectorUnit.SIGSEGV;
        };
        if (signal != expected) {
            s.append("signal of the host ")
                    .append(signal)
                    .append(", vector of ours ")
                    .append(soft.vector)
                    .append('\n');
            return s.toString();
        }
        if (signal != 0 && host.signalOffset() != soft.faultOffset) {
            s.append("fault at ")
                    .append(host.signalOffset())
                    .append(", ours at ")
                    .append(soft.faultOffset)
                    .append('\n');
            return s.toString();
        }
        for (int i = 0; i < 16; i++) {
            if (i != Cpu.RDI && i != Cpu.RSP) {
                line(s, "r" + i, f.get(LONG, HostVectorUnit.REGISTERS_OUT + 8L * i), cpu.r[i]);
            }
        }
        line(s, "status", f.get(LONG, HostVectorUnit.FLAGS_OUT) & STATUS, cpu.status() & STATUS);
        compareX87(c, s, out);
        line(s, "mxcsr", out.get(INT, 24), cpu.fpu.mxcsr());
        for (int i = 0; i < 16; i++) {
            for (int w = 0; w < ((host.stateComponents() & 4) != 0 ? 4 : 2); w++) {
                long theirs = out.get(LONG, (w < 2 ? 160 : 560) + 16L * i + 8L * w);
                if (theirs != cpu.fpu.ymm[4 * i + w]) {
                    line(s, "ymm" + i + "[" + w + "]", theirs, cpu.fpu.ymm[4 * i + w]);
                }
            }
        }
        MemorySegment theirData = f.asSlice(HostVectorUnit.DATA, DATA_BYTES);
        MemorySegment ourData = soft.memory().asSlice(SoftProcessor.DATA, DATA_BYTES);
        for (int i = 0; i < c.ignoredData.length; i += 2) {
            theirData.asSlice(c.ignoredData[i], c.ignoredData[i + 1]).fill((byte) 0);
            ourData.asSlice(c.ignoredData[i], c.ignoredData[i + 1]).fill((byte) 0);
        }
        if (theirData.mismatch(ourData) >= 0) {
            for (int i = 0; i < DATA_BYTES; i += 8) {
                line(s, "data+" + i, theirData.get(LONG, i), ourData.get(LONG, i));
            }
        }
        return s.toString();
    }

    private void compareX87(Case c, StringBuilder s, MemorySegment out) {
        X87Unit unit = soft.cpu.fpu.x87;
        line(s, "fcw", out.get(SHORT, 0) & 0xffff, unit.controlWord());
        int ignored = c.ignoreC1 ? 0x200 : 0;
        line(s, "fsw", out.get(SHORT, 2) & 0xffff & ~ignored, unit.statusWord() & ~ignored);
        int tags = unit.abridgedTags();
        line(s, "ftw", out.get(BYTE, 4) & 0xff, tags);
        int top = unit.statusWord() >> 11 & 7;
        for (int i = 0; i < 8; i++) {
            int p = top + i & 7;
            long theirs = out.get(LONG, 32 + 16L * i);
            int theirSe = out.get(SHORT, 40 + 16L * i) & 0xffff;
            long ours = unit.significand(p);
            int ourSe = unit.signExponent(p);
            if ((theirs != ours || theirSe != ourSe) && !close(c.x87Tolerance, theirSe, theirs, ourSe, ours)) {
                s.append(String.format(
                        "st%d%s: host %04x %016x, ours %04x %016x%n",
                        i, (tags >> p & 1) == 0 ? " (empty)" : "", theirSe, theirs, ourSe, ours));
            }
        }
    }

    /** Whether two numbers of the same sign are so many units in the last place apart. */
    private static boolean close(long tolerance, int aSe, long a, int bSe, long b) {
        if (tolerance == 0 || (aSe & 0x8000) != (bSe & 0x8000)) {
            return false;
        }
        if (aSe == bSe) {
            return Math.abs(a - b) <= tolerance;
        }
        long d = aSe > bSe ? (a << 1) - b : (b << 1) - a;
        return Math.abs(aSe - bSe) == 1 && Math.abs(d) <= 2 * tolerance;
    }

    private static void line(StringBuilder s, String what, long theirs, long ours) {
        if (theirs != ours) {
            s.append(String.format("%s: host %016x, ours %016x%n", what, theirs, ours));
        }
    }

    // ---------------------------------------------------------------- random operands

    private static final long[] DOUBLES = {
        0,
        0x8000_0000_0000_0000L,
        0x3ff0_0000_0000_0000L,
        0xbff0_0000_0000_0000L,
        0x7ff0_0000_0000_0000L,
        0xfff0_0000_0000_0000L,
        0x7ff8_0000_0000_0000L,
        0xfff8_0000_0000_1234L,
        0x7ff0_0000_0000_0001L,
        0xfff4_5678_9abc_def0L,
        1,
        0x800f_ffff_ffff_ffffL,
        0x0010_0000_0000_0000L,
        0x7fef_ffff_ffff_ffffL,
        0x3fdf_ffff_ffff_ffffL,
        0x3fe0_0000_0000_0000L,
        0x4330_0000_0000_0000L,
        0x41df_ffff_ffc0_0000L,
        0xc1e0_0000_0000_0000L,
        0x43e0_0000_0000_0000L,
        0x3690_0000_0000_0000L,
        0x47ef_ffff_f000_0000L,
        0x37f0_0000_0000_0000L
    };
    private static final int[] FLOATS = {
        0,
        0x8000_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc1_2345,
        0x7f80_0001,
        0xffa3_4567,
        1,
        0x807f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0x3eff_ffff,
        0x3f00_0000,
        0x4b00_0000,
        0x4eff_ffff,
        0x4f00_0000,
        0xcf00_0000,
        0x5f00_0000,
        0x387f_e000,
        0x477f_f000,
        0x3380_0000
    };

    /** Eight bytes that are often interesting as numbers of some type. */
    static long operand(SplittableRandom random) {
        return switch (random.nextInt(12)) {
            case 0, 1 -> DOUBLES[random.nextInt(DOUBLES.length)];
            case 2, 3 ->
                FLOATS[random.nextInt(FLOATS.length)] & 0xffff_ffffL
                        | (long) FLOATS[random.nextInt(FLOATS.length)] << 32;
            case 4 -> DOUBLES[random.nextInt(DOUBLES.length)] + random.nextInt(-2, 3);
            case 5 -> 0x3ff0_0000_0000_0000L + random.nextLong(0x0040_0000_0000_0000L);
            case 6 -> {
                long low = 0x3f80_0000 + random.nextInt(0x0180_0000);
                yield low | (0x3f80_0000L + random.nextInt(0x0180_0000)) << 32;
            }
            case 7 -> Double.doubleToRawLongBits(random.nextInt(-1000, 1000));
            case 8 ->
                Float.floatToRawIntBits(random.nextInt(-1000, 1000)) & 0xffff_ffffL
                        | (long) Float.floatToRawIntBits(random.nextInt(-1000, 1000) / 8f) << 32;
            case 9 -> random.nextInt(64);
            default -> random.nextLong();
        };
    }

    /** Sign and exponent of an x87 register. */
    private static int exponent(SplittableRandom random) {
        int e = switch (random.nextInt(10)) {
            case 0 -> 0;
            case 1 -> 0x7fff;
            case 2 -> random.nextInt(0x8000);
            case 3 -> random.nextInt(2);
            case 4 -> 0x7ffd + random.nextInt(3);
            default -> 0x3fff + random.nextInt(-20, 70);
        };
        return e | (random.nextInt(3) == 0 ? 0x8000 : 0);
    }

    private static long significand(SplittableRandom random) {
        return switch (random.nextInt(12)) {
            case 0, 1 -> Long.MIN_VALUE;
            case 2 -> 0;
            case 3 -> random.nextLong();
            case 4 -> 0xc000_0000_0000_0000L;
            case 5 -> -1L - random.nextInt(3);
            case 6 -> Long.MIN_VALUE | (long) random.nextInt() << 32;
            case 7 -> Long.MIN_VALUE | 1L << random.nextInt(64);
            case 8 -> Long.MIN_VALUE | random.nextLong() << 11;
            default -> Long.MIN_VALUE | random.nextLong();
        };
    }

    private static final int RANDOM_BYTES = 512;

    /** Fills registers, state and data. */
    static void fill(Case c, SplittableRandom random) {
        for (int i = 0; i < 16; i++) {
            c.registers[i] = random.nextInt(4) == 0 ? random.nextInt(40) - 20 : random.nextLong();
        }
        c.status = random.nextInt() & STATUS;
        MemorySegment image = c.image();
        image.set(SHORT, 0, (short) 0x37f);
        image.set(INT, 24, 0x1f80);
        image.set(LONG, 512, 7);
        for (int i = 0; i < 16; i++) {
            image.set(LONG, 160 + 16L * i, operand(random));
            image.set(LONG, 168 + 16L * i, operand(random));
            image.set(LONG, 576 + 16L * i, operand(random));
            image.set(LONG, 584 + 16L * i, operand(random));
        }
        MemorySegment data = MemorySegment.ofArray(c.data);
        for (int i = 0; i < RANDOM_BYTES; i += 8) {
            data.set(LONG, i, operand(random));
        }
    }

    /** Sets a random MXCSR: usually everything masked. */
    static void mxcsr(Case c, SplittableRandom random) {
        int value = random.nextInt(64);
        value &= random.nextInt(64);
        value |= random.nextInt(4) == 0 ? random.nextInt() & 0x1f80 : 0x1f80;
        value |= random.nextInt(2) == 0 ? random.nextInt(4) << 13 : 0;
        value |= random.nextInt(4) == 0 ? random.nextInt() & 0x8040 : 0;
        if (random.nextInt(4) == 0) {
            value |= 0x20;
        }
        c.image().set(INT, 24, value);
    }

    /** Fills the x87 stack, its words and 80-bit numbers in the data. */
    static void x87(Case c, SplittableRandom random) {
        MemorySegment image = c.image();
        int control = 0x40 | (random.nextInt(4) == 0 ? random.nextInt() & 0x3f : 0x3f);
        control |= random.nextInt(3) == 0 ? random.nextInt() & 0xc00 : 0;
        control |= random.nextInt(3) == 0 ? random.nextInt() & 0x300 : 0x300;
        image.set(SHORT, 0, (short) control);
        int status = random.nextInt() & 0x7f00;
        status |= random.nextInt(2) == 0 ? random.nextInt() & 0x7f & control & 0x3f : 0;
        image.set(SHORT, 2, (short) status);
        image.set(BYTE, 4, (byte)
                (random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(2) == 0 ? 0xff : emptyHalf(status)));
        for (int i = 0; i < 8; i++) {
            image.set(SHORT, 40 + 16L * i, (short) exponent(random));
            image.set(LONG, 32 + 16L * i, significand(random));
        }
        MemorySegment data = MemorySegment.ofArray(c.data);
        for (int i = 0; i + 16 <= 256; i += 16) {
            if (random.nextInt(2) == 0) {
                data.set(LONG, i, significand(random));
                data.set(SHORT, i + 8L, (short) exponent(random));
            }
        }
    }

    /** ST(0) to ST(3) are in use. */
    private static int emptyHalf(int status) {
        int top = status >> 11 & 7;
        return (0x0f0f << top >> 8) & 0xff;
    }

    @Override
    public void close() {
        host.close();
        soft.close();
    }
}
