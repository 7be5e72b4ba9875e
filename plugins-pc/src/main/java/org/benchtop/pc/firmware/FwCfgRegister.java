package org.benchtop.pc.firmware;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** The ports of the configuration device, as offsets from 0x510. */
enum FwCfgRegister implements RegisterSpec.Table {
    SELECTOR_DATA(readWrite(0x0, 2, 0, "fw_cfg: write 16 bits to select, read the byte at 0x511 for data")),
    DMA_HIGH(readWrite(0x4, 4, 0x554d4551, "fw_cfg: DMA address, high half, big-endian; reads the signature")),
    DMA_LOW(readWrite(0x8, 4, 0x47464320, "fw_cfg: DMA address, low half, big-endian; writing starts"));

    private final RegisterSpec row;

    FwCfgRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
