package org.benchtop.ide;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;

/** The options of {@code ich9-ahci}. */
public record AhciOptions(
        @Option(doc = "ports, one drive on each", value = "6", min = 1, max = 32)
        int ports,

        @Option(doc = "PCI slot in hex, such as 4 or 0x1f.2; the next free one unless given")
        Optional<String> addr) {
    public AhciOptions {
        addr.ifPresent(PciAddress::parse);
    }
}
