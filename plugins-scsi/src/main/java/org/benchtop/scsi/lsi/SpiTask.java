package org.benchtop.scsi.lsi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.jspecify.annotations.Nullable;

/**
 * One command on the parallel bus, with the target's buffer for its data. The buffer is what a drive has, too: a target
 * does not know where the initiator will put the data until it is connected again, and many commands share one bus.
 *
 * <p>Reusable. While the target works on it, command and buffer belong to the target.
 */
final class SpiTask {
    /** The longest transfer of one command. */
    static final int MAX_DATA_BYTES = 8 << 20;

    /** Buffers up to this size are kept for the next command. */
    private static final int KEEP_BYTES = 256 << 10;

    private static final int ALIGNMENT = 4096;
    private static final MemorySegment NOTHING = MemorySegment.NULL;

    /** Where a command is. */
    enum Stage {
        /** Its CDB is there; the target has not looked at it. */
        NEW,
        /** The target wants data out. */
        COLLECTING,
        /** All there is; to be handed to the target. */
        COMPLETE,
        /** The target works on it. */
        WORKING,
        /** The target has answered: data in and status are to be sent. */
        ANSWERED,
    }

    final ScsiCommand command = new ScsiCommand();
    final SpiBus.Work.Prepare prepare = new SpiBus.Work.Prepare(this);
    final SpiBus.Work.Execute execute = new SpiBus.Work.Execute(this);

    /** Told by the target; made once by the adapter. */
    @Nullable
    ScsiCompletion completion;

    MemorySegment buffer = NOTHING;
    Stage stage = Stage.NEW;
    int target;
    int lun;

    /** The tag of the message, or -1. */
    int tag;

    boolean mayDisconnect;
    ScsiCommand.Attribute attribute = ScsiCommand.Attribute.SIMPLE;

    /** Length of the data out that is wanted, or of the data in that is there. */
    long dataBytes;
    /** How much of it was moved over the bus. */
    long movedBytes;

    int status;
    boolean statusSent;
    /** The initiator has forgotten it: it goes nowhere when the target gives it back. */
    boolean abandoned;
    /** The error policy of the drive has stopped the machine. */
    boolean parked;

    SpiTask begin(int newTarget, int newLun, int newTag, boolean disconnect, ScsiCommand.Attribute newAttribute) {
        target = newTarget;
        lun = newLun;
        tag = newTag;
        mayDisconnect = disconnect;
        attribute = newAttribute;
        stage = Stage.NEW;
        dataBytes = 0;
        movedBytes = 0;
        status = ScsiCommand.GOOD;
        statusSent = false;
        abandoned = false;
        parked = false;
        return this;
    }

    /** The tag for the target: one that no message can carry for an untagged command. */
    long commandTag() {
        return tag < 0 ? SpiBus.MAX_TASKS : tag;
    }

    /** Makes the buffer large enough. Returns by how much memory in use has grown. */
    long reserve(long bytes) {
        long before = buffer.byteSize();
        if (bytes > before) {
            long size = Math.max(ALIGNMENT, Long.highestOneBit(Math.max(bytes - 1, 1)) << 1);
            buffer = Arena.ofAuto().allocate(size, ALIGNMENT);
        }
        return buffer.byteSize() - before;
    }

    /** Gives a large buffer back. Returns by how much memory in use has shrunk. */
    long release() {
        long size = buffer.byteSize();
        if (size <= KEEP_BYTES) {
            return 0;
        }
        buffer = NOTHING;
        return size;
    }

    /** Saved state of a task that the target does not work on. */
    record State(
            Stage stage,
            int target,
            int lun,
            int tag,
            boolean mayDisconnect,
            ScsiCommand.Attribute attribute,
            byte[] cdb,
            ScsiCommand.Direction direction,
            long expectedBytes,
            byte[] data,
            long dataBytes,
            long movedBytes,
            int status,
            boolean statusSent,
            boolean abandoned,
            boolean parked) {}

    State save() {
        byte[] cdb = java.util.Arrays.copyOf(command.cdb(), command.cdbLength());
        byte[] data = buffer.asSlice(0, dataBytes).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
        return new State(
                stage,
                target,
                lun,
                tag,
                mayDisconnect,
                attribute,
                cdb,
                command.direction(),
                command.expectedBytes(),
                data,
                dataBytes,
                movedBytes,
                status,
                statusSent,
                abandoned,
                parked);
    }

    long restore(State saved) {
        begin(saved.target, saved.lun, saved.tag, saved.mayDisconnect, saved.attribute);
        command.begin(lun, commandTag());
        command.attribute(attribute);
        System.arraycopy(saved.cdb, 0, command.cdb(), 0, saved.cdb.length);
        command.cdbLength(saved.cdb.length);
        command.expect(saved.direction, saved.expectedBytes, false);
        stage = saved.stage;
        dataBytes = saved.dataBytes;
        movedBytes = saved.movedBytes;
        status = saved.status;
        statusSent = saved.statusSent;
        abandoned = saved.abandoned;
        parked = saved.parked;
        long grown = reserve(Math.max(saved.data.length, stage == Stage.ANSWERED ? 0 : saved.expectedBytes));
        MemorySegment.copy(MemorySegment.ofArray(saved.data), 0, buffer, 0, saved.data.length);
        return grown;
    }
}
