package org.benchtop.shell.lab;

import org.benchtop.engine.asm.Instruction;
import org.benchtop.spi.cpu.Registers;

/**
 * An instruction that a vCPU was about to execute.
 *
 * @param rip its offset in the code segment
 * @param registers before it
 * @param instruction decoded
 */
public record GuestExecution(int vcpu, long rip, Registers registers, Instruction instruction) {
    @Override
    public String toString() {
        return "vcpu" + vcpu + " " + Hex.of(rip) + "  " + instruction.text();
    }
}
