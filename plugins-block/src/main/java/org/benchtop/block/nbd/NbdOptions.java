package org.benchtop.block.nbd;

import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.benchtop.spi.Option;

/** Options of {@code nbd}. */
public record NbdOptions(
        @Option(doc = "nbd://HOST[:PORT]/[EXPORT] or nbd+unix:///[EXPORT]?socket=PATH; instead of host or socket.")
        Optional<String> uri,

        @Option(doc = "The server's host, for TCP.") Optional<String> host,

        @Option(doc = "The server's TCP port.", value = "10809", min = 1, max = 65535)
        int port,

        @Option(doc = "The server's Unix socket; instead of host.")
        Optional<Path> socket,

        @Option(doc = "The export's name; the server's default unless given.", value = "")
        String export,

        @Option(doc = "Refuses writes.", value = "off") boolean readOnly,

        @Option(doc = "Connections, where the server allows more than one.", value = "1", min = 1, max = 16)
        int connections,

        @Option(
                doc = "How long the server may stay silent while it owes an answer, before the connection is given up;"
                        + " 0s for ever.",
                value = "30s",
                unit = Option.Unit.NANOSECONDS,
                min = 0,
                max = 3_600_000_000_000L)
        long timeout) {

    public NbdOptions {
        if (Stream.of(uri, host, socket).filter(Optional::isPresent).count() != 1) {
            throw new IllegalArgumentException("nbd needs one of uri, host and socket");
        }
        if (export.length() > 4096) {
            throw new IllegalArgumentException("export is longer than 4096 characters");
        }
        uri.ifPresent(text -> {
            if (!export.isEmpty() && !NbdAddress.parse(text).export().isEmpty()) {
                throw new IllegalArgumentException("export is in the uri already");
            }
        });
    }

    /** The default export behind a Unix socket. */
    public static NbdOptions ofSocket(Path socket) {
        return new NbdOptions(
                Optional.empty(),
                Optional.empty(),
                NbdAddress.DEFAULT_PORT,
                Optional.of(socket),
                "",
                false,
                1,
                30_000_000_000L);
    }

    NbdAddress address() {
        if (uri.isPresent()) {
            NbdAddress parsed = NbdAddress.parse(uri.get());
            return export.isEmpty() ? parsed : new NbdAddress(parsed.host(), parsed.port(), parsed.socket(), export);
        }
        return new NbdAddress(host.orElse(""), port, socket, export);
    }
}
