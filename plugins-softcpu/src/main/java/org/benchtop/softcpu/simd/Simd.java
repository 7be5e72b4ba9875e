package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.CpuFeatures;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.benchtop.softcpu.fp.MxcsrArithmetic;
import org.benchtop.softcpu.fp.StateImages;
import org.jspecify.annotations.Nullable;

/**
 * Finds the handlers of vector instructions: everything in the maps {@code 0F}, {@code 0F 38} and {@code 0F 3A} (legacy and
 * VEX) that the integer decoder does not take itself, and the state instructions of {@code 0F AE} (FXSAVE, FXRSTOR, LDMXCSR,
 * STMXCSR, XSAVE, XRSTOR, XSAVEOPT) and {@code 0F C7} (XSAVEC).
 */
public final class Simd {
    /** Makes the handler of one decoded instruction, or null if the encoding is undefined. */
    @FunctionalInterface
    private interface Maker {
        @Nullable
        InsnHandler make(Insn in);
    }

    private static final int NP = Insn.PP_NONE;
    private static final int P66 = Insn.PP_66;
    private static final int F3 = Insn.PP_F3;
    private static final int F2 = Insn.PP_F2;

    /** By map, mandatory prefix and opcode. */
    private static final @Nullable Maker[] TABLE = new Maker[4 * 4 * 256];

    private Simd() {}

    /** Whether a feature of the vector unit (a constant of {@code CpuFeatures}) is complete enough to be offered to guests. */
    public static boolean implementsFeature(int feature) {
        return feature != CpuFeatures.SHA;
    }

    /** The handler of an instruction, or null if it is undefined. */
    public static @Nullable InsnHandler handler(Insn insn) {
        if (insn.map < 1 || insn.map > 3) {
            return null;
        }
        Maker maker = TABLE[insn.map << 10 | insn.pp << 8 | insn.opcode];
        return maker == null ? null : maker.make(insn);
    }

    // ---------------------------------------------------------------- kinds of entries

    private static void set(int map, int pp, int opcode, Maker maker) {
        TABLE[map << 10 | pp << 8 | opcode] = maker;
    }

    /** The same for no prefix and 66. */
    private static void packed(int opcode, Maker maker) {
        set(1, NP, opcode, maker);
        set(1, P66, opcode, maker);
    }

    private static Maker legacy(InsnHandler handler) {
        return in -> in.vex ? null : handler;
    }

    private static Maker legacyRegister(InsnHandler handler) {
        return in -> in.vex || in.memory ? null : handler;
    }

    private static Maker legacyMemory(InsnHandler handler) {
        return in -> in.vex || !in.memory ? null : handler;
    }

    /** The feature of an integer instruction. */
    private static int integerFeature(Insn in, int legacy) {
        return !in.vex ? legacy : in.vexL != 0 ? CpuFeatures.AVX2 : CpuFeatures.AVX;
    }

    private static int floatFeature(Insn in, int legacy) {
        return in.vex ? CpuFeatures.AVX : legacy;
    }

    private static boolean unusedVvvv(Insn in) {
        return in.vex && in.vvvv != 0;
    }

    /** An integer instruction on words with two operands, in MMX and SSE2 form. */
    private static void words(int opcode, Word f) {
        words(opcode, f, CpuFeatures.MMX);
    }

    private static void words(int opcode, Word f, int mmxFeature) {
        mmx(1, opcode, f, mmxFeature, 8);
        set(1, P66, opcode, in -> new WordHandler(in, f, integerFeature(in, CpuFeatures.SSE2)));
    }

    private static void mmx(int map, int opcode, Word f, int feature, int memoryBytes) {
        set(map, NP, opcode, legacy(new MmxHandler(f, feature, memoryBytes)));
    }

    /** An SSE4 instruction on words. */
    private static void words38(int opcode, Word f, int feature) {
        set(2, P66, opcode, in -> new WordHandler(in, f, integerFeature(in, feature)));
    }

    /** An SSSE3 instruction on words, with its MMX form. */
    private static void wordsSsse3(int opcode, Word f, boolean unary) {
        mmx(2, opcode, f, CpuFeatures.SSSE3, 8);
        set(
                2,
                P66,
                opcode,
                in -> unary && unusedVvvv(in) ? null : new WordHandler(in, f, integerFeature(in, CpuFeatures.SSSE3)));
    }

    private static LaneHandler lanes(Insn in, Lane f, int feature) {
        return new LaneHandler(in, f, integerFeature(in, feature), in.vexL != 0 ? 32 : 16, true, 2, 0);
    }

    /** An integer instruction on lanes with two operands. */
    private static void lanes(int map, int opcode, Lane f, int feature) {
        set(map, P66, opcode, in -> lanes(in, f, feature));
    }

    /** An integer instruction on lanes with one operand and an immediate. */
    private static Maker unaryLanes(Lane f, int feature) {
        return in -> unusedVvvv(in) ? null : lanes(in, f, feature);
    }

    /** Only 128 bits. */
    private static Maker narrow(Lane f, int feature, boolean unary) {
        return in -> in.vexL != 0 || (unary && unusedVvvv(in)) ? null : lanes(in, f, feature);
    }

    /** A move or shuffle of floating-point data: AVX in both widths. */
    private static Maker floatLanes(Lane f, int feature, boolean unary, int immediateStep) {
        return in -> unary && unusedVvvv(in)
                ? null
                : new LaneHandler(in, f, floatFeature(in, feature), in.vexL != 0 ? 32 : 16, true, 2, immediateStep);
    }

