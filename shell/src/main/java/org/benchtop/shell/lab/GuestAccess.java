package org.benchtop.shell.lab;

/**
 * An access to memory that a vCPU was about to make.
 *
 * @param rip offset of the instruction in the code segment
 * @param address linear address of the first byte
 * @param size bytes
 */
public record GuestAccess(int vcpu, long rip, long address, int size, boolean write) {
    @Override
    public String toString() {
        return "vcpu" + vcpu + " " + Hex.of(rip) + (write ? " writes " : " reads ") + size + " bytes at "
                + Hex.of(address);
    }
}
