package org.benchtop.ide.drive;

/** Operation codes of CD drives (MMC-5, table 196; SPC-3). */
final class PacketCommand {
    static final int TEST_UNIT_READY = 0x00;
    static final int REQUEST_SENSE = 0x03;
    static final int INQUIRY = 0x12;
    static final int START_STOP_UNIT = 0x1b;
    static final int PREVENT_ALLOW_MEDIUM_REMOVAL = 0x1e;
    static final int READ_CAPACITY = 0x25;
    static final int READ_10 = 0x28;
    static final int SEEK_10 = 0x2b;
    static final int VERIFY_10 = 0x2f;
    static final int SYNCHRONIZE_CACHE = 0x35;
    static final int READ_SUB_CHANNEL = 0x42;
    static final int READ_TOC = 0x43;
    static final int READ_HEADER = 0x44;
    static final int GET_CONFIGURATION = 0x46;
    static final int GET_EVENT_STATUS_NOTIFICATION = 0x4a;
    static final int READ_DISC_INFORMATION = 0x51;
    static final int READ_TRACK_INFORMATION = 0x52;
    static final int MODE_SELECT_10 = 0x55;
    static final int MODE_SENSE_10 = 0x5a;
    static final int READ_12 = 0xa8;
    static final int READ_DVD_STRUCTURE = 0xad;
    static final int READ_CD_MSF = 0xb9;
    static final int SET_CD_SPEED = 0xbb;
    static final int MECHANISM_STATUS = 0xbd;
    static final int READ_CD = 0xbe;

    private PacketCommand() {}

    /** Whether a command fails without a disc. */
    static boolean needsDisc(int operation) {
        return switch (operation) {
            case TEST_UNIT_READY,
                    READ_CAPACITY,
                    READ_10,
                    READ_12,
                    SEEK_10,
                    VERIFY_10,
                    READ_CD,
                    READ_CD_MSF,
                    READ_TOC,
                    READ_HEADER,
                    READ_SUB_CHANNEL,
                    READ_DISC_INFORMATION,
                    READ_TRACK_INFORMATION,
                    READ_DVD_STRUCTURE -> true;
            default -> false;
        };
    }
}
