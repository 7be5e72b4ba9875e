package org.benchtop.virtio.device;

import java.util.List;
import java.util.Map;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.state.SavedState;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;

/**
 * A type of virtio device; knows neither rings nor transport.
 *
 * <p>Configuration accesses come on vCPU threads, queue work on the event loops of the queues.
 */
public interface VirtioDevice extends AutoCloseable {
    /** The device type (VIRTIO 1.2, 5): 2 for a block device. */
    int deviceId();

    /** The class code that a PCI transport shows. */
    int pciClassCode();

    /** The type's own feature bits that are offered. */
    long features();

    /** The number of queues. */
    int queues();

    /** The largest size of a queue: a power of two. */
    int queueMaxSize(int queue);

    /** Where a queue's work is done. */
    EventLoop queueLoop(int queue);

    /** Connects a queue; called once for each. */
    QueueHandler openQueue(int queue, QueuePump pump);

    /** Whether a selection of the offered features makes sense to the type. */
    default boolean accepts(long features) {
        return true;
    }

    /** Its transport has put it on the PCI bus. */
    default void placed(PciAddress address) {}

    /** The driver's features are settled. */
    void negotiated(long features);

    /** The device-specific configuration space. */
    RegisterMap<?> config();

    /** Initial state; no request is in flight. */
    void reset();

    /**
     * The machine goes on after a pause.
     *
     * @return whether something in the configuration space has changed meanwhile
     */
    default boolean resumed() {
        return false;
    }

    /** State besides queues and features. */
    SavedState saveState();

    /** Restores it, after features are settled. */
    void restoreState(SavedState state);

    /** Live state for people. */
    default Map<String, Object> inspect() {
        return Map.of();
    }

    /** The register tables for people. */
    default List<RegisterMap<?>> registers() {
        return List.of(config());
    }

    /** Frees what the device has opened; no request is in flight. */
    @Override
    void close();
}
