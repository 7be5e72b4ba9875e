package org.benchtop.pc.serial;

import static org.benchtop.pc.common.RegisterSpec.readOnly;
import static org.benchtop.pc.common.RegisterSpec.readWrite;

import org.benchtop.pc.common.RegisterSpec;

/** The registers of a PC16550D (National Semiconductor, June 1995, table II). */
enum UartRegister implements RegisterSpec.Table {
    RBR_THR(readWrite(0, 1, 0, "PC16550D table II, receiver buffer / transmitter holding")),
    IER(readWrite(1, 1, 0, "PC16550D 8.7 interrupt enable")),
    IIR_FCR(readWrite(2, 1, 0x01, "PC16550D 8.5/8.6 FIFO control / interrupt identification")),
    LCR(readWrite(3, 1, 0, "PC16550D 8.1 line control")),
    MCR(readWrite(4, 1, 0, "PC16550D 8.8 modem control")),
    LSR(readOnly(5, 1, 0x60, "PC16550D 8.4 line status")),
    MSR(readOnly(6, 1, 0xb0, "PC16550D 8.9 modem status; the high half shows the modem's lines")),
    SCR(readWrite(7, 1, 0, "PC16550D 8.10 scratchpad")),
    DLL(readWrite(0, 1, 0x0c, "PC16550D 8.3 divisor latch, low; DLAB=1")),
    DLM(readWrite(1, 1, 0, "PC16550D 8.3 divisor latch, high; DLAB=1"));

    private final RegisterSpec row;

    UartRegister(RegisterSpec row) {
        this.row = row;
    }

    @Override
    public RegisterSpec row() {
        return row;
    }
}
