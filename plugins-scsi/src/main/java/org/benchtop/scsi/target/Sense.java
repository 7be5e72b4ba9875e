package org.benchtop.scsi.target;

/** Sense keys and additional sense codes (SPC-5, 4.4 and annex F), as key << 16 | ASC << 8 | ASCQ. */
final class Sense {
    static final int NO_SENSE = 0;
    static final int NOT_READY_INITIALIZING_REQUIRED = 0x02_0402;
    static final int NOT_PRESENT_TRAY_CLOSED = 0x02_3a01;
    static final int NOT_PRESENT_TRAY_OPEN = 0x02_3a02;
    static final int WRITE_ERROR = 0x03_0c00;
    static final int UNRECOVERED_READ_ERROR = 0x03_1100;
    static final int PARAMETER_LIST_LENGTH_ERROR = 0x05_1a00;
    static final int INVALID_COMMAND = 0x05_2000;
    static final int LBA_OUT_OF_RANGE = 0x05_2100;
    static final int INVALID_FIELD_IN_CDB = 0x05_2400;
    static final int LOGICAL_UNIT_NOT_SUPPORTED = 0x05_2500;
    static final int INVALID_FIELD_IN_PARAMETERS = 0x05_2600;
    static final int INVALID_RELEASE = 0x05_2604;
    static final int SAVING_NOT_SUPPORTED = 0x05_3900;
    static final int REMOVAL_PREVENTED = 0x05_5302;
    static final int INSUFFICIENT_REGISTRATION_RESOURCES = 0x05_5504;
    static final int ILLEGAL_MODE_FOR_TRACK = 0x05_6400;
    static final int MEDIUM_MAY_HAVE_CHANGED = 0x06_2800;
    static final int POWER_ON = 0x06_2900;
    static final int BUS_RESET = 0x06_2902;
    static final int LOGICAL_UNIT_RESET = 0x06_2903;
    static final int NEXUS_LOSS = 0x06_2907;
    static final int MODE_PARAMETERS_CHANGED = 0x06_2a01;
    static final int RESERVATIONS_PREEMPTED = 0x06_2a03;
    static final int RESERVATIONS_RELEASED = 0x06_2a04;
    static final int REGISTRATIONS_PREEMPTED = 0x06_2a05;
    static final int CAPACITY_CHANGED = 0x06_2a09;
    static final int REPORTED_LUNS_CHANGED = 0x06_3f0e;
    static final int WRITE_PROTECTED = 0x07_2700;
    static final int SPACE_ALLOCATION_FAILED = 0x07_2707;
    static final int ABORTED_COMMAND = 0x0b_0000;
    static final int MISCOMPARE = 0x0e_1d00;

    /** No information field. */
    static final long NO_INFORMATION = -1;

    /** The length of sense data in fixed format. */
    static final int FIXED_BYTES = 18;

    /** The length of sense data in descriptor format, without descriptors. */
    static final int DESCRIPTOR_BYTES = 8;

    private Sense() {}

    static int key(int sense) {
        return sense >>> 16;
    }

    /**
     * Writes sense data in fixed format (4.4.3).
     *
     * @param information a logical block or an offset, or {@link #NO_INFORMATION}
     * @param field sense-key specific field pointer: C/D << 16 | the byte in the CDB or parameter list; -1 for none
     */
    static void fixed(byte[] to, int sense, long information, int field) {
        java.util.Arrays.fill(to, 0, FIXED_BYTES, (byte) 0);
        boolean valid = information >= 0 && information <= 0xffff_ffffL;
        to[0] = (byte) (valid ? 0xf0 : 0x70);
        to[2] = (byte) key(sense);
        if (valid) {
            Bytes.int32(to, 3, (int) information);
        }
        to[7] = FIXED_BYTES - 8;
        to[12] = (byte) (sense >>> 8);
        to[13] = (byte) sense;
        if (field >= 0) {
            to[15] = (byte) (0x80 | (field & IN_CDB) >>> 10);
            Bytes.int16(to, 16, field & 0xffff);
        }
    }

    /** The flag of a field pointer that points into the CDB. */
    static final int IN_CDB = 1 << 16;

    /** Turns fixed into descriptor format (4.4.2), dropping information and field pointer. */
    static void descriptor(byte[] from, byte[] to) {
        java.util.Arrays.fill(to, 0, DESCRIPTOR_BYTES, (byte) 0);
        to[0] = 0x72;
        to[1] = (byte) (from[2] & 0xf);
        to[2] = from[12];
        to[3] = from[13];
    }
}
