package org.benchtop.pc.legacy;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** The ports of the keyboard controller, as offsets from 0x60, and the fast A20 and reset port. */
enum I8042Register implements RegisterSpec.Table {
    DATA(readWrite(0x00, 1, 0, "8042 data port 0x60")),
    STATUS_COMMAND(readWrite(0x04, 1, 0x14, "8042 status and command port 0x64")),
    PORT92(readWrite(0x32, 1, 0x02, "PS/2 system control port A, 0x92"));

    private final RegisterSpec row;

    I8042Register(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
