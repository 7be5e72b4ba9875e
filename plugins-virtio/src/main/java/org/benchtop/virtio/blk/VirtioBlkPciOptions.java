package org.benchtop.virtio.blk;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalInt;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.virtio.pci.VirtioPciOptions;

/** The options of {@code virtio-blk-pci}. */
public record VirtioBlkPciOptions(
        @Option(doc = "the drive that stores the disk", ref = Option.Ref.DRIVE)
        String drive,

        @Option(
                doc = "the iothread that does the disk's work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "request queues", value = "1", min = 1, max = 64)
        int queues,

        @Option(doc = "entries of each queue: a power of two", value = "256", min = 4, max = 1024)
        int queueSize,

        @Option(doc = "most buffers in one request; as many as fit into the queue unless given", min = 1, max = 1022)
        Optional<Integer> segMax,

        @Option(doc = "serial number: at most 20 ASCII characters", value = "")
        String serial,

        @Option(doc = "refuse writes even if the drive could take them", value = "off")
        boolean readOnly,

        @Option(doc = "let the guest switch between write-back and write-through", value = "on")
        boolean configWce,

        @Option(doc = "offer discard where the drive does something with it", value = "on")
        boolean discard,

        @Option(doc = "offer write-zeroes", value = "on") boolean writeZeroes,

        @Option(
                doc = "take notifications without a vCPU exit; off: the vCPU that notifies runs the queue itself",
                value = "on")
        boolean ioeventfd,

        @Option(doc = "offer suppression of interrupts and notifications by index", value = "on")
        boolean eventIdx,

        @Option(doc = "offer indirect descriptors", value = "on")
        boolean indirectDesc,

        @Option(doc = "PCI slot in hex, such as 4 or 0x1f.3; the next free one unless given")
        Optional<String> addr,

        @Option(doc = "smallest request; the drive's unless given", min = 512, max = 32768, unit = Option.Unit.BYTES)
        Optional<Integer> logicalBlockSize,

        @Option(
                doc = "smallest request without read-modify-write; the drive's unless given",
                min = 512,
                max = 1 << 20,
                unit = Option.Unit.BYTES)
        Optional<Integer> physicalBlockSize) {

    public VirtioBlkPciOptions {
        if (Integer.bitCount(queueSize) != 1) {
            throw new IllegalArgumentException("queue-size must be a power of two: " + queueSize);
        }
        if (segMax.isPresent() && segMax.get() > queueSize - 2) {
            throw new IllegalArgumentException("seg-max " + segMax.get() + " does not fit into queue-size " + queueSize
                    + ": at most " + (queueSize - 2));
        }
        if (serial.length() > BlkHeader.VIRTIO_BLK_ID_BYTES
                || !StandardCharsets.US_ASCII.newEncoder().canEncode(serial)) {
            throw new IllegalArgumentException("serial must be at most 20 ASCII characters: \"" + serial + "\"");
        }
        requirePowerOfTwo("logical-block-size", logicalBlockSize);
        requirePowerOfTwo("physical-block-size", physicalBlockSize);
        addr.ifPresent(PciAddress::parse);
    }

    private static void requirePowerOfTwo(String option, Optional<Integer> value) {
        if (value.isPresent() && Integer.bitCount(value.get()) != 1) {
            throw new IllegalArgumentException(option + " must be a power of two: " + value.get());
        }
    }

    /** Options for a drive with all defaults. */
    static VirtioBlkPciOptions of(String drive) {
        return new VirtioBlkPciOptions(
                drive,
                Optional.empty(),
                1,
                256,
                Optional.empty(),
                "",
                false,
                true,
                true,
                true,
                true,
                true,
                true,
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    VirtioPciOptions pci() {
        return new VirtioPciOptions(addr.map(PciAddress::parse), ioeventfd, eventIdx, indirectDesc);
    }

    VirtioBlkOptions blk() {
        return new VirtioBlkOptions(
                queues,
                queueSize,
                toInt(segMax),
                serial,
                readOnly,
                configWce,
                discard,
                writeZeroes,
                toInt(logicalBlockSize),
                toInt(physicalBlockSize));
    }

    private static OptionalInt toInt(Optional<Integer> value) {
        return value.isPresent() ? OptionalInt.of(value.get()) : OptionalInt.empty();
    }
}
