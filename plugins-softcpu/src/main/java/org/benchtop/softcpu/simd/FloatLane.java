package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.fp.MxcsrArithmetic;

/** A floating-point operation on a lane, like {@link Lane}; flags go to {@code m}. */
@FunctionalInterface
interface FloatLane {
    void apply(MxcsrArithmetic m, long[] v, int d, int a, int b, int imm);
}
