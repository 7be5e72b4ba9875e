package org.benchtop.shell.image;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;

/** One request at a time on a disk, waited for. */
final class Waiting implements AutoCloseable {
    private final BlockBackend backend;
    private final LinuxEventLoop loop;
    private final BlockQueue queue;

    Waiting(BlockBackend backend, LinuxEventLoop loop) {
        this.backend = backend;
        this.loop = loop;
        this.queue = backend.openQueue(loop);
    }

    String describe() {
        return backend.describe();
    }

    boolean read(long offset, MemorySegment into, long length) {
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(into, 0, length);
        return submit(read.at(offset)) == BlockStatus.OK;
    }

    BlockStatus submit(BlockRequest request) {
        CompletableFuture<BlockStatus> done = new CompletableFuture<>();
        loop.execute(() -> {
            queue.submit(request, (completed, status) -> done.complete(status));
            queue.kick();
        });
        return done.join();
    }

    /** Submits and wants success. */
    void require(String what, BlockRequest request) {
        BlockStatus status = submit(request);
        if (status != BlockStatus.OK) {
            throw BenchtopException.host(describe() + ": " + what + ": " + status.words());
        }
    }

    @Override
    public void close() {
        queue.close();
    }
}
