package org.benchtop.softcpu.fp;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;

/**
 * The images of floating-point and vector state in memory: FSTENV and FSAVE (Intel SDM vol. 1, figures 8-9 to 8-12),
 * FXSAVE (vol. 2, table 3-43 and on) and XSAVE (vol. 1, chapter 13).
 *
 * <p>Selectors of the last instruction and operand are stored as zero (CPUID.7.0:EBX[13]).
 */
public final class StateImages {
    /** State components of XCR0. */
    public static final long XCR0_X87 = 1;
    /** XMM0–15 and MXCSR. */
    public static final long XCR0_SSE = 2;
    /** Upper halves of YMM0–15. */
    public static final long XCR0_AVX = 4;

    /** Length of the FXSAVE image. */
    public static final int LEGACY_BYTES = 512;
    /** Where the upper halves of YMM0–15 are in the standard format. */
    public static final int AVX_OFFSET = 576;
    /** Their length. */
    public static final int AVX_BYTES = 256;

    private static final int XSTATE_BV = 512;
    private static final int XCOMP_BV = 520;
    private static final long COMPACTED = Long.MIN_VALUE;

    private StateImages() {}

    // ---------------------------------------------------------------- FSTENV, FSAVE

    private static boolean real(Cpu cpu) {
        return (cpu.cr0 & Cpu.CR0_PE) == 0;
    }

    private static int environmentBytes(Insn insn) {
        return insn.operandSize == 2 ? 14 : 28;
    }

    static void storeEnvironment(X87Unit unit, Cpu cpu, Insn insn) {
        int size = environmentBytes(insn);
        long a = cpu.address(insn, size, true);
        cpu.checkWrite(a, size);
        writeEnvironment(unit, cpu, a, size);
        unit.controlWord(unit.control | 0x3f);
    }

    private static void writeEnvironment(X87Unit unit, Cpu cpu, long a, int size) {
        int ip = (int) unit.lastInstruction;
        int dp = (int) unit.lastOperand;
        boolean real = real(cpu);
        if (size == 14) {
            cpu.store16(a, unit.control);
            cpu.store16(a + 2, unit.statusWord());
            cpu.store16(a + 4, unit.tagWord());
            cpu.store16(a + 6, ip);
            cpu.store16(a + 8, real ? (ip >>> 16 & 15) << 12 | unit.lastOpcode : 0);
            cpu.store16(a + 10, dp);
            cpu.store16(a + 12, real ? (dp >>> 16 & 15) << 12 : 0);
            return;
        }
        cpu.store32(a, unit.control | 0xffff_0000);
        cpu.store32(a + 4, unit.statusWord() | 0xffff_0000);
        cpu.store32(a + 8, unit.tagWord() | 0xffff_0000);
        if (real) {
            cpu.store32(a + 12, ip | 0xffff_0000);
            cpu.store32(a + 16, (ip >>> 16) << 12 | unit.lastOpcode);
            cpu.store32(a + 20, dp | 0xffff_0000);
            cpu.store32(a + 24, (dp >>> 16) << 12);
        } else {
            cpu.store32(a + 12, ip);
            cpu.store32(a + 16, unit.lastOpcode << 16);
            cpu.store32(a + 20, dp);
            cpu.store32(a + 24, 0xffff_0000);
        }
    }

    static void loadEnvironment(X87Unit unit, Cpu cpu, Insn insn) {
        int size = environmentBytes(insn);
        long a = cpu.address(insn, size, false);
        cpu.checkRead(a, size);
        readEnvironment(unit, cpu, a, size);
    }

    private static void readEnvironment(X87Unit unit, Cpu cpu, long a, int size) {
        boolean real = real(cpu);
        int control;
        int status;
        int tags;
        if (size == 14) {
            control = cpu.load16(a);
            status = cpu.load16(a + 2);
            tags = cpu.load16(a + 4);
            int ip = cpu.load16(a + 6);
            int cs = cpu.load16(a + 8);
            int dp = cpu.load16(a + 10);
            int ds = cpu.load16(a + 12);
            unit.lastInstruction = real ? ip | (cs >> 12) << 16 : ip;
            unit.lastOperand = real ? dp | (ds >> 12) << 16 : dp;
            unit.lastOpcode = real ? cs & 0x7ff : 0;
        } else {
            control = cpu.load16(a);
            status = cpu.load16(a + 4);
            tags = cpu.load16(a + 8);
            int ip = cpu.load32(a + 12);
            int cs = cpu.load32(a + 16);
            int dp = cpu.load32(a + 20);
            int ds = cpu.load32(a + 24);
            unit.lastInstruction = (real ? ip & 0xffff | (cs >>> 12) << 16 : ip) & 0xffff_ffffL;
            unit.lastOperand = (real ? dp & 0xffff | (ds >>> 12) << 16 : dp) & 0xffff_ffffL;
            unit.lastOpcode = (real ? cs : cs >>> 16) & 0x7ff;
        }
        unit.tagWord(tags);
        unit.controlWord(control);
        unit.statusWord(status);
    }

