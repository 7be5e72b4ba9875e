package org.benchtop.ide.drive;

/** Command codes of disks (ATA8-ACS, table B.2, and ACS-2). */
final class AtaCommand {
    static final int NOP = 0x00;
    static final int DATA_SET_MANAGEMENT = 0x06;
    static final int RECALIBRATE = 0x10;
    static final int READ_SECTORS = 0x20;
    static final int READ_SECTORS_NO_RETRY = 0x21;
    static final int READ_SECTORS_EXT = 0x24;
    static final int READ_DMA_EXT = 0x25;
    static final int READ_NATIVE_MAX_ADDRESS_EXT = 0x27;
    static final int READ_MULTIPLE_EXT = 0x29;
    static final int READ_LOG_EXT = 0x2f;
    static final int WRITE_SECTORS = 0x30;
    static final int WRITE_SECTORS_NO_RETRY = 0x31;
    static final int WRITE_SECTORS_EXT = 0x34;
    static final int WRITE_DMA_EXT = 0x35;
    static final int SET_MAX_ADDRESS_EXT = 0x37;
    static final int WRITE_MULTIPLE_EXT = 0x39;
    static final int WRITE_DMA_FUA_EXT = 0x3d;
    static final int READ_VERIFY = 0x40;
    static final int READ_VERIFY_NO_RETRY = 0x41;
    static final int READ_VERIFY_EXT = 0x42;
    static final int READ_LOG_DMA_EXT = 0x47;
    static final int READ_FPDMA_QUEUED = 0x60;
    static final int WRITE_FPDMA_QUEUED = 0x61;
    static final int SEEK = 0x70;
    static final int INITIALIZE_DEVICE_PARAMETERS = 0x91;
    static final int STANDBY_IMMEDIATE_OLD = 0x94;
    static final int IDLE_IMMEDIATE_OLD = 0x95;
    static final int STANDBY_OLD = 0x96;
    static final int IDLE_OLD = 0x97;
    static final int CHECK_POWER_MODE_OLD = 0x98;
    static final int SLEEP_OLD = 0x99;
    static final int PACKET = 0xa0;
    static final int IDENTIFY_PACKET_DEVICE = 0xa1;
    static final int SMART = 0xb0;
    static final int READ_MULTIPLE = 0xc4;
    static final int WRITE_MULTIPLE = 0xc5;
    static final int SET_MULTIPLE_MODE = 0xc6;
    static final int READ_DMA = 0xc8;
    static final int READ_DMA_NO_RETRY = 0xc9;
    static final int WRITE_DMA = 0xca;
    static final int WRITE_DMA_NO_RETRY = 0xcb;
    static final int WRITE_MULTIPLE_FUA_EXT = 0xce;
    static final int STANDBY_IMMEDIATE = 0xe0;
    static final int IDLE_IMMEDIATE = 0xe1;
    static final int STANDBY = 0xe2;
    static final int IDLE = 0xe3;
    static final int READ_BUFFER = 0xe4;
    static final int CHECK_POWER_MODE = 0xe5;
    static final int SLEEP = 0xe6;
    static final int FLUSH_CACHE = 0xe7;
    static final int WRITE_BUFFER = 0xe8;
    static final int FLUSH_CACHE_EXT = 0xea;
    static final int IDENTIFY_DEVICE = 0xec;
    static final int SET_FEATURES = 0xef;
    static final int READ_NATIVE_MAX_ADDRESS = 0xf8;
    static final int SET_MAX = 0xf9;

    private AtaCommand() {}
}
