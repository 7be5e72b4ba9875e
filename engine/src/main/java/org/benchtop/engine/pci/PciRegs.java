package org.benchtop.engine.pci;

/** Offsets and bits of the type 0 configuration header (PCI Local Bus 3.0, 6.1 and 6.2). */
final class PciRegs {
    static final int CONFIG_SIZE = 256;
    static final int VENDOR_ID = 0x00;
    static final int DEVICE_ID = 0x02;
    static final int COMMAND = 0x04;
    static final int STATUS = 0x06;
    static final int REVISION_ID = 0x08;
    static final int CLASS_PROG = 0x09;
    static final int CACHE_LINE_SIZE = 0x0c;
    static final int LATENCY_TIMER = 0x0d;
    static final int HEADER_TYPE = 0x0e;
    static final int BASE_ADDRESS_0 = 0x10;
    static final int SUBSYSTEM_VENDOR_ID = 0x2c;
    static final int SUBSYSTEM_ID = 0x2e;
    static final int CAPABILITY_LIST = 0x34;
    static final int INTERRUPT_LINE = 0x3c;
    static final int INTERRUPT_PIN = 0x3d;
    static final int FIRST_CAPABILITY = 0x40;

    static final int COMMAND_IO = 0x1;
    static final int COMMAND_MEMORY = 0x2;
    static final int COMMAND_MASTER = 0x4;
    static final int COMMAND_WRITABLE = 0x0547;
    static final int COMMAND_INTX_DISABLE = 0x400;

    static final int STATUS_INTERRUPT = 0x08;
    static final int STATUS_CAP_LIST = 0x10;
    static final int STATUS_CLEARABLE = 0xf900;

    static final int CAP_ID_MSI = 0x05;
    static final int CAP_ID_MSIX = 0x11;

    private PciRegs() {}
}
