package org.benchtop.block.nbd;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.nbd.NbdProtocol;

/** One request on its way to the server, in as many operations as it takes. Reused; lives on its queue's loop. */
final class NbdJob {
    /** The longest range of a trim or of zeroes. */
    private static final long MAX_RANGE_BYTES = 1L << 30;

    private static final int ZERO_BYTES = 1 << 20;
    private static final BlockRequest IDLE = new BlockRequest.Flush();

    private static final class Zeroes {
        static final MemorySegment MEMORY = Arena.global().allocate(ZERO_BYTES, 4096);
    }

    private final NbdQueue queue;
    private final NbdBackend backend;
    private final NbdOp op;
    private BlockRequest request = IDLE;
    private BlockCompletion completion = (done, status) -> {};
    private long doneBytes;
    private boolean flushing;

    NbdJob(NbdQueue queue, NbdBackend backend) {
        this.queue = queue;
        this.backend = backend;
        this.op = new NbdOp(done -> queue.done(this));
    }

    void start(BlockRequest newRequest, BlockCompletion newCompletion) {
        request = newRequest;
        completion = newCompletion;
        doneBytes = 0;
        flushing = false;
        next();
    }

    /** Bytes of the request that the export has: the last block may reach beyond its end. */
    private long existingBytes() {
        return Math.clamp(backend.export().sizeBytes() - request.offsetBytes(), 0, request.lengthBytes());
    }

    private void next() {
        NbdExport export = backend.export();
        switch (request) {
            case BlockRequest.Read read -> {
                long length = existingBytes();
                op.data.clear();
                op.data.addFrom(read.buffer(), 0, length);
                send(NbdProtocol.NBD_CMD_READ, 0, length);
            }
            case BlockRequest.Write write -> {
                op.data.clear();
                op.data.addFrom(write.buffer(), 0, write.lengthBytes());
                boolean fua = write.durable() && export.has(NbdProtocol.NBD_FLAG_SEND_FUA);
                send(NbdProtocol.NBD_CMD_WRITE, fua ? NbdProtocol.NBD_CMD_FLAG_FUA : 0, write.lengthBytes());
            }
            case BlockRequest.Flush flush -> flush();
            case BlockRequest.Discard discard -> {
                if (export.has(NbdProtocol.NBD_FLAG_SEND_TRIM)) {
                    op.data.clear();
                    send(NbdProtocol.NBD_CMD_TRIM, 0, Math.min(MAX_RANGE_BYTES, discard.lengthBytes() - doneBytes));
                } else {
                    finish(BlockStatus.OK);
                }
            }
            case BlockRequest.WriteZeroes zeroes -> {
                op.data.clear();
                long left = zeroes.lengthBytes() - doneBytes;
                if (export.has(NbdProtocol.NBD_FLAG_SEND_WRITE_ZEROES)) {
                    int flags = zeroes.mayUnmap() ? 0 : NbdProtocol.NBD_CMD_FLAG_NO_HOLE;
                    send(NbdProtocol.NBD_CMD_WRITE_ZEROES, flags, Math.min(MAX_RANGE_BYTES, left));
                } else {
                    long length = Math.min(
                            left, Math.min(ZERO_BYTES, backend.capabilities().maxTransferBytes()));
                    op.data.add(Zeroes.MEMORY, 0, length);
                    send(NbdProtocol.NBD_CMD_WRITE, 0, length);
                }
            }
        }
    }

    private void send(int command, int flags, long length) {
        op.set(command, flags, request.offsetBytes() + doneBytes, length);
        queue.send(op);
    }

    private void flush() {
        flushing = true;
        if (backend.durability().takeLoss()) {
            finish(BlockStatus.IO_ERROR);
        } else if (backend.export().has(NbdProtocol.NBD_FLAG_SEND_FLUSH)) {
            op.data.clear();
            op.set(NbdProtocol.NBD_CMD_FLUSH, 0, 0, 0);
            queue.send(op);
        } else {
            finish(BlockStatus.OK);
        }
    }

    /** The operation is done; on the loop. */
    void stepDone() {
        if (op.status != BlockStatus.OK || flushing) {
            finish(op.status);
            return;
        }
        doneBytes += op.lengthBytes;
        switch (request) {
            case BlockRequest.Read read -> {
                read.buffer().fill(doneBytes, read.lengthBytes() - doneBytes, (byte) 0);
                finish(BlockStatus.OK);
            }
            case BlockRequest.Write write -> {
                if (write.durable() && !backend.export().has(NbdProtocol.NBD_FLAG_SEND_FUA)) {
                    flush();
                } else {
                    finish(BlockStatus.OK);
                }
            }
            case BlockRequest.Flush flush -> finish(BlockStatus.OK);
            case BlockRequest.Discard discard -> nextOrFinish();
            case BlockRequest.WriteZeroes zeroes -> nextOrFinish();
        }
    }

    private void nextOrFinish() {
        if (doneBytes < request.lengthBytes()) {
            next();
        } else {
            finish(BlockStatus.OK);
        }
    }

    private void finish(BlockStatus status) {
        BlockRequest done = request;
        BlockCompletion told = completion;
        request = IDLE;
        queue.recycle(this);
        told.completed(done, status);
    }
}
