package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.benchtop.block.BlockPlugin;
import org.benchtop.block.FileOptions;
import org.benchtop.block.MemoryOptions;
import org.benchtop.block.nbd.NbdOptions;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.nbd.NbdServer;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.BlockClient;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Our NBD client and server with each other and with those of others. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class NbdTest {
    private static final int SIZE = 1 << 20;

    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    private Path socket() {
        return folder.resolve("nbd.sock");
    }

    private static BlockBackend memory(boolean readOnly) {
        return BlockTypes.open(
                "memory",
                new MemoryOptions(Optional.of((long) SIZE), Optional.empty(), readOnly, 512),
                BlockTypes.context(Path.of("/")));
    }

    private static NbdOptions options(Path socket, int connections) {
        return new NbdOptions(
                Optional.empty(),
                Optional.empty(),
                10809,
                Optional.of(socket),
                "",
                false,
                connections,
                30_000_000_000L);
    }

    private BlockBackend connect(Path socket, int connections) {
        return BlockTypes.open("nbd", options(socket, connections), BlockTypes.context(folder));
    }

    /** A server on a thread of its own and everything below it. */
    private final class Served implements AutoCloseable {
        private final LinuxEventLoop loop = LinuxEventLoop.start("nbd");
        private final BlockBackend backend;
        private final NbdServer server;

        Served(BlockBackend backend) {
            this.backend = backend;
            this.server = NbdServer.listen(socket(), backend, new NbdServer.Settings("", false, 64), loop);
        }

        /** Offset, length and kind of every extent that {@code nbdinfo --map} names. */
        private List<String> map() {
            return Tools.run(folder, "nbdinfo", "--map", "nbd+unix:///?socket=" + socket())
                    .lines()
                    .map(line -> line.strip().replaceAll(" +", " "))
                    .toList();
        }

        @Override
        public void close() {
            server.close();
            loop.close();
            backend.close();
        }
    }

    @Test
    void blockStatusTellsHolesFromData() throws Exception {
        Tools.assume("nbdinfo");
        Path file = folder.resolve("disk.img");
        try (RandomAccessFile disk = new RandomAccessFile(file.toFile(), "rw")) {
            disk.setLength(SIZE);
            disk.seek(SIZE / 4);
            byte[] data = new byte[SIZE / 4];
            new Random(8).nextBytes(data);
            disk.write(data);
        }
        BlockBackend raw = BlockTypes.open("file", FileOptions.of(file), BlockTypes.context(folder));
        try (Served served = new Served(raw)) {
            assertEquals(
                    List.of("0 262144 3 hole,zero", "262144 262144 0 data", "524288 524288 3 hole,zero"), served.map());
        }
    }

    @Test
    void blockStatusOfAQcow2DriveIsThatOfQemu() {
        Tools.assume("nbdinfo");
        Tools.assume("qemu-img");
        Tools.run(folder, "qemu-img", "create", "-f", "qcow2", "disk.qcow2", "1M");
        Tools.run(
                folder,
                "qemu-io",
                "-f",
                "qcow2",
                "-c",
                "write -P 5 128k 64k",
                "-c",
                "write -z 192k 64k",
                "-c",
                "write -P 6 960k 64k",
                "disk.qcow2");
        Image image = new BlockPlugin()
                .imageFormats().stream()
                        .filter(format -> format.name().equals("qcow2"))
                        .findFirst()
                        .orElseThrow()
                        .open(ImageOpen.readOnly(folder.resolve("disk.qcow2")), BlockTypes.context(folder));
        try (Served served = new Served(image)) {
            List<String> map = served.map();

            assertEquals("131072 65536 0 data", map.get(1), () -> map.toString());
            assertEquals("983040 65536 0 data", map.getLast(), () -> map.toString());
            assertTrue(map.stream().filter(line -> !line.endsWith("data")).allMatch(line -> line.contains("zero")));
        }
    }

    @Test
    void backendThatDoesNotKnowIsAllData() {
        Tools.assume("nbdinfo");
        try (Served served = new Served(memory(false))) {
            assertEquals(List.of("0 1048576 0 data"), served.map());
        }
    }

    /** Closes what a client is connected to after the client. */
    private record Both(BlockBackend client, AutoCloseable other) implements BlockBackend {
        @Override
        public BlockCapabilities capabilities() {
            return client.capabilities();
        }

        @Override
        public BlockQueue openQueue(EventLoop loop) {
            return client.openQueue(loop);
        }

        @Override
        public String describe() {
            return client.describe();
        }

        @Override
        public void close() {
            client.close();
            try {
                other.close();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
    }

    private abstract static class Contract implements BlockBackendContract {
        @Override
        public EventLoop newLoop(String name) {
            return LinuxEventLoop.start(name);
        }

        @Override
        public void closeLoop(EventLoop loop) {
            ((LinuxEventLoop) loop).close();
        }
    }

    @Nested
    final class OurClientOnOurServer extends Contract {
        @Override
        public BlockBackend open() {
            Served served = new Served(memory(false));
            return new Both(connect(socket(), 2), served);
        }

        @Override
        public Optional<BlockBackend> openReadOnly() {
            Served served = new Served(memory(true));
            return Optional.of(new Both(connect(socket(), 1), served));
        }
    }

    private BlockBackend onProgram(String... command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("server.out").toFile())
                    .start();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (!Tools.listens(socket()) && process.isAlive() && System.nanoTime() < deadline) {
                Thread.sleep(20);
            }
            assertTrue(Tools.listens(socket()), () -> "nobody listens: " + output());
            return new Both(connect(socket(), 1), () -> {
                process.destroy();
                process.waitFor();
                Files.deleteIfExists(socket());
            });
        } catch (IOException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private String output() {
        try {
            return Files.readString(folder.resolve("server.out"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Nested
    final class OurClientOnQemu extends Contract {
        @Override
        public BlockBackend open() {
            Tools.assume("qemu-nbd");
            Path image = folder.resolve("disk.img");
            Tools.run(folder, "truncate", "-s", Long.toString(SIZE), image.toString());
            return onProgram(
                    "qemu-nbd",
                    "--format=raw",
                    "--discard=unmap",
                    "--persistent",
                    "--shared=8",
                    "--socket=" + socket(),
                    image.toString());
        }
    }

    @Nested
    final class OurClientOnNbdkit extends Contract {
        @Override
        public BlockBackend open() {
            Tools.assume("nbdkit");
            return onProgram("nbdkit", "--foreground", "--unix=" + socket(), "memory", Long.toString(SIZE));
        }
    }

    private byte[] pattern() {
        byte[] bytes = new byte[SIZE];
        new Random(8).nextBytes(bytes);
        java.util.Arrays.fill(bytes, 200_000, 700_000, (byte) 0);
        return bytes;
    }

    private String uri() {
        return "nbd+unix:///?socket=" + socket();
    }

    @Test
    void qemuImgReadsAndWritesWhatWeServe() throws IOException {
        Tools.assume("qemu-img");
        Path source = folder.resolve("source.img");
        Path copy = folder.resolve("copy.img");
        Files.write(source, pattern());
        try (Served served = new Served(memory(false))) {
            assertFalse(served.backend.capabilities().readOnly());
            Tools.run(folder, "qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", source.toString(), uri());
            Tools.run(folder, "qemu-img", "compare", "-f", "raw", "-F", "raw", source.toString(), uri());
            Tools.run(folder, "qemu-img", "convert", "-f", "raw", "-O", "raw", uri(), copy.toString());
            assertTrue(Tools.run(folder, "qemu-img", "info", uri()).contains("1 MiB"));
        }
        assertArrayEquals(Files.readAllBytes(source), Files.readAllBytes(copy));
    }

    @Test
    void nbdcopyCopiesBothWays() throws IOException {
        Tools.assume("nbdcopy");
        Path source = folder.resolve("source.img");
        Path copy = folder.resolve("copy.img");
        Files.write(source, pattern());
        try (Served served = new Served(memory(false))) {
            assertEquals(0, served.server.connections());
            Tools.run(folder, "nbdcopy", "--flush", source.toString(), uri());
            Tools.run(folder, "nbdcopy", uri(), copy.toString());
            Tools.Result info = Tools.tryRun(folder, "nbdinfo", uri());
            assertEquals(0, info.exitCode(), info.output());
            assertTrue(info.output().contains("export-size: 1048576"), info.output());
            assertTrue(info.output().contains("can_multi_conn: true"), info.output());
        }
        assertArrayEquals(Files.readAllBytes(source), Files.readAllBytes(copy));
    }

    @Test
    void wrongExportIsRefusedByName() {
        try (Served served = new Served(memory(false))) {
            assertEquals(UnixDomainSocketAddress.of(socket()), served.server.address());
            NbdOptions wrong = new NbdOptions(
                    Optional.of("nbd+unix:///other?socket=" + socket()),
                    Optional.empty(),
                    10809,
                    Optional.empty(),
                    "",
                    false,
                    1,
                    30_000_000_000L);

            BenchtopException error = assertThrows(
                    BenchtopException.class, () -> BlockTypes.open("nbd", wrong, BlockTypes.context(folder)));

            assertTrue(error.getMessage().contains("no export \"other\""), error.getMessage());
        }
    }

    @Test
    void tcpWorksAndAnAddressInUseIsOneClearLine() {
        try (LinuxEventLoop loop = LinuxEventLoop.start("nbd");
                BlockBackend backend = memory(false);
                NbdServer server = NbdServer.listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        backend,
                        NbdServer.Settings.defaults(),
                        loop)) {
            InetSocketAddress address = (InetSocketAddress) server.address();
            NbdOptions options = new NbdOptions(
                    Optional.empty(),
                    Optional.of("localhost"),
                    address.getPort(),
                    Optional.empty(),
                    "",
                    false,
                    1,
                    30_000_000_000L);
            try (BlockBackend nbd = BlockTypes.open("nbd", options, BlockTypes.context(folder));
                    BlockClient client = new BlockClient(nbd, loop)) {
                byte[] data = pattern();
                assertEquals(BlockStatus.OK, client.write(0, data));
                assertArrayEquals(data, client.read(0, SIZE));
            }
            BenchtopException error = assertThrows(
                    BenchtopException.class,
                    () -> NbdServer.listen(address, backend, NbdServer.Settings.defaults(), loop));
            assertTrue(error.getMessage().contains("in use"), error.getMessage());
        }
    }

    @Test
    void clientsBeyondTheLimitAreTurnedAway() {
        try (LinuxEventLoop loop = LinuxEventLoop.start("nbd");
                BlockBackend backend = memory(false);
                NbdServer server = NbdServer.listen(socket(), backend, new NbdServer.Settings("", false, 1), loop);
                BlockBackend first = connect(socket(), 1)) {
            assertEquals(1, server.connections());
            assertThrows(BenchtopException.class, () -> connect(socket(), 1));
            assertFalse(first.capabilities().readOnly());
        }
    }

    @Test
    void serverEndsRequestsOfAClientThatDisappears() throws IOException {
        try (Served served = new Served(memory(false))) {
            for (int i = 0; i < 20; i++) {
                try (SocketChannel channel = negotiated()) {
                    for (int request = 0; request < 50; request++) {
                        write(channel, request(0, 0, 512L * request, 65536));
                    }
                }
            }
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (served.server.connections() > 0) {
                assertTrue(System.nanoTime() < deadline, "connections stay behind");
                Thread.onSpinWait();
            }
        }
    }

    private SocketChannel negotiated() throws IOException {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        channel.connect(UnixDomainSocketAddress.of(socket()));
        read(channel, 18);
        write(channel, ByteBuffer.allocate(4).putInt(3));
        write(
                channel,
                ByteBuffer.allocate(16).putLong(0x49484156454F5054L).putInt(1).putInt(0));
        read(channel, 10);
        return channel;
    }

    private static ByteBuffer request(int command, int flags, long offset, int length) {
        return ByteBuffer.allocate(28)
                .putInt(0x25609513)
                .putShort((short) flags)
                .putShort((short) command)
                .putLong(77)
                .putLong(offset)
                .putInt(length);
    }

    private static void write(SocketChannel channel, ByteBuffer buffer) throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    private static ByteBuffer read(SocketChannel channel, int bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new IOException("end of connection");
            }
        }
        return buffer.flip();
    }

    @Test
    void wrongRequestsGetErrorsAndTheConnectionLives() throws IOException {
        try (Served served = new Served(memory(false));
                SocketChannel channel = negotiated()) {
            assertEquals(1, served.server.connections());
            List<Integer> errors = new ArrayList<>();
            for (ByteBuffer wrong : List.of(
                    request(0, 0, SIZE, 512),
                    request(0, 0, 1, 512),
                    request(0, 0, -512, 512),
                    request(4, 0, SIZE - 512, 1024),
                    request(99, 0, 0, 512),
                    request(0, 0x80, 0, 512),
                    request(0, 0, 0, 64 << 20),
                    request(3, 0, 0, 0))) {
                write(channel, wrong);
                ByteBuffer reply = read(channel, 16);
                assertEquals(0x67446698, reply.getInt());
                errors.add(reply.getInt());
                assertEquals(77, reply.getLong());
            }
            assertEquals(List.of(22, 22, 22, 28, 22, 22, 22, 0), errors);
        }
    }

    @Test
    void rubbishFromAClientDoesNotHurtOthers() throws IOException {
        Long given = Long.getLong("benchtop.test.seed");
        long seed = given == null ? new Random().nextLong() : given;
        Random random = new Random(seed);
        try (Served served = new Served(memory(false));
                BlockBackend good = connect(socket(), 1);
                BlockClient client = new BlockClient(good, served.loop)) {
            byte[] data = pattern();
            assertEquals(BlockStatus.OK, client.write(0, data));
            for (int i = 0; i < 100; i++) {
                byte[] rubbish = new byte[random.nextInt(300)];
                random.nextBytes(rubbish);
                try (SocketChannel channel = random.nextBoolean() ? negotiated() : connected()) {
                    if (random.nextBoolean()) {
                        // Reads and unknown commands only: a write that happens to be valid would be obeyed.
                        write(
                                channel,
                                request(random.nextInt(100) == 0 ? 99 : 0, 0, random.nextLong(), random.nextInt()));
                    }
                    write(channel, ByteBuffer.allocate(rubbish.length).put(rubbish));
                } catch (IOException e) {
                    // The server has had enough of it already.
                    assertTrue(served.server.connections() >= 1);
                }
            }
            assertArrayEquals(data, client.read(0, SIZE), "seed " + seed);
        }
    }

    private SocketChannel connected() throws IOException {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        channel.connect(UnixDomainSocketAddress.of(socket()));
        return channel;
    }
}