    static void save(X87Unit unit, Cpu cpu, Insn insn) {
        int environment = environmentBytes(insn);
        int size = environment + 80;
        long a = cpu.address(insn, size, true);
        cpu.checkWrite(a, size);
        writeEnvironment(unit, cpu, a, environment);
        for (int i = 0; i < 8; i++) {
            int p = unit.top + i & 7;
            cpu.store64(a + environment + 10 * i, unit.significand[p]);
            cpu.store16(a + environment + 10 * i + 8, unit.signExponent[p]);
        }
        unit.init();
    }

    static void restore(X87Unit unit, Cpu cpu, Insn insn) {
        int environment = environmentBytes(insn);
        int size = environment + 80;
        long a = cpu.address(insn, size, false);
        cpu.checkRead(a, size);
        readEnvironment(unit, cpu, a, environment);
        for (int i = 0; i < 8; i++) {
            unit.register(
                    unit.top + i & 7, cpu.load16(a + environment + 10 * i + 8), cpu.load64(a + environment + 10 * i));
        }
    }

    // ---------------------------------------------------------------- FXSAVE

    private static void available(Cpu cpu) {
        if ((cpu.cr0 & (Cpu.CR0_EM | Cpu.CR0_TS)) != 0) {
            throw cpu.nm();
        }
    }

    private static long aligned(Cpu cpu, Insn insn, int size, int alignment, boolean write) {
        long a = cpu.address(insn, size, write);
        if ((a & (alignment - 1)) != 0) {
            throw cpu.gp();
        }
        return a;
    }

    /** FXSAVE. */
    public static void fxsave(Cpu cpu, Insn insn) {
        available(cpu);
        long a = aligned(cpu, insn, LEGACY_BYTES, 16, true);
        cpu.checkWrite(a, 416);
        saveX87(cpu, insn, a);
        saveMxcsr(cpu, a);
        saveXmm(cpu, insn, a);
    }

    /** FXRSTOR. */
    public static void fxrstor(Cpu cpu, Insn insn) {
        available(cpu);
        long a = aligned(cpu, insn, LEGACY_BYTES, 16, false);
        cpu.checkRead(a, 416);
        int mxcsr = checkedMxcsr(cpu, a);
        loadX87(cpu, insn, a);
        cpu.fpu.mxcsr(mxcsr);
        loadXmm(cpu, insn, a);
    }

    private static int checkedMxcsr(Cpu cpu, long a) {
        int mxcsr = cpu.load32(a + 24);
        if ((mxcsr & ~MxcsrArithmetic.MXCSR_MASK) != 0) {
            throw cpu.gp();
        }
        return mxcsr;
    }

    private static void saveX87(Cpu cpu, Insn insn, long a) {
        X87Unit unit = cpu.fpu.x87;
        cpu.store16(a, unit.control);
        cpu.store16(a + 2, unit.statusWord());
        cpu.store16(a + 4, unit.abridgedTags());
        cpu.store16(a + 6, unit.lastOpcode);
        boolean wide = insn.w && insn.mode64();
        cpu.store64(a + 8, wide ? unit.lastInstruction : unit.lastInstruction & 0xffff_ffffL);
        cpu.store64(a + 16, wide ? unit.lastOperand : unit.lastOperand & 0xffff_ffffL);
        for (int i = 0; i < 8; i++) {
            int p = unit.top + i & 7;
            cpu.store64(a + 32 + 16 * i, unit.significand[p]);
            cpu.store64(a + 40 + 16 * i, unit.signExponent[p]);
        }
    }

    private static void loadX87(Cpu cpu, Insn insn, long a) {
        X87Unit unit = cpu.fpu.x87;
        unit.controlWord(cpu.load16(a));
        unit.statusWord(cpu.load16(a + 2));
        unit.abridgedTags(cpu.load8(a + 4));
        unit.lastOpcode = cpu.load16(a + 6) & 0x7ff;
        boolean wide = insn.w && insn.mode64();
        long ip = cpu.load64(a + 8);
        long dp = cpu.load64(a + 16);
        unit.lastInstruction = wide ? ip : ip & 0xffff_ffffL;
        unit.lastOperand = wide ? dp : dp & 0xffff_ffffL;
        for (int i = 0; i < 8; i++) {
            unit.register(unit.top + i & 7, cpu.load16(a + 40 + 16 * i), cpu.load64(a + 32 + 16 * i));
        }
    }

