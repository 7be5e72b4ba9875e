package org.benchtop.pc.chardev;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code socket}. */
public record SocketOptions(
        @Option(doc = "Path of a Unix socket; instead of host and port.")
        Optional<Path> path,

        @Option(doc = "Host name or address for TCP.", value = "127.0.0.1")
        String host,

        @Option(doc = "TCP port; 0 lets the system choose one for a server.", min = 0, max = 65535)
        Optional<Integer> port,

        @Option(doc = "Listens for clients (one at a time) instead of connecting.", value = "on")
        boolean server,

        @Option(
                name = "wait",
                doc = "Keeps guest output until the first connection instead of dropping it.",
                value = "off")
        boolean waitForPeer,

        @Option(
                doc = "As a client, how long to wait before connecting again; 0s gives up after the first failure.",
                value = "0s")
        Duration reconnect,

        @Option(
                doc = "How long a reader that takes nothing stalls the guest before output is dropped; 0s for ever.",
                value = "10s")
        Duration patience) {

    public SocketOptions {
        if (path.isPresent() == port.isPresent()) {
            throw new IllegalArgumentException("socket needs either path or port");
        }
        if (patience.isNegative() || reconnect.isNegative()) {
            throw new IllegalArgumentException("patience and reconnect must not be negative");
        }
    }
}
