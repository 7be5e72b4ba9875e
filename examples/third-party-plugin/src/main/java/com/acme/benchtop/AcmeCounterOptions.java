package com.acme.benchtop;

import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.pci.PciAddress;

/** Options of {@code acme-counter}: the source of its YAML keys, its JSON Schema and its {@code plugins describe}. */
public record AcmeCounterOptions(
        @Option(doc = "Time between two counts when the guest does not choose one.", unit = Option.Unit.NANOSECONDS, value = "1ms", min = 10_000, max = 10_000_000_000L)
        long period,
        @Option(doc = "Where on the PCI bus, such as 0x1f or 4.1; the lowest free device unless given.")
        Optional<String> addr) {

    public AcmeCounterOptions {
        addr.ifPresent(PciAddress::parse);
    }

    Optional<PciAddress> address() {
        return addr.map(PciAddress::parse);
    }
}
