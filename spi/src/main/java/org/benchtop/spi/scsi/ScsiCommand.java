package org.benchtop.spi.scsi;

import java.util.HexFormat;
import org.benchtop.spi.memory.IoVector;

/**
 * One command on its way from a host bus adapter to a logical unit and back (SAM-5, 5). Reusable: the adapter fills it,
 * executes it, and may fill it again after its completion. Not thread-safe: it belongs to one event loop.
 *
 * <p>Data is moved in place: the target reads or fills what {@link #dataOut} and {@link #dataIn} cover. An adapter that
 * puts guest memory there reports it with {@code GuestMemory.written} when the command has completed.
 */
public final class ScsiCommand {
    /** The longest command descriptor block. */
    public static final int MAX_CDB_BYTES = 32;

    /** The longest sense data that a target gives: fixed format. */
    public static final int MAX_SENSE_BYTES = 18;

    /** The well-known logical unit that answers REPORT LUNS (SAM-5, 4.7.7.5.1). */
    public static final int REPORT_LUNS_WLUN = 0xc101;

    /** Command completed well. */
    public static final int GOOD = 0x00;
    /** Sense data says more. */
    public static final int CHECK_CONDITION = 0x02;
    /** PRE-FETCH: everything fits into the cache. */
    public static final int CONDITION_MET = 0x04;
    /** Try again later. */
    public static final int BUSY = 0x08;
    /** Another initiator has a reservation. */
    public static final int RESERVATION_CONFLICT = 0x18;
    /** Too many commands in flight. */
    public static final int TASK_SET_FULL = 0x28;
    /** Aborted because of another initiator. */
    public static final int TASK_ABORTED = 0x40;

    /** How a command is ordered against others of its logical unit (SAM-5, 8.6). */
    public enum Attribute {
        /** In any order. */
        SIMPLE,
        /** After everything older, before everything younger. */
        ORDERED,
        /** At once. */
        HEAD_OF_QUEUE,
    }

    /** Which way the data of a command goes. */
    public enum Direction {
        /** No data. */
        NONE,
        /** To the initiator. */
        IN,
        /** To the target. */
        OUT,
    }

    /** How a command came back. */
    public enum Outcome {
        /** It was carried out: {@link #status} says how. */
        DONE,
        /** Task management has aborted it: no status, and nothing touches its data any more. */
        ABORTED,
        /**
         * The drive's error policy stops the machine. The initiator must not see a completion: the adapter keeps the
         * request and executes it again, as if it were new, when the machine goes on.
         */
        PARKED,
    }

    private final byte[] cdb = new byte[MAX_CDB_BYTES];
    private final byte[] sense = new byte[MAX_SENSE_BYTES];
    private final IoVector dataIn = new IoVector();
    private final IoVector dataOut = new IoVector();

    private int lun;
    private int initiator;
    private long tag;
    private int cdbLength;
    private Attribute attribute = Attribute.SIMPLE;
    private boolean autosense = true;

    private Direction direction = Direction.NONE;
    private long expectedBytes;
    private boolean mediumTransfer;

    private Outcome outcome = Outcome.DONE;
    private int status;
    private int senseLength;
    private long transferredBytes;

    /**
     * Starts over: no CDB, no data, SIMPLE, with autosense.
     *
     * @param lun 0 to 16383, {@link #REPORT_LUNS_WLUN}, or -1 for an address that no logical unit can have
     * @param tag unique among the commands in flight of this initiator and logical unit
     */
    public ScsiCommand begin(int newLun, long newTag) {
        lun = newLun;
        tag = newTag;
        initiator = 0;
        cdbLength = 0;
        attribute = Attribute.SIMPLE;
        autosense = true;
        dataIn.clear();
        dataOut.clear();
        direction = Direction.NONE;
        expectedBytes = 0;
        mediumTransfer = false;
        clearResult();
        return this;
    }

