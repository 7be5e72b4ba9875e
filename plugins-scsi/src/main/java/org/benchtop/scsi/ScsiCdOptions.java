package org.benchtop.scsi;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.ErrorPolicy;

/** The options of {@code scsi-cd}; names as in QEMU where it has them. */
public record ScsiCdOptions(
        @Option(doc = "the drive that stores the disc; an empty tray unless given", ref = Option.Ref.DRIVE)
        Optional<String> drive,

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

        @Option(doc = "product: at most 16 ASCII characters", value = "DVD-ROM")
        String product,

        @Option(doc = "firmware revision: at most 4 ASCII characters", value = "1.0")
        String ver,

        @Option(doc = "NAA world wide name; none unless given")
        Optional<Long> wwn,

        @Option(doc = "what to do when the host cannot read", value = "report")
        ErrorPolicy rerror,

        @Option(doc = "place in the firmware's boot order, lowest first; after all others unless given", min = 0)
        Optional<Integer> bootindex) {

    public ScsiCdOptions {
        serial.ifPresent(s -> ScsiTexts.check("serial", s, ScsiTexts.SERIAL));
        ScsiTexts.check("vendor", vendor, ScsiTexts.VENDOR);
        ScsiTexts.check("product", product, ScsiTexts.PRODUCT);
        ScsiTexts.check("ver", ver, ScsiTexts.VERSION);
    }

    /** All defaults. */
    public static ScsiCdOptions of(String drive) {
        return new ScsiCdOptions(
                Optional.of(drive),
                Optional.empty(),
                Optional.empty(),
                0,
                Optional.empty(),
                "BENCHTOP",
                "DVD-ROM",
                "1.0",
                Optional.empty(),
                ErrorPolicy.REPORT,
                Optional.empty());
    }
}
