package org.benchtop.block.nbd;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.benchtop.spi.memory.IoVector;

/** Reads big-endian numbers and data from a blocking channel through a small buffer. One thread. */
final class NbdWire {
    private static final int BUFFER_BYTES = 64 << 10;

    private final SocketChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES).limit(0);

    NbdWire(SocketChannel channel) {
        this.channel = channel;
    }

    private void need(int bytes) throws IOException {
        if (buffer.remaining() >= bytes) {
            return;
        }
        buffer.compact();
        while (buffer.position() < bytes) {
            if (channel.read(buffer) < 0) {
                throw new EOFException("the server has closed the connection");
            }
        }
        buffer.flip();
    }

    int u16() throws IOException {
        need(2);
        return buffer.getShort() & 0xffff;
    }

    int i32() throws IOException {
        need(4);
        return buffer.getInt();
    }

    long u32() throws IOException {
        return i32() & 0xffff_ffffL;
    }

    long i64() throws IOException {
        need(8);
        return buffer.getLong();
    }

    byte[] bytes(int length) throws IOException {
        byte[] bytes = new byte[length];
        int done = 0;
        while (done < length) {
            need(1);
            int take = Math.min(length - done, buffer.remaining());
            buffer.get(bytes, done, take);
            done += take;
        }
        return bytes;
    }

    void skip(long length) throws IOException {
        long left = length;
        while (left > 0) {
            need(1);
            int take = (int) Math.min(left, buffer.remaining());
            buffer.position(buffer.position() + take);
            left -= take;
        }
    }

    /** Reads {@code length} bytes into a vector, {@code at} bytes into it. */
    void into(IoVector vector, long at, long length) throws IOException {
        long skip = at;
        long left = length;
        for (int i = 0; i < vector.count() && left > 0; i++) {
            long elementBytes = vector.length(i);
            if (skip >= elementBytes) {
                skip -= elementBytes;
                continue;
            }
            long take = Math.min(left, elementBytes - skip);
            fill(vector.base(i).asSlice(vector.offset(i) + skip, take).asByteBuffer());
            left -= take;
            skip = 0;
        }
    }

    private void fill(ByteBuffer target) throws IOException {
        int buffered = Math.min(target.remaining(), buffer.remaining());
        if (buffered > 0) {
            target.put(buffer.slice(buffer.position(), buffered));
            buffer.position(buffer.position() + buffered);
        }
        while (target.hasRemaining()) {
            if (channel.read(target) < 0) {
                throw new EOFException("the server has closed the connection");
            }
        }
    }
}
