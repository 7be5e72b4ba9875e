package org.benchtop.pc.chipset;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** Configuration registers of the PIIX3 ISA bridge that something depends on (Intel 290550, section 2.2). */
enum Piix3Register implements RegisterSpec.Table {
    IORT(readWrite(0x4c, 1, 0x4d, "82371SB 2.2.10 ISA I/O recovery timer")),
    XBCS(readWrite(0x4e, 2, 0x0003, "82371SB 2.2.11 X-bus chip select")),
    PIRQRCA(readWrite(0x60, 1, 0x80, "82371SB 2.2.12 PIRQA route")),
    PIRQRCB(readWrite(0x61, 1, 0x80, "82371SB 2.2.12 PIRQB route")),
    PIRQRCC(readWrite(0x62, 1, 0x80, "82371SB 2.2.12 PIRQC route")),
    PIRQRCD(readWrite(0x63, 1, 0x80, "82371SB 2.2.12 PIRQD route")),
    TOM(readWrite(0x69, 1, 0x02, "82371SB 2.2.13 top of memory")),
    MSTAT(readWrite(0x6a, 2, 0, "82371SB 2.2.14 miscellaneous status"));

    private final RegisterSpec row;

    Piix3Register(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
