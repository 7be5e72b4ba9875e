package org.benchtop.shell.image;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.jspecify.annotations.Nullable;

/**
 * Copies ranges from one disk to another with several transfers in flight, on an event loop of its own.
 *
 * <p>Ranges come from one thread ({@link #copy}, {@link #zero}); the first failure ends everything.
 */
final class Copier implements AutoCloseable {
    /** The longest single transfer. */
    static final int CHUNK_BYTES = 1 << 20;

    private static final MemorySegment ZEROES = ImageTool.memory(CHUNK_BYTES);
    private static final long WAIT_MILLIS = 100;

    private record Range(long offset, int length, boolean zero) {}

    private final BlockBackend source;
    private final BlockBackend target;
    private final LinuxEventLoop loop;
    private final BlockQueue reads;
    private final BlockQueue writes;
    private final int sparseBytes;
    private final boolean zeroAlready;
    private final boolean differencesOnly;
    private final BlockingQueue<Range> ranges;
    private final List<Slot> idle = new ArrayList<>();
    private final int slots;
    private final AtomicReference<@Nullable BenchtopException> failure = new AtomicReference<>();
    private final AtomicLong doneBytes = new AtomicLong();
    private final AtomicLong pending = new AtomicLong();

    /**
     * @param slots transfers in flight
     * @param sparseBytes zeroes of at least that length are not written; 0 writes all
     * @param zeroAlready whether the target reads as zeroes where nothing is written
     * @param differencesOnly writes only what the target does not have already
     */
    Copier(
            BlockBackend source,
            BlockBackend target,
            int slots,
            int sparseBytes,
            boolean zeroAlready,
            boolean differencesOnly) {
        this.source = source;
        this.target = target;
        this.slots = slots;
        this.sparseBytes = sparseBytes;
        this.zeroAlready = zeroAlready;
        this.differencesOnly = differencesOnly;
        this.ranges = new ArrayBlockingQueue<>(slots * 4);
        this.loop = LinuxEventLoop.start("image");
        this.reads = source.openQueue(loop);
        this.writes = target.openQueue(loop);
        for (int i = 0; i < slots; i++) {
            idle.add(new Slot());
        }
    }

    long doneBytes() {
        return doneBytes.get();
    }

    /** Copies a range, sooner or later. */
    void copy(long offset, long length) {
        add(offset, length, false);
    }

    /** Makes a range zero, sooner or later. */
    void zero(long offset, long length) {
        if (zeroAlready && !differencesOnly) {
            doneBytes.addAndGet(length);
            return;
        }
        add(offset, length, true);
    }

    private void add(long offset, long length, boolean zero) {
        // Pieces end at multiples of their longest length, so that clusters are whole.
        for (long at = offset; at < offset + length; ) {
            long end = Math.min(offset + length, (at / CHUNK_BYTES + 1) * CHUNK_BYTES);
            put(new Range(at, (int) (end - at), zero));
            at = end;
        }
    }

