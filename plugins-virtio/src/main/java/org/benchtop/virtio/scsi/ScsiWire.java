package org.benchtop.virtio.scsi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.benchtop.spi.scsi.ScsiCommand;

/** The structures of the queues (VIRTIO 1.2, 5.6.6), little-endian. */
final class ScsiWire {
    /** {@code virtio_scsi_cmd_req} up to the CDB. */
    static final int REQUEST_BYTES = 19;
    /** {@code virtio_scsi_cmd_resp} up to the sense data. */
    static final int RESPONSE_BYTES = 12;

    static final int DEFAULT_CDB_BYTES = 32;
    static final int DEFAULT_SENSE_BYTES = 96;

    /** Type, subtype, LUN, tag. */
    static final int TMF_REQUEST_BYTES = 24;
    /** Type, LUN, requested events. */
    static final int AN_REQUEST_BYTES = 16;
    /** Event, LUN, reason. */
    static final int EVENT_BYTES = 16;

    static final int VIRTIO_SCSI_T_TMF = 0;
    static final int VIRTIO_SCSI_T_AN_QUERY = 1;
    static final int VIRTIO_SCSI_T_AN_SUBSCRIBE = 2;

    static final byte VIRTIO_SCSI_S_OK = 0;
    static final byte VIRTIO_SCSI_S_OVERRUN = 1;
    static final byte VIRTIO_SCSI_S_ABORTED = 2;
    static final byte VIRTIO_SCSI_S_BAD_TARGET = 3;
    static final byte VIRTIO_SCSI_S_RESET = 4;
    static final byte VIRTIO_SCSI_S_FAILURE = 9;
    static final byte VIRTIO_SCSI_S_FUNCTION_SUCCEEDED = 10;
    static final byte VIRTIO_SCSI_S_FUNCTION_REJECTED = 11;
    static final byte VIRTIO_SCSI_S_INCORRECT_LUN = 12;

    static final int VIRTIO_SCSI_T_NO_EVENT = 0;
    static final int VIRTIO_SCSI_T_TRANSPORT_RESET = 1;
    static final int VIRTIO_SCSI_T_PARAM_CHANGE = 3;
    static final int VIRTIO_SCSI_T_EVENTS_MISSED = 0x8000_0000;
    static final int VIRTIO_SCSI_EVT_RESET_RESCAN = 1;
    static final int VIRTIO_SCSI_EVT_RESET_REMOVED = 2;

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** No logical unit can have this address. */
    static final int NO_TARGET = -1;

    private ScsiWire() {}

    static int int32(MemorySegment from, long at) {
        return from.get(INT, at);
    }

    static void int32(MemorySegment to, long at, int value) {
        to.set(INT, at, value);
    }

    static void int16(MemorySegment to, long at, int value) {
        to.set(SHORT, at, (short) value);
    }

    static long int64(MemorySegment from, long at) {
        return from.get(LONG, at);
    }

    static int uint8(MemorySegment from, long at) {
        return from.get(ValueLayout.JAVA_BYTE, at) & 0xff;
    }

    /** Which target a LUN field addresses; {@link #NO_TARGET} for formats that address none. */
    static int target(MemorySegment from, long at) {
        int first = uint8(from, at);
        if (first == 1) {
            return uint8(from, at + 1);
        }
        // The REPORT LUNS well-known logical unit without a target: the first one answers.
        return first == 0xc1 && uint8(from, at + 1) == 1 ? 0 : NO_TARGET;
    }

    /** Which logical unit of its target a LUN field addresses (SAM-5, 4.7); -1 for none. */
    static int lun(MemorySegment from, long at) {
        int first = uint8(from, at);
        if (first == 0xc1) {
            return ScsiCommand.REPORT_LUNS_WLUN;
        }
        int level = uint8(from, at + 2) << 8 | uint8(from, at + 3);
        if (int32(from, at + 4) != 0) {
            return -1;
        }
        return switch (level >>> 14) {
            // Peripheral device addressing on bus 0, and flat space addressing.
            case 0 -> level < 0x100 ? level : -1;
            case 1 -> level & 0x3fff;
            default -> level == ScsiCommand.REPORT_LUNS_WLUN ? level : -1;
        };
    }

    /** Writes a LUN field. */
    static void lun(MemorySegment to, long at, int target, int lun) {
        to.set(ValueLayout.JAVA_BYTE, at, (byte) 1);
        to.set(ValueLayout.JAVA_BYTE, at + 1, (byte) target);
        int level = lun < 256 ? lun : 0x4000 | lun;
        to.set(ValueLayout.JAVA_BYTE, at + 2, (byte) (level >>> 8));
        to.set(ValueLayout.JAVA_BYTE, at + 3, (byte) level);
        int32(to, at + 4, 0);
    }
}
