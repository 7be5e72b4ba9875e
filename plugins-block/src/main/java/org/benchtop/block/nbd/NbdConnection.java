package org.benchtop.block.nbd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.nbd.NbdProtocol;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a server, which is made again when it is lost and then needed. A thread sends, another one receives
 * straight into the buffers of the requests; requests overlap as the server likes. Thread-safe.
 *
 * <p>A server that breaks the protocol or stays silent loses the connection; its requests end with an I/O error, once no
 * thread touches their buffers any more.
 */
final class NbdConnection implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.block");
    private static final long RETRY_NANOS = 1_000_000_000L;
    private static final long CLOSE_MILLIS = 2_000;
    private static final int OUT_BYTES = 256 << 10;

    private final NbdAddress address;
    private final long timeoutNanos;
    private final NbdDurability durability;
    private final NbdExport export;

    // Guarded by this.
    private @Nullable Session session;
    private boolean connecting;
    private boolean failedBefore;
    private long failureNanos;
    private boolean closed;
    private final ArrayDeque<NbdOp> waiting = new ArrayDeque<>();

    private NbdConnection(NbdAddress address, long timeoutNanos, NbdDurability durability) throws IOException {
        this.address = address;
        this.timeoutNanos = timeoutNanos;
        this.durability = durability;
        Session first = new Session();
        this.export = first.export;
        this.session = first;
        first.start();
    }

    /** Connects and negotiates, waiting at most the timeout. */
    static NbdConnection open(NbdAddress address, long timeoutNanos, NbdDurability durability) throws IOException {
        return new NbdConnection(address, timeoutNanos, durability);
    }

    NbdExport export() {
        return export;
    }

    /** Sends an operation; its owner is told when it is done, perhaps before this returns. */
    void submit(NbdOp op) {
        long now = System.nanoTime();
        boolean accepted;
        synchronized (this) {
            Session now1 = session;
            if (closed) {
                accepted = false;
            } else if (now1 != null) {
                now1.add(op, now);
                accepted = true;
            } else if (connecting) {
                waiting.add(op);
                accepted = true;
            } else if (failedBefore && now - failureNanos < RETRY_NANOS) {
                accepted = false;
            } else {
                connecting = true;
                waiting.add(op);
                Thread.ofPlatform().name("benchtop-nbd-connect").daemon(true).start(this::reconnect);
                accepted = true;
            }
        }
        if (!accepted) {
            op.status = BlockStatus.IO_ERROR;
            op.owner.done(op);
        }
    }

    private void reconnect() {
        List<NbdOp> failed = List.of();
        try {
            Session next = new Session();
            next.requireSame(export);
            synchronized (this) {
                connecting = false;
                failedBefore = false;
                if (closed) {
                    next.hangUp();
                    failed = new ArrayList<>(waiting);
                    waiting.clear();
                } else {
                    session = next;
                    next.start();
                    long now = System.nanoTime();
                    waiting.forEach(op -> next.add(op, now));
                    waiting.clear();
                    LOG.log(System.Logger.Level.INFO, "{0}: connected again", address);
                }
            }
        } catch (IOException e) {
            LOG.log(System.Logger.Level.WARNING, "{0}: {1}", address, e.getMessage());
            synchronized (this) {
                connecting = false;
                failedBefore = true;
                failureNanos = System.nanoTime();
                failed = new ArrayList<>(waiting);
                waiting.clear();
            }
        }
        failed.forEach(NbdConnection::fail);
    }

    private static void fail(NbdOp op) {
        op.status = BlockStatus.IO_ERROR;
        op.owner.done(op);
    }

    /** Gives the connection up if the server has owed an answer for too long. */
    void checkStalled() {
        Session now = session();
        if (now != null && timeoutNanos > 0 && now.stalled(System.nanoTime())) {
            now.fail("no answer for " + timeoutNanos / 1_000_000 + " ms");
        }
    }

    private synchronized @Nullable Session session() {
        return session;
    }

    @Override
    public void close() {
        Session last;
        synchronized (this) {
            closed = true;
            last = session;
        }
        if (last != null) {
            last.finish();
        }
    }

    private static BlockStatus status(long error) {
        return error == 0
                ? BlockStatus.OK
                : error == NbdProtocol.NBD_ENOSPC ? BlockStatus.NO_SPACE : BlockStatus.IO_ERROR;
    }

    /** One socket. */
    private final class Session {
        private final SocketChannel channel;
        private final NbdWire wire;
        private final NbdExport export;
        private final Thread reader;
        private final Thread writer;

        // Guarded by the connection.
        private @Nullable NbdOp[] inFlight = new NbdOp[64];
        private int[] free = new int[64];
        private int freeCount;
        private int generation;
        private final ArrayDeque<NbdOp> toSend = new ArrayDeque<>();
        private boolean failed;
        private boolean finishing;
        private int threads = 2;

        Session() throws IOException {
            int millis = (int) Math.min(Integer.MAX_VALUE, timeoutNanos / 1_000_000);
            SocketChannel opened;
            try {
                opened = address.connect(millis);
            } catch (IOException | RuntimeException e) {
                throw new IOException("cannot connect: " + e.getMessage(), e);
            }
            this.channel = opened;
            this.wire = new NbdWire(channel);
            Thread watchdog = watchdog();
            try {
                export = NbdHandshake.run(channel, wire, address.export());
            } catch (IOException e) {
                boolean late = !channel.isOpen();
                hangUp();
                throw new IOException(
                        late ? "no answer for " + timeoutNanos / 1_000_000 + " ms" : String.valueOf(e.getMessage()), e);
            } catch (RuntimeException e) {
                hangUp();
                throw e;
            } finally {
                watchdog.interrupt();
            }
            for (int i = 0; i < free.length; i++) {
                free[freeCount++] = free.length - 1 - i;
            }
            reader = Thread.ofPlatform()
                    .name("benchtop-nbd-receive")
                    .daemon(true)
                    .unstarted(this::read);
            writer = Thread.ofPlatform().name("benchtop-nbd-send").daemon(true).unstarted(this::write);
        }

        /** Ends a negotiation that takes too long. */
        private Thread watchdog() {
            return Thread.ofVirtual().start(() -> {
                try {
                    if (timeoutNanos > 0) {
                        Thread.sleep(java.time.Duration.ofNanos(timeoutNanos));
                        hangUp();
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }

        void requireSame(NbdExport before) throws IOException {
            int needed = NbdProtocol.NBD_FLAG_SEND_FLUSH
                    | NbdProtocol.NBD_FLAG_SEND_FUA
                    | NbdProtocol.NBD_FLAG_SEND_TRIM
                    | NbdProtocol.NBD_FLAG_SEND_WRITE_ZEROES;
            boolean same = export.sizeBytes() == before.sizeBytes()
                    && export.minBlockBytes() <= before.minBlockBytes()
                    && export.maxBlockBytes() >= before.maxBlockBytes()
                    && (before.flags() & needed & ~export.flags()) == 0
                    && (before.has(NbdProtocol.NBD_FLAG_READ_ONLY) || !export.has(NbdProtocol.NBD_FLAG_READ_ONLY));
            if (!same) {
                hangUp();
                throw new IOException("the export is another one than before: size " + export.sizeBytes()
                        + " instead of "
                        + before.sizeBytes() + ", flags 0x" + Integer.toHexString(export.flags()) + " instead of 0x"
                        + Integer.toHexString(before.flags()));
            }
        }

        void start() {
            reader.start();
            writer.start();
        }

        void hangUp() {
            try {
                channel.close();
            } catch (IOException e) {
                LOG.log(System.Logger.Level.DEBUG, "closing the connection failed", e);
            }
        }

        /** Called with the connection's monitor. */
        void add(NbdOp op, long now) {
            if (freeCount == 0) {
                int old = inFlight.length;
                inFlight = Arrays.copyOf(inFlight, old * 2);
                free = Arrays.copyOf(free, old * 2);
                for (int i = old; i < old * 2; i++) {
                    free[freeCount++] = i;
                }
            }
            int slot = free[--freeCount];
            inFlight[slot] = op;
            op.cookie = (long) ++generation << 32 | slot;
            op.touchedNanos = now;
            if (op.command == NbdProtocol.NBD_CMD_FLUSH) {
                op.acknowledgedBefore = durability.flushing();
            }
            toSend.add(op);
            NbdConnection.this.notifyAll();
        }

        boolean stalled(long now) {
            synchronized (NbdConnection.this) {
                for (NbdOp op : inFlight) {
                    if (op != null && now - op.touchedNanos > timeoutNanos) {
                        return true;
                    }
                }
                return false;
            }
        }

        /** Hangs up; requests end when both threads have noticed. */
        void fail(String why) {
            synchronized (NbdConnection.this) {
                if (failed) {
                    return;
                }
                failed = true;
                if (session == this) {
                    session = null;
                }
                if (!finishing) {
                    LOG.log(System.Logger.Level.WARNING, "{0}: connection lost: {1}", address, why);
                    durability.connectionLost();
                }
                NbdConnection.this.notifyAll();
            }
            hangUp();
        }

        /** Says goodbye and waits for the threads to end. */
        void finish() {
            synchronized (NbdConnection.this) {
                finishing = true;
                NbdConnection.this.notifyAll();
            }
            boolean interrupted = false;
            try {
                reader.join(CLOSE_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            fail("closed");
            while (reader.isAlive() || writer.isAlive()) {
                try {
                    reader.join();
                    writer.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }

        private void threadEnds() {
            List<NbdOp> left = new ArrayList<>();
            synchronized (NbdConnection.this) {
                if (--threads > 0) {
                    return;
                }
                for (int i = 0; i < inFlight.length; i++) {
                    NbdOp op = inFlight[i];
                    if (op != null) {
                        inFlight[i] = null;
                        left.add(op);
                    }
                }
                toSend.clear();
            }
            left.forEach(NbdConnection::fail);
        }

        // Sending.

        private void write() {
            try {
                ByteBuffer out = ByteBuffer.allocateDirect(OUT_BYTES);
                while (true) {
                    NbdOp op = next(out.position() > 0);
                    if (op != null) {
                        send(op, out);
                    } else if (out.position() > 0) {
                        flush(out);
                    } else {
                        goodbye(out);
                        return;
                    }
                }
            } catch (IOException e) {
                fail(String.valueOf(e.getMessage()));
            } catch (RuntimeException | Error e) {
                fail(e.toString());
                throw e;
            } finally {
                threadEnds();
            }
        }

        /** The next operation; null if there is none now and something is buffered, or the connection ends. */
        private @Nullable NbdOp next(boolean buffered) throws IOException {
            synchronized (NbdConnection.this) {
                while (true) {
                    if (failed) {
                        throw new IOException("the connection is lost");
                    }
                    NbdOp op = toSend.poll();
                    if (op != null || buffered || finishing) {
                        return op;
                    }
                    try {
                        NbdConnection.this.wait();
                    } catch (InterruptedException e) {
                        throw new IOException("interrupted", e);
                    }
                }
            }
        }

        private void send(NbdOp op, ByteBuffer out) throws IOException {
            if (out.remaining() < NbdProtocol.REQUEST_BYTES) {
                flush(out);
            }
            out.putInt(NbdProtocol.NBD_REQUEST_MAGIC)
                    .putShort((short) op.flags)
                    .putShort((short) op.command)
                    .putLong(op.cookie)
                    .putLong(op.offsetBytes)
                    .putInt((int) op.lengthBytes);
            if (op.command == NbdProtocol.NBD_CMD_WRITE) {
                IoVector data = op.data;
                for (int i = 0; i < data.count(); i++) {
                    ByteBuffer piece = data.segment(i).asByteBuffer();
                    if (piece.remaining() > out.remaining()) {
                        flush(out);
                    }
                    if (piece.remaining() <= out.remaining()) {
                        out.put(piece);
                    } else {
                        while (piece.hasRemaining()) {
                            channel.write(piece);
                        }
                    }
                }
            }
            synchronized (NbdConnection.this) {
                op.sent = true;
                NbdConnection.this.notifyAll();
            }
        }

        private void flush(ByteBuffer out) throws IOException {
            out.flip();
            while (out.hasRemaining()) {
                channel.write(out);
            }
            out.clear();
        }

        private void goodbye(ByteBuffer out) throws IOException {
            out.putInt(NbdProtocol.NBD_REQUEST_MAGIC)
                    .putShort((short) 0)
                    .putShort((short) NbdProtocol.NBD_CMD_DISC)
                    .putLong(0)
                    .putLong(0)
                    .putInt(0);
            flush(out);
            channel.shutdownOutput();
        }

        // Receiving.

        private void read() {
            String why = "";
            try {
                while (true) {
                    reply();
                }
            } catch (IOException e) {
                why = String.valueOf(e.getMessage());
            } catch (RuntimeException | Error e) {
                why = e.toString();
                throw e;
            } finally {
                fail(why);
                threadEnds();
            }
        }

        private void reply() throws IOException {
            int magic = wire.i32();
            switch (magic) {
                case NbdProtocol.NBD_SIMPLE_REPLY_MAGIC -> {
                    long error = wire.u32();
                    NbdOp op = find(wire.i64());
                    if (error == 0 && op.reads()) {
                        if (export.structured()) {
                            throw broken("a simple reply to a read");
                        }
                        wire.into(op.data, 0, op.lengthBytes);
                    }
                    done(op, status(error));
                }
                case NbdProtocol.NBD_STRUCTURED_REPLY_MAGIC -> {
                    if (!export.structured()) {
                        throw broken("a structured reply that was not agreed on");
                    }
                    chunk();
                }
                default -> throw broken("reply magic 0x" + Integer.toHexString(magic));
            }
        }

        private void chunk() throws IOException {
            boolean last = (wire.u16() & NbdProtocol.NBD_REPLY_FLAG_DONE) != 0;
            int type = wire.u16();
            NbdOp op = find(wire.i64());
            long length = wire.u32();
            if ((type & NbdProtocol.NBD_REPLY_TYPE_ERROR_BIT) != 0) {
                if (length < 6) {
                    throw broken("an error of " + length + " bytes");
                }
                long error = wire.u32();
                wire.skip(length - 4);
                if (!op.failed) {
                    op.failed = true;
                    op.status = error == 0 ? BlockStatus.IO_ERROR : status(error);
                }
            } else if (type == NbdProtocol.NBD_REPLY_TYPE_NONE) {
                if (length != 0 || !last) {
                    throw broken("an empty chunk with " + length + " bytes");
                }
            } else if (type == NbdProtocol.NBD_REPLY_TYPE_OFFSET_DATA && length > 8) {
                long at = range(op, wire.i64(), length - 8);
                wire.into(op.data, at, length - 8);
            } else if (type == NbdProtocol.NBD_REPLY_TYPE_OFFSET_HOLE && length == 12) {
                long offset = wire.i64();
                long hole = wire.u32();
                op.data.fill(range(op, offset, hole), hole, (byte) 0);
            } else {
                throw broken("chunk type " + type + " of " + length + " bytes");
            }
            if (last) {
                if (op.failed) {
                    done(op, op.status);
                } else if (op.reads() && op.receivedBytes != op.lengthBytes) {
                    throw broken(op.receivedBytes + " bytes for a read of " + op.lengthBytes);
                } else {
                    done(op, BlockStatus.OK);
                }
            }
        }

        /** Where in its buffer a chunk of a read lies. */
        private long range(NbdOp op, long offset, long length) throws IOException {
            long at = offset - op.offsetBytes;
            if (!op.reads() || at < 0 || at > op.lengthBytes - length || op.receivedBytes > op.lengthBytes - length) {
                throw broken("a chunk outside its read: offset " + offset + " length " + length);
            }
            op.receivedBytes += length;
            op.touchedNanos = System.nanoTime();
            return at;
        }

        private IOException broken(String what) {
            return new IOException("the server breaks the protocol: " + what);
        }

        /** The operation that a reply is for; waits until its sender has let go of it. */
        private NbdOp find(long cookie) throws IOException {
            int slot = (int) cookie;
            synchronized (NbdConnection.this) {
                NbdOp op = slot >= 0 && slot < inFlight.length ? inFlight[slot] : null;
                if (op == null || op.cookie != cookie) {
                    throw broken("a reply to no request");
                }
                while (!op.sent) {
                    if (failed) {
                        throw new IOException("the connection is lost");
                    }
                    try {
                        NbdConnection.this.wait();
                    } catch (InterruptedException e) {
                        throw new IOException("interrupted", e);
                    }
                }
                return op;
            }
        }

        private void done(NbdOp op, BlockStatus status) {
            synchronized (NbdConnection.this) {
                int slot = (int) op.cookie;
                inFlight[slot] = null;
                free[freeCount++] = slot;
            }
            if (status == BlockStatus.OK) {
                if (op.command == NbdProtocol.NBD_CMD_FLUSH) {
                    durability.flushed(op.acknowledgedBefore);
                } else if (op.changes() && (op.flags & NbdProtocol.NBD_CMD_FLAG_FUA) == 0) {
                    durability.acknowledged();
                }
            }
            op.status = status;
            op.owner.done(op);
        }
    }
}
