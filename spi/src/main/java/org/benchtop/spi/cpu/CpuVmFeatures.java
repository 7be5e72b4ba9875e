package org.benchtop.spi.cpu;

/**
 * What a VM brings along.
 *
 * @param irqChip whether LAPIC, IOAPIC and PIC are in the engine; otherwise the platform emulates them
 * @param pit whether the 8254 is in the engine
 * @param ioEvents whether {@link CpuVm#addIoEvent} works
 * @param readOnlyMemory whether {@link org.benchtop.spi.memory.MemoryAccess#READ_ONLY} mappings work
 * @param hypercalls whether hypercalls, hypervisor CPUID leaves and unknown MSRs reach {@link Hypervisor}
 */
public record CpuVmFeatures(
        boolean irqChip, boolean pit, boolean ioEvents, boolean readOnlyMemory, boolean hypercalls) {
    /** An engine that keeps hypercalls and the CPUID leaves of hypervisors to itself. */
    public CpuVmFeatures(boolean irqChip, boolean pit, boolean ioEvents, boolean readOnlyMemory) {
        this(irqChip, pit, ioEvents, readOnlyMemory, false);
    }
}
