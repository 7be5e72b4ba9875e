package org.benchtop.pc.apic;

import static org.benchtop.pc.common.RegisterSpec.readWrite;
import static org.benchtop.pc.common.RegisterSpec.writeOnly;

import org.benchtop.pc.common.RegisterSpec;

/** The memory-mapped registers of the IOAPIC (82093AA 3.1; the EOI register is of version 0x20). */
enum IoApicRegister implements RegisterSpec.Table {
    IOREGSEL(readWrite(0x00, 4, 0, "82093AA 3.1.1 register select")),
    IOWIN(readWrite(0x10, 4, 0, "82093AA 3.1.2 window to the selected register")),
    EOIR(writeOnly(0x40, 4, "82801 (ICH) 10.5.5 EOI register"));

    private final RegisterSpec row;

    IoApicRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
