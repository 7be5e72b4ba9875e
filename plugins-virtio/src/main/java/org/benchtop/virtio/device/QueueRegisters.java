package org.benchtop.virtio.device;

import java.util.List;
import org.benchtop.virtio.queue.QueuePump;
import org.benchtop.virtio.queue.RingLayout;

/** What the driver has set for one queue. Guarded by the lock of {@link VirtioCore}. */
final class QueueRegisters {
    final QueuePump pump;
    int size;
    long descriptorGpa;
    long driverGpa;
    long deviceGpa;
    boolean enabled;
    boolean resetting;
    /** Where to go on; valid while the pump is stopped. */
    int lastAvail;

    int usedIndex;
    /** Heads of chains to begin again; valid while the pump is stopped. */
    List<Integer> parked = List.of();

    QueueRegisters(QueuePump pump) {
        this.pump = pump;
        clear();
    }

    void clear() {
        size = pump.maxSize();
        descriptorGpa = 0;
        driverGpa = 0;
        deviceGpa = 0;
        enabled = false;
        resetting = false;
        lastAvail = 0;
        usedIndex = 0;
        parked = List.of();
    }

    RingLayout layout() {
        return new RingLayout(size, descriptorGpa, driverGpa, deviceGpa);
    }

    QueueState save() {
        return new QueueState(size, descriptorGpa, driverGpa, deviceGpa, enabled, lastAvail, usedIndex, parked);
    }

    void restore(QueueState state) {
        size = state.size();
        descriptorGpa = state.descriptorGpa();
        driverGpa = state.driverGpa();
        deviceGpa = state.deviceGpa();
        enabled = state.enabled();
        resetting = false;
        lastAvail = state.lastAvail();
        usedIndex = state.usedIndex();
        parked = state.parked();
    }
}
