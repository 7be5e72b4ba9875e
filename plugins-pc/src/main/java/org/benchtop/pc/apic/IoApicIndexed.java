package org.benchtop.pc.apic;

import static org.benchtop.pc.common.RegisterSpec.readOnly;
import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/**
 * The registers behind the IOAPIC's window (82093AA 3.2). The offset is four times the number that selects the register;
 * an entry of the redirection table takes two numbers.
 */
enum IoApicIndexed implements RegisterSpec.Table {
    IOAPICID(readWrite(0x00, 4, 0, "82093AA 3.2.1 identification")),
    IOAPICVER(readOnly(0x04, 4, IoApicIndexed.VERSION_VALUE, "82093AA 3.2.2 version 0x20, 24 entries")),
    IOAPICARB(readOnly(0x08, 4, 0, "82093AA 3.2.3 arbitration")),
    IOREDTBL0(entry(0)),
    IOREDTBL1(entry(1)),
    IOREDTBL2(entry(2)),
    IOREDTBL3(entry(3)),
    IOREDTBL4(entry(4)),
    IOREDTBL5(entry(5)),
    IOREDTBL6(entry(6)),
    IOREDTBL7(entry(7)),
    IOREDTBL8(entry(8)),
    IOREDTBL9(entry(9)),
    IOREDTBL10(entry(10)),
    IOREDTBL11(entry(11)),
    IOREDTBL12(entry(12)),
    IOREDTBL13(entry(13)),
    IOREDTBL14(entry(14)),
    IOREDTBL15(entry(15)),
    IOREDTBL16(entry(16)),
    IOREDTBL17(entry(17)),
    IOREDTBL18(entry(18)),
    IOREDTBL19(entry(19)),
    IOREDTBL20(entry(20)),
    IOREDTBL21(entry(21)),
    IOREDTBL22(entry(22)),
    IOREDTBL23(entry(23));

    static final long VERSION_VALUE = 0x0017_0020;

    private static final int TABLE = 0x40;
    private static final int ENTRY_BYTES = 8;

    private final RegisterSpec row;

    IoApicIndexed(RegisterSpec row) {
        this.row = row;
    }

    private static RegisterSpec entry(int pin) {
        return readWrite(
                TABLE + ENTRY_BYTES * pin, ENTRY_BYTES, IoApic.MASKED, "82093AA 3.2.4 redirection table entry");
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
