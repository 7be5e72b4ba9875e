package org.benchtop.scsi.megasas;

/** Numbers of the MegaRAID firmware interface. */
final class Mfi {
    static final int CMD_INIT = 0x00;
    static final int CMD_LD_READ = 0x01;
    static final int CMD_LD_WRITE = 0x02;
    static final int CMD_LD_SCSI_IO = 0x03;
    static final int CMD_PD_SCSI_IO = 0x04;
    static final int CMD_DCMD = 0x05;
    static final int CMD_ABORT = 0x06;

    static final int FLAG_DONT_POST = 1;
    static final int FLAG_SGL64 = 1 << 1;
    static final int FLAG_SENSE64 = 1 << 2;
    static final int FLAG_DIR_WRITE = 1 << 3;
    static final int FLAG_DIR_READ = 1 << 4;
    static final int FLAG_IEEE_SGL = 1 << 5;

    static final int STAT_OK = 0x00;
    static final int STAT_INVALID_CMD = 0x01;
    static final int STAT_INVALID_DCMD = 0x02;
    static final int STAT_INVALID_PARAMETER = 0x03;
    static final int STAT_ABORT_NOT_POSSIBLE = 0x05;
    static final int STAT_DEVICE_NOT_FOUND = 0x0c;
    static final int STAT_SCSI_DONE_WITH_ERROR = 0x2d;
    static final int STAT_SCSI_IO_FAILED = 0x2e;

    // Fields that all frames have.
    static final int SENSE_LENGTH = 1;
    static final int CMD_STATUS = 2;
    static final int SCSI_STATUS = 3;
    static final int TARGET_ID = 4;
    static final int LUN_ID = 5;
    static final int CDB_LENGTH = 6;
    static final int SGE_COUNT = 7;
    static final int CONTEXT = 8;
    static final int FLAGS = 16;
    static final int DATA_LENGTH = 20;

    static final int QUEUE_INFO = 24;
    static final int SENSE_ADDRESS = 24;
    static final int PASS_CDB = 32;
    static final int PASS_SGL = 48;
    static final int IO_LBA = 32;
    static final int IO_SGL = 40;
    static final int DCMD_OPCODE = 24;
    static final int DCMD_MAILBOX = 28;
    static final int DCMD_SGL = 40;
    static final int ABORT_CONTEXT = 24;
    static final int ABORT_ADDRESS = 32;

    static final int QUEUE_FLAG_CONTEXT64 = 2;

    static final int DCMD_CTRL_GET_INFO = 0x0101_0000;
    static final int DCMD_CTRL_GET_PROPERTIES = 0x0102_0100;
    static final int DCMD_CTRL_SET_PROPERTIES = 0x0102_0200;
    static final int DCMD_CTRL_EVENT_GET_INFO = 0x0104_0100;
    static final int DCMD_CTRL_EVENT_WAIT = 0x0104_0500;
    static final int DCMD_CTRL_SHUTDOWN = 0x0105_0000;
    static final int DCMD_CTRL_GET_TIME = 0x0108_0201;
    static final int DCMD_CTRL_CACHE_FLUSH = 0x0110_1000;
    static final int DCMD_PD_GET_LIST = 0x0201_0000;
    static final int DCMD_PD_LIST_QUERY = 0x0201_0100;
    static final int DCMD_LD_GET_LIST = 0x0301_0000;
    static final int DCMD_LD_LIST_QUERY = 0x0301_0100;

    static final int EVENT_LD_CREATED = 0x008a;
    static final int EVENT_LD_DELETED = 0x008b;

    private Mfi() {}
}
