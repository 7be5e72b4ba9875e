package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.CpuFeatures;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.benchtop.softcpu.fp.FpuState;
import org.benchtop.softcpu.fp.MxcsrArithmetic;
import org.jspecify.annotations.Nullable;

/** Instructions that only VEX encodes and that cross lanes or access memory by masks (Intel SDM vol. 2). */
final class Avx {
    private static final int C = FpuState.COPY;

    private Avx() {}

    /** VZEROUPPER and VZEROALL. */
    static @Nullable InsnHandler vzero(Insn in) {
        if (in.vvvv != 0) {
            return null;
        }
        boolean all = in.vexL != 0;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, CpuFeatures.AVX, true);
            int registers = insn.mode64() ? 64 : 32;
            for (int i = 0; i < registers; i += 4) {
                if (all) {
                    v[i] = 0;
                    v[i + 1] = 0;
                }
                v[i + 2] = 0;
                v[i + 3] = 0;
            }
        };
    }

    /** VBROADCASTSS, VBROADCASTSD and VPBROADCASTB/W/D/Q: from memory or the lowest element. */
    static @Nullable InsnHandler broadcast(Insn in, int bits, boolean integer) {
        if (in.vvvv != 0 || in.w || (bits == 64 && !integer && in.vexL == 0)) {
            return null;
        }
        int f = integer || !in.memory ? CpuFeatures.AVX2 : CpuFeatures.AVX;
        int d = Vector.reg(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, true);
            Vector.load(cpu, insn, v, bits / 8, false);
            long x = v[b];
            x = switch (bits) {
                case 8 -> (x & 0xff) * 0x0101_0101_0101_0101L;
                case 16 -> (x & 0xffff) * 0x0001_0001_0001_0001L;
                case 32 -> x & 0xffff_ffffL | x << 32;
                default -> x;
            };
            v[d] = x;
            v[d + 1] = x;
            boolean wide = insn.vexL != 0;
            v[d + 2] = wide ? x : 0;
            v[d + 3] = wide ? x : 0;
        };
    }

    /** VBROADCASTF128 and VBROADCASTI128. */
    static @Nullable InsnHandler broadcast128(Insn in, int feature) {
        if (!in.memory || in.vexL == 0 || in.vvvv != 0 || in.w) {
            return null;
        }
        int d = Vector.reg(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, feature, true);
            Vector.load(cpu, insn, v, 16, false);
            long low = v[FpuState.MEMORY_OPERAND];
            long high = v[FpuState.MEMORY_OPERAND + 1];
            v[d] = low;
            v[d + 1] = high;
            v[d + 2] = low;
            v[d + 3] = high;
        };
    }

    /** VINSERTF128 and VINSERTI128. */
    static @Nullable InsnHandler insert128(Insn in, int feature) {
        if (in.vexL == 0 || in.w) {
            return null;
        }
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int b = Vector.rm(in);
        boolean upper = (in.imm & 1) != 0;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, feature, true);
            Vector.load(cpu, insn, v, 16, false);
            long x0 = v[b];
            long x1 = v[b + 1];
            long y0 = upper ? v[a] : v[a + 2];
            long y1 = upper ? v[a + 1] : v[a + 3];
            v[d] = upper ? y0 : x0;
            v[d + 1] = upper ? y1 : x1;
            v[d + 2] = upper ? x0 : y0;
            v[d + 3] = upper ? x1 : y1;
        };
    }

    /** VEXTRACTF128 and VEXTRACTI128. */
    static @Nullable InsnHandler extract128(Insn in, int feature) {
        if (in.vexL == 0 || in.w || in.vvvv != 0) {
            return null;
        }
        int from = Vector.reg(in) + ((in.imm & 1) != 0 ? 2 : 0);
        int to = in.rm << 2;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, feature, true);
            if (insn.memory) {
                Vector.store(cpu, insn, v, from, 16, false);
            } else {
                v[to] = v[from];
                v[to + 1] = v[from + 1];
                Vector.clearUpper(v, to);
            }
        };
    }

    /** VPERM2F128 and VPERM2I128. */
    static @Nullable InsnHandler permute128(Insn in, int feature) {
        if (in.vexL == 0 || in.w) {
            return null;
        }
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int b = Vector.rm(in);
        int imm = (int) in.imm;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, feature, true);
            Vector.load(cpu, insn, v, 32, false);
            int low = ((imm & 2) != 0 ? b : a) + (imm & 1) * 2;
            int high = ((imm >> 4 & 2) != 0 ? b : a) + (imm >> 4 & 1) * 2;
            boolean lowZero = (imm & 8) != 0;
            boolean highZero = (imm & 0x80) != 0;
            long r0 = lowZero ? 0 : v[low];
            long r1 = lowZero ? 0 : v[low + 1];
            long r2 = highZero ? 0 : v[high];
            long r3 = highZero ? 0 : v[high + 1];
            set(v, d, r0, r1, r2, r3);
        };
    }

    private static void set(long[] v, int d, long r0, long r1, long r2, long r3) {
        v[d] = r0;
        v[d + 1] = r1;
        v[d + 2] = r2;
        v[d + 3] = r3;
    }

    /** VPERMQ and VPERMPD. */
    static @Nullable InsnHandler permuteQuads(Insn in) {
        if (in.vexL == 0 || !in.w || in.vvvv != 0) {
            return null;
        }
        int d = Vector.reg(in);
        int b = Vector.rm(in);
        int imm = (int) in.imm;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, CpuFeatures.AVX2, true);
            Vector.load(cpu, insn, v, 32, false);
            set(v, d, v[b + (imm & 3)], v[b + (imm >> 2 & 3)], v[b + (imm >> 4 & 3)], v[b + (imm >> 6 & 3)]);
        };
    }

    private static long element32(long[] v, int b, long i) {
        return v[b + ((int) i >> 1 & 3)] >>> 32 * (i & 1) & 0xffff_ffffL;
    }

    /** VPERMD and VPERMPS: the first operand selects. */
    static @Nullable InsnHandler permuteDoubles(Insn in) {
        if (in.vexL == 0 || in.w) {
            return null;
        }
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, CpuFeatures.AVX2, true);
            Vector.load(cpu, insn, v, 32, false);
            for (int i = 0; i < 4; i++) {
                v[C + i] = element32(v, b, v[a + i]) | element32(v, b, v[a + i] >>> 32) << 32;
            }
            set(v, d, v[C], v[C + 1], v[C + 2], v[C + 3]);
        };
    }

    /** VBLENDVPS, VBLENDVPD and VPBLENDVB: the mask register is in the immediate. */
    static @Nullable InsnHandler blend(Insn in, int bits) {
        if (in.w) {
            return null;
        }
        boolean wide = in.vexL != 0;
        int f = bits == 8 && wide ? CpuFeatures.AVX2 : CpuFeatures.AVX;
        int d = Vector.reg(in);
        int a = Vector.first(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, true);
            Vector.load(cpu, insn, v, wide ? 32 : 16, false);
            int mask = ((int) insn.imm >> 4 & (insn.mode64() ? 15 : 7)) << 2;
            for (int i = 0; i < (wide ? 4 : 2); i++) {
                v[C + i] = blendWord(bits, v[a + i], v[b + i], v[mask + i]);
            }
            set(v, d, v[C], v[C + 1], wide ? v[C + 2] : 0, wide ? v[C + 3] : 0);
        };
    }

    private static long blendWord(int bits, long a, long b, long mask) {
        return switch (bits) {
            case 8 -> PackedInteger.blend8(a, b, mask);
            case 32 -> PackedInteger.blend32(a, b, mask);
            default -> PackedInteger.blend64(a, b, mask);
        };
    }

    /** PBLENDVB, BLENDVPS and BLENDVPD: the mask is XMM0. */
    static @Nullable InsnHandler blendLegacy(Insn in, int bits) {
        if (in.vex) {
            return null;
        }
        int d = Vector.reg(in);
        int b = Vector.rm(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, CpuFeatures.SSE4_1, false);
            Vector.load(cpu, insn, v, 16, true);
            long low = blendWord(bits, v[d], v[b], v[0]);
            v[d + 1] = blendWord(bits, v[d + 1], v[b + 1], v[1]);
            v[d] = low;
        };
    }

    /** PMOVSX and PMOVZX. */
    static @Nullable InsnHandler widen(Insn in, int from, int to, boolean signed) {
        if (in.vex && in.vvvv != 0) {
            return null;
        }
        boolean wide = in.vexL != 0;
        int f = !in.vex ? CpuFeatures.SSE4_1 : wide ? CpuFeatures.AVX2 : CpuFeatures.AVX;
        int d = Vector.reg(in);
        int b = Vector.rm(in);
        int words = wide ? 4 : 2;
        int bytes = words * 8 * from / to;
        int step = from * (64 / to);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, f, insn.vex);
            Vector.load(cpu, insn, v, bytes, false);
            long low = v[b];
            long high = v[b + 1];
            for (int i = 0; i < words; i++) {
                int bit = i * step;
                v[d + i] = PackedLanes.widen((bit < 64 ? low : high) >>> (bit & 63), from, to, signed);
            }
            if (insn.vex && !wide) {
                Vector.clearUpper(v, d);
            }
        };
    }

    // ---------------------------------------------------------------- masked memory

    private static boolean selected(long[] v, int mask, int element, int bits) {
        int bit = (element + 1) * bits - 1;
        return (v[mask + (bit >> 6)] >>> (bit & 63) & 1) != 0;
    }

    /** VMASKMOVPS/PD and VPMASKMOVD/Q from memory: elements that are not selected do not fault. */
    static @Nullable InsnHandler maskedLoad(Insn in, int bits, int feature) {
        if (!in.memory) {
            return null;
        }
        int elements = (in.vexL != 0 ? 256 : 128) / bits;
        int d = Vector.reg(in);
        int mask = Vector.first(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, feature, true);
            long a = cpu.address(insn, elements * bits / 8, false);
            set(v, C, 0, 0, 0, 0);
            for (int i = 0; i < elements; i++) {
                if (selected(v, mask, i, bits)) {
                    long x = cpu.load(a + (long) i * bits / 8, bits / 8);
                    v[C + (i * bits >> 6)] |= x << (i * bits & 63);
                }
            }
            set(v, d, v[C], v[C + 1], v[C + 2], v[C + 3]);
        };
    }

    /** VMASKMOVPS/PD and VPMASKMOVD/Q to memory. */
    static @Nullable InsnHandler maskedStore(Insn in, int bits, int feature) {
        if (!in.memory) {
            return null;
        }
        int elements = (in.vexL != 0 ? 256 : 128) / bits;
        int from = Vector.reg(in);
        int mask = Vector.first(in);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, feature, true);
            long a = cpu.address(insn, elements * bits / 8, true);
            for (int i = 0; i < elements; i++) {
                if (selected(v, mask, i, bits)) {
                    cpu.checkWrite(a + (long) i * bits / 8, bits / 8);
                }
            }
            for (int i = 0; i < elements; i++) {
                if (selected(v, mask, i, bits)) {
                    cpu.store(a + (long) i * bits / 8, bits / 8, v[from + (i * bits >> 6)] >>> (i * bits & 63));
                }
            }
        };
    }

    /**
     * The gathers: {@code VPGATHERDD} and its kin. A fault leaves the elements loaded so far and their mask bits cleared, as
     * the architecture allows, so that the instruction continues.
     *
     * @param indexBits 32 or 64
     */
    static @Nullable InsnHandler gather(Insn in, int indexBits) {
        int bits = in.w ? 64 : 32;
        int d = Vector.reg(in);
        int mask = Vector.first(in);
        int index = (in.index == Insn.NO_REGISTER ? 4 : in.index) << 2;
        int scale = in.sib >> 6;
        if (!in.memory || in.sib < 0 || d == mask || d == index || mask == index) {
            return null;
        }
        int width = in.vexL != 0 ? 256 : 128;
        int elements = width / Math.max(bits, indexBits);
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, CpuFeatures.AVX2, true);
            for (int i = 0; i < elements; i++) {
                int bit = i * bits;
                int word = bit >> 6;
                int shift = bit & 63;
                long ones = bits == 64 ? -1 : 0xffff_ffffL << shift;
                if (selected(v, mask, i, bits)) {
                    long x = indexBits == 64 ? v[index + i] : (int) (v[index + (i >> 1)] >>> 32 * (i & 1));
                    long offset = cpu.r[insn.base] + (x << scale) + insn.disp;
                    offset = insn.addressSize == 8 ? offset : offset & 0xffff_ffffL;
                    long value = cpu.load(cpu.linear(insn.seg, offset, bits / 8, false), bits / 8);
                    v[d + word] = v[d + word] & ~ones | value << shift & ones;
                }
                v[mask + word] &= ~ones;
            }
            int used = elements * bits / 64;
            for (int i = 0; i < 4; i++) {
                v[mask + i] = 0;
                if (i >= used) {
                    v[d + i] = 0;
                }
            }
        };
    }

    // ---------------------------------------------------------------- half precision

    /** VCVTPS2PH. */
    static @Nullable InsnHandler toHalf(Insn in) {
        if (in.vvvv != 0 || in.w) {
            return null;
        }
        boolean wide = in.vexL != 0;
        int from = Vector.reg(in);
        int to = in.rm << 2;
        int imm = (int) in.imm;
        return (cpu, insn) -> {
            long[] v = Vector.enter(cpu, CpuFeatures.F16C, true);
            MxcsrArithmetic m = cpu.fpu.sse;
            m.begin();
            long low = FloatKernels.toHalves(m, v[from], imm) | FloatKernels.toHalves(m, v[from + 1], imm) << 32;
            long high = 0;
            if (wide) {
                high = FloatKernels.toHalves(m, v[from + 2], imm) | FloatKernels.toHalves(m, v[from + 3], imm) << 32;
            }
            if (insn.memory) {
                // A page fault must come before the flags change.
                cpu.checkWrite(cpu.address(insn, wide ? 16 : 8, true), wide ? 16 : 8);
            }
            if (!m.finish()) {
                throw Vector.floatException(cpu);
            }
            if (insn.memory) {
                v[C] = low;
                v[C + 1] = high;
                Vector.store(cpu, insn, v, C, wide ? 16 : 8, false);
            } else {
                set(v, to, low, high, 0, 0);
            }
        };
    }
}
