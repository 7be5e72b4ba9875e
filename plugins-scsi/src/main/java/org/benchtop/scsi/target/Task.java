package org.benchtop.scsi.target;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.jspecify.annotations.Nullable;

/**
 * One command in a logical unit: what it waits for, and its way through the drive in one part after another. Reusable;
 * belongs to one port. The fields that order it among others are the logical unit's and guarded by its lock.
 */
final class Task implements BlockCompletion {
    /** Parts that do not go from or to the initiator's memory in place. */
    private static final int SCRATCH_BYTES = 64 << 10;

    private static final byte[] NO_BYTES = {};

    /** What a command does with the medium. */
    private enum Work {
        /** Reads into the initiator's data. */
        READ,
        /** Writes the initiator's data. */
        WRITE,
        /** Writes one block again and again. */
        PATTERN,
        /** Makes ranges read as zeroes. */
        ZERO,
        /** Gives ranges back. */
        DISCARD,
        /** Reads, and compares where there is something to compare with. */
        VERIFY,
        /** Makes everything durable. */
        FLUSH,
        /** Nothing; only to tell the end of a chain. */
        NONE,
    }

    /** What the logical unit does when the work is done. */
    interface Afterwards {
        /** The work has ended well. */
        void done(Task task);
    }

    private static final Afterwards GOOD = task -> task.status(ScsiCommand.GOOD);

    private final TargetPort port;

    // Owned by the logical unit's lock.
    @Nullable
    Task older;

    @Nullable
    Task younger;

    boolean enabled;
    boolean exclusive;
    volatile boolean aborted;
    /** A sense code with which it is to be refused; 0 for none. */
    int attention;
    /** Whether a reservation refuses it. */
    boolean conflict;

    private @Nullable ScsiCommand command;
    private @Nullable ScsiCompletion completion;
    private @Nullable UnitPort at;
    private @Nullable Operation operation;

    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.Flush flush = new BlockRequest.Flush();
    private final BlockRequest.Discard discard = new BlockRequest.Discard();
    private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();

    private Work work = Work.NONE;
    private Afterwards afterwards = GOOD;
    private long offsetBytes;
    private long totalBytes;
    private long doneBytes;
    private long partBytes;
    private long dataSkipBytes;
    private int blockBytes;
    private boolean durable;
    private boolean mayUnmap;
    private boolean bounced;
    /** VERIFY: whether to compare with the initiator's data, and how much of that there is. */
    private boolean compare;

    private long comparedWithBytes;
    private boolean miscompared;
    private long[] ranges = {};
    private int rangeCount;
    private int range;
    private byte[] scratchArray = NO_BYTES;
    private MemorySegment scratch = MemorySegment.NULL;

    private boolean submitting;
    private boolean completedInline;
    private BlockStatus result = BlockStatus.OK;

    Task(TargetPort port) {
        this.port = port;
    }

    void begin(ScsiCommand newCommand, ScsiCompletion newCompletion, UnitPort newAt) {
        command = newCommand;
        completion = newCompletion;
        at = newAt;
        operation = null;
        attention = 0;
        conflict = false;
        enabled = false;
        exclusive = false;
        aborted = false;
        work = Work.NONE;
        afterwards = GOOD;
        result = BlockStatus.OK;
    }

    TargetPort port() {
        return port;
    }

    ScsiCommand command() {
        ScsiCommand now = command;
        if (now == null) {
            throw new IllegalStateException("the task is free");
        }
        return now;
    }

    private UnitPort at() {
        UnitPort now = at;
        if (now == null) {
            throw new IllegalStateException("the task is free");
        }
        return now;
    }

    LogicalUnit unit() {
        return at().unit();
    }

    /** The command; null before it was looked up, and when it is unknown. */
    @Nullable
    Operation operation() {
        return operation;
    }

    void operation(@Nullable Operation value) {
        operation = value;
    }

    byte[] cdb() {
        return command().cdb();
    }

    // Answers. Each ends the task, which must not be used afterwards.

    /** Ends it with a status without sense data. */
    void status(int status) {
        command().complete(status, 0, transferred());
        end();
    }

    /** Ends it well. */
    void good() {
        status(ScsiCommand.GOOD);
    }

    /** Ends it with CHECK CONDITION. */
    void check(int sense) {
        check(sense, Sense.NO_INFORMATION, -1);
    }

    /** Ends it because of a byte of the CDB. */
    void invalidCdb(int field) {
        check(Sense.INVALID_FIELD_IN_CDB, Sense.NO_INFORMATION, Sense.IN_CDB | field);
    }

