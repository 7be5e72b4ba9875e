package org.benchtop.engine.kvm;

/**
 * The state of the controllers and clocks in the kernel. The byte arrays are kernel structures (linux/kvm.h).
 *
 * @param picMaster {@code kvm_irqchip} of the first 8259
 * @param picSlave {@code kvm_irqchip} of the second 8259
 * @param ioapic {@code kvm_irqchip} of the IOAPIC
 * @param pit {@code kvm_pit_state2}
 * @param clockNanos the KVM clock; 0 where this KVM cannot tell it
 */
record VmState(byte[] picMaster, byte[] picSlave, byte[] ioapic, byte[] pit, long clockNanos) {
    static final int VERSION = 1;
}
