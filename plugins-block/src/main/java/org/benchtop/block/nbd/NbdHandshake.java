package org.benchtop.block.nbd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import org.benchtop.spi.nbd.NbdProtocol;

/**
 * The client's side of newstyle negotiation: structured replies where the server has them, then the export by {@code
 * NBD_OPT_GO}, or by {@code NBD_OPT_EXPORT_NAME} on servers that do not know it.
 */
final class NbdHandshake {
    private static final int MAX_REPLY_BYTES = 64 << 10;
    private static final int MAX_REPLIES = 64;

    private final SocketChannel channel;
    private final NbdWire wire;
    private final String name;
    private long sizeBytes = -1;
    private int flags;
    private int minBlockBytes = 1;
    private long maxBlockBytes = NbdExport.DEFAULT_MAX_BLOCK_BYTES;

    private NbdHandshake(SocketChannel channel, NbdWire wire, String name) {
        this.channel = channel;
        this.wire = wire;
        this.name = name;
    }

    /** Negotiates; an {@link IOException} says what is wrong. */
    static NbdExport run(SocketChannel channel, NbdWire wire, String name) throws IOException {
        return new NbdHandshake(channel, wire, name).run();
    }

    private NbdExport run() throws IOException {
        long magic = wire.i64();
        if (magic != NbdProtocol.NBDMAGIC) {
            throw new IOException("this is no NBD server");
        }
        long style = wire.i64();
        if (style == NbdProtocol.OLDSTYLE_MAGIC) {
            throw new IOException("the server speaks the oldstyle protocol only; newstyle is needed");
        }
        if (style != NbdProtocol.IHAVEOPT) {
            throw new IOException("this is no NBD server");
        }
        int handshake = wire.u16();
        boolean fixed = (handshake & NbdProtocol.NBD_FLAG_FIXED_NEWSTYLE) != 0;
        boolean noZeroes = (handshake & NbdProtocol.NBD_FLAG_NO_ZEROES) != 0;
        int answer =
                (fixed ? NbdProtocol.NBD_FLAG_FIXED_NEWSTYLE : 0) | (noZeroes ? NbdProtocol.NBD_FLAG_NO_ZEROES : 0);
        write(ByteBuffer.allocate(4).putInt(answer));
        if (!fixed) {
            return byExportName(noZeroes, false);
        }
        boolean structured = acknowledged(NbdProtocol.NBD_OPT_STRUCTURED_REPLY, new byte[0]);
        return go(structured) ? checked(structured) : byExportName(noZeroes, structured);
    }

    private void option(int option, byte[] data) throws IOException {
        write(ByteBuffer.allocate(16 + data.length)
                .putLong(NbdProtocol.IHAVEOPT)
                .putInt(option)
                .putInt(data.length)
                .put(data));
    }

    private void write(ByteBuffer buffer) throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    private record Reply(int type, byte[] data) {}

    private Reply reply(int option) throws IOException {
        if (wire.i64() != NbdProtocol.OPTION_REPLY_MAGIC || wire.i32() != option) {
            throw new IOException("the server breaks the protocol: a reply to another option");
        }
        int type = wire.i32();
        long length = wire.u32();
        if (length > MAX_REPLY_BYTES) {
            throw new IOException("the server breaks the protocol: an option reply of " + length + " bytes");
        }
        return new Reply(type, wire.bytes((int) length));
    }

    private boolean acknowledged(int option, byte[] data) throws IOException {
        option(option, data);
        return reply(option).type() == NbdProtocol.NBD_REP_ACK;
    }

    /** False if the server does not know the option. */
    private boolean go(boolean structured) throws IOException {
        byte[] export = name.getBytes(StandardCharsets.UTF_8);
        ByteBuffer data = ByteBuffer.allocate(4 + export.length + 2 + 2)
                .putInt(export.length)
                .put(export)
                .putShort((short) 1)
                .putShort((short) NbdProtocol.NBD_INFO_BLOCK_SIZE);
        option(NbdProtocol.NBD_OPT_GO, data.array());
        for (int i = 0; i < MAX_REPLIES; i++) {
            Reply reply = reply(NbdProtocol.NBD_OPT_GO);
            switch (reply.type()) {
                case NbdProtocol.NBD_REP_ACK -> {
                    return true;
                }
                case NbdProtocol.NBD_REP_INFO -> info(ByteBuffer.wrap(reply.data()));
                case NbdProtocol.NBD_REP_ERR_UNSUP -> {
                    return false;
                }
                case NbdProtocol.NBD_REP_ERR_TLS_REQD ->
                    throw new IOException("the server wants TLS, which is not supported");
                case NbdProtocol.NBD_REP_ERR_UNKNOWN ->
                    throw new IOException("the server has no export \"" + name + "\"" + text(reply.data()));
                default -> {
                    if (reply.type() < 0) {
                        throw new IOException("the server refuses export \"" + name + "\" (error "
                                + (reply.type() & 0x7fff_ffff) + ")" + text(reply.data()));
                    }
                }
            }
        }
        throw new IOException("the server breaks the protocol: endless information");
    }

    private static String text(byte[] data) {
        String text = new String(data, StandardCharsets.UTF_8)
                .replaceAll("\\p{Cntrl}+", " ")
                .strip();
        return text.isEmpty() ? "" : ": " + text.substring(0, Math.min(200, text.length()));
    }

    private void info(ByteBuffer data) throws IOException {
        if (data.remaining() < 2) {
            throw new IOException("the server breaks the protocol: empty information");
        }
        int kind = data.getShort() & 0xffff;
        if (kind == NbdProtocol.NBD_INFO_EXPORT && data.remaining() >= 10) {
            sizeBytes = data.getLong();
            flags = data.getShort() & 0xffff;
        } else if (kind == NbdProtocol.NBD_INFO_BLOCK_SIZE && data.remaining() >= 12) {
            minBlockBytes = data.getInt();
            data.getInt();
            maxBlockBytes = data.getInt() & 0xffff_ffffL;
        }
    }

    private NbdExport byExportName(boolean noZeroes, boolean structured) throws IOException {
        option(NbdProtocol.NBD_OPT_EXPORT_NAME, name.getBytes(StandardCharsets.UTF_8));
        try {
            sizeBytes = wire.i64();
        } catch (IOException e) {
            // That is how this option says no.
            throw new IOException("the server has no export \"" + name + "\"", e);
        }
        flags = wire.u16();
        if (!noZeroes) {
            wire.skip(124);
        }
        return checked(structured);
    }

    private NbdExport checked(boolean structured) throws IOException {
        if (sizeBytes < 0) {
            throw new IOException("the server breaks the protocol: no size");
        }
        if (Integer.bitCount(minBlockBytes) != 1 || minBlockBytes < 0 || maxBlockBytes < minBlockBytes) {
            throw new IOException("the server breaks the protocol: block sizes " + (minBlockBytes & 0xffff_ffffL)
                    + " to " + maxBlockBytes);
        }
        int known = (flags & NbdProtocol.NBD_FLAG_HAS_FLAGS) != 0 ? flags : 0;
        return new NbdExport(sizeBytes, known, minBlockBytes, maxBlockBytes, structured);
    }
}
