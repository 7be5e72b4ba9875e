package org.benchtop.pc.chipset;

import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** Configuration registers of the 82441FX that something depends on (Intel 290549, section 3.2). */
enum I440FxRegister implements RegisterSpec.Table {
    PMCCFG(readWrite(0x50, 2, 0, "82441FX 3.2.13 PMC configuration")),
    PAM0(readWrite(0x59, 1, 0, "82441FX 3.2.18 F0000-FFFFF")),
    PAM1(readWrite(0x5a, 1, 0, "82441FX 3.2.18 C0000-C7FFF")),
    PAM2(readWrite(0x5b, 1, 0, "82441FX 3.2.18 C8000-CFFFF")),
    PAM3(readWrite(0x5c, 1, 0, "82441FX 3.2.18 D0000-D7FFF")),
    PAM4(readWrite(0x5d, 1, 0, "82441FX 3.2.18 D8000-DFFFF")),
    PAM5(readWrite(0x5e, 1, 0, "82441FX 3.2.18 E0000-E7FFF")),
    PAM6(readWrite(0x5f, 1, 0, "82441FX 3.2.18 E8000-EFFFF")),
    SMRAM(readWrite(0x72, 1, 0x02, "82441FX 3.2.21 system management RAM control"));

    private final RegisterSpec row;

    I440FxRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
