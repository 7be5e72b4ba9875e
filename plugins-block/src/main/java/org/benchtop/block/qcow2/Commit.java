package org.benchtop.block.qcow2;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;

/**
 * Brings changed tables to the disk in an order that is right wherever it is cut off:
 *
 * <ol>
 *   <li>refcounts (they only went up), also those in new blocks, and a refcount table that has moved;
 *   <li>the refcount table's entries or its new place, which make new blocks known;
 *   <li>L2 entries and L1 entries, which refer to clusters that are now counted and, as they were linked only after
 *       their data was written, filled;
 *   <li>afterwards refcounts of clusters that lost their last reference go down, in memory, for the next time.
 * </ol>
 *
 * <p>Between the steps the files are flushed. What is written is a copy of one moment, so requests go on meanwhile.
 * With lazy refcounts the first two steps wait until the image is closed; a dirty bit says so before.
 */
final class Commit extends Task {
    private enum Stage {
        BEGIN,
        HEADER,
        HEADER_FLUSH,
        REFCOUNTS,
        REFCOUNTS_FLUSH,
        REFCOUNT_TABLE,
        DATA_FLUSH,
        MAPPINGS,
        FINAL_FLUSH,
        FREE,
    }

    private final Qcow2Tables tables;
    private final CommitBuffer header = new CommitBuffer();
    private final CommitBuffer refcounts = new CommitBuffer();
    private final CommitBuffer refcountTable = new CommitBuffer();
    private final CommitBuffer mappings = new CommitBuffer();
    private final Fifo current = new Fifo();
    private final Fifo next = new Fifo();
    private final List<Write> freeWrites = new ArrayList<>();
    private final BlockRequest.Flush fileFlush = new BlockRequest.Flush();
    private final BlockRequest.Flush dataFlush = new BlockRequest.Flush();
    private final BlockRequest.Discard discard = new BlockRequest.Discard();
    private final BlockCompletion flushed = (request, result) -> operationDone(result);
    private final BlockCompletion discarded = (request, result) -> discardDone();

    private boolean running;
    private Stage stage = Stage.BEGIN;
    private int pending;
    private BlockStatus status = BlockStatus.OK;
    private boolean tableMoved;
    private long tableOffset;
    private int freeMark;
    private int freeIndex;
    private int freeCount;

    @SuppressWarnings("NullAway") // it gets a queue when it starts
    Commit(Qcow2Tables tables) {
        super(null);
        this.tables = tables;
    }

    long memoryBytes() {
        return header.memoryBytes() + refcounts.memoryBytes() + refcountTable.memoryBytes() + mappings.memoryBytes();
    }

    boolean running() {
        return running;
    }

    /** Under the lock: the task goes on when everything that is changed now is durable. */
    void join(Task task) {
        if (running) {
            next.add(task);
        } else {
            current.add(task);
            start(task.queue);
        }
    }

    /** Under the lock: the task goes on when a commit has ended, so that something can be evicted. */
    void joinAny(Task task) {
        if (running) {
            current.add(task);
        } else {
            join(task);
        }
    }

    private void start(Qcow2Queue onQueue) {
        running = true;
        queue = onQueue;
        stage = Stage.BEGIN;
        queue.later(this);
    }

    @Override
    void run() {
        switch (stage) {
            case BEGIN -> begin();
            case HEADER -> write(header, Stage.HEADER_FLUSH);
            case HEADER_FLUSH -> flush(header.count() > 0, false, Stage.REFCOUNTS);
            case REFCOUNTS -> write(refcounts, Stage.REFCOUNTS_FLUSH);
            case REFCOUNTS_FLUSH ->
                flush(refcounts.count() > 0 && refcountTable.count() > 0, false, Stage.REFCOUNT_TABLE);
            case REFCOUNT_TABLE -> write(refcountTable, Stage.DATA_FLUSH);
            case DATA_FLUSH -> flush(mappings.count() > 0, true, Stage.MAPPINGS);
            case MAPPINGS -> write(mappings, Stage.FINAL_FLUSH);
            case FINAL_FLUSH -> flush(true, mappings.count() == 0, Stage.FREE);
            case FREE -> free();
        }
    }