    private void put(Range range) {
        check();
        pending.incrementAndGet();
        try {
            while (!ranges.offer(range, WAIT_MILLIS, TimeUnit.MILLISECONDS)) {
                check();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw BenchtopException.host("interrupted");
        }
        loop.execute(this::startIdle);
    }

    private void check() {
        @Nullable BenchtopException failed = failure.get();
        if (failed != null) {
            throw BenchtopException.of(failed.kind(), failed.getMessage(), failed);
        }
    }

    private void startIdle() {
        while (!idle.isEmpty() && failure.get() == null) {
            Range next = ranges.poll();
            if (next == null) {
                break;
            }
            idle.removeLast().start(next);
        }
        reads.kick();
        writes.kick();
    }

    /** Waits for everything; {@code watch} is called from time to time with the bytes that are done. */
    void finish(Progress progress) {
        while (pending.get() > 0) {
            check();
            progress.at(doneBytes.get());
            try {
                TimeUnit.MILLISECONDS.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw BenchtopException.host("interrupted");
            }
        }
        check();
        CountDownLatch flushed = new CountDownLatch(1);
        loop.execute(() -> {
            writes.submit(new BlockRequest.Flush(), (request, status) -> {
                if (status != BlockStatus.OK) {
                    fail("flush", 0, target, status);
                }
                flushed.countDown();
            });
            writes.kick();
        });
        try {
            flushed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw BenchtopException.host("interrupted");
        }
        check();
    }

    private void fail(String verb, long offset, BlockBackend backend, BlockStatus status) {
        failure.compareAndSet(
                null,
                BenchtopException.host(backend.describe() + ": " + verb + " at " + offset + ": " + status.words()));
    }

    /** One transfer. */
    private final class Slot implements BlockCompletion {
        private final MemorySegment memory = ImageTool.memory(CHUNK_BYTES);
        private final @Nullable MemorySegment present = differencesOnly ? ImageTool.memory(CHUNK_BYTES) : null;
        private final BlockRequest.Read read = new BlockRequest.Read();
        private final BlockRequest.Read readTarget = new BlockRequest.Read();
        private final BlockRequest.Write write = new BlockRequest.Write();
        private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
        private Range range = new Range(0, 0, true);
        private int at;

        void start(Range newRange) {
            range = newRange;
            at = 0;
            if (range.zero) {
                if (present != null) {
                    memory.asSlice(0, range.length).fill((byte) 0);
                    readTarget(present);
                } else {
                    writes.submit(zeroes.at(range.offset, range.length, true), this);
                }
                return;
            }
            read.buffer().clear();
            read.buffer().add(memory, 0, range.length);
            reads.submit(read.at(range.offset), this);
        }

        private void readTarget(MemorySegment into) {
            readTarget.buffer().clear();
            readTarget.buffer().add(into, 0, range.length);
            writes.submit(readTarget.at(range.offset), this);
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            if (status != BlockStatus.OK) {
                boolean reading = request == read;
                fail(
                        reading || request == readTarget ? "read" : "write",
                        request.offsetBytes(),
                        reading ? source : target,
                        status);
                end();
            } else if (request == read && present != null) {
                readTarget(present);
            } else {
                next();
            }
            reads.kick();
            writes.kick();
        }

        /** Writes the next part that has to be written. */
        private void next() {
            if (range.zero && present == null) {
                end();
                return;
            }
            while (at < range.length) {
                int step = sparseBytes == 0 ? range.length : sparseBytes;
                int start = at;
                boolean skip = skips(start, Math.min(step, range.length - start));
                int end = start;
                while (end < range.length && skips(end, Math.min(step, range.length - end)) == skip) {
                    end = Math.min(range.length, end + step);
                }
                at = end;
                if (!skip) {
                    write.buffer().clear();
                    write.buffer().add(memory, start, end - start);
                    writes.submit(write.at(range.offset + start), this);
                    return;
                }
                if (present == null && !zeroAlready) {
                    writes.submit(zeroes.at(range.offset + start, end - start, true), this);
                    return;
                }
            }
            end();
        }

        /** Whether a part need not be written as data. */
        private boolean skips(int start, int length) {
            MemorySegment there = present;
            if (there != null) {
                return MemorySegment.mismatch(memory, start, start + length, there, start, start + length) < 0;
            }
            // The first word tells most data from zeroes, and costs much less than a comparison.
            return sparseBytes > 0
                    && memory.get(ValueLayout.JAVA_LONG_UNALIGNED, start) == 0
                    && MemorySegment.mismatch(memory, start, start + length, ZEROES, 0, length) < 0;
        }

        private void end() {
            doneBytes.addAndGet(range.length);
            pending.decrementAndGet();
            idle.add(this);
            startIdle();
        }
    }

    /** Ends the loop once nothing is in flight any more. */
    @Override
    public void close() {
        boolean quiet = false;
        while (!quiet) {
            int[] free = new int[1];
            loop.call(() -> free[0] = idle.size());
            quiet = free[0] == slots;
            if (!quiet) {
                Thread.onSpinWait();
                Thread.yield();
            }
        }
        reads.close();
        writes.close();
        loop.close();
    }
}