    /** Ends it because of a byte of the parameter list. */
    void invalidParameter(int field) {
        check(Sense.INVALID_FIELD_IN_PARAMETERS, Sense.NO_INFORMATION, field);
    }

    /** Ends it with CHECK CONDITION and more about it. */
    void check(int sense, long information, int field) {
        ScsiCommand c = command();
        Sense.fixed(c.sense(), sense, information, field);
        at().errors().increment();
        if (!c.autosense()) {
            unit().keepSense(c.initiator(), c.sense());
            c.complete(ScsiCommand.CHECK_CONDITION, 0, transferred());
        } else {
            c.complete(ScsiCommand.CHECK_CONDITION, Sense.FIXED_BYTES, transferred());
        }
        end();
    }

    private long transferred() {
        return switch (work) {
            case READ -> doneBytes;
            case WRITE -> dataSkipBytes + doneBytes;
            case PATTERN, VERIFY, ZERO, DISCARD, FLUSH, NONE -> moved;
        };
    }

    /** What was moved apart from the medium. */
    private long moved;

    /** Ends it with data for the initiator. */
    void reply(byte[] data, int lengthBytes, long allocationBytes) {
        ScsiCommand c = command();
        long wanted = Math.min(lengthBytes, allocationBytes);
        long fits = Math.min(wanted, c.dataIn().sizeBytes());
        if (fits > 0) {
            c.dataIn().copyFrom(0, MemorySegment.ofArray(data), 0, fits);
        }
        c.expect(ScsiCommand.Direction.IN, wanted, false);
        moved = fits;
        good();
    }

    /** Fetches a parameter list; null after having ended the task, because the initiator has sent less. */
    byte @Nullable [] parameters(long lengthBytes, int most) {
        ScsiCommand c = command();
        c.expect(ScsiCommand.Direction.OUT, lengthBytes, false);
        if (lengthBytes > most || c.dataOut().sizeBytes() < lengthBytes) {
            check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return null;
        }
        byte[] bytes = new byte[(int) lengthBytes];
        c.dataOut().copyTo(0, MemorySegment.ofArray(bytes), 0, lengthBytes);
        moved = lengthBytes;
        return bytes;
    }

    /** The command comes back; everything about it is known. */
    private void end() {
        ScsiCommand c = command();
        ScsiCompletion told = completion;
        LogicalUnit unit = unit();
        if (unit.leave(this)) {
            c.giveBack(ScsiCommand.Outcome.ABORTED);
        }
        free();
        if (told != null) {
            told.completed(c);
        }
    }

    /** Comes back without a status. */
    void abort() {
        moved = 0;
        command().giveBack(ScsiCommand.Outcome.ABORTED);
        end();
    }

    private void park() {
        ScsiCommand c = command();
        ScsiCompletion told = completion;
        boolean gone = unit().leave(this);
        c.giveBack(gone ? ScsiCommand.Outcome.ABORTED : ScsiCommand.Outcome.PARKED);
        free();
        if (told != null) {
            told.completed(c);
        }
    }

    private void free() {
        command = null;
        completion = null;
        at = null;
        moved = 0;
        work = Work.NONE;
        port.release(this);
    }

    // Work with the medium.

    private void begin(Work newWork, long offset, long total) {
        work = newWork;
        offsetBytes = offset;
        totalBytes = total;
        doneBytes = 0;
        dataSkipBytes = 0;
        blockBytes = unit().blockBytes();
        miscompared = false;
    }

    /** Reads a range into the initiator's data, as much as fits. */
    void read(long offset, long lengthBytes) {
        ScsiCommand c = command();
        c.expect(ScsiCommand.Direction.IN, lengthBytes, true);
        begin(Work.READ, offset, Math.min(lengthBytes, c.dataIn().sizeBytes()));
        at().countRead(totalBytes);
        run();
    }

    /** Writes a range from the initiator's data: the whole blocks of what there is. */
    void write(long offset, long lengthBytes, long skipBytes, boolean isDurable, Afterwards then) {
        ScsiCommand c = command();
        c.expect(ScsiCommand.Direction.OUT, skipBytes + lengthBytes, true);
        int block = unit().blockBytes();
        long there = Math.max(0, c.dataOut().sizeBytes() - skipBytes);
        begin(Work.WRITE, offset, Math.min(lengthBytes, there / block * block));
        dataSkipBytes = skipBytes;
        durable = isDurable;
        afterwards = then;
        at().countWrite(totalBytes);
        run();
    }

