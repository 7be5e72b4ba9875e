package org.benchtop.pc.chipset;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** Configuration registers of the PIIX4 power management function that something depends on (Intel 290562, 7.1). */
enum PmConfigRegister implements RegisterSpec.Table {
    PMBA(readWrite(0x40, 4, 0x0001, "82371AB 7.1.11 power management base address")),
    DEVACTB(readWrite(0x58, 4, 0x0200_0000, "82371AB 7.1.17 device activity B; bit 25 is APMC_EN")),
    PMREGMISC(readWrite(0x80, 1, 0, "82371AB 7.1.27 bit 0 enables the power management ports")),
    SMBBA(readWrite(0x90, 4, 0x0001, "82371AB 7.1.28 SMBus base address")),
    SMBHSTCFG(readWrite(0xd2, 1, 0, "82371AB 7.1.29 SMBus host configuration"));

    private final RegisterSpec row;

    PmConfigRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