    private static void saveMxcsr(Cpu cpu, long a) {
        cpu.store32(a + 24, cpu.fpu.mxcsr());
        cpu.store32(a + 28, MxcsrArithmetic.MXCSR_MASK);
    }

    private static int registers(Insn insn) {
        return insn.mode64() ? 16 : 8;
    }

    private static void saveXmm(Cpu cpu, Insn insn, long a) {
        long[] v = cpu.fpu.ymm;
        for (int i = 0; i < registers(insn); i++) {
            cpu.store64(a + 160 + 16 * i, v[4 * i]);
            cpu.store64(a + 168 + 16 * i, v[4 * i + 1]);
        }
    }

    private static void loadXmm(Cpu cpu, Insn insn, long a) {
        long[] v = cpu.fpu.ymm;
        for (int i = 0; i < registers(insn); i++) {
            v[4 * i] = cpu.load64(a + 160 + 16 * i);
            v[4 * i + 1] = cpu.load64(a + 168 + 16 * i);
        }
    }

    // ---------------------------------------------------------------- XSAVE

    private static void xsaveAvailable(Cpu cpu) {
        if ((cpu.cr4 & Cpu.CR4_OSXSAVE) == 0) {
            throw cpu.ud();
        }
        if ((cpu.cr0 & Cpu.CR0_TS) != 0) {
            throw cpu.nm();
        }
    }

    private static long requested(Cpu cpu) {
        return (cpu.r[Cpu.RDX] << 32 | cpu.r[Cpu.RAX] & 0xffff_ffffL) & cpu.xcr0;
    }

    /** The components that are not in their initial configuration. */
    private static long inUse(Cpu cpu) {
        long bits = x87Initial(cpu.fpu.x87) ? 0 : XCR0_X87;
        long low = 0;
        long high = 0;
        long[] v = cpu.fpu.ymm;
        for (int i = 0; i < FpuState.REGISTER_WORDS; i += 4) {
            low |= v[i] | v[i + 1];
            high |= v[i + 2] | v[i + 3];
        }
        return bits | (low != 0 ? XCR0_SSE : 0) | (high != 0 ? XCR0_AVX : 0);
    }

    private static boolean x87Initial(X87Unit unit) {
        if (unit.control != 0x37f
                || unit.statusWord() != 0
                || unit.empty != 0xff
                || unit.lastOpcode != 0
                || unit.lastInstruction != 0
                || unit.lastOperand != 0) {
            return false;
        }
        long any = 0;
        for (int i = 0; i < 8; i++) {
            any |= unit.significand[i] | unit.signExponent[i];
        }
        return any == 0;
    }

    private static int imageBytes(long components) {
        return (components & XCR0_AVX) != 0 ? AVX_OFFSET + AVX_BYTES : AVX_OFFSET;
    }

    /** XSAVE. */
    public static void xsave(Cpu cpu, Insn insn) {
        xsaveStandard(cpu, insn, false);
    }

    /** XSAVEOPT: components in their initial configuration are not written. */
    public static void xsaveopt(Cpu cpu, Insn insn) {
        xsaveStandard(cpu, insn, true);
    }

    private static void xsaveStandard(Cpu cpu, Insn insn, boolean optimise) {
        xsaveAvailable(cpu);
        long requested = requested(cpu);
        int size = imageBytes(requested);
        long a = aligned(cpu, insn, size, 64, true);
        cpu.checkWrite(a, size);
        long inUse = inUse(cpu);
        long written = optimise ? requested & inUse : requested;
        long old = cpu.load64(a + XSTATE_BV);
        if ((written & XCR0_X87) != 0) {
            saveX87(cpu, insn, a);
        }
        if ((requested & (XCR0_SSE | XCR0_AVX)) != 0) {
            saveMxcsr(cpu, a);
        }
        if ((written & XCR0_SSE) != 0) {
            saveXmm(cpu, insn, a);
        }
        if ((written & XCR0_AVX) != 0) {
            saveUpper(cpu, insn, a);
        }
        cpu.store64(a + XSTATE_BV, old & ~requested | requested & inUse);
    }

