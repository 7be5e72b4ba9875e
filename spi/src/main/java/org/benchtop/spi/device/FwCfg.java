package org.benchtop.spi.device;

import java.util.Optional;
import java.util.function.Supplier;

/** The firmware configuration device: files that firmware reads. */
public interface FwCfg {
    /** Adds a file, such as {@code etc/e820}; the supplier is asked at each reset. */
    void addFile(String name, Supplier<byte[]> content);

    /**
     * Names a device that firmware shall try to boot from, in the order of the indices; from the next reset on.
     *
     * @param bootIndex unique in the machine, 0 or more
     * @param path the device's Open Firmware path, such as {@code /pci@i0cf8/ide@1,1/drive@0/disk@0}
     */
    BootEntry addBootEntry(int bootIndex, String path);

    /** A device in the boot order. */
    interface BootEntry extends AutoCloseable {
        /** Takes the device out of the boot order. */
        @Override
        void close();
    }

    /** {@link #addBootEntry} where a device has a boot index and the machine has firmware's configuration device. */
    static Optional<BootEntry> boot(DeviceContext context, Optional<Integer> bootIndex, Supplier<String> path) {
        return bootIndex.flatMap(
                index -> context.services().find(FwCfg.class).map(fwCfg -> fwCfg.addBootEntry(index, path.get())));
    }
}
