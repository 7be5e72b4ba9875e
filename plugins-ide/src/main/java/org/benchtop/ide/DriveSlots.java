package org.benchtop.ide;

import java.util.Optional;
import org.benchtop.ide.drive.AtaDevice;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.stats.Stats;

/** A controller as its drives see it. */
public interface DriveSlots {
    /** The controller's name in YAML. */
    String id();

    /** Channels or ports. */
    int channels();

    /** Drives on one channel. */
    int units();

    /** Whether drives are serial ones. */
    boolean serialAta();

    /** The Open Firmware path of a place, as firmware is told it. */
    default String firmwarePath(int channel, int unit) {
        return pciAddress().firmwarePath(serialAta() ? "pci8086,2922" : "ide")
                + String.format("/drive@%x/disk@%x", channel, unit);
    }

    /** Where the controller is on the PCI bus; valid once it is attached. */
    PciAddress pciAddress();

    /** Whether a place is free. */
    boolean free(int channel, int unit);

    /**
     * Puts a drive into a free place.
     *
     * @param medium what stores its bytes; empty for a drive without a disc
     * @param loop where its requests are submitted and completed
     */
    Plug plug(int channel, int unit, AtaDevice device, Optional<Medium> medium, EventLoop loop, Stats stats);

    /** What stores a drive's bytes, and what happens when it fails. */
    record Medium(BlockBackend backend, ErrorHandling errors) {}

    /** A drive in its place; its methods wait and must not be called with a lock. */
    interface Plug extends AutoCloseable {
        /** Power-on state; nothing is in flight when it returns. */
        void reset();

        /** Lets the current command end as far as it does not need the guest. */
        void pause();

        /** Tries again what the host could not do when the machine was stopped for it. */
        void resume();

        /** Runs something with the device under the controller's lock, and publishes what changed. */
        void locked(Runnable action);

        /** Takes the drive out. */
        @Override
        void close();
    }
}
