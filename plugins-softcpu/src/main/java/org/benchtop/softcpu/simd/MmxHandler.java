package org.benchtop.softcpu.simd;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.benchtop.softcpu.fp.X87Unit;

/** An MMX instruction with a destination register and a register or memory operand. */
final class MmxHandler implements InsnHandler {
    private final Word operation;
    private final int feature;
    private final int memoryBytes;

    MmxHandler(Word operation, int feature, int memoryBytes) {
        this.operation = operation;
        this.feature = feature;
        this.memoryBytes = memoryBytes;
    }

    /** The source operand. */
    static long source(Cpu cpu, Insn in, X87Unit unit, int memoryBytes) {
        return in.memory ? cpu.load(cpu.address(in, memoryBytes, false), memoryBytes) : unit.mmx(in.rm & 7);
    }

    @Override
    public void execute(Cpu cpu, Insn in) {
        X87Unit unit = Vector.mmx(cpu, feature);
        long b = source(cpu, in, unit, memoryBytes);
        int d = in.reg & 7;
        unit.enterMmx();
        unit.mmx(d, operation.apply(unit.mmx(d), b));
    }
}
