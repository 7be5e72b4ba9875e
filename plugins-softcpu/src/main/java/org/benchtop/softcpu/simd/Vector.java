package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.fp.FpuState;
import org.benchtop.softcpu.fp.X87Unit;

/** What vector instructions have in common: who may execute them, and their memory operands. */
final class Vector {
    private static final long XCR0_SSE_AVX = 6;

    private Vector() {}

    /** Checks for legacy SSE (Intel SDM vol. 3, table 13-1); returns the register file. */
    static long[] sse(Cpu cpu) {
        if ((cpu.cr0 & Cpu.CR0_EM) != 0 || (cpu.cr4 & Cpu.CR4_OSFXSR) == 0) {
            throw cpu.ud();
        }
        if ((cpu.cr0 & Cpu.CR0_TS) != 0) {
            throw cpu.nm();
        }
        return cpu.fpu.ymm;
    }

    /** Checks for VEX-encoded instructions; returns the register file. */
    static long[] avx(Cpu cpu) {
        if ((cpu.cr4 & Cpu.CR4_OSXSAVE) == 0 || (cpu.xcr0 & XCR0_SSE_AVX) != XCR0_SSE_AVX) {
            throw cpu.ud();
        }
        if ((cpu.cr0 & Cpu.CR0_TS) != 0) {
            throw cpu.nm();
        }
        return cpu.fpu.ymm;
    }

    /** Checks the feature and the operating system's consent; returns the register file. */
    static long[] enter(Cpu cpu, int feature, boolean vex) {
        if (!cpu.features.has(feature)) {
            throw cpu.ud();
        }
        return vex ? avx(cpu) : sse(cpu);
    }

    /** Checks for MMX; returns the x87 stack. The caller enters MMX mode after its last possible fault. */
    static X87Unit mmx(Cpu cpu, int feature) {
        if ((cpu.cr0 & Cpu.CR0_EM) != 0 || !cpu.features.has(feature)) {
            throw cpu.ud();
        }
        if ((cpu.cr0 & Cpu.CR0_TS) != 0) {
            throw cpu.nm();
        }
        X87Unit unit = cpu.fpu.x87;
        if ((unit.statusWord() & 0x80) != 0 && (cpu.cr0 & Cpu.CR0_NE) != 0) {
            throw cpu.mf();
        }
        return unit;
    }

    /** The first word of ModRM.reg. */
    static int reg(Insn in) {
        return in.reg << 2;
    }

    /** The first word of VEX.vvvv, or of ModRM.reg in legacy encodings. */
    static int first(Insn in) {
        return (in.vex ? in.vvvv : in.reg) << 2;
    }

    /** The first word of ModRM.rm: a register, or where {@link #load} puts memory. */
    static int rm(Insn in) {
        return in.memory ? FpuState.MEMORY_OPERAND : in.rm << 2;
    }

    /** Loads a memory operand, zero-extended to its register size; does nothing for a register operand. */
    static void load(Cpu cpu, Insn in, long[] v, int size, boolean aligned) {
        if (!in.memory) {
            return;
        }
        long a = cpu.address(in, size, false);
        if (aligned && (a & size - 1) != 0) {
            throw cpu.gp();
        }
        int m = FpuState.MEMORY_OPERAND;
        switch (size) {
            case 32 -> {
                v[m] = cpu.load64(a);
                v[m + 1] = cpu.load64(a + 8);
                v[m + 2] = cpu.load64(a + 16);
                v[m + 3] = cpu.load64(a + 24);
            }
            case 16 -> {
                v[m] = cpu.load64(a);
                v[m + 1] = cpu.load64(a + 8);
            }
            default -> {
                v[m] = cpu.load(a, size);
                v[m + 1] = 0;
            }
        }
    }

    /** Stores so many bytes of the register file. */
    static void store(Cpu cpu, Insn in, long[] v, int from, int size, boolean aligned) {
        long a = cpu.address(in, size, true);
        if (aligned && (a & size - 1) != 0) {
            throw cpu.gp();
        }
        if (size <= 8) {
            cpu.store(a, size, v[from]);
            return;
        }
        cpu.checkWrite(a, size);
        for (int i = 0; i < size; i += 8) {
            cpu.store64(a + i, v[from + (i >> 3)]);
        }
    }

    /** Clears what a VEX-encoded instruction of 128 bits clears. */
    static void clearUpper(long[] v, int d) {
        v[d + 2] = 0;
        v[d + 3] = 0;
    }

    /** #XM, or #UD where the operating system does not handle it. */
    static RuntimeException floatException(Cpu cpu) {
        return (cpu.cr4 & Cpu.CR4_OSXMMEXCPT) != 0 ? cpu.xm() : cpu.ud();
    }

    /** Whether a GPR operand has 64 bits. */
    static boolean wide(Insn in) {
        return in.w && in.mode64();
    }
}
