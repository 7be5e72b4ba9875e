package org.benchtop.block.nbd;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.spi.nbd.NbdProtocol;

/** An NBD server that does what a test tells it, one script for each connection. */
final class ScriptedServer implements AutoCloseable {
    static final long SIZE = 1 << 20;
    static final int ALL_FLAGS = NbdProtocol.NBD_FLAG_HAS_FLAGS
            | NbdProtocol.NBD_FLAG_SEND_FLUSH
            | NbdProtocol.NBD_FLAG_SEND_FUA
            | NbdProtocol.NBD_FLAG_SEND_TRIM
            | NbdProtocol.NBD_FLAG_SEND_WRITE_ZEROES;

    /** What the server does on one connection; it hangs up afterwards. */
    @FunctionalInterface
    interface Script {
        void run(DataInputStream in, DataOutputStream out) throws IOException;
    }

    /** A request as it came. */
    record Request(int flags, int command, long cookie, long offset, int length, byte[] data) {}

    private final Path socket;
    private final ServerSocketChannel listener;
    private final List<SocketChannel> channels = new CopyOnWriteArrayList<>();
    private final Thread thread;

    ScriptedServer(Path socket, Script... scripts) {
        this.socket = socket;
        try {
            listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            listener.bind(UnixDomainSocketAddress.of(socket));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread = Thread.ofPlatform().daemon(true).start(() -> {
            for (Script script : scripts) {
                serve(script);
            }
        });
    }

    private void serve(Script script) {
        try (SocketChannel channel = listener.accept()) {
            channels.add(channel);
            script.run(
                    new DataInputStream(Channels.newInputStream(channel)),
                    new DataOutputStream(Channels.newOutputStream(channel)));
        } catch (IOException e) {
            // The client has hung up, which is what most tests are about.
            channels.removeIf(channel -> !channel.isOpen());
        }
    }

    Path socket() {
        return socket;
    }

    /** The usual negotiation, structured replies included. */
    static void negotiate(DataInputStream in, DataOutputStream out, long size, int flags) throws IOException {
        negotiate(in, out, size, flags, 1, 32 << 20, true);
    }

    static void negotiate(
            DataInputStream in,
            DataOutputStream out,
            long size,
            int flags,
            int minBlock,
            int maxBlock,
            boolean structured)
            throws IOException {
        greet(in, out);
        while (true) {
            int option = option(in);
            if (option == NbdProtocol.NBD_OPT_STRUCTURED_REPLY) {
                reply(out, option, structured ? NbdProtocol.NBD_REP_ACK : NbdProtocol.NBD_REP_ERR_UNSUP, new byte[0]);
            } else if (option == NbdProtocol.NBD_OPT_GO) {
                reply(
                        out,
                        option,
                        NbdProtocol.NBD_REP_INFO,
                        java.nio.ByteBuffer.allocate(12)
                                .putShort((short) NbdProtocol.NBD_INFO_EXPORT)
                                .putLong(size)
                                .putShort((short) flags)
                                .array());
                reply(
                        out,
                        option,
                        NbdProtocol.NBD_REP_INFO,
                        java.nio.ByteBuffer.allocate(14)
                                .putShort((short) NbdProtocol.NBD_INFO_BLOCK_SIZE)
                                .putInt(minBlock)
                                .putInt(4096)
                                .putInt(maxBlock)
                                .array());
                reply(out, option, NbdProtocol.NBD_REP_ACK, new byte[0]);
                return;
            } else {
                reply(out, option, NbdProtocol.NBD_REP_ERR_UNSUP, new byte[0]);
            }
        }
    }

    static void greet(DataInputStream in, DataOutputStream out) throws IOException {
        out.writeLong(NbdProtocol.NBDMAGIC);
        out.writeLong(NbdProtocol.IHAVEOPT);
        out.writeShort(NbdProtocol.NBD_FLAG_FIXED_NEWSTYLE | NbdProtocol.NBD_FLAG_NO_ZEROES);
        in.readInt();
    }

    static int option(DataInputStream in) throws IOException {
        in.readLong();
        int option = in.readInt();
        in.readNBytes(in.readInt());
        return option;
    }

    static void reply(DataOutputStream out, int option, int type, byte[] data) throws IOException {
        out.writeLong(NbdProtocol.OPTION_REPLY_MAGIC);
        out.writeInt(option);
        out.writeInt(type);
        out.writeInt(data.length);
        out.write(data);
    }

    static Request request(DataInputStream in) throws IOException {
        if (in.readInt() != NbdProtocol.NBD_REQUEST_MAGIC) {
            throw new IOException("no request");
        }
        int flags = in.readUnsignedShort();
        int command = in.readUnsignedShort();
        long cookie = in.readLong();
        long offset = in.readLong();
        int length = in.readInt();
        byte[] data = command == NbdProtocol.NBD_CMD_WRITE ? in.readNBytes(length) : new byte[0];
        return new Request(flags, command, cookie, offset, length, data);
    }

    static void simple(DataOutputStream out, long cookie, int error) throws IOException {
        out.writeInt(NbdProtocol.NBD_SIMPLE_REPLY_MAGIC);
        out.writeInt(error);
        out.writeLong(cookie);
    }

    static void chunk(DataOutputStream out, int flags, int type, long cookie, int length) throws IOException {
        out.writeInt(NbdProtocol.NBD_STRUCTURED_REPLY_MAGIC);
        out.writeShort(flags);
        out.writeShort(type);
        out.writeLong(cookie);
        out.writeInt(length);
    }

    @Override
    public void close() {
        try {
            listener.close();
            for (SocketChannel channel : channels) {
                channel.close();
            }
            thread.join(10_000);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
