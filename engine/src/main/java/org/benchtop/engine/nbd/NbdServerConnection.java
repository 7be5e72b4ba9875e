package org.benchtop.engine.nbd;

import static java.util.Objects.requireNonNull;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockExtent;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.nbd.NbdProtocol;
import org.jspecify.annotations.Nullable;

/**
 * One client. A thread receives, the event loop carries requests out, a second thread sends replies, so that a client that
 * does not read delays nobody else.
 */
final class NbdServerConnection {
    static final int MAX_PAYLOAD_BYTES = 32 << 20;

    private static final System.Logger LOG = System.getLogger("org.benchtop.nbd");
    private static final int MAX_OPTION_BYTES = 64 << 10;
    private static final int MAX_OPTIONS = 1000;
    private static final long NEGOTIATION_MILLIS = 30_000;
    private static final int MAX_REQUESTS = 256;
    private static final int MAX_EXTENTS = 1024;
    private static final int ALLOCATION_CONTEXT = 1;
    private static final long MAX_BUFFERED_BYTES = 2L * MAX_PAYLOAD_BYTES;

    private final NbdServer server;
    private final SocketChannel channel;
    private final BlockBackend backend;
    private final NbdServer.Settings settings;
    private final EventLoop loop;
    private final ByteBuffer in = ByteBuffer.allocateDirect(64 << 10).limit(0);
    private final Thread receiver;
    private boolean structured;
    /** Whether the client has chosen base:allocation. */
    private boolean allocation;

    // For the loop; the queue is opened after negotiation.
    private @Nullable BlockQueue queue;
    private @Nullable Doorbell doorbell;
    /** Guarded by itself. */
    private final ArrayDeque<NbdServerRequest> arrived = new ArrayDeque<>();

    // Guarded by this.
    private final ArrayDeque<NbdServerRequest> free = new ArrayDeque<>();
    private final ArrayDeque<NbdServerRequest> replies = new ArrayDeque<>();
    private int requests;
    private long bufferedBytes;
    private boolean receiving = true;
    private boolean broken;

    NbdServerConnection(
            NbdServer server,
            SocketChannel channel,
            BlockBackend backend,
            NbdServer.Settings settings,
            EventLoop loop) {
        this.server = server;
        this.channel = channel;
        this.backend = backend;
        this.settings = settings;
        this.loop = loop;
        this.receiver =
                Thread.ofPlatform().name("benchtop-nbd-serve").daemon(true).unstarted(this::serve);
    }

    void start() {
        receiver.start();
    }

