package org.benchtop.pc.apic;

import static org.benchtop.pc.common.RegisterSpec.readOnly;
import static org.benchtop.pc.common.RegisterSpec.readWrite;
import static org.benchtop.pc.common.RegisterSpec.writeOnly;

import org.benchtop.pc.common.RegisterSpec;

/** The registers of a local APIC (Intel SDM vol. 3, table 11-1) as offsets from its base. */
enum LocalApicRegister implements RegisterSpec.Table {
    ID(readOnly(0x20, 4, 0, "SDM 11.4.6 local APIC ID")),
    VERSION(readOnly(0x30, 4, LocalApicRegister.VERSION_VALUE, "SDM 11.4.8 version")),
    TPR(readWrite(0x80, 4, 0, "SDM 11.8.3.1 task priority")),
    APR(readOnly(0x90, 4, 0, "SDM 11.6.2.4 arbitration priority")),
    PPR(readOnly(0xa0, 4, 0, "SDM 11.8.3.1 processor priority")),
    EOI(writeOnly(0xb0, 4, "SDM 11.8.5 end of interrupt")),
    RRD(readOnly(0xc0, 4, 0, "SDM table 11-1 remote read")),
    LDR(readWrite(0xd0, 4, 0, "SDM 11.6.2.2 logical destination")),
    DFR(readWrite(0xe0, 4, 0xffff_ffffL, "SDM 11.6.2.2 destination format")),
    SVR(readWrite(0xf0, 4, 0xff, "SDM 11.9 spurious interrupt vector")),
    ISR0(readOnly(0x100, 4, 0, "SDM 11.8.4 in service, vectors 0 to 31")),
    ISR1(readOnly(0x110, 4, 0, "SDM 11.8.4 in service, vectors 32 to 63")),
    ISR2(readOnly(0x120, 4, 0, "SDM 11.8.4 in service, vectors 64 to 95")),
    ISR3(readOnly(0x130, 4, 0, "SDM 11.8.4 in service, vectors 96 to 127")),
    ISR4(readOnly(0x140, 4, 0, "SDM 11.8.4 in service, vectors 128 to 159")),
    ISR5(readOnly(0x150, 4, 0, "SDM 11.8.4 in service, vectors 160 to 191")),
    ISR6(readOnly(0x160, 4, 0, "SDM 11.8.4 in service, vectors 192 to 223")),
    ISR7(readOnly(0x170, 4, 0, "SDM 11.8.4 in service, vectors 224 to 255")),
    TMR0(readOnly(0x180, 4, 0, "SDM 11.8.4 trigger mode, vectors 0 to 31")),
    TMR1(readOnly(0x190, 4, 0, "SDM 11.8.4 trigger mode, vectors 32 to 63")),
    TMR2(readOnly(0x1a0, 4, 0, "SDM 11.8.4 trigger mode, vectors 64 to 95")),
    TMR3(readOnly(0x1b0, 4, 0, "SDM 11.8.4 trigger mode, vectors 96 to 127")),
    TMR4(readOnly(0x1c0, 4, 0, "SDM 11.8.4 trigger mode, vectors 128 to 159")),
    TMR5(readOnly(0x1d0, 4, 0, "SDM 11.8.4 trigger mode, vectors 160 to 191")),
    TMR6(readOnly(0x1e0, 4, 0, "SDM 11.8.4 trigger mode, vectors 192 to 223")),
    TMR7(readOnly(0x1f0, 4, 0, "SDM 11.8.4 trigger mode, vectors 224 to 255")),
    IRR0(readOnly(0x200, 4, 0, "SDM 11.8.4 requests, vectors 0 to 31")),
    IRR1(readOnly(0x210, 4, 0, "SDM 11.8.4 requests, vectors 32 to 63")),
    IRR2(readOnly(0x220, 4, 0, "SDM 11.8.4 requests, vectors 64 to 95")),
    IRR3(readOnly(0x230, 4, 0, "SDM 11.8.4 requests, vectors 96 to 127")),
    IRR4(readOnly(0x240, 4, 0, "SDM 11.8.4 requests, vectors 128 to 159")),
    IRR5(readOnly(0x250, 4, 0, "SDM 11.8.4 requests, vectors 160 to 191")),
    IRR6(readOnly(0x260, 4, 0, "SDM 11.8.4 requests, vectors 192 to 223")),
    IRR7(readOnly(0x270, 4, 0, "SDM 11.8.4 requests, vectors 224 to 255")),
    ESR(readWrite(0x280, 4, 0, "SDM 11.5.3 error status")),
    ICR_LOW(readWrite(0x300, 4, 0, "SDM 11.6.1 interrupt command, bits 31:0")),
    ICR_HIGH(readWrite(0x310, 4, 0, "SDM 11.6.1 interrupt command, bits 63:32")),
    LVT_TIMER(readWrite(0x320, 4, LocalApicRegister.MASKED, "SDM 11.5.1 local vector table, timer")),
    LVT_THERMAL(readWrite(0x330, 4, LocalApicRegister.MASKED, "SDM 11.5.1 local vector table, thermal sensor")),
    LVT_PERFORMANCE(readWrite(0x340, 4, LocalApicRegister.MASKED, "SDM 11.5.1 local vector table, counters")),
    LVT_LINT0(readWrite(0x350, 4, LocalApicRegister.MASKED, "SDM 11.5.1 local vector table, LINT0")),
    LVT_LINT1(readWrite(0x360, 4, LocalApicRegister.MASKED, "SDM 11.5.1 local vector table, LINT1")),
    LVT_ERROR(readWrite(0x370, 4, LocalApicRegister.MASKED, "SDM 11.5.1 local vector table, errors")),
    INITIAL_COUNT(readWrite(0x380, 4, 0, "SDM 11.5.4 timer, initial count")),
    CURRENT_COUNT(readOnly(0x390, 4, 0, "SDM 11.5.4 timer, current count")),
    DIVIDE(readWrite(0x3e0, 4, 0, "SDM 11.5.4 timer, divide configuration"));

    /** Integrated APIC, six entries in the vector table, suppression of EOI broadcasts. */
    static final long VERSION_VALUE = 0x0105_0014;

    /** The mask bit of an entry of the local vector table. */
    static final int MASKED = 0x1_0000;

    private final RegisterSpec row;

    LocalApicRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
