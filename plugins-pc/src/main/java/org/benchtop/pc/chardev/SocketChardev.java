package org.benchtop.pc.chardev;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.EventLoop;

/**
 * A chardev on a TCP or Unix stream socket, one peer at a time, on threads of its own.
 *
 * <p>Without a peer, guest output is dropped (with {@code wait}, kept until the first peer comes, so a guest that writes
 * a lot waits). Further clients of a server queue up in the system's backlog until the current one leaves.
 */
final class SocketChardev implements Chardev {
    private static final int INPUT_BYTES = 4096;
    private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(1);

    private final SocketOptions options;
    private final String id;
    private final System.Logger logger;
    private final FrontendLink link;
    private final OutputQueue output;
    private final Optional<Path> path;
    private final Optional<ServerSocketChannel> listener;
    private final Thread thread;
    private final Object lock = new Object();
    private Optional<SocketChannel> peer = Optional.empty();
    private boolean closed;

    SocketChardev(SocketOptions options, ChardevContext context) {
        this.options = options;
        id = context.id();
        logger = context.logger();
        path = options.path().map(context::resolve);
        link = new FrontendLink(id, INPUT_BYTES, context.stats().counter("input-bytes", "B"));
        output = new OutputQueue(link, options.patience(), context.stats(), logger);
        Optional<SocketChannel> first = Optional.empty();
        if (options.server()) {
            listener = Optional.of(listen());
        } else {
            listener = Optional.empty();
            if (options.reconnect().isZero()) {
                first = Optional.of(connectOrThrow());
            }
        }
        output.nobody(!options.waitForPeer() && first.isEmpty());
        Optional<SocketChannel> initial = first;
        thread = Thread.ofPlatform().daemon().name("chardev " + id).start(() -> run(initial));
    }

    private SocketAddress address() {
        if (path.isPresent()) {
            return UnixDomainSocketAddress.of(path.get());
        }
        return new InetSocketAddress(options.host(), options.port().orElseThrow());
    }

    private String addressText() {
        return path.map(p -> "unix:" + p)
                .orElseGet(() -> "tcp:" + options.host() + ":" + options.port().orElse(0));
    }

    private ServerSocketChannel listen() {
        try {
            if (path.isPresent()) {
                removeStaleSocket(path.get());
                ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
                bind(channel, 8);
                return channel;
            }
            ServerSocketChannel channel = ServerSocketChannel.open();
            channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            bind(channel, 8);
            return channel;
        } catch (IOException | IllegalArgumentException e) {
            throw refused("cannot listen on ", e);
        }
    }

