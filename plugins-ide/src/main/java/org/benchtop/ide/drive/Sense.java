package org.benchtop.ide.drive;

/** Sense keys and additional sense codes that a CD drive gives (SPC-3, 4.5.6), as key << 16 | ASC << 8 | ASCQ. */
final class Sense {
    static final int NONE = 0;
    static final int NOT_PRESENT_TRAY_CLOSED = 0x02_3a01;
    static final int NOT_PRESENT_TRAY_OPEN = 0x02_3a02;
    static final int UNRECOVERED_READ_ERROR = 0x03_1100;
    static final int INVALID_COMMAND = 0x05_2000;
    static final int LBA_OUT_OF_RANGE = 0x05_2100;
    static final int INVALID_FIELD_IN_CDB = 0x05_2400;
    static final int INVALID_FIELD_IN_PARAMETERS = 0x05_2600;
    static final int SAVING_NOT_SUPPORTED = 0x05_3900;
    static final int REMOVAL_PREVENTED = 0x05_5302;
    static final int ILLEGAL_MODE_FOR_TRACK = 0x05_6400;
    static final int MEDIUM_MAY_HAVE_CHANGED = 0x06_2800;
    static final int POWER_ON_OR_RESET = 0x06_2900;
    static final int ABORTED = 0x0b_0000;

    private Sense() {}

    static int key(int sense) {
        return sense >>> 16;
    }
}
