package org.benchtop.system.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;

/** Keeps a number of equal requests in flight on one backend, from one event loop of this process, and counts. */
final class BlockLoad {
    /** What is asked for: sizes in bytes; {@code stride} 0 for random places. */
    record Pattern(boolean write, int bytes, int depth, long stride) {}

    /** What came out: requests, and the CPU time of the whole process for each, in microseconds. */
    record Result(long requests, double seconds, double cpuMicros) {
        double perSecond() {
            return requests / seconds;
        }
    }

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final Pattern pattern;
    private final BlockQueue queue;
    private final long places;
    private final long limit;
    private final long endNanos;
    private final CountDownLatch finished = new CountDownLatch(1);
    private long random = 0x2545f4914f6cdd1dL;
    private long at;
    private long started;
    private long completed;
    private int inFlight;
    private boolean over;
    private BlockStatus failure = BlockStatus.OK;

    private BlockLoad(BlockQueue queue, Pattern pattern, long sizeBytes, long limit, long endNanos) {
        this.queue = queue;
        this.pattern = pattern;
        this.places = sizeBytes / pattern.bytes;
        this.limit = limit;
        this.endNanos = endNanos;
    }

    /** Runs until a time has passed or so many requests are done, whichever is first. */
    static Result run(BlockBackend backend, Pattern pattern, long maxRequests, double maxSeconds) {
        long size = backend.capabilities().sizeBytes();
        try (Arena arena = Arena.ofShared();
                LinuxEventLoop loop = LinuxEventLoop.start("load")) {
            MemorySegment memory = arena.allocate((long) pattern.depth * pattern.bytes, 4096);
            memory.fill((byte) 0x5a);
            BlockQueue[] queue = new BlockQueue[1];
            loop.call(() -> queue[0] = backend.openQueue(loop));
            long cpu = SYSTEM.getProcessCpuTime();
            long start = System.nanoTime();
            BlockLoad load = new BlockLoad(queue[0], pattern, size, maxRequests, start + (long) (maxSeconds * 1e9));
            loop.execute(() -> load.start(memory));
            load.finished.await();
            double seconds = (System.nanoTime() - start) / 1e9;
            double cpuMicros = (SYSTEM.getProcessCpuTime() - cpu) / 1e3;
            loop.call(queue[0]::close);
            if (load.failure != BlockStatus.OK) {
                throw new IllegalStateException(backend.describe() + ": a request failed: " + load.failure);
            }
            return new Result(load.completed, seconds, cpuMicros / load.completed);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private void start(MemorySegment memory) {
        for (int i = 0; i < pattern.depth; i++) {
            new Slot(memory, (long) i * pattern.bytes).next();
        }
        queue.kick();
    }

    private long nextOffset() {
        if (pattern.stride == 0) {
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            return Long.remainderUnsigned(random, places) * pattern.bytes;
        }
        long offset = at;
        at += pattern.stride;
        if (at > (places - 1) * pattern.bytes) {
            at = 0;
        }
        return offset;
    }

    private final class Slot implements BlockCompletion {
        private final BlockRequest.Read read = new BlockRequest.Read();
        private final BlockRequest.Write write = new BlockRequest.Write();

        Slot(MemorySegment memory, long start) {
            read.buffer().add(memory, start, pattern.bytes);
            write.buffer().add(memory, start, pattern.bytes);
        }

        void next() {
            if (over || started == limit || failure != BlockStatus.OK) {
                return;
            }
            started++;
            inFlight++;
            long offset = nextOffset();
            queue.submit(pattern.write ? write.at(offset) : read.at(offset), this);
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            completed++;
            inFlight--;
            if (status != BlockStatus.OK) {
                failure = status;
            }
            if ((completed & 15) == 0 && System.nanoTime() - endNanos >= 0) {
                over = true;
            }
            next();
            queue.kick();
            if (inFlight == 0) {
                finished.countDown();
            }
        }
    }
}
