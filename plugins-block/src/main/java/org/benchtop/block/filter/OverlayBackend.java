package org.benchtop.block.filter;

import java.util.ArrayDeque;
import org.benchtop.block.RequestCheck;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;

/**
 * A drive that is read from another one until it is written, and keeps what is written somewhere else.
 *
 * <p>A map says for every logical block where its content is, so a write never has to copy anything from below: a request
 * is never smaller than a block. A block's bit is set when its write is complete; until then readers see the old content,
 * as overlapping requests may.
 */
final class OverlayBackend implements BlockBackend {
    private final BlockBackend base;
    private final BlockBackend changes;
    private final BlockCapabilities capabilities;
    private final BlockMap changed;

    OverlayBackend(BlockBackend base, BlockBackend changes) {
        this.base = base;
        this.changes = changes;
        BlockCapabilities below = base.capabilities();
        BlockCapabilities above = changes.capabilities();
        this.capabilities = new BlockCapabilities(
                below.sizeBytes(),
                below.logicalBlockSizeBytes(),
                below.physicalBlockSizeBytes(),
                false,
                above.discard(),
                true,
                CacheMode.UNSAFE,
                Math.min(below.maxSegments(), above.maxSegments()),
                Math.min(below.maxTransferBytes(), above.maxTransferBytes()));
        this.changed = new BlockMap(below.sizeBytes() / below.logicalBlockSizeBytes());
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue(base.openQueue(loop), changes.openQueue(loop));
    }

    @Override
    public String describe() {
        return "overlay in " + changes.describe() + " over " + base.describe();
    }

    /** Throws the changes away; the drive below is the engine's to close. */
    @Override
    public void close() {
        changes.close();
    }

    private final class Queue implements BlockQueue {
        private final BlockQueue baseQueue;
        private final BlockQueue changesQueue;
        private final ArrayDeque<ReadJob> freeReads = new ArrayDeque<>();
        private final ArrayDeque<ChangeJob> freeChanges = new ArrayDeque<>();

        Queue(BlockQueue baseQueue, BlockQueue changesQueue) {
            this.baseQueue = baseQueue;
            this.changesQueue = changesQueue;
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            BlockStatus status = RequestCheck.check(request, capabilities);
            if (status != BlockStatus.OK) {
                completion.completed(request, status);
                return;
            }
            switch (request) {
                case BlockRequest.Read read -> read(read, completion);
                case BlockRequest.Write write -> change(write, completion);
                case BlockRequest.Discard discard -> change(discard, completion);
                case BlockRequest.WriteZeroes zeroes -> change(zeroes, completion);
                case BlockRequest.Flush flush -> completion.completed(flush, BlockStatus.OK);
            }
        }

        private void read(BlockRequest.Read read, BlockCompletion completion) {
            int block = capabilities.logicalBlockSizeBytes();
            long first = read.offsetBytes() / block;
            long end = first + read.lengthBytes() / block;
            boolean above = first < end && changed.get(first);
            if (changed.endOfRun(first, end, above) == end) {
                (above ? changesQueue : baseQueue).submit(read, completion);
                return;
            }
            ReadJob job = freeReads.isEmpty() ? new ReadJob(this) : freeReads.pop();
            job.start(read, completion);
        }

        private void change(BlockRequest request, BlockCompletion completion) {
            ChangeJob job = freeChanges.isEmpty() ? new ChangeJob(this) : freeChanges.pop();
            job.completion = completion;
            changesQueue.submit(request, job);
        }

        @Override
        public void kick() {
            baseQueue.kick();
            changesQueue.kick();
        }

        @Override
        public void drain() {
            baseQueue.drain();
            changesQueue.drain();
        }

        @Override
        public void close() {
            baseQueue.close();
            changesQueue.close();
        }
    }

    /** A change on its way; its blocks are found above when it is done. Reused. */
    private final class ChangeJob implements BlockCompletion {
        private final Queue queue;
        private BlockCompletion completion = (request, status) -> {};

        ChangeJob(Queue queue) {
            this.queue = queue;
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            if (status == BlockStatus.OK) {
                int block = capabilities.logicalBlockSizeBytes();
                long first = request.offsetBytes() / block;
                changed.set(first, first + request.lengthBytes() / block);
            }
            BlockCompletion told = completion;
            queue.freeChanges.push(this);
            told.completed(request, status);
        }
    }

    /** A read of blocks from both places, one run after the other. Reused. */
    private final class ReadJob implements BlockCompletion {
        private final Queue queue;
        private final BlockRequest.Read part = new BlockRequest.Read();
        private BlockRequest.Read whole = new BlockRequest.Read();
        private BlockCompletion completion = (request, status) -> {};
        private long done;
        private boolean submitting;
        private boolean completedInline;
        private BlockStatus inlineStatus = BlockStatus.OK;

        ReadJob(Queue queue) {
            this.queue = queue;
        }

        void start(BlockRequest.Read read, BlockCompletion newCompletion) {
            whole = read;
            completion = newCompletion;
            done = 0;
            run();
        }

        private void run() {
            int block = capabilities.logicalBlockSizeBytes();
            while (done < whole.lengthBytes()) {
                long first = (whole.offsetBytes() + done) / block;
                long end = (whole.offsetBytes() + whole.lengthBytes()) / block;
                boolean above = changed.get(first);
                long length = (changed.endOfRun(first, end, above) - first) * block;
                part.buffer().clear();
                part.buffer().addFrom(whole.buffer(), done, length);
                done += length;
                part.at(first * block);
                completedInline = false;
                submitting = true;
                (above ? queue.changesQueue : queue.baseQueue).submit(part, this);
                submitting = false;
                if (!completedInline) {
                    return;
                }
                if (inlineStatus != BlockStatus.OK) {
                    finish(inlineStatus);
                    return;
                }
            }
            finish(BlockStatus.OK);
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            if (submitting) {
                // The loop in run() goes on, instead of a recursion as deep as there are parts.
                completedInline = true;
                inlineStatus = status;
            } else if (status != BlockStatus.OK) {
                finish(status);
            } else {
                run();
                queue.kick();
            }
        }

        private void finish(BlockStatus status) {
            BlockRequest.Read read = whole;
            BlockCompletion told = completion;
            queue.freeReads.push(this);
            told.completed(read, status);
        }
    }
}
