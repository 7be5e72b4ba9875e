package org.benchtop.block.nbd;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where a server listens and what it exports.
 *
 * @param host the host; empty for a Unix socket
 * @param port the TCP port
 * @param socket the Unix socket; empty for TCP
 * @param export the export's name, empty for the default one
 */
record NbdAddress(String host, int port, Optional<Path> socket, String export) {
    static final int DEFAULT_PORT = 10809;

    /** Parses {@code nbd://HOST[:PORT]/[EXPORT]} or {@code nbd+unix:///[EXPORT]?socket=PATH}. */
    static NbdAddress parse(String text) {
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("uri: not a URI: " + text);
        }
        String path = uri.getPath() == null ? "" : uri.getPath();
        String export = path.startsWith("/") ? path.substring(1) : path;
        if ("nbd+unix".equals(uri.getScheme())) {
            String query = uri.getRawQuery() == null ? "" : uri.getRawQuery();
            for (String part : query.split("&", -1)) {
                if (part.startsWith("socket=") && part.length() > "socket=".length()) {
                    String socket = URLDecoder.decode(part.substring("socket=".length()), StandardCharsets.UTF_8);
                    return new NbdAddress("", 0, Optional.of(Path.of(socket)), export);
                }
            }
            throw new IllegalArgumentException("uri: nbd+unix needs ?socket=PATH: " + text);
        }
        if (!"nbd".equals(uri.getScheme()) || uri.getHost() == null) {
            throw new IllegalArgumentException("uri: expected nbd://HOST[:PORT]/[EXPORT] or"
                    + " nbd+unix:///[EXPORT]?socket=PATH (TLS is not supported): " + text);
        }
        return new NbdAddress(
                uri.getHost(), uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort(), Optional.empty(), export);
    }

    SocketChannel connect(int timeoutMillis) throws IOException {
        if (socket.isPresent()) {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.connect(UnixDomainSocketAddress.of(socket.get()));
                return channel;
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
        }
        SocketChannel channel = SocketChannel.open();
        try {
            InetSocketAddress address = new InetSocketAddress(host, port);
            if (address.isUnresolved()) {
                throw new IOException("no such host");
            }
            channel.socket().connect(address, timeoutMillis);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    @Override
    public String toString() {
        String where = socket.isPresent() ? "nbd+unix:" + socket.get() : "nbd://" + host + ":" + port;
        return export.isEmpty() ? where : where + " export \"" + export + "\"";
    }
}
