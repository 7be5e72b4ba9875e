package org.benchtop.scsi.lsi;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The 256 bytes of registers, as they are stored; what an access does beside is the chip's business. */
final class RegisterFile {
    static final int SCNTL0 = 0x00;
    static final int SCNTL1 = 0x01;
    static final int SCNTL2 = 0x02;
    static final int SCNTL3 = 0x03;
    static final int SCID = 0x04;
    static final int SXFER = 0x05;
    static final int SDID = 0x06;
    static final int GPREG = 0x07;
    static final int SFBR = 0x08;
    static final int SOCL = 0x09;
    static final int SSID = 0x0a;
    static final int SBCL = 0x0b;
    static final int DSTAT = 0x0c;
    static final int SSTAT0 = 0x0d;
    static final int SSTAT1 = 0x0e;
    static final int SSTAT2 = 0x0f;
    static final int DSA = 0x10;
    static final int ISTAT0 = 0x14;
    static final int ISTAT1 = 0x15;
    static final int MBOX0 = 0x16;
    static final int MBOX1 = 0x17;
    static final int CTEST0 = 0x18;
    static final int CTEST1 = 0x19;
    static final int CTEST2 = 0x1a;
    static final int CTEST3 = 0x1b;
    static final int TEMP = 0x1c;
    static final int DFIFO = 0x20;
    static final int CTEST4 = 0x21;
    static final int CTEST5 = 0x22;
    static final int CTEST6 = 0x23;
    static final int DBC = 0x24;
    static final int DNAD = 0x28;
    static final int DSP = 0x2c;
    static final int DSPS = 0x30;
    static final int SCRATCHA = 0x34;
    static final int DMODE = 0x38;
    static final int DIEN = 0x39;
    static final int SBR = 0x3a;
    static final int DCNTL = 0x3b;
    static final int ADDER = 0x3c;
    static final int SIEN0 = 0x40;
    static final int SIEN1 = 0x41;
    static final int SIST0 = 0x42;
    static final int SIST1 = 0x43;
    static final int SLPAR = 0x44;
    static final int SWIDE = 0x45;
    static final int MACNTL = 0x46;
    static final int GPCNTL = 0x47;
    static final int STIME0 = 0x48;
    static final int STIME1 = 0x49;
    static final int RESPID0 = 0x4a;
    static final int STEST0 = 0x4c;
    static final int STEST1 = 0x4d;
    static final int STEST2 = 0x4e;
    static final int STEST3 = 0x4f;
    static final int SIDL = 0x50;
    static final int STEST4 = 0x52;
    static final int SODL = 0x54;
    static final int CCNTL0 = 0x56;
    static final int CCNTL1 = 0x57;
    static final int SBDL = 0x58;
    static final int SCRATCHB = 0x5c;
    static final int SCRATCHC = 0x60;
    static final int MMRS = 0xa0;
    static final int MMWS = 0xa4;
    static final int SFS = 0xa8;
    static final int DRS = 0xac;
    static final int SBMS = 0xb0;
    static final int DBMS = 0xb4;
    static final int DNAD64 = 0xb8;
    static final int PMJAD1 = 0xc0;
    static final int PMJAD2 = 0xc4;
    static final int RBC = 0xc8;
    static final int UA = 0xcc;
    static final int ESA = 0xd0;
    static final int IA = 0xd4;
    static final int SBC = 0xd8;
    static final int CSBC = 0xdc;

    /** Number of bytes. */
    static final int SIZE = 256;

    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes = new byte[SIZE];

    /** One byte. */
    int get(int at) {
        return bytes[at] & 0xff;
    }

    /** Stores one byte. */
    void set(int at, int value) {
        bytes[at] = (byte) value;
    }

    /** Whether all these bits of a byte are set. */
    boolean has(int at, int bits) {
        return (bytes[at] & bits) == bits;
    }

    void setBits(int at, int bits) {
        bytes[at] |= (byte) bits;
    }

    void clearBits(int at, int bits) {
        bytes[at] &= (byte) ~bits;
    }

    /** Four bytes from {@code at} on. */
    int word(int at) {
        return (int) INT.get(bytes, at);
    }

    /** Four bytes from {@code at} on, zero-extended. */
    long address(int at) {
        return Integer.toUnsignedLong(word(at));
    }

    /** Stores four bytes. */
    void word(int at, int value) {
        INT.set(bytes, at, value);
    }

    /** Everything after reset. */
    void reset() {
        Arrays.fill(bytes, (byte) 0);
        set(SCNTL0, 0xc0);
        set(SCID, 7);
        set(GPCNTL, 0x0f);
        set(CTEST0, 0xff);
    }

    byte[] save() {
        return bytes.clone();
    }

    void restore(byte[] saved) {
        System.arraycopy(saved, 0, bytes, 0, SIZE);
    }
}
