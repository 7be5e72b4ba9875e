package org.benchtop.scsi.lsi;

import org.benchtop.spi.device.Register;

/** The operating registers, for inspection; DBC includes DCMD (53C895A manual, 4.2 to 4.4). */
enum LsiRegister implements Register {
    SCNTL0(0x00, 1, Access.READ_WRITE, 0xc0),
    SCNTL1(0x01, 1, Access.READ_WRITE, 0x0),
    SCNTL2(0x02, 1, Access.READ_WRITE, 0x0),
    SCNTL3(0x03, 1, Access.READ_WRITE, 0x0),
    SCID(0x04, 1, Access.READ_WRITE, 0x7),
    SXFER(0x05, 1, Access.READ_WRITE, 0x0),
    SDID(0x06, 1, Access.READ_WRITE, 0x0),
    GPREG(0x07, 1, Access.READ_WRITE, 0xf),
    SFBR(0x08, 1, Access.READ_WRITE, 0x0),
    SOCL(0x09, 1, Access.READ_WRITE, 0x0),
    SSID(0x0a, 1, Access.READ_ONLY, 0x0),
    SBCL(0x0b, 1, Access.READ_ONLY, 0x0),
    DSTAT(0x0c, 1, Access.READ_ONLY, 0x80),
    SSTAT0(0x0d, 1, Access.READ_ONLY, 0x0),
    SSTAT1(0x0e, 1, Access.READ_ONLY, 0x0),
    SSTAT2(0x0f, 1, Access.READ_ONLY, 0x2),
    DSA(0x10, 4, Access.READ_WRITE, 0x0),
    ISTAT0(0x14, 1, Access.READ_WRITE, 0x0),
    ISTAT1(0x15, 1, Access.READ_WRITE, 0x0),
    MBOX0(0x16, 1, Access.READ_WRITE, 0x0),
    MBOX1(0x17, 1, Access.READ_WRITE, 0x0),
    CTEST0(0x18, 1, Access.READ_WRITE, 0xff),
    CTEST1(0x19, 1, Access.READ_ONLY, 0x0),
    CTEST2(0x1a, 1, Access.READ_WRITE, 0x31),
    CTEST3(0x1b, 1, Access.READ_WRITE, 0x0),
    TEMP(0x1c, 4, Access.READ_WRITE, 0x0),
    DFIFO(0x20, 1, Access.READ_ONLY, 0x0),
    CTEST4(0x21, 1, Access.READ_WRITE, 0x0),
    CTEST5(0x22, 1, Access.READ_WRITE, 0x0),
    CTEST6(0x23, 1, Access.READ_WRITE, 0x0),
    DBC(0x24, 4, Access.READ_WRITE, 0x0),
    DNAD(0x28, 4, Access.READ_WRITE, 0x0),
    DSP(0x2c, 4, Access.READ_WRITE, 0x0),
    DSPS(0x30, 4, Access.READ_WRITE, 0x0),
    SCRATCHA(0x34, 4, Access.READ_WRITE, 0x0),
    DMODE(0x38, 1, Access.READ_WRITE, 0x0),
    DIEN(0x39, 1, Access.READ_WRITE, 0x0),
    SBR(0x3a, 1, Access.READ_WRITE, 0x0),
    DCNTL(0x3b, 1, Access.READ_WRITE, 0x0),
    ADDER(0x3c, 4, Access.READ_ONLY, 0x0),
    SIEN0(0x40, 1, Access.READ_WRITE, 0x0),
    SIEN1(0x41, 1, Access.READ_WRITE, 0x0),
    SIST0(0x42, 1, Access.READ_ONLY, 0x0),
    SIST1(0x43, 1, Access.READ_ONLY, 0x0),
    SLPAR(0x44, 1, Access.READ_WRITE, 0x0),
    SWIDE(0x45, 1, Access.READ_WRITE, 0x0),
    MACNTL(0x46, 1, Access.READ_WRITE, 0x0),
    GPCNTL(0x47, 1, Access.READ_WRITE, 0xf),
    STIME0(0x48, 1, Access.READ_WRITE, 0x0),
    STIME1(0x49, 1, Access.READ_WRITE, 0x0),
    RESPID(0x4a, 2, Access.READ_WRITE, 0x0),
    STEST0(0x4c, 1, Access.READ_ONLY, 0x0),
    STEST1(0x4d, 1, Access.READ_WRITE, 0x0),
    STEST2(0x4e, 1, Access.READ_WRITE, 0x0),
    STEST3(0x4f, 1, Access.READ_WRITE, 0x0),
    SIDL(0x50, 2, Access.READ_ONLY, 0x0),
    STEST4(0x52, 1, Access.READ_ONLY, 0xe0),
    SODL(0x54, 2, Access.READ_WRITE, 0x0),
    CCNTL0(0x56, 1, Access.READ_WRITE, 0x0),
    CCNTL1(0x57, 1, Access.READ_WRITE, 0x0),
    SBDL(0x58, 2, Access.READ_ONLY, 0x0),
    SCRATCHB(0x5c, 4, Access.READ_WRITE, 0x0),
    SCRATCHC(0x60, 4, Access.READ_WRITE, 0x0),
    SCRATCHD(0x64, 4, Access.READ_WRITE, 0x0),
    SCRATCHE(0x68, 4, Access.READ_WRITE, 0x0),
    SCRATCHF(0x6c, 4, Access.READ_WRITE, 0x0),
    SCRATCHG(0x70, 4, Access.READ_WRITE, 0x0),
    SCRATCHH(0x74, 4, Access.READ_WRITE, 0x0),
    SCRATCHI(0x78, 4, Access.READ_WRITE, 0x0),
    SCRATCHJ(0x7c, 4, Access.READ_WRITE, 0x0),
    SCRATCHK(0x80, 4, Access.READ_WRITE, 0x0),
    SCRATCHL(0x84, 4, Access.READ_WRITE, 0x0),
    SCRATCHM(0x88, 4, Access.READ_WRITE, 0x0),
    SCRATCHN(0x8c, 4, Access.READ_WRITE, 0x0),
    SCRATCHO(0x90, 4, Access.READ_WRITE, 0x0),
    SCRATCHP(0x94, 4, Access.READ_WRITE, 0x0),
    SCRATCHQ(0x98, 4, Access.READ_WRITE, 0x0),
    SCRATCHR(0x9c, 4, Access.READ_WRITE, 0x0),
    MMRS(0xa0, 4, Access.READ_WRITE, 0x0),
    MMWS(0xa4, 4, Access.READ_WRITE, 0x0),
    SFS(0xa8, 4, Access.READ_WRITE, 0x0),
    DRS(0xac, 4, Access.READ_WRITE, 0x0),
    SBMS(0xb0, 4, Access.READ_WRITE, 0x0),
    DBMS(0xb4, 4, Access.READ_WRITE, 0x0),
    DNAD64(0xb8, 4, Access.READ_WRITE, 0x0),
    PMJAD1(0xc0, 4, Access.READ_WRITE, 0x0),
    PMJAD2(0xc4, 4, Access.READ_WRITE, 0x0),
    RBC(0xc8, 4, Access.READ_WRITE, 0x0),
    UA(0xcc, 4, Access.READ_WRITE, 0x0),
    ESA(0xd0, 4, Access.READ_WRITE, 0x0),
    IA(0xd4, 4, Access.READ_WRITE, 0x0),
    SBC(0xd8, 4, Access.READ_WRITE, 0x0),
    CSBC(0xdc, 4, Access.READ_WRITE, 0x0);

    private final int offset;
    private final int size;
    private final Access access;
    private final long resetValue;

    LsiRegister(int offset, int size, Access access, long resetValue) {
        this.offset = offset;
        this.size = size;
        this.access = access;
        this.resetValue = resetValue;
    }

    @Override
    public int offset() {
        return offset;
    }

    @Override
    public int size() {
        return size;
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
        return "LSI53C895A technical manual, chapter 4";
    }
}