    /** Writes one block, given at the start of the initiator's data, all over a range. */
    void writePattern(long offset, long lengthBytes, boolean isDurable) {
        begin(Work.PATTERN, offset, lengthBytes);
        durable = isDurable;
        scratch();
        command().dataOut().copyTo(0, scratch, 0, blockBytes);
        moved = blockBytes;
        for (int filled = blockBytes; filled < SCRATCH_BYTES; filled += blockBytes) {
            MemorySegment.copy(scratch, 0, scratch, filled, Math.min(blockBytes, SCRATCH_BYTES - filled));
        }
        at().countWrite(lengthBytes);
        run();
    }

    /** Makes a range read as zeroes. */
    void zero(long offset, long lengthBytes, boolean unmap, long movedBytes, Afterwards then) {
        begin(Work.ZERO, offset, lengthBytes);
        mayUnmap = unmap;
        moved = movedBytes;
        afterwards = then;
        run();
    }

    /** Gives ranges back: pairs of offset and length. */
    void discard(long[] pairs, int count) {
        begin(Work.DISCARD, 0, count);
        ranges = pairs;
        rangeCount = count;
        range = 0;
        run();
    }

    /**
     * Reads a range and compares it with the initiator's data.
     *
     * @param comparedBytes how much of the data there is to compare with, from the start and again; 0 to only read
     */
    void verify(long offset, long lengthBytes, long comparedBytes, Afterwards then) {
        begin(Work.VERIFY, offset, lengthBytes);
        compare = comparedBytes > 0;
        comparedWithBytes = comparedBytes;
        moved = Math.max(moved, comparedBytes);
        afterwards = then;
        scratch();
        run();
    }

    /** Makes everything durable. */
    void flush(Afterwards then) {
        begin(Work.FLUSH, 0, 1);
        afterwards = then;
        at().flushes().increment();
        run();
    }

    /** Makes everything durable and ends well. */
    void flush() {
        flush(GOOD);
    }

    private void scratch() {
        if (scratchArray.length < SCRATCH_BYTES) {
            scratchArray = new byte[SCRATCH_BYTES];
            scratch = java.lang.foreign.Arena.ofAuto().allocate(SCRATCH_BYTES, 4096);
        }
    }

    private @Nullable BlockRequest next() {
        long left = totalBytes - doneBytes;
        if (left <= 0 || miscompared) {
            return null;
        }
        bounced = false;
        switch (work) {
            case READ -> {
                IoVector data = command().dataIn();
                partBytes = part(data, doneBytes, left);
                read.buffer().clear();
                if (partBytes > 0) {
                    read.buffer().addFrom(data, doneBytes, partBytes);
                } else {
                    bounce(left, read.buffer());
                }
                return read.at(offsetBytes + doneBytes);
            }
            case WRITE -> {
                IoVector data = command().dataOut();
                partBytes = part(data, dataSkipBytes + doneBytes, left);
                write.buffer().clear();
                if (partBytes > 0) {
                    write.buffer().addFrom(data, dataSkipBytes + doneBytes, partBytes);
                } else {
                    bounce(left, write.buffer());
                    data.copyTo(dataSkipBytes + doneBytes, scratch, 0, partBytes);
                }
                return write.at(offsetBytes + doneBytes, durable);
            }
            case PATTERN -> {
                partBytes = Math.min(left, scratchPart());
                write.buffer().clear();
                write.buffer().add(scratch, 0, partBytes);
                return write.at(offsetBytes + doneBytes, durable);
            }
            case VERIFY -> {
                partBytes = Math.min(left, scratchPart());
                read.buffer().clear();
                read.buffer().add(scratch, 0, partBytes);
                return read.at(offsetBytes + doneBytes);
            }
            case ZERO -> {
                partBytes = left;
                return zeroes.at(offsetBytes, totalBytes, mayUnmap);
            }
            case DISCARD -> {
                partBytes = 1;
                return discard.at(ranges[2 * range], ranges[2 * range + 1]);
            }
            case FLUSH -> {
                partBytes = 1;
                return flush;
            }
            case NONE -> {
                return null;
            }
        }
        return null;
    }

    private long scratchPart() {
        long most = Math.min(SCRATCH_BYTES, at().maxPartBytes());
        return Math.max(blockBytes, most / blockBytes * blockBytes);
    }

    /** One block through memory of our own: the initiator has no room for it, or has cut its own into too many pieces. */
    private void bounce(long left, IoVector buffer) {
        scratch();
        bounced = true;
        partBytes = Math.min(left, blockBytes);
        buffer.add(scratch, 0, blockBytes);
    }

