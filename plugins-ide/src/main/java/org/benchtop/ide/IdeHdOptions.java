package org.benchtop.ide;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.ErrorPolicy;

/** The options of {@code ide-hd}; names as in QEMU where it has them. */
public record IdeHdOptions(
        @Option(doc = "the drive that stores the disk", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "the id of the controller; the first one with a free place unless given")
        Optional<String> bus,

        @Option(doc = "IDE channel or AHCI port; the first free one unless given", min = 0, max = 31)
        Optional<Integer> channel,

        @Option(doc = "0 for master, 1 for slave; the first free one unless given", min = 0, max = 1)
        Optional<Integer> unit,

        @Option(
                doc = "the iothread that does the disk's work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "serial number: at most 20 ASCII characters; made from the place unless given")
        Optional<String> serial,

        @Option(doc = "model: at most 40 ASCII characters", value = "BENCHTOP HARDDISK")
        String model,

        @Option(doc = "firmware revision: at most 8 ASCII characters", value = "1.0")
        String version,

        @Option(doc = "world wide name; none unless given") Optional<Long> wwn,

        @Option(doc = "whether the drive's write cache is on at first; as the drive's cache mode says unless given")
        Optional<Boolean> writeCache,

        @Option(doc = "offer TRIM where the drive does something with it", value = "on")
        boolean discard,

        @Option(doc = "0 for unknown, 1 for an SSD, else revolutions per minute", value = "0", min = 0, max = 65534)
        int rotationRate,

        @Option(doc = "smallest request; the drive's unless given", min = 512, max = 4096, unit = Option.Unit.BYTES)
        Optional<Integer> logicalBlockSize,

        @Option(
                doc = "smallest request without read-modify-write; the drive's unless given",
                min = 512,
                max = 1 << 20,
                unit = Option.Unit.BYTES)
        Optional<Integer> physicalBlockSize,

        @Option(doc = "cylinders, together with heads and secs", min = 1, max = 65535)
        Optional<Integer> cyls,

        @Option(doc = "heads, together with cyls and secs", min = 1, max = 16)
        Optional<Integer> heads,

        @Option(doc = "sectors per track, together with cyls and heads", min = 1, max = 255)
        Optional<Integer> secs,

        @Option(doc = "what to do when the host cannot read", value = "report")
        ErrorPolicy rerror,

        @Option(
                doc = "what to do when the host cannot write, flush or discard; enospc stops when space has run out",
                value = "enospc")
        ErrorPolicy werror,

        @Option(doc = "place in the firmware's boot order, lowest first; after all others unless given", min = 0)
        Optional<Integer> bootindex) {

    public IdeHdOptions {
        serial.ifPresent(s -> DriveTexts.check("serial", s, DriveTexts.SERIAL));
        DriveTexts.check("model", model, DriveTexts.MODEL);
        DriveTexts.check("version", version, DriveTexts.VERSION);
        if (rotationRate > 1 && rotationRate < 1025) {
            throw new IllegalArgumentException("rotation-rate must be 0, 1 or 1025..65534: " + rotationRate);
        }
        if (logicalBlockSize.isPresent() && logicalBlockSize.get() != 512 && logicalBlockSize.get() != 4096) {
            throw new IllegalArgumentException("logical-block-size must be 512 or 4096: " + logicalBlockSize.get());
        }
        if (physicalBlockSize.isPresent() && Integer.bitCount(physicalBlockSize.get()) != 1) {
            throw new IllegalArgumentException(
                    "physical-block-size must be a power of two: " + physicalBlockSize.get());
        }
        boolean geometry = cyls.isPresent();
        if (heads.isPresent() != geometry || secs.isPresent() != geometry) {
            throw new IllegalArgumentException("cyls, heads and secs must be given together");
        }
    }

    /** All defaults. */
    static IdeHdOptions of(String drive) {
        return new IdeHdOptions(
                drive,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                "BENCHTOP HARDDISK",
                "1.0",
                Optional.empty(),
                Optional.empty(),
                true,
                0,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                ErrorPolicy.REPORT,
                ErrorPolicy.ENOSPC,
                Optional.empty());
    }
}
