package org.benchtop.spi.cpu;

/** Is called before an instruction, on the thread of the vCPU, whose registers may be read and set by it. */
@FunctionalInterface
public interface ExecHook {
    /**
     * An instruction is about to be executed. Called again for one that is restarted after a fault.
     *
     * @param rip its offset in the code segment
     * @param code its bytes, or none where the engine would have to look for them
     */
    void executes(Vcpu vcpu, long rip, byte[] code);
}
