package org.benchtop.engine;

import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.bus.AddressSpace;

/**
 * Sees what a machine does, for tools that show it live. Called on the threads that do it, some of them hot: an
 * observer returns at once, does not throw and calls nothing of the machine.
 */
public interface MachineObserver {
    /**
     * A vCPU has left guest mode for a port or a register, which has been served.
     *
     * @param write whether the guest wrote
     * @param size 1, 2, 4 or 8
     * @param value what was read or written, zero-extended
     */
    default void access(int vcpu, AddressSpace space, boolean write, long address, int size, long value) {}

    /**
     * A drive has completed a request.
     *
     * @param operation {@code read}, {@code write}, {@code flush}, {@code discard} or {@code write-zeroes}
     * @param latencyNanos from submission to completion
     */
    default void blockIo(
            String drive,
            String operation,
            long offsetBytes,
            long lengthBytes,
            BlockStatus status,
            long latencyNanos) {}

    /** The machine is in a new state. */
    default void state(MachineState state) {}

    /** The machine has been reset. */
    default void reset() {}
}
