package org.benchtop.ide;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;

/** The options of {@code piix3-ide} and {@code piix4-ide}. */
public record ControllerOptions(
        @Option(doc = "PCI slot in hex, such as 1.1; beside the ISA bridge unless given")
        Optional<String> addr) {
    public ControllerOptions {
        addr.ifPresent(PciAddress::parse);
    }
}
