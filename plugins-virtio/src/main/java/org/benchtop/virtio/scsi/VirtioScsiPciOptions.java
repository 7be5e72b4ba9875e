package org.benchtop.virtio.scsi;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.virtio.pci.VirtioPciOptions;

/** The options of {@code virtio-scsi-pci}; names as in QEMU where it has them. */
public record VirtioScsiPciOptions(
        @Option(
                doc = "the iothread that does the work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "request queues", value = "1", min = 1, max = 64)
        int numQueues,

        @Option(doc = "entries of each queue: a power of two", value = "256", min = 4, max = 1024)
        int virtqueueSize,

        @Option(doc = "most sectors of 512 bytes in one command", value = "65535", min = 1, max = Integer.MAX_VALUE)
        int maxSectors,

        @Option(doc = "most commands in one logical unit", value = "128", min = 1, max = 65535)
        int cmdPerLun,

        @Option(doc = "tell the guest of disks that come and go", value = "on")
        boolean hotplug,

        @Option(doc = "tell the guest of changes, such as of a capacity", value = "on")
        boolean paramChange,

        @Option(
                doc = "take notifications without a vCPU exit; off: the vCPU that notifies runs the queue itself",
                value = "on")
        boolean ioeventfd,

        @Option(doc = "offer suppression of interrupts and notifications by index", value = "on")
        boolean eventIdx,

        @Option(doc = "offer indirect descriptors", value = "on")
        boolean indirectDesc,

        @Option(doc = "PCI slot in hex, such as 4 or 0x1f.3; the next free one unless given")
        Optional<String> addr) {

    public VirtioScsiPciOptions {
        if (Integer.bitCount(virtqueueSize) != 1) {
            throw new IllegalArgumentException("virtqueue-size must be a power of two: " + virtqueueSize);
        }
        addr.ifPresent(PciAddress::parse);
    }

    /** All defaults. */
    static VirtioScsiPciOptions defaults() {
        return new VirtioScsiPciOptions(
                Optional.empty(), 1, 256, 65535, 128, true, true, true, true, true, Optional.empty());
    }

    VirtioPciOptions pci() {
        return new VirtioPciOptions(addr.map(PciAddress::parse), ioeventfd, eventIdx, indirectDesc, Optional.empty());
    }

    VirtioScsiOptions scsi() {
        return new VirtioScsiOptions(numQueues, virtqueueSize, maxSectors, cmdPerLun, hotplug, paramChange);
    }
}