    private static Maker floats(FloatLane f, int feature, FloatHandler.Shape shape, int memoryBytes, boolean unary) {
        return in -> {
            if (unary && unusedVvvv(in)) {
                return null;
            }
            int bytes = in.vexL != 0 && shape != FloatHandler.Shape.SCALAR ? 2 * memoryBytes : memoryBytes;
            return new FloatHandler(in, f, floatFeature(in, feature), shape, bytes, false);
        };
    }

    /** The four forms of an arithmetic instruction. */
    private static void arithmetic(
            int opcode, FloatKernels.Single single, FloatKernels.Double binary64, boolean unary) {
        set(1, NP, opcode, floats(FloatKernels.ps(single), CpuFeatures.SSE, FloatHandler.Shape.LANES, 16, unary));
        set(1, P66, opcode, floats(FloatKernels.pd(binary64), CpuFeatures.SSE2, FloatHandler.Shape.LANES, 16, unary));
        set(1, F3, opcode, floats(FloatKernels.ss(single), CpuFeatures.SSE, FloatHandler.Shape.SCALAR, 4, false));
        set(1, F2, opcode, floats(FloatKernels.sd(binary64), CpuFeatures.SSE2, FloatHandler.Shape.SCALAR, 8, false));
    }

    /** A conversion that reads and writes different widths; {@code wide} is its form with VEX.L. */
    private static Maker conversion(FloatLane narrow, FloatLane wide, int feature, int memoryBytes) {
        return in -> unusedVvvv(in)
                ? null
                : new FloatHandler(
                        in,
                        in.vexL != 0 ? wide : narrow,
                        floatFeature(in, feature),
                        FloatHandler.Shape.ONCE,
                        in.vexL != 0 ? 2 * memoryBytes : memoryBytes,
                        false);
    }

    static {
        moves();
        floatingPoint();
        integers();
        shifts();
        ssse3();
        sse4();
        avx();
        fma();
        state();
    }

    // ---------------------------------------------------------------- tables

    private static void moves() {
        set(1, NP, 0x10, in -> Moves.load(in, CpuFeatures.SSE, false));
        set(1, P66, 0x10, in -> Moves.load(in, CpuFeatures.SSE2, false));
        set(1, F3, 0x10, in -> Moves.loadScalar(in, CpuFeatures.SSE, 4));
        set(1, F2, 0x10, in -> Moves.loadScalar(in, CpuFeatures.SSE2, 8));
        set(1, NP, 0x11, in -> Moves.store(in, CpuFeatures.SSE, false));
        set(1, P66, 0x11, in -> Moves.store(in, CpuFeatures.SSE2, false));
        set(1, F3, 0x11, in -> Moves.storeScalar(in, CpuFeatures.SSE, 4));
        set(1, F2, 0x11, in -> Moves.storeScalar(in, CpuFeatures.SSE2, 8));
        set(1, NP, 0x12, in -> Moves.loadLow(in, CpuFeatures.SSE));
        set(1, P66, 0x12, in -> Moves.loadLow(in, CpuFeatures.SSE2));
        set(1, F3, 0x12, floatLanes(PackedLanes::movsldup, CpuFeatures.SSE3, true, 0));
        set(
                1,
                F2,
                0x12,
                in -> unusedVvvv(in)
                        ? null
                        : new LaneHandler(
                                in,
                                PackedLanes::movddup,
                                floatFeature(in, CpuFeatures.SSE3),
                                in.vexL != 0 ? 32 : 8,
                                false,
                                2,
                                0));
        set(1, NP, 0x13, in -> Moves.storeHalf(in, CpuFeatures.SSE, false));
        set(1, P66, 0x13, in -> Moves.storeHalf(in, CpuFeatures.SSE2, false));
        set(1, NP, 0x14, floatLanes(PackedLanes::unpcklps, CpuFeatures.SSE, false, 0));
        set(1, P66, 0x14, floatLanes(PackedLanes::punpcklqdq, CpuFeatures.SSE2, false, 0));
        set(1, NP, 0x15, floatLanes(PackedLanes::unpckhps, CpuFeatures.SSE, false, 0));
        set(1, P66, 0x15, floatLanes(PackedLanes::punpckhqdq, CpuFeatures.SSE2, false, 0));
        set(1, NP, 0x16, in -> Moves.loadHigh(in, CpuFeatures.SSE));
        set(1, P66, 0x16, in -> Moves.loadHigh(in, CpuFeatures.SSE2));
        set(1, F3, 0x16, floatLanes(PackedLanes::movshdup, CpuFeatures.SSE3, true, 0));
        set(1, NP, 0x17, in -> Moves.storeHalf(in, CpuFeatures.SSE, true));
        set(1, P66, 0x17, in -> Moves.storeHalf(in, CpuFeatures.SSE2, true));
        set(1, NP, 0x28, in -> Moves.load(in, CpuFeatures.SSE, true));
        set(1, P66, 0x28, in -> Moves.load(in, CpuFeatures.SSE2, true));
        set(1, NP, 0x29, in -> Moves.store(in, CpuFeatures.SSE, true));
        set(1, P66, 0x29, in -> Moves.store(in, CpuFeatures.SSE2, true));
        set(1, NP, 0x2b, in -> Moves.storeMemory(in, CpuFeatures.SSE));
        set(1, P66, 0x2b, in -> Moves.storeMemory(in, CpuFeatures.SSE2));
        packed(0x50, in -> Moves.movmsk(in, in.pp == P66 ? CpuFeatures.SSE2 : CpuFeatures.SSE));
        set(1, P66, 0x6e, Moves::fromGeneral);
        set(1, NP, 0x6e, legacy(Moves::mmxFromGeneral));
        set(1, P66, 0x7e, Moves::toGeneral);
        set(1, NP, 0x7e, legacy(Moves::mmxToGeneral));
        set(1, F3, 0x7e, Moves::loadQuad);
        set(1, P66, 0xd6, Moves::storeQuad);
        set(1, F3, 0xd6, legacyRegister(Moves::movq2dq));
        set(1, F2, 0xd6, legacyRegister(Moves::movdq2q));
        set(1, NP, 0x6f, legacy(Moves::mmxLoad));
        set(1, P66, 0x6f, in -> Moves.load(in, CpuFeatures.SSE2, true));
        set(1, F3, 0x6f, in -> Moves.load(in, CpuFeatures.SSE2, false));
        set(1, NP, 0x7f, legacy(Moves::mmxStore));
        set(1, P66, 0x7f, in -> Moves.store(in, CpuFeatures.SSE2, true));
        set(1, F3, 0x7f, in -> Moves.store(in, CpuFeatures.SSE2, false));
        set(1, NP, 0x77, in -> in.vex ? Avx.vzero(in) : Moves::emms);
        set(1, NP, 0xe7, legacyMemory(Moves::mmxStore));
        set(1, P66, 0xe7, in -> Moves.storeMemory(in, CpuFeatures.SSE2));
        set(1, F2, 0xf0, in -> in.memory ? Moves.load(in, CpuFeatures.SSE3, false) : null);
        set(1, NP, 0xf7, legacyRegister(Moves::maskmovq));
        set(1, P66, 0xf7, Moves::maskmovdqu);
        set(1, NP, 0xd7, legacyRegister(Moves::pmovmskbMmx));
        set(1, P66, 0xd7, Moves::pmovmskb);
        set(1, NP, 0xc4, legacy(Moves::pinsrwMmx));
        set(1, P66, 0xc4, in -> Moves.insert(in, CpuFeatures.SSE2, 2));
        set(1, NP, 0xc5, legacyRegister(Moves::pextrwMmx));
        set(1, P66, 0xc5, Moves::pextrw);
    }

