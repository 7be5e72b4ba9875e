package org.benchtop.block.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, unit = TimeUnit.SECONDS)
final class HttpBackendTest {
    private static final int SIZE = (1 << 20) + 700;

    private final FakeCreateContext context = new FakeCreateContext("disk0");
    private final byte[] content = new byte[SIZE];
    private final AtomicInteger requests = new AtomicInteger();
    private volatile Answer answer = HttpBackendTest.this::range;
    private volatile String tag = "\"1\"";
    private HttpServer server = unstarted();
    private ExecutorService executor = Executors.newCachedThreadPool();

    /** How the server answers. */
    private interface Answer {
        void to(HttpExchange exchange, int first, int last) throws IOException;
    }

    private static HttpServer unstarted() {
        try {
            return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @BeforeEach
    void startServer() {
        new Random(4).nextBytes(content);
        server.setExecutor(executor);
        server.createContext("/disk.img", exchange -> {
            requests.incrementAndGet();
            try (exchange) {
                String[] range = String.valueOf(exchange.getRequestHeaders().getFirst("Range"))
                        .replace("bytes=", "")
                        .split("-", -1);
                answer.to(exchange, Integer.parseInt(range[0]), Math.min(SIZE - 1, Integer.parseInt(range[1])));
            }
        });
        server.start();
    }

    @AfterEach
    void stopServer() {
        server.stop(0);
        executor.shutdownNow();
    }

    private void range(HttpExchange exchange, int first, int last) throws IOException {
        exchange.getResponseHeaders().set("Content-Range", "bytes " + first + "-" + last + "/" + SIZE);
        exchange.getResponseHeaders().set("ETag", tag);
        exchange.sendResponseHeaders(206, last - first + 1);
        exchange.getResponseBody().write(content, first, last - first + 1);
    }

    private HttpOptions options() {
        return new HttpOptions(
                "http://localhost:" + server.getAddress().getPort() + "/disk.img", 65536, 1 << 20, 2, 20_000_000_000L);
    }

    private BlockBackend open() {
        return new HttpType().create(options(), context);
    }

    private String refusal() {
        return assertThrows(BenchtopException.class, this::open).getMessage();
    }

    @Test
    void rangesMakeADisk() {
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            assertEquals((1 << 20) + 1024, backend.capabilities().sizeBytes());
            assertTrue(backend.capabilities().readOnly());
            assertArrayEquals(Arrays.copyOfRange(content, 512, 300_032), client.read(512, 299_520));
            byte[] end = client.read(1 << 20, 1024);
            assertArrayEquals(Arrays.copyOf(Arrays.copyOfRange(content, 1 << 20, SIZE), 1024), end);
            assertEquals(BlockStatus.OUT_OF_RANGE, client.tryRead((1 << 20) + 1024, 512));
            assertEquals(BlockStatus.READ_ONLY, client.write(0, new byte[512]));
        }
    }

    @Test
    void chunkIsFetchedOnce() {
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            int before = requests.get();
            for (int i = 0; i < 128; i++) {
                client.read(512L * i, 512);
            }
            assertEquals(1, requests.get() - before);
        }
    }

    @Test
    void serverWithoutRangesIsRefused() {
        answer = (exchange, first, last) -> {
            exchange.sendResponseHeaders(200, SIZE);
            exchange.getResponseBody().write(content);
        };
        String message = refusal();
        assertTrue(message.contains("does not support byte ranges"), message);
    }

    @Test
    void missingFileIsOneClearLine() {
        answer = (exchange, first, last) -> exchange.sendResponseHeaders(404, -1);
        String message = refusal();
        assertTrue(message.contains("disk.img") && message.contains("404"), message);
    }

    @Test
    void lyingRangesAreRefused() {
        for (String range :
                new String[] {"bytes 0-0/*", "bytes 1-1/100", "nonsense", "bytes 0-0/99999999999999999999"}) {
            answer = (exchange, first, last) -> {
                exchange.getResponseHeaders().set("Content-Range", range);
                exchange.sendResponseHeaders(206, 1);
                exchange.getResponseBody().write(1);
            };
            String message = refusal();
            assertTrue(message.contains("server"), message);
        }
    }

    @Test
    void temporaryErrorIsTriedAgain() {
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            AtomicInteger failures = new AtomicInteger(1);
            answer = (exchange, first, last) -> {
                if (failures.getAndDecrement() > 0) {
                    exchange.sendResponseHeaders(503, -1);
                } else {
                    range(exchange, first, last);
                }
            };
            assertArrayEquals(Arrays.copyOf(content, 4096), client.read(0, 4096));
        }
    }

    @Test
    void lastingErrorEndsTheReadAndLaterReadsTryAnew() {
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            answer = (exchange, first, last) -> exchange.sendResponseHeaders(500, -1);
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 4096));
            answer = this::range;
            assertArrayEquals(Arrays.copyOf(content, 4096), client.read(0, 4096));
        }
    }

    @Test
    void changedResourceIsNotMixedWithTheOldOne() {
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            client.read(0, 4096);
            tag = "\"2\"";
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(1 << 19, 4096));
        }
    }

    @Test
    void tooLongAnAnswerIsCutOff() {
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            answer = (exchange, first, last) -> {
                exchange.getResponseHeaders().set("Content-Range", "bytes " + first + "-" + last + "/" + SIZE);
                exchange.getResponseHeaders().set("ETag", tag);
                exchange.sendResponseHeaders(206, 0);
                for (int i = 0; i < 100; i++) {
                    exchange.getResponseBody().write(content);
                }
            };
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 4096));
        }
    }

    @Test
    void wrongUrlsAreRefused() {
        for (String url : new String[] {"ftp://host/x", "disk.img", "http:///x", "http://a b/"}) {
            assertThrows(IllegalArgumentException.class, () -> HttpOptions.of(url), url);
        }
    }
}
