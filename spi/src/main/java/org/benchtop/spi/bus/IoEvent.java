package org.benchtop.spi.bus;

/** A guest write that rings a {@link org.benchtop.spi.event.Doorbell} without a device call (KVM: ioeventfd). */
public interface IoEvent extends AutoCloseable {
    /** Whether the CPU engine takes the write without an exit; otherwise the bus rings the doorbell. */
    boolean accelerated();

    /** Takes the event away; the write reaches the device's range again. */
    @Override
    void close();
}