    /** XSAVEC: the compacted format, which for our components has the same offsets. */
    public static void xsavec(Cpu cpu, Insn insn) {
        xsaveAvailable(cpu);
        long requested = requested(cpu);
        int size = imageBytes(requested);
        long a = aligned(cpu, insn, size, 64, true);
        cpu.checkWrite(a, size);
        long inUse = inUse(cpu);
        if (cpu.fpu.mxcsr() != MxcsrArithmetic.MXCSR_RESET) {
            inUse |= XCR0_SSE;
        }
        long written = requested & inUse;
        if ((written & XCR0_X87) != 0) {
            saveX87(cpu, insn, a);
        }
        if ((written & XCR0_SSE) != 0) {
            saveMxcsr(cpu, a);
            saveXmm(cpu, insn, a);
        }
        if ((written & XCR0_AVX) != 0) {
            saveUpper(cpu, insn, a);
        }
        cpu.store64(a + XSTATE_BV, written);
        cpu.store64(a + XCOMP_BV, requested | COMPACTED);
    }

    private static void saveUpper(Cpu cpu, Insn insn, long a) {
        long[] v = cpu.fpu.ymm;
        for (int i = 0; i < registers(insn); i++) {
            cpu.store64(a + AVX_OFFSET + 16 * i, v[4 * i + 2]);
            cpu.store64(a + AVX_OFFSET + 16 * i + 8, v[4 * i + 3]);
        }
    }

    /** XRSTOR. */
    public static void xrstor(Cpu cpu, Insn insn) {
        xsaveAvailable(cpu);
        long requested = requested(cpu);
        int size = imageBytes(requested);
        long a = aligned(cpu, insn, size, 64, false);
        cpu.checkRead(a, AVX_OFFSET);
        long present = cpu.load64(a + XSTATE_BV);
        long compaction = cpu.load64(a + XCOMP_BV);
        boolean compacted = compaction < 0;
        long reserved = 0;
        for (int i = compacted ? 16 : 8; i < 64; i += 8) {
            // Bytes 24 to 63 of the header are ignored in the standard format.
            if (compacted || i < 24) {
                reserved |= cpu.load64(a + XSTATE_BV + i);
            }
        }
        if (reserved != 0
                || (present & ~cpu.xcr0) != 0
                || (compacted && ((compaction & ~COMPACTED & ~cpu.xcr0) != 0 || (present & ~compaction) != 0))) {
            throw cpu.gp();
        }
        long loaded = requested & present;
        boolean loadsMxcsr = compacted ? (loaded & XCR0_SSE) != 0 : (requested & (XCR0_SSE | XCR0_AVX)) != 0;
        int mxcsr = loadsMxcsr ? checkedMxcsr(cpu, a) : MxcsrArithmetic.MXCSR_RESET;
        cpu.checkRead(a, imageBytes(loaded));
        if ((requested & XCR0_X87) != 0) {
            if ((loaded & XCR0_X87) != 0) {
                loadX87(cpu, insn, a);
            } else {
                X87Unit unit = cpu.fpu.x87;
                unit.init();
                for (int i = 0; i < 8; i++) {
                    unit.register(i, 0, 0);
                }
            }
        }
        if (loadsMxcsr || (compacted && (requested & XCR0_SSE) != 0)) {
            cpu.fpu.mxcsr(mxcsr);
        }
        long[] v = cpu.fpu.ymm;
        if ((requested & XCR0_SSE) != 0) {
            if ((loaded & XCR0_SSE) != 0) {
                loadXmm(cpu, insn, a);
            } else {
                for (int i = 0; i < registers(insn); i++) {
                    v[4 * i] = 0;
                    v[4 * i + 1] = 0;
                }
            }
        }
        if ((requested & XCR0_AVX) != 0) {
            boolean load = (loaded & XCR0_AVX) != 0;
            for (int i = 0; i < registers(insn); i++) {
                v[4 * i + 2] = load ? cpu.load64(a + AVX_OFFSET + 16 * i) : 0;
                v[4 * i + 3] = load ? cpu.load64(a + AVX_OFFSET + 16 * i + 8) : 0;
            }
        }
    }

    // ---------------------------------------------------------------- MXCSR

    /** LDMXCSR. */
    public static void ldmxcsr(Cpu cpu, Insn insn) {
        int value = cpu.load32(cpu.address(insn, 4, false));
        if ((value & ~MxcsrArithmetic.MXCSR_MASK) != 0) {
            throw cpu.gp();
        }
        cpu.fpu.mxcsr(value);
    }

    /** STMXCSR. */
    public static void stmxcsr(Cpu cpu, Insn insn) {
        cpu.store32(cpu.address(insn, 4, true), cpu.fpu.mxcsr());
    }
}
