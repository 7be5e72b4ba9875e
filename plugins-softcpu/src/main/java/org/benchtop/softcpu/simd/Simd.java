package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.jspecify.annotations.Nullable;

/**
 * Finds the handlers of vector instructions: everything in the maps {@code 0F}, {@code 0F 38} and {@code 0F 3A} (legacy and
 * VEX) that the integer decoder does not take itself, and the state instructions of {@code 0F AE} (FXSAVE, FXRSTOR, LDMXCSR,
 * STMXCSR, XSAVE, XRSTOR, XSAVEOPT) and {@code 0F C7} (XSAVEC).
 */
public final class Simd {
    private Simd() {}

    /** Whether a feature of the vector unit (a constant of {@code CpuFeatures}) is complete enough to be offered to guests. */
    public static boolean implementsFeature(int feature) {
        return false;
    }

    /** The handler of an instruction, or null if it is undefined. */
    public static @Nullable InsnHandler handler(Insn insn) {
        return null;
    }
}