    /** The longest run of whole blocks from here on that the drive takes at once; 0 if it takes not even one. */
    private long part(IoVector data, long skipBytes, long left) {
        long most = Math.min(left, at().maxPartBytes());
        int maxSegments = at().maxSegments();
        if (data.count() <= maxSegments) {
            return most / blockBytes * blockBytes;
        }
        long skip = skipBytes;
        long taken = 0;
        int segments = 0;
        for (int i = 0; i < data.count() && segments < maxSegments && taken < most; i++) {
            long length = data.length(i);
            if (skip >= length) {
                skip -= length;
                continue;
            }
            taken += length - skip;
            skip = 0;
            segments++;
        }
        return Math.min(taken, most) / blockBytes * blockBytes;
    }

    private void advance() {
        switch (work) {
            case READ -> {
                if (bounced) {
                    command().dataIn().copyFrom(doneBytes, scratch, 0, partBytes);
                }
            }
            case VERIFY -> {
                if (compare) {
                    compareScratch();
                }
            }
            case DISCARD -> range++;
            case WRITE, PATTERN, ZERO, FLUSH, NONE -> {}
        }
        doneBytes += partBytes;
    }

    private void compareScratch() {
        byte[] medium = scratchArray;
        MemorySegment.copy(scratch, 0, MemorySegment.ofArray(medium), 0, partBytes);
        byte[] data = new byte[(int) Math.min(partBytes, comparedWithBytes)];
        MemorySegment dataBytes = MemorySegment.ofArray(data);
        for (long done = 0; done < partBytes; done += data.length) {
            command().dataOut().copyTo((doneBytes + done) % comparedWithBytes, dataBytes, 0, data.length);
            int mismatch = Arrays.mismatch(medium, (int) done, (int) done + data.length, data, 0, data.length);
            if (mismatch >= 0) {
                miscompared = true;
                offsetBytes = doneBytes + done + mismatch;
                return;
            }
        }
    }

    /** Submits parts until one does not complete at once. */
    private void run() {
        while (result == BlockStatus.OK && !aborted) {
            BlockRequest request = next();
            if (request == null) {
                break;
            }
            completedInline = false;
            submitting = true;
            at().submit(request, this);
            submitting = false;
            if (!completedInline) {
                return;
            }
        }
        finish();
    }

    @Override
    public void completed(BlockRequest request, BlockStatus status) {
        result = status;
        if (status == BlockStatus.OK) {
            advance();
        }
        if (submitting) {
            // From within submit: the loop in run() goes on, instead of a recursion as deep as there are parts.
            completedInline = true;
            return;
        }
        UnitPort where = at();
        run();
        where.kick();
    }

    private void finish() {
        if (aborted) {
            abort();
            return;
        }
        if (result == BlockStatus.OK) {
            if (miscompared) {
                check(Sense.MISCOMPARE, offsetBytes, -1);
            } else {
                moved = Math.max(moved, work == Work.WRITE ? transferred() : 0);
                Afterwards then = afterwards;
                afterwards = GOOD;
                then.done(this);
            }
            return;
        }
        boolean reading = work == Work.READ || work == Work.VERIFY;
        switch (unit().onError(reading, result)) {
            case STOP -> {
                at().errors().increment();
                LogicalUnit unit = unit();
                String what = toString();
                BlockStatus why = result;
                park();
                unit.stopMachine(what, why);
            }
            case IGNORE -> {
                at().errors().increment();
                doneBytes = totalBytes;
                result = BlockStatus.OK;
                finish();
            }
            case REPORT -> {
                long block = work == Work.FLUSH ? Sense.NO_INFORMATION : (offsetBytes + doneBytes) / blockBytes;
                check(senseOf(reading), block, -1);
            }
        }
    }

    private int senseOf(boolean reading) {
        return switch (result) {
            case OK -> Sense.NO_SENSE;
            case IO_ERROR -> reading ? Sense.UNRECOVERED_READ_ERROR : Sense.WRITE_ERROR;
            case NO_SPACE -> Sense.SPACE_ALLOCATION_FAILED;
            case READ_ONLY -> Sense.WRITE_PROTECTED;
            case OUT_OF_RANGE -> Sense.LBA_OUT_OF_RANGE;
            case UNSUPPORTED -> Sense.INVALID_COMMAND;
        };
    }

    @Override
    public String toString() {
        return work.name().toLowerCase(java.util.Locale.ROOT) + " of " + totalBytes + " bytes at " + offsetBytes;
    }
}