    /** Disconnects the client and waits until nothing of it is left. */
    void close() {
        breakOff();
        boolean interrupted = false;
        while (receiver.isAlive()) {
            try {
                receiver.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void breakOff() {
        synchronized (this) {
            broken = true;
            notifyAll();
        }
        NbdServer.closeQuietly(channel);
    }

    private void serve() {
        try {
            if (negotiated()) {
                transmit();
            }
        } catch (IOException e) {
            LOG.log(System.Logger.Level.INFO, "client disconnected: {0}", e.getMessage());
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "serving a client failed", e);
        } finally {
            breakOff();
            server.ended(this);
        }
    }

    // Input.

    private void need(int bytes) throws IOException {
        if (in.remaining() >= bytes) {
            return;
        }
        in.compact();
        while (in.position() < bytes) {
            if (channel.read(in) < 0) {
                throw new EOFException("end of connection");
            }
        }
        in.flip();
    }

    private int u16() throws IOException {
        need(2);
        return in.getShort() & 0xffff;
    }

    private int i32() throws IOException {
        need(4);
        return in.getInt();
    }

    private long i64() throws IOException {
        need(8);
        return in.getLong();
    }

    private void fill(ByteBuffer target) throws IOException {
        int buffered = Math.min(target.remaining(), in.remaining());
        if (buffered > 0) {
            target.put(in.slice(in.position(), buffered));
            in.position(in.position() + buffered);
        }
        while (target.hasRemaining()) {
            if (channel.read(target) < 0) {
                throw new EOFException("end of connection inside a request");
            }
        }
    }

    private void write(ByteBuffer buffer) throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    // Negotiation.

    private boolean negotiated() throws IOException {
        Thread watchdog = Thread.ofVirtual().start(() -> {
            try {
                Thread.sleep(NEGOTIATION_MILLIS);
                breakOff();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        try {
            return negotiate();
        } finally {
            watchdog.interrupt();
        }
    }

    private boolean negotiate() throws IOException {
        write(ByteBuffer.allocate(18)
                .putLong(NbdProtocol.NBDMAGIC)
                .putLong(NbdProtocol.IHAVEOPT)
                .putShort((short) (NbdProtocol.NBD_FLAG_FIXED_NEWSTYLE | NbdProtocol.NBD_FLAG_NO_ZEROES)));
        int clientFlags = i32();
        if ((clientFlags & ~(NbdProtocol.NBD_FLAG_FIXED_NEWSTYLE | NbdProtocol.NBD_FLAG_NO_ZEROES)) != 0) {
            throw new IOException("unknown client flags 0x" + Integer.toHexString(clientFlags));
        }
        for (int i = 0; i < MAX_OPTIONS; i++) {
            if (i64() != NbdProtocol.IHAVEOPT) {
                throw new IOException("this is no NBD client");
            }
            int option = i32();
            int length = i32();
            if (length < 0 || length > MAX_OPTION_BYTES) {
                throw new IOException("an option of " + (length & 0xffff_ffffL) + " bytes");
            }
            byte[] data = new byte[length];
            fill(ByteBuffer.wrap(data));
            switch (option) {
                case NbdProtocol.NBD_OPT_EXPORT_NAME -> {
                    if (!settings.export().equals(new String(data, StandardCharsets.UTF_8))) {
                        throw new IOException("no such export");
                    }
                    boolean noZeroes = (clientFlags & NbdProtocol.NBD_FLAG_NO_ZEROES) != 0;
                    write(ByteBuffer.allocate(10 + (noZeroes ? 0 : 124))
                            .putLong(backend.capabilities().sizeBytes())
                            .putShort((short) flags())
                            .position(10 + (noZeroes ? 0 : 124)));
                    return true;
                }
                case NbdProtocol.NBD_OPT_ABORT -> {
                    reply(option, NbdProtocol.NBD_REP_ACK, new byte[0]);
                    return false;
                }
                case NbdProtocol.NBD_OPT_LIST -> {
                    byte[] name = settings.export().getBytes(StandardCharsets.UTF_8);
                    reply(
                            option,
                            NbdProtocol.NBD_REP_SERVER,
                            ByteBuffer.allocate(4 + name.length)
                                    .putInt(name.length)
                                    .put(name)
                                    .array());
                    reply(option, NbdProtocol.NBD_REP_ACK, new byte[0]);
                }
                case NbdProtocol.NBD_OPT_INFO, NbdProtocol.NBD_OPT_GO -> {
                    if (described(option, ByteBuffer.wrap(data)) && option == NbdProtocol.NBD_OPT_GO) {
                        return true;
                    }
                }
                case NbdProtocol.NBD_OPT_STRUCTURED_REPLY -> {
                    structured = length == 0;
                    reply(option, structured ? NbdProtocol.NBD_REP_ACK : NbdProtocol.NBD_REP_ERR_INVALID, new byte[0]);
                }
                case NbdProtocol.NBD_OPT_LIST_META_CONTEXT, NbdProtocol.NBD_OPT_SET_META_CONTEXT ->
                    metaContexts(option, ByteBuffer.wrap(data));
                default -> reply(option, NbdProtocol.NBD_REP_ERR_UNSUP, new byte[0]);
            }
        }
        throw new IOException("endless negotiation");
    }

    private void reply(int option, int type, byte[] data) throws IOException {
        write(ByteBuffer.allocate(20 + data.length)
                .putLong(NbdProtocol.OPTION_REPLY_MAGIC)
                .putInt(option)
                .putInt(type)
                .putInt(data.length)
                .put(data));
    }

    private boolean described(int option, ByteBuffer data) throws IOException {
        if (data.remaining() < 6) {
            reply(option, NbdProtocol.NBD_REP_ERR_INVALID, new byte[0]);
            return false;
        }
        int nameLength = data.getInt();
        if (nameLength < 0 || nameLength > data.remaining() - 2) {
            reply(option, NbdProtocol.NBD_REP_ERR_INVALID, new byte[0]);
            return false;
        }
        byte[] name = new byte[nameLength];
        data.get(name);
        if (!settings.export().equals(new String(name, StandardCharsets.UTF_8))) {
            reply(option, NbdProtocol.NBD_REP_ERR_UNKNOWN, "no such export".getBytes(StandardCharsets.UTF_8));
            return false;
        }
        BlockCapabilities capabilities = backend.capabilities();
        reply(
                option,
                NbdProtocol.NBD_REP_INFO,
                ByteBuffer.allocate(12)
                        .putShort((short) NbdProtocol.NBD_INFO_EXPORT)
                        .putLong(capabilities.sizeBytes())
                        .putShort((short) flags())
                        .array());
        reply(
                option,
                NbdProtocol.NBD_REP_INFO,
                ByteBuffer.allocate(14)
                        .putShort((short) NbdProtocol.NBD_INFO_BLOCK_SIZE)
                        .putInt(capabilities.logicalBlockSizeBytes())
                        .putInt(Math.max(4096, capabilities.physicalBlockSizeBytes()))
                        .putInt(maxPayload())
                        .array());
        reply(option, NbdProtocol.NBD_REP_ACK, new byte[0]);
        return true;
    }

    /** Lists or chooses what block status tells about; there is one context, {@code base:allocation}. */
    private void metaContexts(int option, ByteBuffer data) throws IOException {
        boolean choose = option == NbdProtocol.NBD_OPT_SET_META_CONTEXT;
        if (choose) {
            allocation = false;
        }
        String name = text(data);
        int queries = data.remaining() >= 4 ? data.getInt() : -1;
        boolean valid = structured && name != null && queries >= 0;
        boolean matches = !choose && queries == 0;
        for (int i = 0; valid && i < queries; i++) {
            String query = text(data);
            valid = query != null;
            matches |= NbdProtocol.BASE_ALLOCATION.equals(query) || !choose && "base:".equals(query);
        }
        if (!valid || data.hasRemaining()) {
            reply(option, NbdProtocol.NBD_REP_ERR_INVALID, new byte[0]);
            return;
        }
        if (!settings.export().equals(name)) {
            reply(option, NbdProtocol.NBD_REP_ERR_UNKNOWN, "no such export".getBytes(StandardCharsets.UTF_8));
            return;
        }
        if (matches) {
            allocation |= choose;
            byte[] context = NbdProtocol.BASE_ALLOCATION.getBytes(StandardCharsets.UTF_8);
            reply(
                    option,
                    NbdProtocol.NBD_REP_META_CONTEXT,
                    ByteBuffer.allocate(4 + context.length)
                            .putInt(choose ? ALLOCATION_CONTEXT : 0)
                            .put(context)
                            .array());
        }
        reply(option, NbdProtocol.NBD_REP_ACK, new byte[0]);
    }

    /** A text with its length before it; null if it is not all there. */
    private static @Nullable String text(ByteBuffer data) {
        if (data.remaining() < 4) {
            return null;
        }
        int length = data.getInt();
        if (length < 0 || length > data.remaining()) {
            return null;
        }
        byte[] bytes = new byte[length];
        data.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private int maxPayload() {
        return (int) Math.min(MAX_PAYLOAD_BYTES, backend.capabilities().maxTransferBytes());
    }

    private boolean readOnly() {
        return settings.readOnly() || backend.capabilities().readOnly();
    }

    private int flags() {
        int flags = NbdProtocol.NBD_FLAG_HAS_FLAGS
                | NbdProtocol.NBD_FLAG_SEND_FLUSH
                | NbdProtocol.NBD_FLAG_SEND_FUA
                | NbdProtocol.NBD_FLAG_CAN_MULTI_CONN;
        if (readOnly()) {
            return flags | NbdProtocol.NBD_FLAG_READ_ONLY;
        }
        return flags
                | NbdProtocol.NBD_FLAG_SEND_WRITE_ZEROES
                | (backend.capabilities().discard() ? NbdProtocol.NBD_FLAG_SEND_TRIM : 0);
    }

    // Transmission.

    private void transmit() throws IOException {
        BlockQueue opened = backend.openQueue(loop);
        queue = opened;
        doorbell = loop.doorbell("nbd", this::carryOut);
        Thread sender =
                Thread.ofPlatform().name("benchtop-nbd-reply").daemon(true).start(this::send);
        try {
            while (receive()) {
                // Until the client says goodbye.
            }
        } finally {
            synchronized (this) {
                receiving = false;
                notifyAll();
            }
            boolean interrupted = false;
            while (sender.isAlive()) {
                try {
                    sender.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            // On the loop, whose last turn for us may not have ended yet.
            loop.call(() -> {
                requireNonNull(doorbell).close();
                opened.close();
            });
            free.forEach(NbdServerRequest::close);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Takes one request; false when the client leaves. */
    private boolean receive() throws IOException {
        if (i32() != NbdProtocol.NBD_REQUEST_MAGIC) {
            throw new IOException("a request without its magic number");
        }
        int flags = u16();
        int command = u16();
        long cookie = i64();
        long offset = i64();
        long length = i32() & 0xffff_ffffL;
        if (command == NbdProtocol.NBD_CMD_DISC) {
            return false;
        }
        boolean payload = command == NbdProtocol.NBD_CMD_READ || command == NbdProtocol.NBD_CMD_WRITE;
        if (command == NbdProtocol.NBD_CMD_WRITE && length > MAX_PAYLOAD_BYTES) {
            throw new IOException("a write of " + length + " bytes; at most " + MAX_PAYLOAD_BYTES + " are taken");
        }
        long bytes = payload && length <= MAX_PAYLOAD_BYTES ? length : 0;
        NbdServerRequest request = take(bytes);
        request.begin(command, flags, cookie, offset, length, bytes);
        if (command == NbdProtocol.NBD_CMD_WRITE) {
            fill(request.buffer());
        }
        int error = check(command, flags, offset, length);
        if (error != 0) {
            request.error = error;
            finished(request);
        } else if (command == NbdProtocol.NBD_CMD_BLOCK_STATUS) {
            // On this thread, which may wait for the host without delaying other clients.
            blockStatus(request, offset, length, (flags & NbdProtocol.NBD_CMD_FLAG_REQ_ONE) != 0);
            finished(request);
        } else {
            boolean first;
            synchronized (arrived) {
                first = arrived.isEmpty();
                arrived.add(request);
            }
            if (first) {
                requireNonNull(doorbell).ring();
            }
        }
        return true;
    }

    /** Answers with extents up to the end of what was asked for, or fewer. */
    private void blockStatus(NbdServerRequest request, long offset, long length, boolean one) {
        ByteBuffer extents = ByteBuffer.allocate(8 * (one ? 1 : MAX_EXTENTS));
        try {
            long at = offset;
            int before = -1;
            while (at < offset + length) {
                BlockExtent extent = backend.blockStatus(at, offset + length - at);
                int state = (extent.allocated() ? 0 : NbdProtocol.NBD_STATE_HOLE)
                        | (extent.zero() ? NbdProtocol.NBD_STATE_ZERO : 0);
                if (state == before) {
                    int last = extents.position() - 8;
                    extents.putInt(last, extents.getInt(last) + (int) extent.lengthBytes());
                } else if (extents.hasRemaining()) {
                    extents.putInt((int) extent.lengthBytes()).putInt(state);
                    before = state;
                } else {
                    break;
                }
                at += extent.lengthBytes();
            }
        } catch (BenchtopException e) {
            LOG.log(System.Logger.Level.WARNING, "block status: {0}", e.getMessage());
            request.error = NbdProtocol.NBD_EIO;
        }
        request.extents(extents.flip());
    }

    private int check(int command, int flags, long offset, long length) {
        BlockCapabilities capabilities = backend.capabilities();
        boolean changes = command == NbdProtocol.NBD_CMD_WRITE
                || command == NbdProtocol.NBD_CMD_TRIM
                || command == NbdProtocol.NBD_CMD_WRITE_ZEROES;
        boolean status = command == NbdProtocol.NBD_CMD_BLOCK_STATUS && allocation && length > 0;
        if (!changes && !status && command != NbdProtocol.NBD_CMD_READ && command != NbdProtocol.NBD_CMD_FLUSH) {
            return NbdProtocol.NBD_EINVAL;
        }
        int known = NbdProtocol.NBD_CMD_FLAG_FUA
                | (command == NbdProtocol.NBD_CMD_WRITE_ZEROES ? NbdProtocol.NBD_CMD_FLAG_NO_HOLE : 0)
                | (status ? NbdProtocol.NBD_CMD_FLAG_REQ_ONE : 0);
        if ((flags & ~known) != 0) {
            return NbdProtocol.NBD_EINVAL;
        }
        if (changes && readOnly()) {
            return NbdProtocol.NBD_EPERM;
        }
        if (command == NbdProtocol.NBD_CMD_FLUSH) {
            return 0;
        }
        boolean transfer = command == NbdProtocol.NBD_CMD_READ || command == NbdProtocol.NBD_CMD_WRITE;
        if (transfer && length > maxPayload()) {
            return NbdProtocol.NBD_EINVAL;
        }
        if (!capabilities.contains(offset, length)) {
            boolean beyond = offset < 0 || offset > capabilities.sizeBytes() - length;
            return beyond && changes ? NbdProtocol.NBD_ENOSPC : NbdProtocol.NBD_EINVAL;
        }
        return 0;
    }

    /** A request with room for its data, when the client's share of memory allows it. */
    private NbdServerRequest take(long bytes) throws IOException {
        synchronized (this) {
            while (!broken
                    && (requests >= MAX_REQUESTS || requests > 0 && bufferedBytes + bytes > MAX_BUFFERED_BYTES)) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    throw new IOException("interrupted", e);
                }
            }
            if (broken) {
                throw new IOException("closed");
            }
            requests++;
            bufferedBytes += bytes;
            NbdServerRequest reused = free.poll();
            return reused == null ? new NbdServerRequest(this) : reused;
        }
    }

    /** Submits what has arrived; on the loop. */
    private void carryOut() {
        BlockQueue submitTo = requireNonNull(queue);
        while (true) {
            NbdServerRequest request;
            synchronized (arrived) {
                request = arrived.poll();
            }
            if (request == null) {
                submitTo.kick();
                return;
            }
            request.submit(submitTo);
        }
    }

    /** A request has been carried out; any thread. */
    void finished(NbdServerRequest request) {
        synchronized (this) {
            replies.add(request);
            notifyAll();
        }
    }

    static int error(BlockStatus status) {
        return switch (status) {
            case OK -> 0;
            case IO_ERROR -> NbdProtocol.NBD_EIO;
            case NO_SPACE -> NbdProtocol.NBD_ENOSPC;
            case READ_ONLY -> NbdProtocol.NBD_EPERM;
            case OUT_OF_RANGE -> NbdProtocol.NBD_EINVAL;
            case UNSUPPORTED -> NbdProtocol.NBD_ENOTSUP;
        };
    }

    private void send() {
        ByteBuffer out = ByteBuffer.allocateDirect(256 << 10);
        boolean open = true;
        while (true) {
            NbdServerRequest request;
            synchronized (this) {
                request = replies.poll();
                while (request == null && (out.position() == 0 || !open)) {
                    if (!receiving && requests == 0) {
                        return;
                    }
                    try {
                        wait();
                    } catch (InterruptedException e) {
                        // The requests in flight use our buffers, so there is no leaving before they are done.
                        open = false;
                    }
                    request = replies.poll();
                }
            }
            try {
                if (!open) {
                    out.clear();
                } else if (request == null) {
                    flush(out);
                } else {
                    encode(request, out);
                }
            } catch (IOException e) {
                // Nobody listens any more, but requests must still be counted down.
                open = false;
                breakOff();
            }
            if (request != null) {
                give(request);
            }
        }
    }

    private void give(NbdServerRequest request) {
        long bytes = request.bufferBytes();
        request.trim();
        synchronized (this) {
            requests--;
            bufferedBytes -= bytes;
            free.push(request);
            notifyAll();
        }
    }

    private void flush(ByteBuffer out) throws IOException {
        write(out);
        out.clear();
    }

    private void encode(NbdServerRequest request, ByteBuffer out) throws IOException {
        if (out.remaining() < 64) {
            flush(out);
        }
        boolean data = request.error == 0 && request.command == NbdProtocol.NBD_CMD_READ;
        boolean status = request.command == NbdProtocol.NBD_CMD_BLOCK_STATUS && request.error == 0;
        if (status) {
            ByteBuffer extents = request.extents();
            if (out.remaining() < 64 + extents.remaining()) {
                flush(out);
            }
            chunk(out, NbdProtocol.NBD_REPLY_TYPE_BLOCK_STATUS, request.cookie, 4 + extents.remaining())
                    .putInt(ALLOCATION_CONTEXT)
                    .put(extents);
        } else if (!structured
                || request.command != NbdProtocol.NBD_CMD_READ && request.command != NbdProtocol.NBD_CMD_BLOCK_STATUS) {
            out.putInt(NbdProtocol.NBD_SIMPLE_REPLY_MAGIC).putInt(request.error).putLong(request.cookie);
        } else if (data && request.lengthBytes > 0) {
            chunk(out, NbdProtocol.NBD_REPLY_TYPE_OFFSET_DATA, request.cookie, (int) request.lengthBytes + 8)
                    .putLong(request.offsetBytes);
        } else if (data) {
            chunk(out, NbdProtocol.NBD_REPLY_TYPE_NONE, request.cookie, 0);
        } else {
            chunk(out, NbdProtocol.NBD_REPLY_TYPE_ERROR, request.cookie, 6)
                    .putInt(request.error)
                    .putShort((short) 0);
        }
        if (data) {
            ByteBuffer payload = request.buffer();
            if (payload.remaining() > out.remaining()) {
                flush(out);
            }
            if (payload.remaining() <= out.remaining()) {
                out.put(payload);
            } else {
                while (payload.hasRemaining()) {
                    channel.write(payload);
                }
            }
        }
    }

    private static ByteBuffer chunk(ByteBuffer out, int type, long cookie, int length) {
        return out.putInt(NbdProtocol.NBD_STRUCTURED_REPLY_MAGIC)
                .putShort((short) NbdProtocol.NBD_REPLY_FLAG_DONE)
                .putShort((short) type)
                .putLong(cookie)
                .putInt(length);
    }
}
