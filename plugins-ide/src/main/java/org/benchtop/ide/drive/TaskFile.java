package org.benchtop.ide.drive;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The command block registers of one device (ATA8-ACS, 7.1 and ATA8-APT), with the previous values that 48-bit commands use.
 *
 * <p>Guarded by the controller's lock, as everything of a device.
 */
public final class TaskFile {
    /** Register numbers in the command block. */
    public static final int DATA = 0;

    /** Read: error; write: features. */
    public static final int ERROR = 1;

    public static final int COUNT = 2;
    public static final int LBA_LOW = 3;
    public static final int LBA_MID = 4;
    public static final int LBA_HIGH = 5;
    public static final int DEVICE = 6;

    /** Read: status; write: command. */
    public static final int STATUS = 7;

    /** Status: busy. */
    public static final int BSY = 0x80;
    /** Status: ready. */
    public static final int DRDY = 0x40;
    /** Status: device fault. */
    public static final int DF = 0x20;
    /** Status: seek complete; kept for old drivers. */
    public static final int DSC = 0x10;
    /** Status: data request. */
    public static final int DRQ = 0x08;
    /** Status: error. */
    public static final int ERR = 0x01;

    /** Error: interface CRC, or bad block long ago. */
    public static final int ICRC = 0x80;
    /** Error: uncorrectable. */
    public static final int UNC = 0x40;
    /** Error: sector not found. */
    public static final int IDNF = 0x10;
    /** Error: aborted. */
    public static final int ABRT = 0x04;

    /** Device: addresses are LBAs. */
    public static final int LBA = 0x40;
    /** Device: the second device is selected. */
    public static final int DEV = 0x10;
    /** Bits 7 and 5 of the device register, which old drivers expect to read as ones. */
    static final int OBSOLETE = 0xa0;

    /** The type of a register FIS from device to host (Serial ATA 3.0, 10.3.5). */
    private static final int FIS_TYPE_REG_D2H = 0x34;

    private final int[] current = new int[8];
    private final int[] previous = new int[8];
    int status;
    int error;

    /** The status register. */
    public int status() {
        return status;
    }

    /** The error register. */
    public int error() {
        return error;
    }

    /** Whether the device owns the registers: busy or in a data phase. */
    public boolean busy() {
        return (status & (BSY | DRQ)) != 0;
    }

    /** Reads a register; {@code previous} is the HOB bit of the device control register. */
    public int read(int register, boolean high) {
        return switch (register) {
            case ERROR -> high ? previous[ERROR] : error;
            case STATUS -> status;
            case DEVICE -> current[DEVICE] | OBSOLETE;
            default -> high ? previous[register] : current[register];
        };
    }

    /** Writes a register other than data and command; its former value becomes the previous one. */
    public void write(int register, int value) {
        previous[register] = current[register];
        current[register] = value & 0xff;
    }

    int features() {
        return current[ERROR];
    }

    int featuresWide() {
        return previous[ERROR] << 8 | current[ERROR];
    }

    int count() {
        return current[COUNT];
    }

    int countWide() {
        return previous[COUNT] << 8 | current[COUNT];
    }

    void count(int value) {
        current[COUNT] = value & 0xff;
    }

    void countWide(int value) {
        count(value);
        previous[COUNT] = value >>> 8 & 0xff;
    }

    int lbaLow() {
        return current[LBA_LOW];
    }

    int lbaMid() {
        return current[LBA_MID];
    }

    int lbaHigh() {
        return current[LBA_HIGH];
    }

    void lbaMidHigh(int mid, int high) {
        current[LBA_MID] = mid & 0xff;
        current[LBA_HIGH] = high & 0xff;
    }

    int device() {
        return current[DEVICE];
    }

    boolean lbaMode() {
        return (current[DEVICE] & LBA) != 0;
    }

    long lba28() {
        return (long) (current[DEVICE] & 0x0f) << 24
                | (long) current[LBA_HIGH] << 16
                | (long) current[LBA_MID] << 8
                | current[LBA_LOW];
    }

    void lba28(long value) {
        current[LBA_LOW] = (int) value & 0xff;
        current[LBA_MID] = (int) (value >>> 8) & 0xff;
        current[LBA_HIGH] = (int) (value >>> 16) & 0xff;
        current[DEVICE] = current[DEVICE] & 0xf0 | (int) (value >>> 24) & 0x0f;
    }

    long lba48() {
        long low = (long) current[LBA_HIGH] << 16 | (long) current[LBA_MID] << 8 | current[LBA_LOW];
        long high = (long) previous[LBA_HIGH] << 16 | (long) previous[LBA_MID] << 8 | previous[LBA_LOW];
        return high << 24 | low;
    }

    void lba48(long value) {
        for (int i = 0; i < 3; i++) {
            current[LBA_LOW + i] = (int) (value >>> 8 * i) & 0xff;
            previous[LBA_LOW + i] = (int) (value >>> 24 + 8 * i) & 0xff;
        }
    }

    /** What a device shows after a reset, by which drivers tell its kind (ATA8-ACS, 4.6 "signature"). */
    void signature(boolean packet) {
        for (int i = 0; i < current.length; i++) {
            previous[i] = 0;
            current[i] = 0;
        }
        current[COUNT] = 1;
        current[LBA_LOW] = 1;
        if (packet) {
            lbaMidHigh(0x14, 0xeb);
        }
        error = 1;
    }

    /** Loads the registers from a FIS of 20 bytes from the host (Serial ATA 3.0, 10.3.4). */
    public void loadFis(MemorySegment fis) {
        current[ERROR] = at(fis, 3);
        current[LBA_LOW] = at(fis, 4);
        current[LBA_MID] = at(fis, 5);
        current[LBA_HIGH] = at(fis, 6);
        current[DEVICE] = at(fis, 7);
        previous[LBA_LOW] = at(fis, 8);
        previous[LBA_MID] = at(fis, 9);
        previous[LBA_HIGH] = at(fis, 10);
        previous[ERROR] = at(fis, 11);
        current[COUNT] = at(fis, 12);
        previous[COUNT] = at(fis, 13);
    }

    private static int at(MemorySegment fis, int offset) {
        return fis.get(ValueLayout.JAVA_BYTE, offset) & 0xff;
    }

    /** Stores the registers as a FIS of 20 bytes to the host (Serial ATA 3.0, 10.3.5). */
    public void storeFis(byte[] fis, boolean interrupt) {
        java.util.Arrays.fill(fis, (byte) 0);
        fis[0] = FIS_TYPE_REG_D2H;
        fis[1] = (byte) (interrupt ? 0x40 : 0);
        fis[2] = (byte) status;
        fis[3] = (byte) error;
        for (int i = 0; i < 3; i++) {
            fis[4 + i] = (byte) current[LBA_LOW + i];
            fis[8 + i] = (byte) previous[LBA_LOW + i];
        }
        fis[7] = (byte) current[DEVICE];
        fis[12] = (byte) current[COUNT];
        fis[13] = (byte) previous[COUNT];
    }

    /** Saved registers. */
    public record State(int[] current, int[] previous, int status, int error) {}

    State save() {
        return new State(current.clone(), previous.clone(), status, error);
    }

    void restore(State state) {
        for (int i = 0; i < current.length; i++) {
            current[i] = i < state.current.length ? state.current[i] & 0xff : 0;
            previous[i] = i < state.previous.length ? state.previous[i] & 0xff : 0;
        }
        status = state.status & 0xff;
        error = state.error & 0xff;
    }
}