    private static void floatingPoint() {
        arithmetic(0x51, (m, a, b) -> m.sqrt32(b), (m, a, b) -> m.sqrt64(b), true);
        arithmetic(0x58, MxcsrArithmetic::add32, MxcsrArithmetic::add64, false);
        arithmetic(0x59, MxcsrArithmetic::mul32, MxcsrArithmetic::mul64, false);
        arithmetic(0x5c, MxcsrArithmetic::sub32, MxcsrArithmetic::sub64, false);
        arithmetic(0x5d, MxcsrArithmetic::min32, MxcsrArithmetic::min64, false);
        arithmetic(0x5e, MxcsrArithmetic::div32, MxcsrArithmetic::div64, false);
        arithmetic(0x5f, MxcsrArithmetic::max32, MxcsrArithmetic::max64, false);
        approximation(0x52, FloatKernels::reciprocalRoot);
        approximation(0x53, FloatKernels::reciprocal);
        Word[] logic = {PackedInteger::pand, PackedInteger::pandn, PackedInteger::por, PackedInteger::pxor};
        for (int i = 0; i < 4; i++) {
            Word f = logic[i];
            packed(
                    0x54 + i,
                    in -> new WordHandler(in, f, floatFeature(in, in.pp == P66 ? CpuFeatures.SSE2 : CpuFeatures.SSE)));
        }
        packed(0x2e, in -> Moves.comi(in, true));
        packed(0x2f, in -> Moves.comi(in, false));
        set(1, NP, 0x2a, legacy(Moves.fromMmx(false)));
        set(1, P66, 0x2a, legacy(Moves.fromMmx(true)));
        set(1, F3, 0x2a, in -> Moves.fromInteger(in, false));
        set(1, F2, 0x2a, in -> Moves.fromInteger(in, true));
        for (int opcode = 0x2c; opcode <= 0x2d; opcode++) {
            boolean truncate = opcode == 0x2c;
            set(1, NP, opcode, legacy(Moves.toMmx(false, truncate)));
            set(1, P66, opcode, legacy(Moves.toMmx(true, truncate)));
            set(1, F3, opcode, in -> Moves.toInteger(in, false, truncate));
            set(1, F2, opcode, in -> Moves.toInteger(in, true, truncate));
        }
        set(1, NP, 0x5a, conversion(FloatKernels::cvtps2pd, FloatKernels::cvtps2pdWide, CpuFeatures.SSE2, 8));
        set(1, P66, 0x5a, conversion(FloatKernels::cvtpd2ps, FloatKernels::cvtpd2psWide, CpuFeatures.SSE2, 16));
        set(1, F3, 0x5a, floats(FloatKernels::cvtss2sd, CpuFeatures.SSE2, FloatHandler.Shape.SCALAR, 4, false));
        set(1, F2, 0x5a, floats(FloatKernels::cvtsd2ss, CpuFeatures.SSE2, FloatHandler.Shape.SCALAR, 8, false));
        set(1, NP, 0x5b, floats(FloatKernels::cvtdq2ps, CpuFeatures.SSE2, FloatHandler.Shape.LANES, 16, true));
        set(1, P66, 0x5b, floats(FloatKernels.cvtps2dq(false), CpuFeatures.SSE2, FloatHandler.Shape.LANES, 16, true));
        set(1, F3, 0x5b, floats(FloatKernels.cvtps2dq(true), CpuFeatures.SSE2, FloatHandler.Shape.LANES, 16, true));
        set(
                1,
                P66,
                0xe6,
                conversion(FloatKernels.cvtpd2dq(true), FloatKernels.cvtpd2dqWide(true), CpuFeatures.SSE2, 16));
        set(
                1,
                F2,
                0xe6,
                conversion(FloatKernels.cvtpd2dq(false), FloatKernels.cvtpd2dqWide(false), CpuFeatures.SSE2, 16));
        set(1, F3, 0xe6, conversion(FloatKernels::cvtdq2pd, FloatKernels::cvtdq2pdWide, CpuFeatures.SSE2, 8));
        set(1, NP, 0xc2, compare(FloatKernels::cmpps, CpuFeatures.SSE, FloatHandler.Shape.LANES, 16));
        set(1, P66, 0xc2, compare(FloatKernels::cmppd, CpuFeatures.SSE2, FloatHandler.Shape.LANES, 16));
        set(1, F3, 0xc2, compare(FloatKernels::cmpss, CpuFeatures.SSE, FloatHandler.Shape.SCALAR, 4));
        set(1, F2, 0xc2, compare(FloatKernels::cmpsd, CpuFeatures.SSE2, FloatHandler.Shape.SCALAR, 8));
        set(1, NP, 0xc6, floatLanes(PackedLanes::shufps, CpuFeatures.SSE, false, 0));
        set(1, P66, 0xc6, floatLanes(PackedLanes::shufpd, CpuFeatures.SSE2, false, 2));
        horizontal(P66, 0x7c, FloatKernels.horizontalPd(MxcsrArithmetic::add64));
        horizontal(F2, 0x7c, FloatKernels.horizontalPs(MxcsrArithmetic::add32));
        horizontal(P66, 0x7d, FloatKernels.horizontalPd(MxcsrArithmetic::sub64));
        horizontal(F2, 0x7d, FloatKernels.horizontalPs(MxcsrArithmetic::sub32));
        horizontal(P66, 0xd0, FloatKernels::addsubpd);
        horizontal(F2, 0xd0, FloatKernels::addsubps);
    }

