package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;

/** A vector instruction that does the same to every 64-bit word. */
final class WordHandler implements InsnHandler {
    private final Word operation;
    private final int feature;
    private final boolean vex;
    private final boolean wide;
    private final int d;
    private final int a;
    private final int b;

    WordHandler(Insn in, Word operation, int feature) {
        this.operation = operation;
        this.feature = feature;
        this.vex = in.vex;
        this.wide = in.vexL != 0;
        this.d = Vector.reg(in);
        this.a = Vector.first(in);
        this.b = Vector.rm(in);
    }

    @Override
    public void execute(Cpu cpu, Insn in) {
        long[] v = Vector.enter(cpu, feature, vex);
        Vector.load(cpu, in, v, wide ? 32 : 16, !vex);
        long low = operation.apply(v[a], v[b]);
        v[d + 1] = operation.apply(v[a + 1], v[b + 1]);
        v[d] = low;
        if (wide) {
            low = operation.apply(v[a + 2], v[b + 2]);
            v[d + 3] = operation.apply(v[a + 3], v[b + 3]);
            v[d + 2] = low;
        } else if (vex) {
            Vector.clearUpper(v, d);
        }
    }
}
