package org.benchtop.pc.chipset;

import static org.benchtop.pc.common.RegisterSpec.readOnly;
import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/**
 * The power management ports of a PIIX4 (Intel 290562, 7.2), which are the PM1a and GPE0 blocks of ACPI.
 *
 * <p>Status bits are cleared by writing ones, so the status registers are split into bytes: a narrow write must not be
 * widened with the bits of its neighbour.
 */
enum PmRegister implements RegisterSpec.Table {
    PMSTS(readWrite(0x00, 1, 0, "82371AB 7.2.1 power management status, bits 7:0")),
    PMSTS_HIGH(readWrite(0x01, 1, 0, "82371AB 7.2.1 power management status, bits 15:8")),
    PMEN(readWrite(0x02, 2, 0, "82371AB 7.2.2 power management enable")),
    PMCNTRL(readWrite(0x04, 2, 0, "82371AB 7.2.3 power management control")),
    PMTMR(readOnly(0x08, 4, 0, "82371AB 7.2.4 24-bit timer of 3.579545 MHz")),
    GPSTS(readWrite(0x0c, 1, 0, "82371AB 7.2.5 general purpose status, bits 7:0")),
    GPSTS_HIGH(readWrite(0x0d, 1, 0, "82371AB 7.2.5 general purpose status, bits 15:8")),
    GPEN(readWrite(0x0e, 2, 0, "82371AB 7.2.6 general purpose enable")),
    PCNTRL(readWrite(0x10, 4, 0, "82371AB 7.2.7 processor control")),
    GLBSTS(readOnly(0x18, 2, 0, "82371AB 7.2.10 global status")),
    DEVSTS(readOnly(0x1c, 4, 0, "82371AB 7.2.11 device status")),
    GLBEN(readWrite(0x20, 2, 0, "82371AB 7.2.12 global enable")),
    GLBCTL(readWrite(0x28, 4, 0, "82371AB 7.2.13 global control")),
    DEVCTL(readWrite(0x2c, 4, 0, "82371AB 7.2.14 device control")),
    GPIREG(readOnly(0x30, 4, 0, "82371AB 7.2.15 general purpose input")),
    GPOREG(readWrite(0x34, 4, 0x7fff_bfff, "82371AB 7.2.16 general purpose output"));

    private final RegisterSpec row;

    PmRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
