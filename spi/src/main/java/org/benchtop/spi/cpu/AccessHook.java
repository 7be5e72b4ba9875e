package org.benchtop.spi.cpu;

/** Is called before an access to watched memory, on the thread of the vCPU. */
@FunctionalInterface
public interface AccessHook {
    /**
     * An instruction is about to read or write.
     *
     * @param rip the instruction's offset in the code segment
     * @param address linear address of the first byte
     * @param size bytes; string instructions may report a run at once
     */
    void accesses(Vcpu vcpu, long rip, long address, int size, boolean write);
}
