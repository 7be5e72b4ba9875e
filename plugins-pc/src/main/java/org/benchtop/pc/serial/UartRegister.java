package org.benchtop.pc.serial;

import org.benchtop.spi.device.Register;

/** The registers of a PC16550D (National Semiconductor, June 1995, table II). */
enum UartRegister implements Register {
    RBR_THR(0, Access.READ_WRITE, 0, "8.0 receiver buffer / transmitter holding"),
    IER(1, Access.READ_WRITE, 0, "8.7 interrupt enable"),
    IIR_FCR(2, Access.READ_WRITE, 0x01, "8.5/8.6 FIFO control / interrupt identification"),
    LCR(3, Access.READ_WRITE, 0, "8.1 line control"),
    MCR(4, Access.READ_WRITE, 0, "8.8 modem control"),
    LSR(5, Access.READ_ONLY, 0x60, "8.4 line status"),
    MSR(6, Access.READ_ONLY, 0, "8.9 modem status"),
    SCR(7, Access.READ_WRITE, 0, "8.10 scratchpad"),
    DLL(0, Access.READ_WRITE, 0x0c, "8.3 divisor latch, low; DLAB=1"),
    DLM(1, Access.READ_WRITE, 0, "8.3 divisor latch, high; DLAB=1");

    private final int offset;
    private final Access access;
    private final long resetValue;
    private final String spec;

    UartRegister(int offset, Access access, long resetValue, String spec) {
        this.offset = offset;
        this.access = access;
        this.resetValue = resetValue;
        this.spec = spec;
    }

    @Override
    public int offset() {
        return offset;
    }

    @Override
    public int size() {
        return 1;
    }

    @Override
    public Access access() {
        return access;
    }

    @Override
    public long resetValue() {
        return resetValue;
    }

    @Override
    public String spec() {
        return "PC16550D " + spec;
    }
}
