package org.benchtop.engine.nbd;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.nbd.NbdProtocol;
import org.jspecify.annotations.Nullable;

/** One request of a client, with its buffer. Reused. */
final class NbdServerRequest implements BlockCompletion, AutoCloseable {
    /** Larger buffers are freed after use. */
    private static final long KEPT_BYTES = 256 << 10;

    private final NbdServerConnection connection;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.Flush flush = new BlockRequest.Flush();
    private final BlockRequest.Discard discard = new BlockRequest.Discard();
    private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
    private @Nullable Buffer buffer;
    private MemorySegment memory = MemorySegment.NULL;
    private @Nullable BlockQueue queue;
    private boolean flushAfterwards;
    private long bufferBytes;
    private ByteBuffer extents = ByteBuffer.allocate(0);

    int command;
    long cookie;
    long offsetBytes;
    long lengthBytes;
    int error;

    /** Memory that is freed when it is not needed any more. */
    private static final class Buffer implements AutoCloseable {
        private final Arena arena = Arena.ofShared();
        private final MemorySegment memory;

        Buffer(long bytes) {
            memory = arena.allocate(Math.max(bytes, 4096), 4096);
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    NbdServerRequest(NbdServerConnection connection) {
        this.connection = connection;
    }

    void begin(int newCommand, int flags, long newCookie, long offset, long length, long bytes) {
        command = newCommand;
        cookie = newCookie;
        offsetBytes = offset;
        lengthBytes = length;
        error = 0;
        bufferBytes = bytes;
        if (memory.byteSize() < bytes) {
            close();
            Buffer larger = new Buffer(bytes);
            buffer = larger;
            memory = larger.memory;
        }
        boolean fua = (flags & NbdProtocol.NBD_CMD_FLAG_FUA) != 0;
        flushAfterwards = fua && (command == NbdProtocol.NBD_CMD_TRIM || command == NbdProtocol.NBD_CMD_WRITE_ZEROES);
        switch (command) {
            case NbdProtocol.NBD_CMD_READ -> {
                read.buffer().clear();
                read.buffer().add(memory, 0, bytes);
                read.at(offset);
            }
            case NbdProtocol.NBD_CMD_WRITE -> {
                write.buffer().clear();
                write.buffer().add(memory, 0, bytes);
                write.at(offset, fua);
            }
            case NbdProtocol.NBD_CMD_TRIM -> discard.at(offset, length);
            case NbdProtocol.NBD_CMD_WRITE_ZEROES ->
                zeroes.at(offset, length, (flags & NbdProtocol.NBD_CMD_FLAG_NO_HOLE) == 0);
            default -> {
                // Checked by the connection.
            }
        }
    }

    /** The data, for one reader or writer. */
    ByteBuffer buffer() {
        return memory.asSlice(0, bufferBytes).asByteBuffer();
    }

    /** What a block status request is answered: lengths and states. */
    ByteBuffer extents() {
        return extents;
    }

    void extents(ByteBuffer found) {
        extents = found;
    }

    long bufferBytes() {
        return bufferBytes;
    }

    /** Carries it out; on the loop. */
    void submit(BlockQueue target) {
        queue = target;
        BlockRequest request = switch (command) {
            case NbdProtocol.NBD_CMD_READ -> read;
            case NbdProtocol.NBD_CMD_WRITE -> write;
            case NbdProtocol.NBD_CMD_TRIM -> discard;
            case NbdProtocol.NBD_CMD_WRITE_ZEROES -> zeroes;
            default -> flush;
        };
        target.submit(request, this);
    }

    @Override
    public void completed(BlockRequest request, BlockStatus status) {
        BlockQueue target = queue;
        if (status == BlockStatus.OK && flushAfterwards && target != null) {
            flushAfterwards = false;
            target.submit(flush, this);
            target.kick();
            return;
        }
        boolean advisory = command == NbdProtocol.NBD_CMD_TRIM && status == BlockStatus.UNSUPPORTED;
        error = advisory ? 0 : NbdServerConnection.error(status);
        connection.finished(this);
    }

    /** Frees a large buffer after use. */
    void trim() {
        if (memory.byteSize() > KEPT_BYTES) {
            close();
        }
    }

    @Override
    public void close() {
        Buffer old = buffer;
        if (old != null) {
            buffer = null;
            memory = MemorySegment.NULL;
            old.close();
        }
    }
}
