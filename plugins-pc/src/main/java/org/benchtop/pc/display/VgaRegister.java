package org.benchtop.pc.display;

import static org.benchtop.pc.common.RegisterSpec.readOnly;
import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** The ports of a VGA, as offsets from 0x3B0 (IBM PS/2 Hardware Interface Technical Reference, Video Subsystem). */
enum VgaRegister implements RegisterSpec.Table {
    CRTC_INDEX_MONO(readWrite(0x04, 1, 0, "VGA: CRT controller, address register")),
    CRTC_DATA_MONO(readWrite(0x05, 1, 0, "VGA: CRT controller, data")),
    STATUS_1_MONO(readWrite(0x0a, 1, 0, "VGA: input status 1; writes: feature control")),
    ATTRIBUTE(readWrite(0x10, 1, 0, "VGA: attribute controller, address and data by turns")),
    ATTRIBUTE_DATA(readOnly(0x11, 1, 0, "VGA: attribute controller, data")),
    MISC_WRITE(readWrite(0x12, 1, 0, "VGA: miscellaneous output; reads: input status 0")),
    SEQUENCER_INDEX(readWrite(0x14, 1, 0, "VGA: sequencer, address register")),
    SEQUENCER_DATA(readWrite(0x15, 1, 0, "VGA: sequencer, data")),
    DAC_MASK(readWrite(0x16, 1, 0xff, "VGA: PEL mask")),
    DAC_READ_INDEX(readWrite(0x17, 1, 0, "VGA: PEL address for reads; reads: DAC state")),
    DAC_WRITE_INDEX(readWrite(0x18, 1, 0, "VGA: PEL address for writes")),
    DAC_DATA(readWrite(0x19, 1, 0, "VGA: PEL data")),
    FEATURE(readOnly(0x1a, 1, 0, "VGA: feature control")),
    MISC_READ(readOnly(0x1c, 1, 0, "VGA: miscellaneous output")),
    GRAPHICS_INDEX(readWrite(0x1e, 1, 0, "VGA: graphics controller, address register")),
    GRAPHICS_DATA(readWrite(0x1f, 1, 0, "VGA: graphics controller, data")),
    CRTC_INDEX(readWrite(0x24, 1, 0, "VGA: CRT controller, address register")),
    CRTC_DATA(readWrite(0x25, 1, 0, "VGA: CRT controller, data")),
    STATUS_1(readWrite(0x2a, 1, 0, "VGA: input status 1; writes: feature control"));

    private final RegisterSpec row;

    VgaRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
