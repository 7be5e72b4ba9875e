package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.benchtop.softcpu.fp.FpuState;
import org.benchtop.softcpu.fp.MxcsrArithmetic;

/** A vector instruction with floating-point exceptions: its result is stored only if none is unmasked. */
final class FloatHandler implements InsnHandler {
    /** How the operation walks over a register. */
    enum Shape {
        /** Once, on the lowest lane, whatever VEX.L says. */
        SCALAR,
        /** On each lane. */
        LANES,
        /** On each lane, with the immediate shifted right by 2 for the upper one. */
        LANES_SPLIT_IMMEDIATE,
        /** Once; with VEX.L it fills four words. */
        ONCE
    }

    private static final int R = FpuState.RESULT;

    private final FloatLane operation;
    private final int feature;
    private final boolean vex;
    private final Shape shape;
    private final boolean wide;
    private final int memoryBytes;
    private final boolean aligned;
    private final boolean fused;
    private final int d;
    private final int a;
    private final int b;
    private final int imm;

    FloatHandler(Insn in, FloatLane operation, int feature, Shape shape, int memoryBytes, boolean fused) {
        this.operation = operation;
        this.feature = feature;
        this.vex = in.vex;
        this.shape = shape;
        this.wide = in.vexL != 0 && shape != Shape.SCALAR;
        this.memoryBytes = memoryBytes;
        this.aligned = memoryBytes == 16 && !in.vex;
        this.fused = fused;
        this.d = Vector.reg(in);
        this.a = Vector.first(in);
        this.b = Vector.rm(in);
        this.imm = fused ? d : (int) in.imm & 0xff;
    }

    @Override
    public void execute(Cpu cpu, Insn in) {
        long[] v = Vector.enter(cpu, feature, vex);
        Vector.load(cpu, in, v, memoryBytes, aligned);
        MxcsrArithmetic m = cpu.fpu.sse;
        m.begin();
        operation.apply(m, v, R, a, b, imm);
        if (wide && shape != Shape.ONCE) {
            int upper = fused ? imm + 2 : shape == Shape.LANES_SPLIT_IMMEDIATE ? imm >> 2 : imm;
            operation.apply(m, v, R + 2, a + 2, b + 2, upper);
        }
        if (!m.finish()) {
            throw Vector.floatException(cpu);
        }
        v[d] = v[R];
        v[d + 1] = v[R + 1];
        if (wide) {
            v[d + 2] = v[R + 2];
            v[d + 3] = v[R + 3];
        } else if (vex) {
            Vector.clearUpper(v, d);
        }
    }
}
