package org.benchtop.softcpu;

/**
 * What an instruction does. One handler serves all instances of an instruction; operands are in the {@link Insn}.
 *
 * <p>A handler changes nothing that the guest can see before its last possible fault, so that the instruction can be
 * restarted. It does not touch RIP unless it is a control transfer.
 */
@FunctionalInterface
public interface InsnHandler {
    /** Executes one instruction; throws {@link CpuFault} for an exception of the guest. */
    void execute(Cpu cpu, Insn insn);
}
