package org.benchtop.pc.common;

/**
 * A device with fixed ports as the guest's ACPI namespace shows it.
 *
 * @param name four characters, such as {@code COM1}
 * @param hardwareId the PNP ID, such as {@code PNP0501}
 * @param uid tells devices of one hardware ID apart
 * @param port first I/O port
 * @param portCount number of ports
 * @param irq ISA interrupt
 */
public record IsaDescription(String name, String hardwareId, int uid, int port, int portCount, int irq) {}