    private static void horizontal(int pp, int opcode, FloatLane f) {
        set(1, pp, opcode, floats(f, CpuFeatures.SSE3, FloatHandler.Shape.LANES, 16, false));
    }

    /** Legacy CMPPS knows eight predicates: the upper bits of its immediate are ignored. */
    private static Maker compare(FloatLane f, int feature, FloatHandler.Shape shape, int memoryBytes) {
        FloatLane eight = (m, v, d, a, b, imm) -> f.apply(m, v, d, a, b, imm & 7);
        FloatLane all = (m, v, d, a, b, imm) -> f.apply(m, v, d, a, b, imm & 31);
        Maker legacy = floats(eight, feature, shape, memoryBytes, false);
        Maker vex = floats(all, feature, shape, memoryBytes, false);
        return in -> (in.vex ? vex : legacy).make(in);
    }

    /** Something that approximates. */
    @FunctionalInterface
    private interface Approximation {
        int apply(int v);
    }

    private static void approximation(int opcode, Approximation f) {
        FloatKernels.Single single = (m, a, b) -> f.apply(b);
        set(1, NP, opcode, floats(FloatKernels.ps(single), CpuFeatures.SSE, FloatHandler.Shape.LANES, 16, true));
        set(1, F3, opcode, floats(FloatKernels.ss(single), CpuFeatures.SSE, FloatHandler.Shape.SCALAR, 4, false));
    }

