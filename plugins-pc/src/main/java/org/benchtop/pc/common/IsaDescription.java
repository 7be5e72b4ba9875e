package org.benchtop.pc.common;

import java.util.List;

/**
 * A device with fixed ports as the guest's ACPI namespace shows it.
 *
 * @param name four characters, such as {@code COM1}
 * @param hardwareId the PNP ID, such as {@code PNP0501}
 * @param uid tells devices of one hardware ID apart
 * @param ports its I/O ports
 * @param irq ISA interrupt
 */
public record IsaDescription(String name, String hardwareId, int uid, List<Ports> ports, int irq) {
    /**
     * A range of ports.
     *
     * @param first first I/O port
     * @param count number of ports
     */
    public record Ports(int first, int count) {}
}
