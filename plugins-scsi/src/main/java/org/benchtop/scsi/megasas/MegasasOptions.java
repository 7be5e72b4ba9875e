package org.benchtop.scsi.megasas;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;

/** The options of {@code megasas}. */
public record MegasasOptions(
        @Option(
                doc = "the iothread that does the work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "PCI slot in hex, such as 4 or 0x1f.3; the next free one unless given")
        Optional<String> addr) {
    public MegasasOptions {
        addr.ifPresent(PciAddress::parse);
    }

    /** All defaults. */
    public static MegasasOptions defaults() {
        return new MegasasOptions(Optional.empty(), Optional.empty());
    }
}
