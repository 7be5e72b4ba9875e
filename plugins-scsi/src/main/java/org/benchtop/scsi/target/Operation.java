package org.benchtop.scsi.target;

import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The commands that logical units know, with their CDB usage data (SPC-5, 6.35): which bits of the CDB mean something.
 * A command with any other bit set is refused.
 */
enum Operation {
    TEST_UNIT_READY(Unit.BOTH, Conflict.RESERVE_ONLY, "00 00 00 00 00 00"),
    REQUEST_SENSE(Unit.BOTH, Conflict.NEVER, "03 01 00 00 ff 00"),
    READ_6(Unit.DISK, Conflict.READ, "08 1f ff ff ff 00"),
    WRITE_6(Unit.DISK, Conflict.WRITE, "0a 1f ff ff ff 00"),
    INQUIRY(Unit.BOTH, Conflict.NEVER, "12 01 ff ff ff 00"),
    MODE_SELECT_6(Unit.BOTH, Conflict.WRITE, "15 11 00 00 ff 00"),
    RESERVE_6(Unit.DISK, Conflict.RESERVE_ONLY, "16 00 00 00 00 00"),
    RELEASE_6(Unit.DISK, Conflict.NEVER, "17 00 00 00 00 00"),
    MODE_SENSE_6(Unit.BOTH, Conflict.READ, "1a 08 ff ff ff 00"),
    START_STOP_UNIT(Unit.BOTH, Conflict.WRITE, "1b 01 00 0f f7 00"),
    SEND_DIAGNOSTIC(Unit.BOTH, Conflict.WRITE, "1d f7 00 ff ff 00"),
    PREVENT_ALLOW_MEDIUM_REMOVAL(Unit.BOTH, Conflict.RESERVE_ONLY, "1e 00 00 00 03 00"),
    READ_CAPACITY_10(Unit.BOTH, Conflict.RESERVE_ONLY, "25 00 ff ff ff ff 00 00 01 00"),
    READ_10(Unit.BOTH, Conflict.READ, "28 18 ff ff ff ff 3f ff ff 00"),
    WRITE_10(Unit.DISK, Conflict.WRITE, "2a 18 ff ff ff ff 3f ff ff 00"),
    SEEK_10(Unit.BOTH, Conflict.READ, "2b 00 ff ff ff ff 00 00 00 00"),
    WRITE_AND_VERIFY_10(Unit.DISK, Conflict.WRITE, "2e 16 ff ff ff ff 3f ff ff 00"),
    VERIFY_10(Unit.BOTH, Conflict.READ, "2f 16 ff ff ff ff 3f ff ff 00"),
    SYNCHRONIZE_CACHE_10(Unit.BOTH, Conflict.WRITE, "35 06 ff ff ff ff 3f ff ff 00"),
    WRITE_SAME_10(Unit.DISK, Conflict.WRITE, "41 08 ff ff ff ff 3f ff ff 00"),
    UNMAP(Unit.DISK, Conflict.WRITE, "42 00 00 00 00 00 3f ff ff 00"),
    MODE_SELECT_10(Unit.BOTH, Conflict.WRITE, "55 11 00 00 00 00 00 ff ff 00"),
    RESERVE_10(Unit.DISK, Conflict.RESERVE_ONLY, "56 00 00 00 00 00 00 00 00 00"),
    RELEASE_10(Unit.DISK, Conflict.NEVER, "57 00 00 00 00 00 00 00 00 00"),
    MODE_SENSE_10(Unit.BOTH, Conflict.READ, "5a 18 ff ff 00 00 00 ff ff 00"),
    PERSISTENT_RESERVE_IN(Unit.DISK, Conflict.RESERVE_ONLY, "5e 1f 00 00 00 00 00 ff ff 00"),
    PERSISTENT_RESERVE_OUT(Unit.DISK, Conflict.RESERVE_ONLY, "5f 1f ff 00 00 ff ff ff ff 00"),
    READ_16(Unit.DISK, Conflict.READ, "88 18 ff ff ff ff ff ff ff ff ff ff ff ff 3f 00"),
    COMPARE_AND_WRITE(Unit.DISK, Conflict.WRITE, "89 18 ff ff ff ff ff ff ff ff 00 00 00 ff 3f 00"),
    WRITE_16(Unit.DISK, Conflict.WRITE, "8a 18 ff ff ff ff ff ff ff ff ff ff ff ff 3f 00"),
    WRITE_AND_VERIFY_16(Unit.DISK, Conflict.WRITE, "8e 16 ff ff ff ff ff ff ff ff ff ff ff ff 3f 00"),
    VERIFY_16(Unit.DISK, Conflict.READ, "8f 16 ff ff ff ff ff ff ff ff ff ff ff ff 3f 00"),
    SYNCHRONIZE_CACHE_16(Unit.DISK, Conflict.WRITE, "91 06 ff ff ff ff ff ff ff ff ff ff ff ff 3f 00"),
    WRITE_SAME_16(Unit.DISK, Conflict.WRITE, "93 09 ff ff ff ff ff ff ff ff ff ff ff ff 3f 00"),
    READ_CAPACITY_16(Unit.DISK, Conflict.RESERVE_ONLY, 0x10, "9e 1f ff ff ff ff ff ff ff ff ff ff ff ff 01 00"),
    GET_LBA_STATUS(Unit.DISK, Conflict.READ, 0x12, "9e 1f ff ff ff ff ff ff ff ff ff ff ff ff 00 00"),
    REPORT_LUNS(Unit.BOTH, Conflict.NEVER, "a0 00 ff 00 00 00 ff ff ff ff 00 00"),
    REPORT_SUPPORTED_OPERATION_CODES(Unit.BOTH, Conflict.RESERVE_ONLY, 0x0c, "a3 1f 87 ff ff ff ff ff ff ff 00 00"),
    REPORT_SUPPORTED_TMF(Unit.BOTH, Conflict.RESERVE_ONLY, 0x0d, "a3 1f 80 00 00 00 ff ff ff ff 00 00"),
    READ_12(Unit.BOTH, Conflict.READ, "a8 18 ff ff ff ff ff ff ff ff 3f 00"),
    WRITE_12(Unit.DISK, Conflict.WRITE, "aa 18 ff ff ff ff ff ff ff ff 3f 00"),
    WRITE_AND_VERIFY_12(Unit.DISK, Conflict.WRITE, "ae 16 ff ff ff ff ff ff ff ff 3f 00"),
    VERIFY_12(Unit.DISK, Conflict.READ, "af 16 ff ff ff ff ff ff ff ff 3f 00"),
    READ_TOC(Unit.CD, Conflict.NEVER, "43 02 0f 00 00 00 ff ff ff c0"),
    GET_CONFIGURATION(Unit.CD, Conflict.NEVER, "46 03 ff ff 00 00 00 ff ff 00"),
    GET_EVENT_STATUS_NOTIFICATION(Unit.CD, Conflict.NEVER, "4a 01 00 00 ff 00 00 ff ff 00"),
    READ_DISC_INFORMATION(Unit.CD, Conflict.NEVER, "51 07 00 00 00 00 00 ff ff 00"),
    SET_CD_SPEED(Unit.CD, Conflict.NEVER, "bb 03 ff ff ff ff 00 00 00 00 00 00"),
    MECHANISM_STATUS(Unit.CD, Conflict.NEVER, "bd 00 00 00 00 00 00 00 ff ff 00 00"),
    READ_CD(Unit.CD, Conflict.NEVER, "be 1e ff ff ff ff ff ff ff fe 07 00");

