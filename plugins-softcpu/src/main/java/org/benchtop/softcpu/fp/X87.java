package org.benchtop.softcpu.fp;

import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.jspecify.annotations.Nullable;

/** Finds the handlers of x87 instructions: one-byte opcodes D8–DF and WAIT (9B). */
public final class X87 {
    private X87() {}

    /** The handler of an instruction, or null if it is undefined. */
    public static @Nullable InsnHandler handler(Insn insn) {
        return null;
    }
}
