package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;

/** A vector instruction that does the same to every 128-bit lane, without floating-point exceptions. */
final class LaneHandler implements InsnHandler {
    private final Lane operation;
    private final int feature;
    private final boolean vex;
    private final boolean wide;
    private final int memoryBytes;
    private final boolean aligned;
    private final int bStep;
    private final int immediateStep;
    private final int d;
    private final int a;
    private final int b;
    private final int imm;

    /**
     * @param memoryBytes the size of a memory operand
     * @param aligned whether a legacy memory operand must be aligned
     * @param bStep 2, or 0 if all lanes use the same second operand
     * @param immediateStep by how much the immediate is shifted right for the upper lane
     */
    LaneHandler(Insn in, Lane operation, int feature, int memoryBytes, boolean aligned, int bStep, int immediateStep) {
        this(in, operation, feature, memoryBytes, aligned, bStep, immediateStep, Vector.reg(in), Vector.first(in));
    }

    /** With other registers than ModRM.reg and VEX.vvvv. */
    LaneHandler(
            Insn in,
            Lane operation,
            int feature,
            int memoryBytes,
            boolean aligned,
            int bStep,
            int immediateStep,
            int d,
            int a) {
        this.operation = operation;
        this.feature = feature;
        this.vex = in.vex;
        this.wide = in.vexL != 0;
        this.memoryBytes = memoryBytes;
        this.aligned = aligned && !in.vex;
        this.bStep = bStep;
        this.immediateStep = immediateStep;
        this.d = d;
        this.a = a;
        this.b = Vector.rm(in);
        this.imm = (int) in.imm & 0xff;
    }

    @Override
    public void execute(Cpu cpu, Insn in) {
        long[] v = Vector.enter(cpu, feature, vex);
        Vector.load(cpu, in, v, memoryBytes, aligned);
        if (wide && bStep == 0) {
            // The shared operand may be the destination: the upper lane goes first.
            operation.apply(v, d + 2, a + 2, b, imm >> immediateStep);
            operation.apply(v, d, a, b, imm);
            return;
        }
        operation.apply(v, d, a, b, imm);
        if (wide) {
            operation.apply(v, d + 2, a + 2, b + bStep, imm >> immediateStep);
        } else if (vex) {
            Vector.clearUpper(v, d);
        }
    }
}