    private static void integers() {
        unpack(0x60, PackedInteger::punpcklbw, PackedInteger::punpckhbw, false);
        unpack(0x61, PackedInteger::punpcklwd, PackedInteger::punpckhwd, false);
        unpack(0x62, PackedInteger::punpckldq, PackedInteger::punpckhdq, false);
        unpack(0x68, PackedInteger::punpcklbw, PackedInteger::punpckhbw, true);
        unpack(0x69, PackedInteger::punpcklwd, PackedInteger::punpckhwd, true);
        unpack(0x6a, PackedInteger::punpckldq, PackedInteger::punpckhdq, true);
        lanes(1, 0x6c, PackedLanes::punpcklqdq, CpuFeatures.SSE2);
        lanes(1, 0x6d, PackedLanes::punpckhqdq, CpuFeatures.SSE2);
        pack(0x63, PackedInteger::packsswb);
        pack(0x67, PackedInteger::packuswb);
        pack(0x6b, PackedInteger::packssdw);
        lanes(2, 0x2b, PackedLanes.pack(PackedInteger::packusdw), CpuFeatures.SSE4_1);
        words(0x64, PackedInteger::pcmpgtb);
        words(0x65, PackedInteger::pcmpgtw);
        words(0x66, PackedInteger::pcmpgtd);
        words(0x74, PackedInteger::pcmpeqb);
        words(0x75, PackedInteger::pcmpeqw);
        words(0x76, PackedInteger::pcmpeqd);
        words(0xd4, PackedInteger::paddq, CpuFeatures.SSE2);
        words(0xd5, PackedInteger::pmullw);
        words(0xd8, PackedInteger::psubusb);
        words(0xd9, PackedInteger::psubusw);
        words(0xda, PackedInteger::pminub, CpuFeatures.SSE);
        words(0xdb, PackedInteger::pand);
        words(0xdc, PackedInteger::paddusb);
        words(0xdd, PackedInteger::paddusw);
        words(0xde, PackedInteger::pmaxub, CpuFeatures.SSE);
        words(0xdf, PackedInteger::pandn);
        words(0xe0, PackedInteger::pavgb, CpuFeatures.SSE);
        words(0xe3, PackedInteger::pavgw, CpuFeatures.SSE);
        words(0xe4, PackedInteger::pmulhuw, CpuFeatures.SSE);
        words(0xe5, PackedInteger::pmulhw);
        words(0xe8, PackedInteger::psubsb);
        words(0xe9, PackedInteger::psubsw);
        words(0xea, PackedInteger::pminsw, CpuFeatures.SSE);
        words(0xeb, PackedInteger::por);
        words(0xec, PackedInteger::paddsb);
        words(0xed, PackedInteger::paddsw);
        words(0xee, PackedInteger::pmaxsw, CpuFeatures.SSE);
        words(0xef, PackedInteger::pxor);
        words(0xf4, PackedInteger::pmuludq, CpuFeatures.SSE2);
        words(0xf5, PackedInteger::pmaddwd);
        words(0xf6, PackedInteger::psadbw, CpuFeatures.SSE);
        words(0xf8, PackedInteger::psubb);
        words(0xf9, PackedInteger::psubw);
        words(0xfa, PackedInteger::psubd);
        words(0xfb, PackedInteger::psubq, CpuFeatures.SSE2);
        words(0xfc, PackedInteger::paddb);
        words(0xfd, PackedInteger::paddw);
        words(0xfe, PackedInteger::paddd);
        set(1, P66, 0x70, unaryLanes(PackedLanes::pshufd, CpuFeatures.SSE2));
        set(1, F3, 0x70, unaryLanes(PackedLanes::pshufhw, CpuFeatures.SSE2));
        set(1, F2, 0x70, unaryLanes(PackedLanes::pshuflw, CpuFeatures.SSE2));
        set(1, NP, 0x70, in -> {
            int imm = (int) in.imm & 0xff;
            return in.vex ? null : new MmxHandler((a, b) -> PackedInteger.pshufw(b, imm), CpuFeatures.SSE, 8);
        });
    }

    private static void unpack(int opcode, Word low, Word high, boolean upper) {
        mmx(1, opcode, upper ? high : low, CpuFeatures.MMX, upper ? 8 : 4);
        lanes(1, opcode, PackedLanes.unpack(low, high, upper ? 1 : 0), CpuFeatures.SSE2);
    }

    private static void pack(int opcode, Word f) {
        mmx(1, opcode, f, CpuFeatures.MMX, 8);
        lanes(1, opcode, PackedLanes.pack(f), CpuFeatures.SSE2);
    }

    // ---------------------------------------------------------------- shifts

    private static void shifts() {
        shift(0xd1, PackedInteger::psrlw);
        shift(0xd2, PackedInteger::psrld);
        shift(0xd3, PackedInteger::psrlq);
        shift(0xe1, PackedInteger::psraw);
        shift(0xe2, PackedInteger::psrad);
        shift(0xf1, PackedInteger::psllw);
        shift(0xf2, PackedInteger::pslld);
        shift(0xf3, PackedInteger::psllq);
        packed(0x71, in -> shiftImmediate(in, PackedInteger::psrlw, PackedInteger::psraw, PackedInteger::psllw));
        packed(0x72, in -> shiftImmediate(in, PackedInteger::psrld, PackedInteger::psrad, PackedInteger::pslld));
        packed(0x73, in -> shiftImmediate(in, PackedInteger::psrlq, null, PackedInteger::psllq));
    }

    private static void shift(int opcode, Word f) {
        mmx(1, opcode, f, CpuFeatures.MMX, 8);
        Lane lane = PackedLanes.shift(f);
        set(1, P66, opcode, in -> new LaneHandler(in, lane, integerFeature(in, CpuFeatures.SSE2), 16, true, 0, 0));
    }

    private static @Nullable InsnHandler shiftImmediate(Insn in, Word right, @Nullable Word arithmetic, Word left) {
        if (in.memory) {
            return null;
        }
        Lane lane;
        Word word;
        switch (in.extension()) {
            case 2 -> word = right;
            case 4 -> {
                if (arithmetic == null) {
                    return null;
                }
                word = arithmetic;
            }
            case 6 -> word = left;
            case 3, 7 -> {
                if (in.opcode != 0x73 || in.pp != P66) {
                    return null;
                }
                lane = in.extension() == 3 ? PackedLanes::psrldq : PackedLanes::pslldq;
                return shiftLanes(in, lane);
            }
            default -> {
                return null;
            }
        }
        if (in.pp == P66) {
            return shiftLanes(in, PackedLanes.shiftImmediate(word));
        }
        if (in.vex) {
            return null;
        }
        int count = (int) in.imm & 0xff;
        int register = in.rm & 7;
        return (cpu, insn) -> {
            var unit = Vector.mmx(cpu, CpuFeatures.MMX);
            unit.enterMmx();
            unit.mmx(register, word.apply(unit.mmx(register), count));
        };
    }

    /** The destination is VEX.vvvv, or ModRM.rm itself. */
    private static InsnHandler shiftLanes(Insn in, Lane lane) {
        int d = (in.vex ? in.vvvv : in.rm) << 2;
        return new LaneHandler(in, lane, integerFeature(in, CpuFeatures.SSE2), 16, true, 2, 0, d, d);
    }

    // ---------------------------------------------------------------- SSSE3

