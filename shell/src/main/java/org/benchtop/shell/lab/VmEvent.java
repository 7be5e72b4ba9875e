package org.benchtop.shell.lab;

import java.util.Locale;
import org.benchtop.engine.MachineState;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.bus.AddressSpace;

/** Something that happened in a machine. */
public sealed interface VmEvent {
    /** When: {@link System#nanoTime}. */
    long nanoTime();

    /**
     * A vCPU left guest mode for a port or register.
     *
     * @param write whether the guest wrote
     * @param size in bytes
     * @param value what was read or written
     * @param device the id of who answers there; empty for nobody
     */
    record Access(
            long nanoTime,
            int vcpu,
            AddressSpace space,
            boolean write,
            long address,
            int size,
            long value,
            String device)
            implements VmEvent {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "vcpu%d %s 0x%x %s 0x%0" + 2 * size + "x%s",
                    vcpu,
                    space == AddressSpace.PIO ? write ? "out" : "in" : write ? "mmio-write" : "mmio-read",
                    address,
                    write ? "<-" : "->",
                    size >= 8 ? value : value & (1L << 8 * size) - 1,
                    device.isEmpty() ? "" : " (" + device + ")");
        }
    }

    /**
     * A drive completed a request.
     *
     * @param operation {@code read}, {@code write}, {@code flush}, {@code discard} or {@code write-zeroes}
     */
    record BlockIo(
            long nanoTime,
            String drive,
            String operation,
            long offsetBytes,
            long lengthBytes,
            BlockStatus status,
            long latencyNanos)
            implements VmEvent {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%s %s 0x%x..+0x%x %s in %.1f µs",
                    drive,
                    operation,
                    offsetBytes,
                    lengthBytes,
                    status,
                    latencyNanos / 1e3);
        }
    }

    /** The machine is in a new state. */
    record State(long nanoTime, MachineState state) implements VmEvent {
        @Override
        public String toString() {
            return "machine " + state.name().toLowerCase(Locale.ROOT);
        }
    }

    /** The machine was reset. */
    record Reset(long nanoTime) implements VmEvent {
        @Override
        public String toString() {
            return "machine reset";
        }
    }
}
