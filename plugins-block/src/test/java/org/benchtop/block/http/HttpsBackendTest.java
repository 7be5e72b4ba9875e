package org.benchtop.block.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Byte ranges over TLS, from a server whose certificate is made for the test. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
final class HttpsBackendTest {
    private static final int SIZE = 300_000;
    private static final char[] PASSWORD = "benchtop".toCharArray();

    @TempDir
    private Path folder = Path.of("");

    private final FakeCreateContext context = new FakeCreateContext("disk0");
    private final byte[] content = new byte[SIZE];
    private final ExecutorService executor = Executors.newCachedThreadPool();
    private final SSLContext before = defaultContext();

    private static SSLContext defaultContext() {
        try {
            return SSLContext.getDefault();
        } catch (java.security.NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeEach
    void fillContent() {
        new Random(5).nextBytes(content);
    }

    @AfterEach
    void forgetCertificate() {
        SSLContext.setDefault(before);
        executor.shutdownNow();
    }

    /** A key for a name, with a certificate that it has signed itself. */
    private KeyStore keysOf(String host) throws Exception {
        Path file = folder.resolve(host + ".p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keyalg",
                        "EC",
                        "-alias",
                        "server",
                        "-dname",
                        "CN=" + host,
                        "-ext",
                        "SAN=dns:" + host,
                        "-validity",
                        "2",
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        new String(PASSWORD),
                        "-keystore",
                        file.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, keytool.waitFor(), output);
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD);
        }
        return keys;
    }

    private static SSLContext contextOf(KeyStore keys) throws Exception {
        KeyManagerFactory mine = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        mine.init(keys, PASSWORD);
        TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SSLContext made = SSLContext.getInstance("TLS");
        made.init(mine.getKeyManagers(), trusted.getTrustManagers(), new SecureRandom());
        return made;
    }

    private HttpsServer serve(SSLContext tls) throws Exception {
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(tls));
        server.setExecutor(executor);
        server.createContext("/disk.img", exchange -> {
            try (exchange) {
                String[] range = String.valueOf(exchange.getRequestHeaders().getFirst("Range"))
                        .replace("bytes=", "")
                        .split("-", -1);
                int first = Integer.parseInt(range[0]);
                int last = Math.min(SIZE - 1, Integer.parseInt(range[1]));
                exchange.getResponseHeaders().set("Content-Range", "bytes " + first + "-" + last + "/" + SIZE);
                exchange.sendResponseHeaders(206, last - first + 1);
                exchange.getResponseBody().write(content, first, last - first + 1);
            }
        });
        server.start();
        return server;
    }

    private BlockBackend open(HttpsServer server) {
        HttpOptions options = new HttpOptions(
                "https://localhost:" + server.getAddress().getPort() + "/disk.img", 65536, 1 << 20, 2, 20_000_000_000L);
        return new HttpType().create(options, context);
    }

    @Test
    void rangesOverTlsMakeADisk() throws Exception {
        SSLContext tls = contextOf(keysOf("localhost"));
        HttpsServer server = serve(tls);
        SSLContext.setDefault(tls);
        try (BlockBackend backend = open(server);
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            byte[] expected = Arrays.copyOf(content, SIZE + 511 & -512);

            assertArrayEquals(expected, client.read(0, expected.length));
            assertTrue(backend.describe().startsWith("https://localhost:"), backend.describe());
        } finally {
            server.stop(0);
        }
    }

    @Test
    void certificateOfNobodyWeKnowIsRefusedInOneLine() throws Exception {
        HttpsServer server = serve(contextOf(keysOf("localhost")));
        try {
            BenchtopException refusal = assertThrows(BenchtopException.class, () -> open(server));

            assertTrue(refusal.getMessage().contains("https://localhost:"), refusal.getMessage());
            assertEquals(1, refusal.getMessage().lines().count(), refusal.getMessage());
        } finally {
            server.stop(0);
        }
    }

    @Test
    void certificateForAnotherHostIsRefused() throws Exception {
        SSLContext tls = contextOf(keysOf("elsewhere.example"));
        HttpsServer server = serve(tls);
        SSLContext.setDefault(tls);
        try {
            BenchtopException refusal = assertThrows(BenchtopException.class, () -> open(server));

            assertTrue(refusal.getMessage().contains("localhost"), refusal.getMessage());
        } finally {
            server.stop(0);
        }
    }
}