    private static void ssse3() {
        mmx(2, 0x00, PackedInteger::pshufb, CpuFeatures.SSSE3, 8);
        lanes(2, 0x00, PackedLanes::pshufb, CpuFeatures.SSSE3);
        horizontalWords(0x01, PackedInteger::pairsAddWords);
        horizontalWords(0x02, PackedInteger::pairAddDoubles);
        horizontalWords(0x03, PackedInteger::pairsAddWordsSaturated);
        horizontalWords(0x05, PackedInteger::pairsSubtractWords);
        horizontalWords(0x06, PackedInteger::pairSubtractDoubles);
        horizontalWords(0x07, PackedInteger::pairsSubtractWordsSaturated);
        wordsSsse3(0x04, PackedInteger::pmaddubsw, false);
        wordsSsse3(0x08, PackedInteger::psignb, false);
        wordsSsse3(0x09, PackedInteger::psignw, false);
        wordsSsse3(0x0a, PackedInteger::psignd, false);
        wordsSsse3(0x0b, PackedInteger::pmulhrsw, false);
        wordsSsse3(0x1c, PackedInteger::pabsb, true);
        wordsSsse3(0x1d, PackedInteger::pabsw, true);
        wordsSsse3(0x1e, PackedInteger::pabsd, true);
        lanes(3, 0x0f, PackedLanes::palignr, CpuFeatures.SSSE3);
        set(3, NP, 0x0f, in -> {
            int imm = (int) in.imm & 0xff;
            return in.vex ? null : new MmxHandler((a, b) -> PackedLanes.palignr(a, b, imm), CpuFeatures.SSSE3, 8);
        });
    }

    private static void horizontalWords(int opcode, PackedLanes.Half f) {
        Word pairs = PackedLanes.pairs(f);
        mmx(2, opcode, pairs, CpuFeatures.SSSE3, 8);
        lanes(2, opcode, PackedLanes.pack(pairs), CpuFeatures.SSSE3);
    }

    // ---------------------------------------------------------------- SSE4, AES, PCLMULQDQ

    private static void sse4() {
        set(2, P66, 0x10, in -> Avx.blendLegacy(in, 8));
        set(2, P66, 0x14, in -> Avx.blendLegacy(in, 32));
        set(2, P66, 0x15, in -> Avx.blendLegacy(in, 64));
        set(2, P66, 0x17, in -> Moves.test(in, CpuFeatures.SSE4_1, -1));
        int[] from = {8, 8, 8, 16, 16, 32};
        int[] to = {16, 32, 64, 32, 64, 64};
        for (int i = 0; i < 6; i++) {
            int f = from[i];
            int t = to[i];
            set(2, P66, 0x20 + i, in -> Avx.widen(in, f, t, true));
            set(2, P66, 0x30 + i, in -> Avx.widen(in, f, t, false));
        }
        words38(0x28, PackedInteger::pmuldq, CpuFeatures.SSE4_1);
        words38(0x29, PackedInteger::pcmpeqq, CpuFeatures.SSE4_1);
        words38(0x37, PackedInteger::pcmpgtq, CpuFeatures.SSE4_2);
        words38(0x38, PackedInteger::pminsb, CpuFeatures.SSE4_1);
        words38(0x39, PackedInteger::pminsd, CpuFeatures.SSE4_1);
        words38(0x3a, PackedInteger::pminuw, CpuFeatures.SSE4_1);
        words38(0x3b, PackedInteger::pminud, CpuFeatures.SSE4_1);
        words38(0x3c, PackedInteger::pmaxsb, CpuFeatures.SSE4_1);
        words38(0x3d, PackedInteger::pmaxsd, CpuFeatures.SSE4_1);
        words38(0x3e, PackedInteger::pmaxuw, CpuFeatures.SSE4_1);
        words38(0x3f, PackedInteger::pmaxud, CpuFeatures.SSE4_1);
        words38(0x40, PackedInteger::pmulld, CpuFeatures.SSE4_1);
        set(2, P66, 0x41, narrow(PackedLanes::phminposuw, CpuFeatures.SSE4_1, true));
        set(
                2,
                P66,
                0x2a,
                in -> !in.memory
                        ? null
                        : in.vexL != 0
                                ? Moves.load(in, CpuFeatures.AVX2, true)
                                : Moves.load(in, CpuFeatures.SSE4_1, true));
        set(2, P66, 0xdb, narrow(Aes::aesimc, CpuFeatures.AES, true));
        set(2, P66, 0xdc, narrow(Aes::aesenc, CpuFeatures.AES, false));
        set(2, P66, 0xdd, narrow(Aes::aesenclast, CpuFeatures.AES, false));
        set(2, P66, 0xde, narrow(Aes::aesdec, CpuFeatures.AES, false));
        set(2, P66, 0xdf, narrow(Aes::aesdeclast, CpuFeatures.AES, false));
        set(3, P66, 0xdf, narrow(Aes::aeskeygenassist, CpuFeatures.AES, true));
        set(3, P66, 0x44, narrow(Aes::pclmulqdq, CpuFeatures.PCLMULQDQ, false));
        FloatHandler.Shape each = FloatHandler.Shape.LANES;
        FloatHandler.Shape one = FloatHandler.Shape.SCALAR;
        set(3, P66, 0x08, floats(FloatKernels::roundps, CpuFeatures.SSE4_1, each, 16, true));
        set(3, P66, 0x09, floats(FloatKernels::roundpd, CpuFeatures.SSE4_1, each, 16, true));
        set(3, P66, 0x0a, floats(FloatKernels::roundss, CpuFeatures.SSE4_1, one, 4, false));
        set(3, P66, 0x0b, floats(FloatKernels::roundsd, CpuFeatures.SSE4_1, one, 8, false));
        set(3, P66, 0x0c, floatLanes(PackedLanes::blendps, CpuFeatures.SSE4_1, false, 4));
        set(3, P66, 0x0d, floatLanes(PackedLanes::blendpd, CpuFeatures.SSE4_1, false, 2));
        lanes(3, 0x0e, PackedLanes::pblendw, CpuFeatures.SSE4_1);
        set(3, P66, 0x14, in -> Moves.extract(in, CpuFeatures.SSE4_1, 1));
        set(3, P66, 0x15, in -> Moves.extract(in, CpuFeatures.SSE4_1, 2));
        set(3, P66, 0x16, in -> Moves.extract(in, CpuFeatures.SSE4_1, Vector.wide(in) ? 8 : 4));
        set(3, P66, 0x17, in -> Moves.extract(in, CpuFeatures.SSE4_1, 4));
        set(3, P66, 0x20, in -> Moves.insert(in, CpuFeatures.SSE4_1, 1));
        set(3, P66, 0x21, Moves::insertps);
        set(3, P66, 0x22, in -> Moves.insert(in, CpuFeatures.SSE4_1, Vector.wide(in) ? 8 : 4));
        Maker dpps = floats(FloatKernels::dpps, CpuFeatures.SSE4_1, FloatHandler.Shape.ONCE, 16, false);
        Maker dppsWide = floats(FloatKernels::dppsWide, CpuFeatures.SSE4_1, FloatHandler.Shape.ONCE, 16, false);
        set(3, P66, 0x40, in -> (in.vexL != 0 ? dppsWide : dpps).make(in));
        Maker dppd = floats(FloatKernels::dppd, CpuFeatures.SSE4_1, each, 16, false);
        set(3, P66, 0x41, in -> in.vexL != 0 ? null : dppd.make(in));
        set(
                3,
                P66,
                0x42,
                in -> new LaneHandler(
                        in,
                        PackedLanes::mpsadbw,
                        integerFeature(in, CpuFeatures.SSE4_1),
                        in.vexL != 0 ? 32 : 16,
                        true,
                        2,
                        3));
        for (int opcode = 0x60; opcode <= 0x63; opcode++) {
            set(3, P66, opcode, Moves::compareStrings);
        }
    }

