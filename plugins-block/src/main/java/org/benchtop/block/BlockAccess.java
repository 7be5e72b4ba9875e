package org.benchtop.block;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;

/**
 * Reads and writes a backend and waits: for opening, checking and changing images. Belongs to the thread that made it.
 *
 * <p>Positions and lengths are multiples of the backend's logical block size. Failures are exceptions that name
 * {@code what} was accessed.
 */
public final class BlockAccess implements AutoCloseable {
    private final String what;
    private final CallerLoop loop;
    private final BlockQueue queue;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.Flush flush = new BlockRequest.Flush();
    private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
    private final BlockRequest.Discard discard = new BlockRequest.Discard();
    private boolean done;
    private BlockStatus status = BlockStatus.OK;

    public BlockAccess(String what, BlockBackend backend) {
        this(what, backend, new CallerLoop("access"));
    }

    public BlockAccess(String what, BlockBackend backend, CallerLoop loop) {
        this.what = what;
        this.loop = loop;
        this.queue = backend.openQueue(loop);
    }

    /** Fills the segment. */
    public void read(long offset, MemorySegment into) {
        read.buffer().clear();
        read.buffer().add(into, 0, into.byteSize());
        check(submit(read.at(offset)), "read", offset);
    }

    /** Writes the segment. */
    public void write(long offset, MemorySegment from) {
        write.buffer().clear();
        write.buffer().add(from, 0, from.byteSize());
        check(submit(write.at(offset)), "write", offset);
    }

    /** Makes all that was written durable. */
    public void flush() {
        check(submit(flush), "flush", 0);
    }

    /** Makes a range read as zeroes. */
    public void zero(long offset, long length, boolean mayUnmap) {
        check(submit(zeroes.at(offset, length, mayUnmap)), "zero", offset);
    }

    /** Gives a range back, if that is possible. */
    public void discard(long offset, long length) {
        submit(discard.at(offset, length));
    }

    /** Submits any request and waits for it. */
    public BlockStatus submit(BlockRequest request) {
        done = false;
        queue.submit(request, (finished, result) -> {
            status = result;
            done = true;
        });
        queue.kick();
        loop.runUntil(() -> done);
        return status;
    }

    private void check(BlockStatus result, String verb, long offset) {
        if (result != BlockStatus.OK) {
            throw BenchtopException.of(ErrorKind.HOST, what + ": " + verb + " at " + offset + ": " + result.words());
        }
    }

    @Override
    public void close() {
        queue.close();
    }
}