    /** Which kinds of logical unit know a command. */
    enum Unit {
        DISK,
        CD,
        BOTH;

        boolean includes(Unit kind) {
            return this == BOTH || this == kind;
        }
    }

    /** Which reservations of other initiators refuse a command (SPC-4, table 65; SPC-2, 5.5.1). */
    enum Conflict {
        /** None. */
        NEVER,
        /** That by RESERVE; a persistent one does not matter. */
        RESERVE_ONLY,
        /** Those that keep others from reading. */
        READ,
        /** Those that keep others from writing. */
        WRITE,
    }

    /** No service action. */
    private static final int NONE = -1;

    private static final List<Operation> ALL = List.of(values());
    private static final @Nullable Operation[] DISK_TABLE = table(Unit.DISK);
    private static final @Nullable Operation[] CD_TABLE = table(Unit.CD);

    private final Unit unit;
    private final Conflict conflict;
    private final int serviceAction;
    private final byte[] usage;

    Operation(Unit unit, Conflict conflict, String usage) {
        this(unit, conflict, -1, usage);
    }

    Operation(Unit unit, Conflict conflict, int serviceAction, String usage) {
        this.unit = unit;
        this.conflict = conflict;
        this.serviceAction = serviceAction;
        this.usage = HexFormat.ofDelimiter(" ").parseHex(usage);
    }

    private static @Nullable Operation[] table(Unit kind) {
        @Nullable Operation[] table = new Operation[256];
        for (Operation operation : ALL) {
            if (operation.unit.includes(kind) && operation.serviceAction == NONE) {
                table[operation.code()] = operation;
            }
        }
        return table;
    }

    /** The command that a CDB asks for; null if this kind of logical unit does not know it. */
    static @Nullable Operation of(byte[] cdb, Unit kind) {
        Operation found = (kind == Unit.DISK ? DISK_TABLE : CD_TABLE)[cdb[0] & 0xff];
        return found != null ? found : of(cdb[0] & 0xff, cdb[1] & 0x1f, kind);
    }

    private static @Nullable Operation of(int code, int serviceAction, Unit kind) {
        for (int i = 0; i < ALL.size(); i++) {
            Operation operation = ALL.get(i);
            if (operation.code() == code && operation.serviceAction == serviceAction && operation.unit.includes(kind)) {
                return operation;
            }
        }
        return null;
    }

    /** Whether some command of this code exists that has service actions. */
    static boolean hasServiceActions(int code, Unit kind) {
        return ALL.stream().anyMatch(o -> o.code() == code && o.serviceAction != NONE && o.unit.includes(kind));
    }

    /** The commands of a kind of logical unit. */
    static Stream<Operation> all(Unit kind) {
        return ALL.stream().filter(o -> o.unit.includes(kind));
    }

    int code() {
        return usage[0] & 0xff;
    }

    /** The service action; -1 for none. */
    int serviceAction() {
        return serviceAction;
    }

    Conflict conflict() {
        return conflict;
    }

    int length() {
        return usage.length;
    }

    /** The CDB usage data, with the service action in its place. */
    byte[] usage() {
        byte[] copy = usage.clone();
        if (serviceAction != NONE) {
            copy[1] = (byte) serviceAction;
        }
        return copy;
    }

    /** The first byte with a bit that means nothing; -1 if there is none. */
    int invalidField(byte[] cdb) {
        int last = usage.length - 1;
        for (int i = 1; i < last; i++) {
            int wrong = cdb[i] & ~usage[i] & 0xff;
            // In six-byte commands the top of byte 1 was the logical unit number once, and drivers still set it.
            if (wrong != 0 && !(i == 1 && usage.length == 6 && (wrong & 0x1f) == 0)) {
                return i;
            }
        }
        // Normal ACA is not supported; the other bits of the control byte are obsolete or the vendor's.
        return (cdb[last] & 0x04) != 0 ? last : -1;
    }
}