    // ---------------------------------------------------------------- AVX, AVX2, F16C

    private static Maker vexOnly(Maker maker) {
        return in -> in.vex ? maker.make(in) : null;
    }

    private static void avx(int map, int opcode, Maker maker) {
        set(map, P66, opcode, vexOnly(maker));
    }

    private static void avx() {
        avx(
                2,
                0x0c,
                in -> in.w
                        ? null
                        : floatLanes(PackedLanes::vpermilpsVariable, 0, false, 0)
                                .make(in));
        avx(
                2,
                0x0d,
                in -> in.w
                        ? null
                        : floatLanes(PackedLanes::vpermilpdVariable, 0, false, 0)
                                .make(in));
        avx(
                3,
                0x04,
                in -> in.w ? null : floatLanes(PackedLanes::pshufd, 0, true, 0).make(in));
        avx(
                3,
                0x05,
                in -> in.w
                        ? null
                        : floatLanes(PackedLanes::vpermilpd, 0, true, 2).make(in));
        avx(2, 0x0e, in -> in.w ? null : Moves.test(in, CpuFeatures.AVX, 0x8000_0000_8000_0000L));
        avx(2, 0x0f, in -> in.w ? null : Moves.test(in, CpuFeatures.AVX, Long.MIN_VALUE));
        avx(2, 0x13, in -> in.vvvv != 0 || in.w ? null : fromHalf(in));
        avx(3, 0x1d, Avx::toHalf);
        avx(2, 0x18, in -> Avx.broadcast(in, 32, false));
        avx(2, 0x19, in -> Avx.broadcast(in, 64, false));
        avx(2, 0x1a, in -> Avx.broadcast128(in, CpuFeatures.AVX));
        avx(2, 0x58, in -> Avx.broadcast(in, 32, true));
        avx(2, 0x59, in -> Avx.broadcast(in, 64, true));
        avx(2, 0x5a, in -> Avx.broadcast128(in, CpuFeatures.AVX2));
        avx(2, 0x78, in -> Avx.broadcast(in, 8, true));
        avx(2, 0x79, in -> Avx.broadcast(in, 16, true));
        avx(3, 0x06, in -> Avx.permute128(in, CpuFeatures.AVX));
        avx(3, 0x46, in -> Avx.permute128(in, CpuFeatures.AVX2));
        avx(3, 0x18, in -> Avx.insert128(in, CpuFeatures.AVX));
        avx(3, 0x38, in -> Avx.insert128(in, CpuFeatures.AVX2));
        avx(3, 0x19, in -> Avx.extract128(in, CpuFeatures.AVX));
        avx(3, 0x39, in -> Avx.extract128(in, CpuFeatures.AVX2));
        avx(3, 0x00, Avx::permuteQuads);
        avx(3, 0x01, Avx::permuteQuads);
        avx(2, 0x16, Avx::permuteDoubles);
        avx(2, 0x36, Avx::permuteDoubles);
        avx(
                3,
                0x02,
                in -> in.w
                        ? null
                        : new LaneHandler(
                                in, PackedLanes::blendps, CpuFeatures.AVX2, in.vexL != 0 ? 32 : 16, false, 2, 4));
        avx(3, 0x4a, in -> Avx.blend(in, 32));
        avx(3, 0x4b, in -> Avx.blend(in, 64));
        avx(3, 0x4c, in -> Avx.blend(in, 8));
        avx(2, 0x2c, in -> in.w ? null : Avx.maskedLoad(in, 32, CpuFeatures.AVX));
        avx(2, 0x2d, in -> in.w ? null : Avx.maskedLoad(in, 64, CpuFeatures.AVX));
        avx(2, 0x2e, in -> in.w ? null : Avx.maskedStore(in, 32, CpuFeatures.AVX));
        avx(2, 0x2f, in -> in.w ? null : Avx.maskedStore(in, 64, CpuFeatures.AVX));
        avx(2, 0x8c, in -> Avx.maskedLoad(in, in.w ? 64 : 32, CpuFeatures.AVX2));
        avx(2, 0x8e, in -> Avx.maskedStore(in, in.w ? 64 : 32, CpuFeatures.AVX2));
        avx(2, 0x90, in -> Avx.gather(in, 32));
        avx(2, 0x91, in -> Avx.gather(in, 64));
        avx(2, 0x92, in -> Avx.gather(in, 32));
        avx(2, 0x93, in -> Avx.gather(in, 64));
        Word rightQuads = PackedInteger::psrlq;
        Word leftQuads = PackedInteger::psllq;
        avx(2, 0x45, in -> new WordHandler(in, in.w ? rightQuads : PackedInteger::psrlvd, CpuFeatures.AVX2));
        avx(2, 0x46, in -> in.w ? null : new WordHandler(in, PackedInteger::psravd, CpuFeatures.AVX2));
        avx(2, 0x47, in -> new WordHandler(in, in.w ? leftQuads : PackedInteger::psllvd, CpuFeatures.AVX2));
    }

