package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.CpuFeatures;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.benchtop.softcpu.fp.FpuState;
import org.benchtop.softcpu.fp.MxcsrArithmetic;
import org.benchtop.softcpu.fp.X87Unit;
import org.jspecify.annotations.Nullable;

/** Instructions that move data between vector registers, memory and general registers (Intel SDM vol. 2). */
final class Moves {
    private Moves() {}

    private static int feature(Insn in, int legacy) {
        return in.vex ? CpuFeatures.AVX : legacy;
    }

    private static boolean unused(Insn in) {
        return in.vex && in.vvvv != 0;
    }

    /** VEX.128 or legacy only. */
    private static boolean is256(Insn in) {
        return in.vexL != 0;
    }

    /** A whole register from a register or memory. */
    static @Nullable InsnHandler load(Insn in, int legacy, boolean aligned) {
        if (unused(in)) {
            return null;
        }
        int f = feature(in, legacy);
        int size = is256(in) ? 32 : 16;
        int d = Vector.reg(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, size, aligned);
            copy(insn, v, d, b, size);
        };
    }

    private static void copy(Insn in, long[] v, int d, int b, int size) {
        v[d] = v[b];
        v[d + 1] = v[b + 1];
        if (size == 32) {
            v[d + 2] = v[b + 2];
            v[d + 3] = v[b + 3];
        } else if (in.vex) {
            Vector.clearUpper(v, d);
        }
    }

    /** A whole register to a register or memory. */
    static @Nullable InsnHandler store(Insn in, int legacy, boolean aligned) {
        if (unused(in)) {
            return null;
        }
        int f = feature(in, legacy);
        int size = is256(in) ? 32 : 16;
        int from = Vector.reg(in);
        int to = in.rm << 2;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            if (insn.memory) {
                Vector.store(cpu, insn, v, from, size, aligned);
            } else {
                copy(insn, v, to, from, size);
            }
        };
    }

    /** MOVNTPS and its kin: memory only. */
    static @Nullable InsnHandler storeMemory(Insn in, int legacy) {
        return in.memory ? store(in, legacy, true) : null;
    }

    /** MOVSS and MOVSD from memory, or between registers. */
    static @Nullable InsnHandler loadScalar(Insn in, int legacy, int size) {
        int f = feature(in, legacy);
        int d = Vector.reg(in);
        if (in.memory) {
            if (unused(in)) {
                return null;
            }
            return (cpu, insn) -> {
                long[] v = Vector.enter(cpu, f, insn.vex);
                v[d] = cpu.load(cpu.address(insn, size, false), size);
                v[d + 1] = 0;
                if (insn.vex) {
                    Vector.clearUpper(v, d);
                }
            };
        }
        return merge(in, f, d, Vector.first(in), in.rm << 2, size);
    }

    private static InsnHandler merge(Insn in, int f, int d, int a, int b, int size) {
        long mask = size == 4 ? 0xffff_ffffL : -1;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            v[d] = v[a] & ~mask | v[b] & mask;
            v[d + 1] = v[a + 1];
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    /** MOVSS and MOVSD to memory, or between registers. */
    static @Nullable InsnHandler storeScalar(Insn in, int legacy, int size) {
        int f = feature(in, legacy);
        int from = Vector.reg(in);
        if (!in.memory) {
            int d = in.rm << 2;
            return merge(in, f, d, in.vex ? in.vvvv << 2 : d, from, size);
        }
        return unused(in) ? null : storeWord(in, f, from, size);
    }

    private static InsnHandler storeWord(Insn in, int f, int from, int size) {
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            cpu.store(cpu.address(insn, size, true), size, v[from]);
        };
    }

    /** MOVLPS, MOVLPD and MOVHLPS. */
    static @Nullable InsnHandler loadLow(Insn in, int legacy) {
        if (is256(in) || (!in.memory && in.pp != Insn.PP_NONE)) {
            return null;
        }
        return halves(in, feature(in, legacy), false);
    }

    /** MOVHPS, MOVHPD and MOVLHPS. */
    static @Nullable InsnHandler loadHigh(Insn in, int legacy) {
        if (is256(in) || (!in.memory && in.pp != Insn.PP_NONE)) {
            return null;
        }
        return halves(in, feature(in, legacy), true);
    }

    private static InsnHandler halves(Insn in, int f, boolean high) {
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int b = in.memory ? FpuState.MEMORY_OPERAND : high ? in.rm << 2 : (in.rm << 2) + 1;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, 8, false);
            long x = v[b];
            long y = high ? v[a] : v[a + 1];
            v[d] = high ? y : x;
            v[d + 1] = high ? x : y;
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    /** MOVLPS and MOVHPS to memory. */
    static @Nullable InsnHandler storeHalf(Insn in, int legacy, boolean high) {
        if (!in.memory || is256(in) || unused(in)) {
            return null;
        }
        return storeWord(in, feature(in, legacy), Vector.reg(in) + (high ? 1 : 0), 8);
    }

    /** MOVQ xmm, xmm/m64. */
    static @Nullable InsnHandler loadQuad(Insn in) {
        if (is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE2);
        int d = Vector.reg(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, 8, false);
            v[d] = v[b];
            v[d + 1] = 0;
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    /** MOVQ xmm/m64, xmm. */
    static @Nullable InsnHandler storeQuad(Insn in) {
        if (is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE2);
        int from = Vector.reg(in);
        if (in.memory) {
            return storeWord(in, f, from, 8);
        }
        int to = in.rm << 2;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            v[to] = v[from];
            v[to + 1] = 0;
            if (insn.vex) {
                Vector.clearUpper(v, to);
            }
        };
    }

    /** MOVD and MOVQ from a general register or memory. */
    static @Nullable InsnHandler fromGeneral(Insn in) {
        if (is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE2);
        int d = Vector.reg(in);
        int size = Vector.wide(in) ? 8 : 4;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            v[d] = cpu.readRm(insn, size);
            v[d + 1] = 0;
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    /** MOVD and MOVQ to a general register or memory. */
    static @Nullable InsnHandler toGeneral(Insn in) {
        if (is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE2);
        int from = Vector.reg(in);
        int size = Vector.wide(in) ? 8 : 4;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            cpu.writeRm(insn, size, v[from]);
        };
    }

    // ---------------------------------------------------------------- MMX

    static void mmxFromGeneral(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.MMX);
        long value = cpu.readRm(in, Vector.wide(in) ? 8 : 4);
        unit.enterMmx();
        unit.mmx(in.reg & 7, value);
    }

    static void mmxToGeneral(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.MMX);
        cpu.writeRm(in, Vector.wide(in) ? 8 : 4, unit.mmx(in.reg & 7));
        unit.enterMmx();
    }

    static void mmxLoad(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.MMX);
        long value = MmxHandler.source(cpu, in, unit, 8);
        unit.enterMmx();
        unit.mmx(in.reg & 7, value);
    }

    static void mmxStore(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.MMX);
        long value = unit.mmx(in.reg & 7);
        if (in.memory) {
            cpu.store64(cpu.address(in, 8, true), value);
        }
        unit.enterMmx();
        if (!in.memory) {
            unit.mmx(in.rm & 7, value);
        }
    }

    static void emms(Cpu cpu, Insn in) {
        Vector.mmx(cpu, CpuFeatures.MMX).emms();
    }

    static void movq2dq(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.SSE2);
        long[] v = Vector.sse(cpu);
        int d = Vector.reg(in);
        v[d] = unit.mmx(in.rm & 7);
        v[d + 1] = 0;
        unit.enterMmx();
    }

    static void movdq2q(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.SSE2);
        long[] v = Vector.sse(cpu);
        unit.enterMmx();
        unit.mmx(in.reg & 7, v[in.rm << 2]);
    }

    static void pmovmskbMmx(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.SSE);
        unit.enterMmx();
        cpu.r[in.reg] = PackedInteger.signs8(unit.mmx(in.rm & 7));
    }

    static void pinsrwMmx(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.SSE);
        long value = in.memory ? cpu.load16(cpu.address(in, 2, false)) : cpu.r[in.rm];
        int shift = 16 * ((int) in.imm & 3);
        int d = in.reg & 7;
        unit.enterMmx();
        unit.mmx(d, unit.mmx(d) & ~(0xffffL << shift) | (value & 0xffff) << shift);
    }

    static void pextrwMmx(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.SSE);
        unit.enterMmx();
        cpu.r[in.reg] = unit.mmx(in.rm & 7) >>> 16 * ((int) in.imm & 3) & 0xffff;
    }

    static void maskmovq(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, CpuFeatures.SSE);
        long value = unit.mmx(in.reg & 7);
        long mask = unit.mmx(in.rm & 7);
        maskedBytes(cpu, in, value, mask, 0);
        unit.enterMmx();
    }

    static @Nullable InsnHandler maskmovdqu(Insn in) {
        if (in.memory || is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE2);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            int b = insn.rm << 2;
            int d = Vector.reg(insn);
            // The upper half first touches nothing that the lower one could still fault on, once both are writable.
            for (int i = 0; i < 16; i++) {
                if ((v[b + (i >> 3)] >>> 8 * (i & 7) & 0x80) != 0) {
                    cpu.checkWrite(byteAddress(cpu, insn, i), 1);
                }
            }
            maskedBytes(cpu, insn, v[d], v[b], 0);
            maskedBytes(cpu, insn, v[d + 1], v[b + 1], 8);
        };
    }

    private static long byteAddress(Cpu cpu, Insn in, int i) {
        long offset = cpu.r[Cpu.RDI] + i;
        offset = in.addressSize == 8 ? offset : in.addressSize == 4 ? offset & 0xffff_ffffL : offset & 0xffff;
        return cpu.linear(in.seg, offset, 1, true);
    }

    private static void maskedBytes(Cpu cpu, Insn in, long value, long mask, int offset) {
        for (int i = 0; i < 8; i++) {
            if ((mask >>> 8 * i & 0x80) != 0) {
                cpu.checkWrite(byteAddress(cpu, in, offset + i), 1);
            }
        }
        for (int i = 0; i < 8; i++) {
            if ((mask >>> 8 * i & 0x80) != 0) {
                cpu.store8(byteAddress(cpu, in, offset + i), (int) (value >>> 8 * i) & 0xff);
            }
        }
    }

    // ---------------------------------------------------------------- elements

    /** PINSRB, PINSRW, PINSRD and PINSRQ. */
    static @Nullable InsnHandler insert(Insn in, int legacy, int size) {
        if (is256(in)) {
            return null;
        }
        int f = feature(in, legacy);
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int at = (int) in.imm & 16 / size - 1;
        int word = at * size >> 3;
        int shift = at * size * 8 & 63;
        long mask = size == 8 ? -1 : (1L << 8 * size) - 1;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            long value = insn.memory ? cpu.load(cpu.address(insn, size, false), size) : cpu.r[insn.rm];
            long low = v[a];
            long high = v[a + 1];
            long old = word == 0 ? low : high;
            long changed = old & ~(mask << shift) | (value & mask) << shift;
            v[d] = word == 0 ? changed : low;
            v[d + 1] = word == 0 ? high : changed;
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    /** PEXTRB, PEXTRW, PEXTRD, PEXTRQ and EXTRACTPS, to ModRM.rm. */
    static @Nullable InsnHandler extract(Insn in, int legacy, int size) {
        if (is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, legacy);
        int from = Vector.reg(in);
        int at = (int) in.imm & 16 / size - 1;
        int word = from + (at * size >> 3);
        int shift = at * size * 8 & 63;
        long mask = size == 8 ? -1 : (1L << 8 * size) - 1;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            long value = v[word] >>> shift & mask;
            if (insn.memory) {
                cpu.store(cpu.address(insn, size, true), size, value);
            } else {
                cpu.r[insn.rm] = value;
            }
        };
    }

    /** PEXTRW of the two-byte map: from ModRM.rm to ModRM.reg. */
    static @Nullable InsnHandler pextrw(Insn in) {
        if (in.memory || is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE2);
        int at = (int) in.imm & 7;
        int word = (in.rm << 2) + (at >> 2);
        int shift = 16 * (at & 3);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            cpu.r[insn.reg] = v[word] >>> shift & 0xffff;
        };
    }

    static @Nullable InsnHandler insertps(Insn in) {
        if (is256(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE4_1);
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int imm = (int) in.imm;
        int to = imm >> 4 & 3;
        int select = imm >> 6 & 3;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            long value = insn.memory
                    ? cpu.load(cpu.address(insn, 4, false), 4)
                    : v[(insn.rm << 2) + (select >> 1)] >>> 32 * (select & 1) & 0xffff_ffffL;
            long low = v[a];
            long high = v[a + 1];
            int shift = 32 * (to & 1);
            if (to < 2) {
                low = low & ~(0xffff_ffffL << shift) | value << shift;
            } else {
                high = high & ~(0xffff_ffffL << shift) | value << shift;
            }
            v[d] = low & ~zeros(imm);
            v[d + 1] = high & ~zeros(imm >> 2);
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    private static long zeros(int bits) {
        return ((bits & 1) != 0 ? 0xffff_ffffL : 0) | ((bits & 2) != 0 ? 0xffff_ffff_0000_0000L : 0);
    }

    // ---------------------------------------------------------------- masks

    private static int signs(long[] v, int b, int pp) {
        if (pp == Insn.PP_66) {
            return (int) (v[b] >>> 63 | v[b + 1] >>> 63 << 1);
        }
        return (int) (v[b] >>> 31 & 1 | v[b] >>> 63 << 1 | (v[b + 1] >>> 31 & 1) << 2 | v[b + 1] >>> 63 << 3);
    }

    /** MOVMSKPS and MOVMSKPD. */
    static @Nullable InsnHandler movmsk(Insn in, int legacy) {
        if (in.memory || unused(in)) {
            return null;
        }
        int f = feature(in, legacy);
        int b = in.rm << 2;
        int pp = in.pp;
        boolean wide = is256(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            int mask = signs(v, b, pp);
            if (wide) {
                mask |= signs(v, b + 2, pp) << (pp == Insn.PP_66 ? 2 : 4);
            }
            cpu.r[insn.reg] = mask;
        };
    }

    static @Nullable InsnHandler pmovmskb(Insn in) {
        if (in.memory || unused(in)) {
            return null;
        }
        boolean wide = is256(in);
        int f = wide ? CpuFeatures.AVX2 : feature(in, CpuFeatures.SSE2);
        int b = in.rm << 2;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            long mask = PackedInteger.signs8(v[b]) | (long) PackedInteger.signs8(v[b + 1]) << 8;
            if (wide) {
                mask |= (long) PackedInteger.signs8(v[b + 2]) << 16 | (long) PackedInteger.signs8(v[b + 3]) << 24;
            }
            cpu.r[insn.reg] = mask;
        };
    }

    /** PTEST ({@code mask} all ones), VTESTPS and VTESTPD (the sign bits). */
    static @Nullable InsnHandler test(Insn in, int legacy, long mask) {
        if (unused(in)) {
            return null;
        }
        int f = feature(in, legacy);
        boolean wide = is256(in);
        int a = Vector.reg(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, wide ? 32 : 16, !insn.vex);
            long and = v[a] & v[b] | v[a + 1] & v[b + 1];
            long andNot = ~v[a] & v[b] | ~v[a + 1] & v[b + 1];
            if (wide) {
                and |= v[a + 2] & v[b + 2] | v[a + 3] & v[b + 3];
                andNot |= ~v[a + 2] & v[b + 2] | ~v[a + 3] & v[b + 3];
            }
            cpu.setStatus(((and & mask) == 0 ? 0x40 : 0) | ((andNot & mask) == 0 ? 1 : 0));
        };
    }

    // ---------------------------------------------------------------- scalar comparison and conversion

    /** COMISS, UCOMISS, COMISD and UCOMISD. */
    static @Nullable InsnHandler comi(Insn in, boolean quiet) {
        if (unused(in)) {
            return null;
        }
        boolean binary64 = in.pp == Insn.PP_66;
        int f = feature(in, binary64 ? CpuFeatures.SSE2 : CpuFeatures.SSE);
        int a = Vector.reg(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, binary64 ? 8 : 4, false);
            MxcsrArithmetic m = cpu.fpu.sse;
            m.begin();
            int flags = binary64 ? m.comi64(v[a], v[b], quiet) : m.comi32((int) v[a], (int) v[b], quiet);
            if (!m.finish()) {
                throw Vector.floatException(cpu);
            }
            cpu.setStatus(flags);
        };
    }

    /** CVTSI2SS and CVTSI2SD. */
    static InsnHandler fromInteger(Insn in, boolean binary64) {
        int f = feature(in, binary64 ? CpuFeatures.SSE2 : CpuFeatures.SSE);
        int d = Vector.reg(in);
        int a = Vector.first(in);
        boolean wide = Vector.wide(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            long x = cpu.readRm(insn, wide ? 8 : 4);
            MxcsrArithmetic m = cpu.fpu.sse;
            m.begin();
            long r;
            if (binary64) {
                r = wide ? m.fromLong64(x) : MxcsrArithmetic.fromInt64((int) x);
            } else {
                int single = wide ? m.fromLong32(x) : m.fromInt32((int) x);
                r = v[a] & 0xffff_ffff_0000_0000L | single & 0xffff_ffffL;
            }
            if (!m.finish()) {
                throw Vector.floatException(cpu);
            }
            v[d] = r;
            v[d + 1] = v[a + 1];
            if (insn.vex) {
                Vector.clearUpper(v, d);
            }
        };
    }

    /** CVTSS2SI, CVTTSS2SI, CVTSD2SI and CVTTSD2SI. */
    static @Nullable InsnHandler toInteger(Insn in, boolean binary64, boolean truncate) {
        if (unused(in)) {
            return null;
        }
        int f = feature(in, binary64 ? CpuFeatures.SSE2 : CpuFeatures.SSE);
        int b = Vector.rm(in);
        boolean wide = Vector.wide(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, binary64 ? 8 : 4, false);
            MxcsrArithmetic m = cpu.fpu.sse;
            m.begin();
            long r;
            if (binary64) {
                r = wide ? m.toLong64(v[b], truncate) : m.toInt64(v[b], truncate) & 0xffff_ffffL;
            } else {
                r = wide ? m.toLong32((int) v[b], truncate) : m.toInt32((int) v[b], truncate) & 0xffff_ffffL;
            }
            if (!m.finish()) {
                throw Vector.floatException(cpu);
            }
            cpu.r[insn.reg] = r;
        };
    }

    /** CVTPI2PS and CVTPI2PD. */
    static InsnHandler fromMmx(boolean binary64) {
        return (cpu, in) -> {
            long[] v = Vector.enter(cpu, binary64 ? CpuFeatures.SSE2 : CpuFeatures.SSE, false);
            X87Unit unit = cpu.fpu.x87;
            if (!in.memory || !binary64) {
                unit = Vector.mmx(cpu, CpuFeatures.MMX);
            }
            long x = MmxHandler.source(cpu, in, unit, 8);
            if (!in.memory) {
                // Even if #XM follows.
                unit.enterMmx();
            }
            int d = Vector.reg(in);
            MxcsrArithmetic m = cpu.fpu.sse;
            if (binary64) {
                v[d] = MxcsrArithmetic.fromInt64((int) x);
                v[d + 1] = MxcsrArithmetic.fromInt64((int) (x >>> 32));
            } else {
                m.begin();
                long r = m.fromInt32((int) x) & 0xffff_ffffL | (long) m.fromInt32((int) (x >>> 32)) << 32;
                if (!m.finish()) {
                    throw Vector.floatException(cpu);
                }
                v[d] = r;
            }
        };
    }

    /** CVTPS2PI, CVTTPS2PI, CVTPD2PI and CVTTPD2PI. */
    static InsnHandler toMmx(boolean binary64, boolean truncate) {
        return (cpu, in) -> {
            long[] v = Vector.enter(cpu, binary64 ? CpuFeatures.SSE2 : CpuFeatures.SSE, false);
            X87Unit unit = Vector.mmx(cpu, CpuFeatures.MMX);
            Vector.load(cpu, in, v, binary64 ? 16 : 8, binary64);
            int b = Vector.rm(in);
            // Even if #XM follows.
            unit.enterMmx();
            MxcsrArithmetic m = cpu.fpu.sse;
            m.begin();
            int low = binary64 ? m.toInt64(v[b], truncate) : m.toInt32((int) v[b], truncate);
            int high = binary64 ? m.toInt64(v[b + 1], truncate) : m.toInt32((int) (v[b] >>> 32), truncate);
            if (!m.finish()) {
                throw Vector.floatException(cpu);
            }
            unit.mmx(in.reg & 7, low & 0xffff_ffffL | (long) high << 32);
        };
    }

    // ---------------------------------------------------------------- strings

    /** PCMPESTRM (60), PCMPESTRI (61), PCMPISTRM (62) and PCMPISTRI (63). */
    static @Nullable InsnHandler compareStrings(Insn in) {
        if (is256(in) || unused(in)) {
            return null;
        }
        int f = feature(in, CpuFeatures.SSE4_2);
        boolean implicit = (in.opcode & 2) != 0;
        boolean index = (in.opcode & 1) != 0;
        boolean wide = Vector.wide(in);
        int a = Vector.reg(in);
        int b = Vector.rm(in);
        int imm = (int) in.imm & 0xff;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, 16, false);
            int aLength;
            int bLength;
            if (implicit) {
                aLength = StringCompare.implicitLength(v[a], v[a + 1], imm);
                bLength = StringCompare.implicitLength(v[b], v[b + 1], imm);
            } else {
                long ax = cpu.r[Cpu.RAX];
                long dx = cpu.r[Cpu.RDX];
                aLength = StringCompare.explicitLength(wide ? ax : (int) ax, imm);
                bLength = StringCompare.explicitLength(wide ? dx : (int) dx, imm);
            }
            int result = StringCompare.compare(v[a], v[a + 1], aLength, v[b], v[b + 1], bLength, imm);
            if (index) {
                cpu.r[Cpu.RCX] = StringCompare.index(result, imm);
            } else {
                v[0] = StringCompare.mask(result, imm, false);
                v[1] = StringCompare.mask(result, imm, true);
                if (insn.vex) {
                    Vector.clearUpper(v, 0);
                }
            }
            cpu.setStatus(StringCompare.flags(result, aLength, bLength, imm));
        };
    }
}
