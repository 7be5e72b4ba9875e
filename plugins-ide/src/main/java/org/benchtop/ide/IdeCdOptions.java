package org.benchtop.ide;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.ErrorPolicy;

/** The options of {@code ide-cd}; names as in QEMU where it has them. */
public record IdeCdOptions(
        @Option(doc = "the drive that stores the disc; an empty tray unless given", ref = Option.Ref.DRIVE)
        Optional<String> drive,

        @Option(doc = "the id of the controller; the first one with a free place unless given")
        Optional<String> bus,

        @Option(doc = "IDE channel or AHCI port; the first free one unless given", min = 0, max = 31)
        Optional<Integer> channel,

        @Option(doc = "0 for master, 1 for slave; the first free one unless given", min = 0, max = 1)
        Optional<Integer> unit,

        @Option(
                doc = "the iothread that does the drive's work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "serial number: at most 20 ASCII characters; made from the place unless given")
        Optional<String> serial,

        @Option(doc = "vendor and product: at most 40 ASCII characters", value = "BENCHTOP DVD-ROM")
        String model,

        @Option(doc = "firmware revision: at most 8 ASCII characters", value = "1.0")
        String version,

        @Option(doc = "world wide name; none unless given") Optional<Long> wwn,

        @Option(doc = "what to do when the host cannot read", value = "report")
        ErrorPolicy rerror,

        @Option(doc = "place in the firmware's boot order, lowest first; after all others unless given", min = 0)
        Optional<Integer> bootindex) {

    public IdeCdOptions {
        serial.ifPresent(s -> DriveTexts.check("serial", s, DriveTexts.SERIAL));
        DriveTexts.check("model", model, DriveTexts.MODEL);
        DriveTexts.check("version", version, DriveTexts.VERSION);
    }

    /** All defaults. */
    static IdeCdOptions of(String drive) {
        return new IdeCdOptions(
                Optional.of(drive),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                "BENCHTOP DVD-ROM",
                "1.0",
                Optional.empty(),
                ErrorPolicy.REPORT,
                Optional.empty());
    }
}
