package org.benchtop.block.http;

import java.net.URI;
import java.net.URISyntaxException;
import org.benchtop.spi.Option;

/** Options of {@code http}. */
public record HttpOptions(
        @Option(doc = "The image: http://… or https://…; the server must support byte ranges.")
        String url,

        @Option(
                doc = "How much is fetched and kept together.",
                value = "256KiB",
                unit = Option.Unit.BYTES,
                min = 4096,
                max = 16 << 20)
        int chunk,

        @Option(
                doc = "How much is kept in memory.",
                value = "32MiB",
                unit = Option.Unit.BYTES,
                min = 1 << 20,
                max = 1L << 34)
        long cache,

        @Option(doc = "Attempts before a read fails.", value = "3", min = 1, max = 100)
        int attempts,

        @Option(
                doc = "How long one attempt may take.",
                value = "30s",
                unit = Option.Unit.NANOSECONDS,
                min = 1_000_000,
                max = 3_600_000_000_000L)
        long timeout) {

    public HttpOptions {
        URI uri = uri(url);
        if (!("http".equals(uri.getScheme()) || "https".equals(uri.getScheme())) || uri.getHost() == null) {
            throw new IllegalArgumentException("url: expected http://HOST/… or https://HOST/…, got " + url);
        }
        if (Integer.bitCount(chunk) != 1) {
            throw new IllegalArgumentException("chunk must be a power of two, not " + chunk);
        }
        if (cache < chunk) {
            throw new IllegalArgumentException("cache must hold at least one chunk of " + chunk + " bytes");
        }
    }

    private static URI uri(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("url: not a URL: " + text);
        }
    }

    /** An image with all defaults. */
    public static HttpOptions of(String url) {
        return new HttpOptions(url, 256 << 10, 32 << 20, 3, 30_000_000_000L);
    }

    URI uri() {
        return uri(url);
    }
}