    private static InsnHandler fromHalf(Insn in) {
        boolean wide = in.vexL != 0;
        return new FloatHandler(
                in,
                wide ? FloatKernels::vcvtph2psWide : FloatKernels::vcvtph2ps,
                CpuFeatures.F16C,
                FloatHandler.Shape.ONCE,
                wide ? 16 : 8,
                false);
    }

    // ---------------------------------------------------------------- FMA

    private static void fma() {
        int[] orders = {132, 213, 231};
        for (int o = 0; o < 3; o++) {
            int order = orders[o];
            int base = 0x90 + 0x10 * o;
            fmaPacked(base + 0x6, order, new FloatKernels.Signs(false, true, false));
            fmaPacked(base + 0x7, order, new FloatKernels.Signs(false, false, true));
            FloatKernels.Signs[] signs = {
                new FloatKernels.Signs(false, false, false),
                new FloatKernels.Signs(false, true, true),
                new FloatKernels.Signs(true, false, false),
                new FloatKernels.Signs(true, true, true)
            };
            for (int s = 0; s < 4; s++) {
                fmaPacked(base + 0x8 + 2 * s, order, signs[s]);
                fmaScalar(base + 0x9 + 2 * s, order, signs[s]);
            }
        }
    }

    private static void fmaPacked(int opcode, int order, FloatKernels.Signs signs) {
        FloatLane single = FloatKernels.fmaPs(order, signs);
        FloatLane binary64 = FloatKernels.fmaPd(order, signs);
        avx(
                2,
                opcode,
                in -> new FloatHandler(
                        in,
                        in.w ? binary64 : single,
                        CpuFeatures.FMA,
                        FloatHandler.Shape.LANES,
                        in.vexL != 0 ? 32 : 16,
                        true));
    }

    private static void fmaScalar(int opcode, int order, FloatKernels.Signs signs) {
        FloatLane single = FloatKernels.fmaSs(order, signs);
        FloatLane binary64 = FloatKernels.fmaSd(order, signs);
        avx(
                2,
                opcode,
                in -> new FloatHandler(
                        in, in.w ? binary64 : single, CpuFeatures.FMA, FloatHandler.Shape.SCALAR, in.w ? 8 : 4, true));
    }

    // ---------------------------------------------------------------- state

    private static void state() {
        set(1, NP, 0xae, in -> {
            if (!in.memory) {
                return null;
            }
            if (in.vex) {
                return switch (in.extension()) {
                    case 2 -> in.vexL != 0 || in.vvvv != 0 ? null : mxcsr(true, true);
                    case 3 -> in.vexL != 0 || in.vvvv != 0 ? null : mxcsr(false, true);
                    default -> null;
                };
            }
            return switch (in.extension()) {
                case 0 -> StateImages::fxsave;
                case 1 -> StateImages::fxrstor;
                case 2 -> mxcsr(true, false);
                case 3 -> mxcsr(false, false);
                case 4 -> StateImages::xsave;
                case 5 -> StateImages::xrstor;
                case 6 -> StateImages::xsaveopt;
                default -> null;
            };
        });
        set(1, NP, 0xc7, in -> in.memory && !in.vex && in.extension() == 4 ? StateImages::xsavec : null);
    }

    private static InsnHandler mxcsr(boolean load, boolean vex) {
        return (cpu, in) -> {
            Vector.enter(cpu, vex ? CpuFeatures.AVX : CpuFeatures.SSE, vex);
            if (load) {
                StateImages.ldmxcsr(cpu, in);
            } else {
                StateImages.stmxcsr(cpu, in);
            }
        };
    }
}
