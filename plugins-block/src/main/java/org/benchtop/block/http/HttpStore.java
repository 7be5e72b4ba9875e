package org.benchtop.block.http;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;

/**
 * Fetches chunks of a resource by range requests (RFC 9110, section 14) and keeps the last used ones. Every answer must
 * belong to the same version of the resource, as far as the server names versions. Thread-safe.
 */
final class HttpStore implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.block");
    private static final Pattern CONTENT_RANGE = Pattern.compile("bytes (\\d{1,18})-(\\d{1,18})/(\\d{1,18})");

    private final HttpClient client;
    private final URI uri;
    private final long sizeBytes;
    private final Optional<String> version;
    private final int chunkBytes;
    private final int attempts;
    private final Duration timeout;
    private final Counter fetches;
    // Guarded by this.
    private final Map<Long, byte[]> kept;
    private final Map<Long, CompletableFuture<byte[]>> underWay = new HashMap<>();

    private HttpStore(
            HttpOptions options, HttpClient client, URI uri, long size, Optional<String> version, Stats stats) {
        this.client = client;
        this.uri = uri;
        this.sizeBytes = size;
        this.version = version;
        this.chunkBytes = options.chunk();
        this.attempts = options.attempts();
        this.timeout = Duration.ofNanos(options.timeout());
        this.fetches = stats.counter("fetches");
        int most = (int) Math.min(Integer.MAX_VALUE, options.cache() / options.chunk());
        this.kept = new LinkedHashMap<>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Long, byte[]> eldest) {
                return size() > most;
            }
        };
    }

    /** Asks for the first byte, to learn the size and whether ranges work. */
    static HttpStore open(HttpOptions options, Stats stats) {
        Duration timeout = Duration.ofNanos(options.timeout());
        HttpClient client = HttpClient.newBuilder()
                .followRedirects(HttpClient.Redirect.NORMAL)
                .connectTimeout(timeout)
                .build();
        try {
            HttpResponse<byte[]> response = client.send(request(options.uri(), 0, 0, timeout), rangeOf(1));
            long size = checked(response, 0, 0);
            return new HttpStore(options, client, response.uri(), size, version(response), stats);
        } catch (IOException e) {
            client.shutdownNow();
            throw BenchtopException.of(ErrorKind.HOST, options.url() + ": " + explain(e), e);
        } catch (InterruptedException e) {
            client.shutdownNow();
            Thread.currentThread().interrupt();
            throw BenchtopException.of(ErrorKind.HOST, options.url() + ": interrupted", e);
        } catch (RuntimeException e) {
            client.shutdownNow();
            throw e;
        }
    }

    /** Keeps the body of a partial answer, up to the length of the range; any other body is of no interest. */
    private static HttpResponse.BodyHandler<byte[]> rangeOf(long lengthBytes) {
        return response -> response.statusCode() == 206
                ? HttpResponse.BodySubscribers.limiting(HttpResponse.BodySubscribers.ofByteArray(), lengthBytes)
                : HttpResponse.BodySubscribers.replacing(new byte[0]);
    }

    private static String explain(Throwable e) {
        String message = e.getMessage();
        return message == null
                ? e.getClass().getSimpleName()
                : message.lines().findFirst().orElse("");
    }

    private static HttpRequest request(URI uri, long first, long last, Duration timeout) {
        return HttpRequest.newBuilder(uri)
                .timeout(timeout)
                .header("Range", "bytes=" + first + "-" + last)
                .header("Accept-Encoding", "identity")
                .build();
    }

    private static Optional<String> version(HttpResponse<?> response) {
        return response.headers()
                .firstValue("ETag")
                .filter(tag -> !tag.startsWith("W/"))
                .or(() -> response.headers().firstValue("Last-Modified"));
    }

    /** The whole size, if the response is the range that was asked for. */
    private static long checked(HttpResponse<byte[]> response, long first, long last) throws IOException {
        if (response.statusCode() == 200) {
            throw new IOException("the server does not support byte ranges");
        }
        if (response.statusCode() == 416) {
            throw new IOException("the resource is empty");
        }
        if (response.statusCode() != 206) {
            throw new IOException("the server answers " + response.statusCode());
        }
        Matcher range = CONTENT_RANGE.matcher(
                response.headers().firstValue("Content-Range").orElse(""));
        if (!range.matches()) {
            throw new IOException("the server does not say how large the resource is");
        }
        if (Long.parseLong(range.group(1)) != first
                || Long.parseLong(range.group(2)) != last
                || response.body().length != last - first + 1) {
            throw new IOException("the server answers with another range: " + range.group());
        }
        return Long.parseLong(range.group(3));
    }

    long sizeBytes() {
        return sizeBytes;
    }

    int chunkBytes() {
        return chunkBytes;
    }

    URI uri() {
        return uri;
    }

    /** A chunk, now or later; the last one may be short. Ends with an {@link IOException} when all attempts fail. */
    synchronized CompletableFuture<byte[]> chunk(long index) {
        byte[] there = kept.get(index);
        if (there != null) {
            return CompletableFuture.completedFuture(there);
        }
        CompletableFuture<byte[]> running = underWay.get(index);
        if (running != null) {
            return running;
        }
        CompletableFuture<byte[]> fetched = new CompletableFuture<>();
        underWay.put(index, fetched);
        fetch(index, 1, fetched);
        return fetched;
    }

    private void fetch(long index, int attempt, CompletableFuture<byte[]> result) {
        fetches.increment();
        long first = index * chunkBytes;
        long last = Math.min(sizeBytes, first + chunkBytes) - 1;
        client.sendAsync(request(uri, first, last, timeout), rangeOf(last - first + 1))
                .thenApply(response -> {
                    try {
                        if (checked(response, first, last) != sizeBytes
                                || version.isPresent() && !version(response).equals(version)) {
                            throw new IOException("the resource has changed on the server");
                        }
                        return response.body();
                    } catch (IOException e) {
                        throw new CompletionException(e);
                    }
                })
                .whenComplete((body, failure) -> fetched(index, attempt, result, body, failure));
    }

    private void fetched(
            long index,
            int attempt,
            CompletableFuture<byte[]> result,
            byte @org.jspecify.annotations.Nullable [] body,
            @org.jspecify.annotations.Nullable Throwable failure) {
        if (body == null && attempt < attempts) {
            CompletableFuture.delayedExecutor(
                            Math.min(5_000, 100L << Math.min(10, attempt)), java.util.concurrent.TimeUnit.MILLISECONDS)
                    .execute(() -> fetch(index, attempt + 1, result));
            return;
        }
        synchronized (this) {
            underWay.remove(index);
            if (body != null) {
                kept.put(index, body);
            }
        }
        if (body != null) {
            result.complete(body);
            return;
        }
        Throwable cause = failure instanceof CompletionException && failure.getCause() != null
                ? failure.getCause()
                : failure == null ? new IOException("no answer") : failure;
        LOG.log(
                System.Logger.Level.WARNING,
                uri + ": chunk " + index + " cannot be read after " + attempts + " attempts: " + explain(cause));
        result.completeExceptionally(cause);
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