    private void begin() {
        status = BlockStatus.OK;
        synchronized (tables) {
            header.clear();
            refcounts.clear();
            refcountTable.clear();
            mappings.clear();
            tableMoved = tables.beginCommit(header, refcounts, refcountTable, mappings);
            tableOffset = tables.refcountTableOffset();
            freeMark = tables.frees().mark();
        }
        stage = Stage.HEADER;
        run();
    }

    private void write(CommitBuffer buffer, Stage then) {
        stage = then;
        int count = buffer.count();
        if (count == 0 || status != BlockStatus.OK) {
            run();
            return;
        }
        pending = count + 1;
        for (int i = 0; i < count; i++) {
            Write write = freeWrites.isEmpty() ? new Write() : freeWrites.removeLast();
            write.request.buffer().clear();
            write.request.buffer().add(buffer.memory(), buffer.start(i), buffer.length(i));
            queue.submitFile(write.request.at(buffer.offset(i)), write);
        }
        operationDone(BlockStatus.OK);
    }

    private final class Write implements BlockCompletion {
        private final BlockRequest.Write request = new BlockRequest.Write();

        @Override
        public void completed(BlockRequest done, BlockStatus result) {
            freeWrites.add(this);
            operationDone(result);
        }
    }

    private void flush(boolean needed, boolean dataToo, Stage then) {
        stage = then;
        boolean last = then == Stage.FREE;
        if (!needed || status != BlockStatus.OK || !last && !tables.flushesBetween()) {
            run();
            return;
        }
        boolean data = queue.hasDataFile() && (dataToo || last);
        pending = data ? 3 : 2;
        queue.submitFile(fileFlush, flushed);
        if (data) {
            queue.submitData(dataFlush, flushed);
        }
        operationDone(BlockStatus.OK);
    }

    private void operationDone(BlockStatus result) {
        if (result != BlockStatus.OK && status == BlockStatus.OK) {
            status = result == BlockStatus.NO_SPACE ? result : BlockStatus.IO_ERROR;
        }
        if (--pending == 0) {
            queue.later(this);
            queue.finishHandler();
        }
    }

    private void free() {
        synchronized (tables) {
            if (freeMark >= 0) {
                tables.endCommit(header, refcounts, refcountTable, mappings, tableMoved, tableOffset, status);
                if (status == BlockStatus.OK) {
                    tables.frees().durable(freeMark);
                }
                freeMark = -1;
            }
            if (wakeStatus != BlockStatus.OK) {
                // Its refcount cannot be read: a leak is the lesser evil.
                wakeStatus = BlockStatus.OK;
                int unreadable = tables.nextFree();
                if (unreadable >= 0) {
                    tables.frees().done(unreadable, tables.frees().count(unreadable));
                }
            }
            while (status == BlockStatus.OK) {
                int index = tables.nextFree();
                if (index < 0) {
                    break;
                }
                int freed = tables.free(index, this);
                if (freed == Qcow2Tables.WAIT) {
                    return;
                }
                if (freed > 0) {
                    freeIndex = index;
                    freeCount = freed;
                    break;
                }
                freeCount = 0;
            }
            if (status == BlockStatus.OK && freeCount > 0) {
                discard.at(
                        tables.frees().cluster(freeIndex) << tables.layout().clusterBits,
                        freeCount * tables.layout().clusterBytes);
            } else {
                end();
                return;
            }
        }
        queue.submitFile(discard, discarded);
    }

    /** Giving the space back is a favour; whether it worked or not, the clusters are free now. */
    private void discardDone() {
        synchronized (tables) {
            tables.freeDone(freeIndex, freeCount);
            freeCount = 0;
        }
        queue.later(this);
        queue.finishHandler();
    }

    private void end() {
        running = false;
        BlockStatus result = status;
        Qcow2Queue mine = queue;
        current.wake(mine, result);
        if (next.isEmpty()) {
            return;
        }
        current.addAll(next);
        Qcow2Queue their = current.first().queue;
        running = true;
        stage = Stage.BEGIN;
        queue = their;
        if (their == mine) {
            mine.later(this);
        } else {
            their.runFromElsewhere(this);
        }
    }
}