    private void clearResult() {
        outcome = Outcome.DONE;
        status = GOOD;
        senseLength = 0;
        transferredBytes = 0;
    }

    // The adapter's side.

    /**
     * The CDB's bytes: fill the first {@code length}, then call {@link #cdbLength(int)}. Bytes behind it are not looked
     * at by a target unless the operation code says that they exist, and read as 0 then.
     */
    public byte[] cdb() {
        return cdb;
    }

    /** How much of {@link #cdb} is filled; clears the rest. */
    public void cdbLength(int length) {
        cdbLength = length;
        java.util.Arrays.fill(cdb, length, MAX_CDB_BYTES, (byte) 0);
    }

    /** How much of {@link #cdb} is filled. */
    public int cdbLength() {
        return cdbLength;
    }

    /** The operation code. */
    public int operation() {
        return cdb[0] & 0xff;
    }

    /** The logical unit that is addressed. */
    public int lun() {
        return lun;
    }

    /** The task tag. */
    public long tag() {
        return tag;
    }

    /** Which initiator sends it: 0 to 15; an adapter that is alone on its bus leaves it 0. */
    public int initiator() {
        return initiator;
    }

    /** Sets the initiator. */
    public void initiator(int value) {
        initiator = value;
    }

    /** How it is ordered. */
    public Attribute attribute() {
        return attribute;
    }

    /** Sets how it is ordered. */
    public void attribute(Attribute value) {
        attribute = value;
    }

    /**
     * Whether sense data is delivered with the status. Otherwise the logical unit keeps it for the next REQUEST SENSE of
     * this initiator, as on a parallel bus.
     */
    public boolean autosense() {
        return autosense;
    }

    /** Sets whether sense data is delivered with the status. */
    public void autosense(boolean value) {
        autosense = value;
    }

    /** Where data for the initiator goes; a target that has more transfers as much as fits. */
    public IoVector dataIn() {
        return dataIn;
    }

    /** Where data of the initiator is; a target that wants more takes what there is. */
    public IoVector dataOut() {
        return dataOut;
    }

    // What the target says before.

    /** Which way data will go; known after {@link ScsiPort#prepare} and after completion. */
    public Direction direction() {
        return direction;
    }

    /**
     * How much data the target would move if the buffers were large enough: an upper limit after
     * {@link ScsiPort#prepare}, unless {@link #mediumTransfer}; exact after completion.
     */
    public long expectedBytes() {
        return expectedBytes;
    }

    /** Whether exactly {@link #expectedBytes} of the medium will be moved if nothing fails. */
    public boolean mediumTransfer() {
        return mediumTransfer;
    }

    /** Sets what will be moved; for targets. */
    public void expect(Direction newDirection, long bytes, boolean medium) {
        direction = newDirection;
        expectedBytes = bytes;
        mediumTransfer = medium;
    }

    // The result.

    /** How it came back. */
    public Outcome outcome() {
        return outcome;
    }

    /** The status code. */
    public int status() {
        return status;
    }

    /** Sense data of {@link #senseLength} bytes; there is some after CHECK CONDITION, with autosense. */
    public byte[] sense() {
        return sense;
    }

    /** The length of the sense data. */
    public int senseLength() {
        return senseLength;
    }

    /** How much data was moved. */
    public long transferredBytes() {
        return transferredBytes;
    }

    /** Sets the result; for targets, which have filled {@link #sense} before. */
    public void complete(int newStatus, int newSenseLength, long newTransferredBytes) {
        outcome = Outcome.DONE;
        status = newStatus;
        senseLength = newSenseLength;
        transferredBytes = newTransferredBytes;
    }

    /** Sets that it comes back without a status; for targets. */
    public void giveBack(Outcome newOutcome) {
        clearResult();
        outcome = newOutcome;
    }

    @Override
    public String toString() {
        return "lun " + lun + " tag " + tag + " cdb " + HexFormat.of().formatHex(cdb, 0, Math.max(cdbLength, 1));
    }
}
