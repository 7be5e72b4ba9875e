package org.benchtop.engine.nbd;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.event.EventLoop;

/**
 * Exports one backend by the NBD protocol (newstyle, structured replies; no TLS). All connections share the backend, each
 * with a queue of its own, so a flush of one covers what others have completed. Any thread.
 *
 * <p>A client can neither exhaust nor stop the server: its requests are bounded in number and bytes, and whoever breaks
 * the protocol is disconnected.
 */
public final class NbdServer implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.nbd");

    private final BlockBackend backend;
    private final Settings settings;
    private final EventLoop loop;
    private final ServerSocketChannel listener;
    private final SocketAddress address;
    private final Thread acceptor;
    // Guarded by this.
    private final Set<NbdServerConnection> connections = new LinkedHashSet<>();
    private long served;
    private boolean closed;

    /**
     * How to serve.
     *
     * @param export the export's name; empty for the default one
     * @param readOnly whether writes are refused even if the backend could take them
     * @param maxConnections connections at the same time, at least 1
     */
    public record Settings(String export, boolean readOnly, int maxConnections) {
        /** The default export, writable, for at most 16 connections. */
        public static Settings defaults() {
            return new Settings("", false, 16);
        }
    }

    private NbdServer(
            BlockBackend backend,
            Settings settings,
            EventLoop loop,
            ServerSocketChannel listener,
            SocketAddress address) {
        this.backend = backend;
        this.settings = settings;
        this.loop = loop;
        this.listener = listener;
        this.address = address;
        this.acceptor =
                Thread.ofPlatform().name("benchtop-nbd-accept").daemon(true).unstarted(this::accept);
    }

    /**
     * Starts serving on a TCP address (port 0 takes a free one).
     *
     * @param backend stays the caller's, who closes it after the server
     * @param loop where requests are carried out
     */
    public static NbdServer listen(InetSocketAddress address, BlockBackend backend, Settings settings, EventLoop loop) {
        return start(StandardProtocolFamily.INET, address, backend, settings, loop);
    }

    /** Starts serving on a Unix socket, which must not exist and is removed at the end. */
    public static NbdServer listen(Path socket, BlockBackend backend, Settings settings, EventLoop loop) {
        SocketAddress address;
        try {
            address = UnixDomainSocketAddress.of(socket);
        } catch (IllegalArgumentException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, socket + ": no name for a socket: " + e.getMessage(), e);
        }
        return start(StandardProtocolFamily.UNIX, address, backend, settings, loop);
    }

    private static NbdServer start(
            StandardProtocolFamily family,
            SocketAddress address,
            BlockBackend backend,
            Settings settings,
            EventLoop loop) {
        ServerSocketChannel listener = null;
        try {
            listener = family == StandardProtocolFamily.UNIX
                    ? ServerSocketChannel.open(family)
                    : ServerSocketChannel.open();
            if (family == StandardProtocolFamily.INET) {
                listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            }
            listener.bind(address);
            NbdServer server = new NbdServer(backend, settings, loop, listener, listener.getLocalAddress());
            server.acceptor.start();
            return server;
        } catch (IOException | RuntimeException e) {
            if (listener != null) {
                closeQuietly(listener);
            }
            String why =
                    e instanceof BindException ? "the address is in use or not ours" : String.valueOf(e.getMessage());
            throw BenchtopException.of(ErrorKind.HOST, address + ": cannot listen: " + why, e);
        }
    }

    /** Where clients connect. */
    public SocketAddress address() {
        return address;
    }

    private void accept() {
        while (true) {
            SocketChannel channel;
            try {
                channel = listener.accept();
            } catch (IOException e) {
                synchronized (this) {
                    if (!closed) {
                        LOG.log(System.Logger.Level.ERROR, address + ": no more connections: " + e.getMessage());
                    }
                }
                return;
            }
            try {
                if (!(address instanceof UnixDomainSocketAddress)) {
                    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                }
                begin(channel);
            } catch (IOException | RuntimeException e) {
                LOG.log(System.Logger.Level.WARNING, address + ": a connection failed: " + e.getMessage());
                closeQuietly(channel);
            }
        }
    }

    private void begin(SocketChannel channel) {
        synchronized (this) {
            if (closed || connections.size() >= settings.maxConnections()) {
                if (!closed) {
                    LOG.log(
                            System.Logger.Level.WARNING,
                            "{0}: a client is turned away: there are {1} connections already",
                            address,
                            connections.size());
                }
                closeQuietly(channel);
                return;
            }
            NbdServerConnection connection = new NbdServerConnection(this, channel, backend, settings, loop);
            connections.add(connection);
            connection.start();
        }
    }

    void ended(NbdServerConnection connection) {
        synchronized (this) {
            connections.remove(connection);
            served++;
            notifyAll();
        }
    }

    static void closeQuietly(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            LOG.log(System.Logger.Level.DEBUG, "closing failed", e);
        }
    }

    /** The number of connections now. */
    public synchronized int connections() {
        return connections.size();
    }

    /** Waits until at least one client was there and the last one has left, or the server is closed. */
    public synchronized void awaitLastClient() throws InterruptedException {
        while (!closed && (served == 0 || !connections.isEmpty())) {
            wait();
        }
    }

    /** Disconnects everybody; requests that have begun are finished first. */
    @Override
    public void close() {
        List<NbdServerConnection> open;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            open = new ArrayList<>(connections);
            notifyAll();
        }
        closeQuietly(listener);
        open.forEach(NbdServerConnection::close);
        if (address instanceof UnixDomainSocketAddress unix) {
            try {
                Files.deleteIfExists(unix.getPath());
            } catch (IOException e) {
                LOG.log(System.Logger.Level.WARNING, unix + " stays behind: " + e.getMessage());
            }
        }
    }
}
