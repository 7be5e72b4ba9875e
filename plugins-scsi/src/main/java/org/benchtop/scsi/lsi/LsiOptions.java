package org.benchtop.scsi.lsi;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;

/** The options of {@code lsi53c895a}. */
public record LsiOptions(
        @Option(doc = "PCI slot in hex, such as 4 or 1f.2; the next free one unless given")
        Optional<String> addr,

        @Option(
                doc = "the iothread that runs SCRIPTS and the targets' work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread) {
    public LsiOptions {
        addr.ifPresent(PciAddress::parse);
    }
}
