package org.benchtop.pc.legacy;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** Port 0x61. */
enum SystemControlRegister implements RegisterSpec.Table {
    NMI_STATUS(readWrite(0, 1, 0, "82371SB 2.5.3.1 NMI status and control, speaker and counter 2"));

    private final RegisterSpec row;

    SystemControlRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
