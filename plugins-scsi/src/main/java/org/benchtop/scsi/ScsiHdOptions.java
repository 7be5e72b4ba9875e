package org.benchtop.scsi;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.ErrorPolicy;

/** The options of {@code scsi-hd}; names as in QEMU where it has them. */
public record ScsiHdOptions(
        @Option(doc = "the drive that stores the disk", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "the id of the SCSI adapter; the first one with a free place unless given")
        Optional<String> bus,

        @Option(doc = "target on the adapter's bus; the first one with a free place unless given", min = 0, max = 255)
        Optional<Integer> scsiId,

        @Option(doc = "logical unit number", value = "0", min = 0, max = 16383)
        int lun,

        @Option(doc = "serial number: at most 36 ASCII characters; made from the place unless given")
        Optional<String> serial,

        @Option(doc = "vendor: at most 8 ASCII characters", value = "BENCHTOP")
        String vendor,

        @Option(doc = "product: at most 16 ASCII characters", value = "HARDDISK")
        String product,

        @Option(doc = "firmware revision: at most 4 ASCII characters", value = "1.0")
        String ver,

        @Option(doc = "NAA world wide name; none unless given")
        Optional<Long> wwn,

        @Option(doc = "whether the write cache is on at first; as the drive's cache mode says unless given")
        Optional<Boolean> writeCache,

        @Option(doc = "offer UNMAP where the drive does something with it", value = "on")
        boolean discard,

        @Option(doc = "refuse writes even if the drive could take them", value = "off")
        boolean readOnly,

        @Option(doc = "whether the guest can take the medium out", value = "off")
        boolean removable,

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

        @Option(doc = "what to do when the host cannot read", value = "report")
        ErrorPolicy rerror,

        @Option(
                doc = "what to do when the host cannot write, flush or discard; enospc stops when space has run out",
                value = "enospc")
        ErrorPolicy werror,

        @Option(doc = "place in the firmware's boot order, lowest first; after all others unless given", min = 0)
        Optional<Integer> bootindex) {

    public ScsiHdOptions {
        serial.ifPresent(s -> ScsiTexts.check("serial", s, ScsiTexts.SERIAL));
        ScsiTexts.check("vendor", vendor, ScsiTexts.VENDOR);
        ScsiTexts.check("product", product, ScsiTexts.PRODUCT);
        ScsiTexts.check("ver", ver, ScsiTexts.VERSION);
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
    }

    /** All defaults. */
    public static ScsiHdOptions of(String drive) {
        return new ScsiHdOptions(
                drive,
                Optional.empty(),
                Optional.empty(),
                0,
                Optional.empty(),
                "BENCHTOP",
                "HARDDISK",
                "1.0",
                Optional.empty(),
                Optional.empty(),
                true,
                false,
                false,
                0,
                Optional.empty(),
                Optional.empty(),
                ErrorPolicy.REPORT,
                ErrorPolicy.ENOSPC,
                Optional.empty());
    }
}
