package org.benchtop.ide.piix;

import org.benchtop.ide.drive.TaskFile;
import org.benchtop.spi.device.Register;

/** The command block of a channel, for inspection; what a read shows depends on the selected drive. */
enum CommandRegister implements Register {
    ERROR(TaskFile.ERROR),
    COUNT(TaskFile.COUNT),
    LBA_LOW(TaskFile.LBA_LOW),
    LBA_MID(TaskFile.LBA_MID),
    LBA_HIGH(TaskFile.LBA_HIGH),
    DEVICE(TaskFile.DEVICE),
    STATUS(TaskFile.STATUS);

    private final int offset;

    CommandRegister(int offset) {
        this.offset = offset;
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
        return Access.READ_WRITE;
    }

    @Override
    public long resetValue() {
        return 0;
    }

    @Override
    public String spec() {
        return "ATA8-APT, 5.3";
    }
}
