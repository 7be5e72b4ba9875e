package org.benchtop.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;

/** Talks to a backend as a caller that waits for each request; one thread at a time. */
public final class BlockClient implements AutoCloseable {
    private static final long TIMEOUT_NANOS = 60_000_000_000L;

    private final EventLoop loop;
    private final BlockQueue queue;

    public BlockClient(BlockBackend backend, EventLoop loop) {
        this.loop = loop;
        this.queue = backend.openQueue(loop);
    }

    /** The queue, for requests that shall overlap. */
    public BlockQueue queue() {
        return queue;
    }

    /** Submits a request on the loop and waits for its completion, which must come once and on the loop. */
    public BlockStatus submit(BlockRequest request) {
        AtomicReference<BlockStatus> result = new AtomicReference<>();
        AtomicInteger calls = new AtomicInteger();
        loop.call(() -> {
            queue.submit(request, (done, status) -> {
                if (done != request) {
                    throw new AssertionError("completed " + done + " instead of " + request);
                }
                if (!loop.inLoop()) {
                    throw new AssertionError(request + " completed outside its loop");
                }
                if (calls.incrementAndGet() > 1) {
                    throw new AssertionError(request + " completed twice");
                }
                result.set(status);
            });
            queue.kick();
        });
        await(loop, () -> result.get() != null, request.toString());
        BlockStatus status = result.get();
        if (status == null) {
            throw new AssertionError(request + " is not completed");
        }
        return status;
    }

    /** Lets a loop run until a condition holds; a fake loop's clock is moved as long as a timer is armed. */
    public static void await(EventLoop loop, java.util.function.BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + TIMEOUT_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError(what + " is not completed");
            }
            if (loop instanceof FakeEventLoop fake) {
                if (fake.runPending() == 0 && fake.armedTimers() > 0) {
                    fake.advance(
                            Math.max(0, fake.nextDeadlineNanos() - fake.clock().nanoTime()));
                }
            } else {
                Thread.onSpinWait();
                Thread.yield();
            }
        }
    }

    /** Reads; fails the test unless the status is OK. */
    public byte[] read(long offset, int lengthBytes) {
        MemorySegment memory = Arena.ofAuto().allocate(Math.max(1, lengthBytes), 4096);
        BlockStatus status = submit(readInto(memory, offset, lengthBytes));
        if (status != BlockStatus.OK) {
            throw new AssertionError("read at " + offset + " of " + lengthBytes + " bytes: " + status);
        }
        byte[] copy = new byte[lengthBytes];
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, 0, copy, 0, lengthBytes);
        return copy;
    }

    /** Reads and gives the status only. */
    public BlockStatus tryRead(long offset, int lengthBytes) {
        return submit(readInto(Arena.ofAuto().allocate(Math.max(1, lengthBytes), 4096), offset, lengthBytes));
    }

    private static BlockRequest.Read readInto(MemorySegment memory, long offset, int lengthBytes) {
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(memory, 0, lengthBytes);
        return read.at(offset);
    }

    /** Writes; not durable. */
    public BlockStatus write(long offset, byte[] bytes) {
        return write(offset, bytes, false);
    }

    /** Writes. */
    public BlockStatus write(long offset, byte[] bytes, boolean durable) {
        MemorySegment memory = Arena.ofAuto().allocate(Math.max(1, bytes.length), 4096);
        MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, 0, bytes.length);
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(memory, 0, bytes.length);
        return submit(write.at(offset, durable));
    }

    /** Flushes. */
    public BlockStatus flush() {
        return submit(new BlockRequest.Flush());
    }

    /** Discards. */
    public BlockStatus discard(long offset, long lengthBytes) {
        return submit(new BlockRequest.Discard().at(offset, lengthBytes));
    }

    /** Writes zeroes. */
    public BlockStatus writeZeroes(long offset, long lengthBytes, boolean mayUnmap) {
        return submit(new BlockRequest.WriteZeroes().at(offset, lengthBytes, mayUnmap));
    }

    @Override
    public void close() {
        queue.close();
    }
}