    private void bind(ServerSocketChannel channel, int backlog) throws IOException {
        try {
            channel.bind(address(), backlog);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private BenchtopException refused(String what, Exception e) {
        String reason = e instanceof IOException io ? HostErrors.reason(io) : "no such host or bad address";
        return BenchtopException.of(
                org.benchtop.spi.ErrorKind.HOST, "chardev " + id + ": " + what + addressText() + ": " + reason, e);
    }

    /** A socket file that nobody listens on any more would refuse the bind. */
    private static void removeStaleSocket(Path path) throws IOException {
        if (!Files.exists(path) || Files.isRegularFile(path) || Files.isDirectory(path)) {
            return;
        }
        try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            probe.connect(UnixDomainSocketAddress.of(path));
        } catch (IOException e) {
            Files.delete(path);
        }
    }

    private SocketChannel connect() throws IOException {
        SocketChannel channel =
                path.isPresent() ? SocketChannel.open(StandardProtocolFamily.UNIX) : SocketChannel.open();
        try {
            channel.connect(address());
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private SocketChannel connectOrThrow() {
        try {
            return connect();
        } catch (IOException | IllegalArgumentException e) {
            throw refused("cannot connect to ", e);
        }
    }

    private void run(Optional<SocketChannel> first) {
        Optional<SocketChannel> next = first;
        while (!isClosed()) {
            if (next.isEmpty()) {
                next = listener.isPresent() ? accept(listener.get()) : reconnect();
            }
            if (next.isEmpty()) {
                return;
            }
            serve(next.get());
            next = Optional.empty();
        }
    }

    private Optional<SocketChannel> accept(ServerSocketChannel server) {
        try {
            return Optional.of(server.accept());
        } catch (IOException e) {
            if (!isClosed()) {
                logger.log(System.Logger.Level.ERROR, "no more clients: " + HostErrors.reason(e), e);
            }
            return Optional.empty();
        }
    }

    private Optional<SocketChannel> reconnect() {
        if (options.reconnect().isZero()) {
            return Optional.empty();
        }
        while (!isClosed()) {
            try {
                return Optional.of(connect());
            } catch (IOException | RuntimeException e) {
                logger.log(System.Logger.Level.DEBUG, "cannot connect to {0} yet: {1}", addressText(), e.getMessage());
            }
            synchronized (lock) {
                if (closed) {
                    return Optional.empty();
                }
                try {
                    lock.wait(Math.max(1, options.reconnect().toMillis()));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return Optional.empty();
                }
            }
        }
        return Optional.empty();
    }

    private void serve(SocketChannel channel) {
        synchronized (lock) {
            if (closed) {
                quietClose(channel);
                return;
            }
            peer = Optional.of(channel);
        }
        output.nobody(false);
        OutputPump pump = new OutputPump(id, output, channel::write, e -> quietClose(channel));
        link.otherSide(true);
        try {
            ByteBuffer buffer = ByteBuffer.allocate(1024);
            while (channel.read(buffer) >= 0 && link.send(buffer.array(), 0, buffer.position())) {
                buffer.clear();
            }
        } catch (IOException e) {
            logger.log(System.Logger.Level.DEBUG, "the peer is gone: {0}", e.getMessage());
        }
        link.otherSide(false);
        if (!isClosed()) {
            quietClose(channel);
            pump.stop();
            output.nobody(true);
        } else {
            pump.join(FLUSH_TIMEOUT);
            quietClose(channel);
            pump.stop();
        }
        synchronized (lock) {
            peer = Optional.empty();
        }
    }

    private void quietClose(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            logger.log(System.Logger.Level.DEBUG, "closing the connection failed: {0}", e.getMessage());
        }
    }

    private boolean isClosed() {
        synchronized (lock) {
            return closed;
        }
    }

    @Override
    public void connect(ChardevFrontend frontend, EventLoop loop) {
        link.connect(frontend, loop);
    }

    @Override
    public void disconnect() {
        link.disconnect();
    }

    @Override
    public int write(byte[] buffer, int offset, int lengthBytes) {
        return output.put(buffer, offset, lengthBytes);
    }

    @Override
    public boolean write(byte value) {
        return output.put(value);
    }

    @Override
    public void resumeInput() {
        link.resumeInput();
    }

    @Override
    public String describe() {
        if (listener.isPresent() && path.isEmpty()) {
            try {
                return "socket, listening on tcp:" + options.host() + ":"
                        + ((InetSocketAddress) listener.get().getLocalAddress()).getPort();
            } catch (IOException e) {
                return "socket, closed";
            }
        }
        return (options.server() ? "socket, listening on " : "socket, connected to ") + addressText();
    }

    @Override
    public void close() {
        link.disconnect();
        output.close();
        Optional<SocketChannel> current;
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            lock.notifyAll();
            current = peer;
        }
        if (current.isPresent()) {
            output.awaitEmpty(FLUSH_TIMEOUT);
        }
        link.close();
        current.ifPresent(this::quietClose);
        try {
            if (listener.isPresent()) {
                listener.get().close();
            }
            if (path.isPresent() && options.server()) {
                Files.deleteIfExists(path.get());
            }
            thread.join(Duration.ofSeconds(5));
        } catch (IOException e) {
            throw HostErrors.of("chardev " + id + ": cannot close " + addressText(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
