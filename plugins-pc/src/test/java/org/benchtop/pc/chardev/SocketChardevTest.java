package org.benchtop.pc.chardev;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.testkit.ChardevContract;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SocketChardevTest implements ChardevContract {
    @TempDir
    Path folder;

    private final FakeEventLoop loop = new FakeEventLoop();
    private final FakeCreateContext context = new FakeCreateContext("con", loop);
    private final Typewriter guest = new Typewriter();
    private final List<AutoCloseable> toClose = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable closeable : toClose.reversed()) {
            closeable.close();
        }
    }

    private SocketChardev open(SocketOptions options) {
        SocketChardev chardev = new SocketChardev(options, context.folder(folder));
        toClose.add(chardev);
        return chardev;
    }

    private static SocketOptions unix(boolean server, boolean wait, Duration reconnect) {
        return new SocketOptions(
                Optional.of(Path.of("con.sock")),
                "127.0.0.1",
                Optional.empty(),
                server,
                wait,
                reconnect,
                Duration.ofSeconds(10));
    }

    private static SocketOptions tcp(int port, boolean server) {
        return new SocketOptions(
                Optional.empty(), "127.0.0.1", Optional.of(port), server, false, Duration.ZERO, Duration.ofSeconds(10));
    }

    private SocketChannel client() throws IOException {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        channel.connect(UnixDomainSocketAddress.of(folder.resolve("con.sock")));
        toClose.add(channel);
        return channel;
    }

    /** Reads in the background, so that tests can look at what has arrived. */
    private static ByteArrayOutputStream reader(SocketChannel channel) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Thread.ofPlatform().daemon().start(() -> {
            ByteBuffer buffer = ByteBuffer.allocate(4096);
            try {
                while (channel.read(buffer) >= 0) {
                    out.write(buffer.array(), 0, buffer.position());
                    buffer.clear();
                }
            } catch (IOException e) {
                // The test has closed the channel.
            }
        });
        return out;
    }

    private static void send(SocketChannel channel, byte[] bytes) {
        try {
            channel.write(ByteBuffer.wrap(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void awaitEvents(ChardevEvent... events) {
        Await.until(loop, List.of(events).toString(), () -> guest.events().equals(List.of(events)));
    }

    @Override
    public Subject subject() {
        SocketChardev chardev = open(unix(true, true, Duration.ZERO));
        try {
            SocketChannel client = client();
            ByteArrayOutputStream output = reader(client);
            return new Subject(
                    chardev, loop, Optional.of(output::toByteArray), Optional.of(bytes -> send(client, bytes)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void clientsComeAndGo() throws IOException {
        SocketChardev chardev = open(unix(true, false, Duration.ZERO));
        chardev.connect(guest, loop);
        SocketChannel first = client();
        awaitEvents(ChardevEvent.OPENED);
        ByteArrayOutputStream output = reader(first);
        chardev.write((byte) '1');
        Await.until(loop, "output", () -> output.size() == 1);
        first.close();
        awaitEvents(ChardevEvent.OPENED, ChardevEvent.CLOSED);
        for (int i = 0; i < 100_000; i++) {
            assertTrue(chardev.write((byte) 'x'), "without a client output is dropped");
        }

        SocketChannel second = client();
        awaitEvents(ChardevEvent.OPENED, ChardevEvent.CLOSED, ChardevEvent.OPENED);
        ByteArrayOutputStream more = reader(second);
        chardev.write((byte) '2');
        Await.until(loop, "output", () -> more.size() >= 1);

        assertEquals("2", more.toString(StandardCharsets.ISO_8859_1));
    }

    @Test
    void waitKeepsOutputForTheFirstClient() throws IOException {
        SocketChardev chardev = open(unix(true, true, Duration.ZERO));
        chardev.connect(guest, loop);
        for (char c : "early".toCharArray()) {
            assertTrue(chardev.write((byte) c));
        }

        ByteArrayOutputStream output = reader(client());
        Await.until(loop, "output", () -> output.size() == 5);

        assertEquals("early", output.toString(StandardCharsets.ISO_8859_1));
    }

    @Test
    void tcpServerTellsTheChosenPort() throws IOException {
        SocketChardev chardev = open(tcp(0, true));
        chardev.connect(guest, loop);
        String description = chardev.describe();
        int port = Integer.parseInt(description.substring(description.lastIndexOf(':') + 1));

        SocketChannel channel = SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
        toClose.add(channel);
        send(channel, "hi".getBytes(StandardCharsets.ISO_8859_1));
        Await.until(loop, "input", () -> guest.text().length() == 2);

        assertEquals("hi", guest.text());
    }

    @Test
    void clientWithoutServerIsAClearError() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> open(unix(false, false, Duration.ZERO)));

        assertEquals(ErrorKind.HOST, e.kind());
        assertTrue(String.valueOf(e.getMessage()).contains("con.sock"), e.getMessage());
    }

    @Test
    void clientReconnectsWhenTheServerComesBack() throws IOException {
        SocketChardev chardev = open(unix(false, false, Duration.ofMillis(5)));
        chardev.connect(guest, loop);
        Path path = folder.resolve("con.sock");
        for (int round = 1; round <= 2; round++) {
            Files.deleteIfExists(path);
            try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
                server.bind(UnixDomainSocketAddress.of(path));
                SocketChannel peer = server.accept();
                int expected = round;
                send(peer, "x".getBytes(StandardCharsets.ISO_8859_1));
                Await.until(loop, "input", () -> guest.text().length() == expected);
                peer.close();
            }
        }

        assertEquals("xx", guest.text());
    }

    @Test
    void staleSocketFileIsReplacedAndALiveOneIsNot() throws IOException {
        try (ServerSocketChannel dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            dead.bind(UnixDomainSocketAddress.of(folder.resolve("con.sock")));
        }
        assertTrue(Files.exists(folder.resolve("con.sock")), "the file outlives its server");
        open(unix(true, false, Duration.ZERO));

        BenchtopException e = assertThrows(BenchtopException.class, () -> open(unix(true, false, Duration.ZERO)));

        assertTrue(String.valueOf(e.getMessage()).contains("cannot listen"), e.getMessage());
    }

    @Test
    void regularFileAtThePathIsNotDeleted() throws IOException {
        Files.writeString(folder.resolve("con.sock"), "precious");

        assertThrows(BenchtopException.class, () -> open(unix(true, false, Duration.ZERO)));

        assertEquals("precious", Files.readString(folder.resolve("con.sock")));
    }

    @Test
    void closeDeliversWhatIsQueuedAndRemovesTheFile() throws IOException {
        SocketChardev chardev = open(unix(true, false, Duration.ZERO));
        chardev.connect(guest, loop);
        ByteArrayOutputStream output = reader(client());
        awaitEvents(ChardevEvent.OPENED);
        for (char c : "bye".toCharArray()) {
            chardev.write((byte) c);
        }

        chardev.close();
        Await.until(loop, "output", () -> output.size() == 3);

        assertEquals("bye", output.toString(StandardCharsets.ISO_8859_1));
        assertTrue(Files.notExists(folder.resolve("con.sock")));
    }

    @Test
    void closeEndsAllThreads() throws IOException {
        SocketChardev chardev = open(unix(true, false, Duration.ZERO));
        chardev.connect(guest, loop);
        client();
        awaitEvents(ChardevEvent.OPENED);

        chardev.close();

        assertEquals(
                List.of(),
                Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("chardev con"))
                        .toList());
    }

    @Test
    void pathAndPortExcludeEachOther() {
        assertThrows(
                IllegalArgumentException.class,
                () -> new SocketOptions(
                        Optional.empty(), "localhost", Optional.empty(), true, false, Duration.ZERO, Duration.ZERO));
    }
}
