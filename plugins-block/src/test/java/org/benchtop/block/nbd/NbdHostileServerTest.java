package org.benchtop.block.nbd;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.benchtop.block.nbd.ScriptedServer.Script;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.nbd.NbdProtocol;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that lie, break off, stay silent or send rubbish. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
final class NbdHostileServerTest {
    @TempDir
    private Path folder = Path.of("");

    private final FakeCreateContext context = new FakeCreateContext("disk0");

    private ScriptedServer server(Script... scripts) {
        return new ScriptedServer(folder.resolve("s" + System.nanoTime()), scripts);
    }

    private static NbdOptions options(Path socket, long timeoutNanos) {
        return new NbdOptions(
                Optional.empty(), Optional.empty(), 10809, Optional.of(socket), "", false, 1, timeoutNanos);
    }

    private BlockBackend open(ScriptedServer server) {
        return new NbdType().create(options(server.socket(), 0), context);
    }

    private String refusal(Script script) {
        try (ScriptedServer server = server(script)) {
            return assertThrows(BenchtopException.class, () -> open(server)).getMessage();
        }
    }

    /** The statuses of reads against a server that negotiates well and then runs a script. */
    private void afterNegotiation(Script script, java.util.function.Consumer<BlockClient> test) {
        try (ScriptedServer server = server((in, out) -> {
                    ScriptedServer.negotiate(in, out, ScriptedServer.SIZE, ScriptedServer.ALL_FLAGS);
                    script.run(in, out);
                });
                BlockBackend backend = open(server);
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            test.accept(client);
        }
    }

    @Test
    void whatIsNoNbdServerIsRefused() {
        String message = refusal((in, out) -> out.writeBytes("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"));
        assertTrue(message.contains("no NBD server"), message);
    }

    @Test
    void oldstyleServerIsRefused() {
        String message = refusal((in, out) -> {
            out.writeLong(NbdProtocol.NBDMAGIC);
            out.writeLong(NbdProtocol.OLDSTYLE_MAGIC);
            out.write(new byte[200]);
        });
        assertTrue(message.contains("oldstyle"), message);
    }

    @Test
    void serverThatHangsUpAtOnceIsRefused() {
        String message = refusal((in, out) -> {});
        assertTrue(message.contains("closed the connection"), message);
    }

    @Test
    void hugeOptionReplyIsRefused() {
        String message = refusal((in, out) -> {
            ScriptedServer.greet(in, out);
            int option = ScriptedServer.option(in);
            out.writeLong(NbdProtocol.OPTION_REPLY_MAGIC);
            out.writeInt(option);
            out.writeInt(NbdProtocol.NBD_REP_ACK);
            out.writeInt(-1);
            in.readByte();
        });
        assertTrue(message.contains("breaks the protocol"), message);
    }

    @Test
    void endlessInformationIsRefused() {
        String message = refusal((in, out) -> {
            ScriptedServer.greet(in, out);
            ScriptedServer.reply(out, ScriptedServer.option(in), NbdProtocol.NBD_REP_ERR_UNSUP, new byte[0]);
            int option = ScriptedServer.option(in);
            while (true) {
                ScriptedServer.reply(out, option, NbdProtocol.NBD_REP_INFO, new byte[4]);
            }
        });
        assertTrue(message.contains("endless"), message);
    }

    @Test
    void refusalOfTheServerIsShownInOneLine() {
        String message = refusal((in, out) -> {
            ScriptedServer.greet(in, out);
            ScriptedServer.reply(out, ScriptedServer.option(in), NbdProtocol.NBD_REP_ERR_UNSUP, new byte[0]);
            ScriptedServer.reply(
                    out, ScriptedServer.option(in), NbdProtocol.NBD_REP_ERR_UNKNOWN, "go\naway\u001b[31m".getBytes());
            in.readByte();
        });
        assertTrue(message.contains("no export") && message.contains("go away"), message);
        assertTrue(message.chars().noneMatch(Character::isISOControl), message);
    }

    @Test
    void sizesThatMakeNoDiskAreRefused() {
        for (long size : new long[] {0, -1, Long.MAX_VALUE, 1000}) {
            String message = refusal((in, out) -> {
                ScriptedServer.negotiate(in, out, size, ScriptedServer.ALL_FLAGS);
                in.readByte();
            });
            assertTrue(message.contains("bytes") || message.contains("size"), message);
        }
    }

    @Test
    void blockSizesThatCannotBeUsedAreRefused() {
        for (int[] sizes : new int[][] {{3, 1 << 20}, {8192, 1 << 20}, {512, 4096}, {-1, -1}, {4096, 512}}) {
            String message = refusal((in, out) -> {
                ScriptedServer.negotiate(
                        in, out, ScriptedServer.SIZE, ScriptedServer.ALL_FLAGS, sizes[0], sizes[1], true);
                in.readByte();
            });
            assertTrue(message.contains("block") || message.contains("request"), message);
        }
    }

    @Test
    void silentServerIsGivenUp() {
        try (ScriptedServer server = server((in, out) -> in.readByte())) {
            String message = assertThrows(
                            BenchtopException.class,
                            () -> new NbdType().create(options(server.socket(), 200_000_000), context))
                    .getMessage();
            assertTrue(message.contains("no answer for 200 ms"), message);
        }
    }

    @Test
    void nobodyListeningIsOneClearLine() {
        String message = assertThrows(
                        BenchtopException.class,
                        () -> new NbdType().create(options(folder.resolve("nobody"), 0), context))
                .getMessage();
        assertTrue(message.contains("nobody") && message.contains("cannot connect"), message);
    }

    @Test
    void replyToNoRequestEndsTheRequestsInFlight() {
        afterNegotiation(
                (in, out) -> {
                    ScriptedServer.Request request = ScriptedServer.request(in);
                    ScriptedServer.simple(out, request.cookie() + 1, 5);
                    in.readByte();
                },
                client -> assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 4096)));
    }

    @Test
    void chunkOutsideItsReadTouchesNothing() {
        for (long shift : new long[] {-1, 1, 1L << 40, Long.MIN_VALUE}) {
            MemorySegment memory = Arena.ofAuto().allocate(3 * 4096, 4096);
            memory.fill((byte) 0x55);
            afterNegotiation(
                    (in, out) -> {
                        ScriptedServer.Request request = ScriptedServer.request(in);
                        ScriptedServer.chunk(
                                out, 1, NbdProtocol.NBD_REPLY_TYPE_OFFSET_DATA, request.cookie(), request.length() + 8);
                        out.writeLong(request.offset() + shift);
                        out.write(new byte[request.length()]);
                        in.readByte();
                    },
                    client -> {
                        BlockRequest.Read read = new BlockRequest.Read();
                        read.buffer().add(memory, 4096, 4096);
                        assertEquals(BlockStatus.IO_ERROR, client.submit(read.at(8192)));
                    });
            for (long i = 0; i < memory.byteSize(); i++) {
                assertEquals(0x55, memory.get(ValueLayout.JAVA_BYTE, i), "byte " + i);
            }
        }
    }

    @Test
    void readWithoutAllItsDataFails() {
        afterNegotiation(
                (in, out) -> {
                    ScriptedServer.Request request = ScriptedServer.request(in);
                    ScriptedServer.chunk(out, 1, NbdProtocol.NBD_REPLY_TYPE_OFFSET_DATA, request.cookie(), 512 + 8);
                    out.writeLong(request.offset());
                    out.write(new byte[512]);
                    in.readByte();
                },
                client -> assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 4096)));
    }

    @Test
    void chunksAndHolesMakeOneRead() {
        byte[] expected = new byte[4096];
        java.util.Arrays.fill(expected, 0, 1024, (byte) 7);
        java.util.Arrays.fill(expected, 2048, 4096, (byte) 9);
        afterNegotiation(
                (in, out) -> {
                    ScriptedServer.Request request = ScriptedServer.request(in);
                    ScriptedServer.chunk(out, 0, NbdProtocol.NBD_REPLY_TYPE_OFFSET_DATA, request.cookie(), 2048 + 8);
                    out.writeLong(request.offset() + 2048);
                    out.write(java.util.Arrays.copyOfRange(expected, 2048, 4096));
                    ScriptedServer.chunk(out, 0, NbdProtocol.NBD_REPLY_TYPE_OFFSET_HOLE, request.cookie(), 12);
                    out.writeLong(request.offset() + 1024);
                    out.writeInt(1024);
                    ScriptedServer.chunk(out, 1, NbdProtocol.NBD_REPLY_TYPE_OFFSET_DATA, request.cookie(), 1024 + 8);
                    out.writeLong(request.offset());
                    out.write(java.util.Arrays.copyOf(expected, 1024));
                    in.readByte();
                },
                client -> assertArrayEquals(expected, client.read(4096, 4096)));
    }

    @Test
    void errorsOfTheServerKeepTheirMeaning() {
        int[] errors = {28, 5, 22, 1};
        BlockStatus[] expected = {BlockStatus.NO_SPACE, BlockStatus.IO_ERROR, BlockStatus.IO_ERROR, BlockStatus.IO_ERROR
        };
        afterNegotiation(
                (in, out) -> {
                    for (int error : errors) {
                        ScriptedServer.simple(out, ScriptedServer.request(in).cookie(), error);
                    }
                    in.readByte();
                },
                client -> {
                    for (BlockStatus status : expected) {
                        assertEquals(status, client.write(0, new byte[512]));
                    }
                });
    }

    @Test
    void connectionIsMadeAgainAndTheLossIsReportedByTheNextFlush() {
        Script first = (in, out) -> {
            ScriptedServer.negotiate(in, out, ScriptedServer.SIZE, ScriptedServer.ALL_FLAGS);
            ScriptedServer.simple(out, ScriptedServer.request(in).cookie(), 0);
            ScriptedServer.request(in);
        };
        Script second = (in, out) -> {
            ScriptedServer.negotiate(in, out, ScriptedServer.SIZE, ScriptedServer.ALL_FLAGS);
            while (true) {
                ScriptedServer.simple(out, ScriptedServer.request(in).cookie(), 0);
            }
        };
        try (ScriptedServer server = server(first, second);
                BlockBackend backend = open(server);
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            assertEquals(BlockStatus.OK, client.write(0, new byte[512]));
            assertEquals(BlockStatus.IO_ERROR, client.write(512, new byte[512]), "the server hangs up");

            assertEquals(BlockStatus.IO_ERROR, client.flush(), "the first write may be lost");
            assertEquals(BlockStatus.OK, client.write(1024, new byte[512]));
            assertEquals(BlockStatus.OK, client.flush());
        }
    }

    @Test
    void anotherExportAfterReconnectingIsRefused() {
        Script first = (in, out) -> {
            ScriptedServer.negotiate(in, out, ScriptedServer.SIZE, ScriptedServer.ALL_FLAGS);
            ScriptedServer.request(in);
        };
        Script second = (in, out) -> {
            ScriptedServer.negotiate(in, out, ScriptedServer.SIZE / 2, ScriptedServer.ALL_FLAGS);
            in.readByte();
        };
        try (ScriptedServer server = server(first, second);
                BlockBackend backend = open(server);
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 512));
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 512));
        }
    }

    @Test
    void serverWithoutOptionalCommandsGetsWritesInstead() {
        List<Integer> commands = new java.util.concurrent.CopyOnWriteArrayList<>();
        try (ScriptedServer server = server((in, out) -> {
                    ScriptedServer.negotiate(
                            in,
                            out,
                            ScriptedServer.SIZE,
                            NbdProtocol.NBD_FLAG_HAS_FLAGS | NbdProtocol.NBD_FLAG_SEND_FLUSH,
                            1,
                            32 << 20,
                            false);
                    while (true) {
                        ScriptedServer.Request request = ScriptedServer.request(in);
                        commands.add(request.command());
                        ScriptedServer.simple(out, request.cookie(), 0);
                    }
                });
                BlockBackend backend = open(server);
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            assertEquals(BlockStatus.OK, client.writeZeroes(0, 65536, true));
            assertEquals(BlockStatus.OK, client.discard(0, 65536));
            assertEquals(BlockStatus.OK, client.write(0, new byte[512], true));

            assertEquals(
                    List.of(NbdProtocol.NBD_CMD_WRITE, NbdProtocol.NBD_CMD_WRITE, NbdProtocol.NBD_CMD_FLUSH), commands);
            assertTrue(!backend.capabilities().discard());
        }
    }

    @Test
    void rubbishNeverLeavesARequestBehind() {
        Long given = Long.getLong("benchtop.test.seed");
        long seed = given == null ? new Random().nextLong() : given;
        for (int round = 0; round < 60; round++) {
            Random random = new Random(seed + round);
            byte[] rubbish = new byte[1 + random.nextInt(400)];
            random.nextBytes(rubbish);
            boolean begins = random.nextBoolean();
            afterNegotiation(
                    (in, out) -> {
                        ScriptedServer.Request request = ScriptedServer.request(in);
                        if (begins) {
                            ScriptedServer.chunk(
                                    out, random.nextInt(2), random.nextInt(4), request.cookie(), random.nextInt(600));
                        }
                        out.write(rubbish);
                    },
                    client -> assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 4096), "seed " + seed));
        }
    }

    @Test
    void addressesAreParsed() {
        assertEquals(new NbdAddress("host", 10809, Optional.empty(), ""), NbdAddress.parse("nbd://host"));
        assertEquals(new NbdAddress("host", 7, Optional.empty(), "a/b c"), NbdAddress.parse("nbd://host:7/a/b%20c"));
        assertEquals(
                new NbdAddress("", 0, Optional.of(Path.of("/run/a b")), "x"),
                NbdAddress.parse("nbd+unix:///x?socket=/run/a%20b"));
        for (String wrong : List.of("nbds://host", "http://host", "nbd+unix:///x", "nbd:///x", ":")) {
            assertThrows(IllegalArgumentException.class, () -> NbdAddress.parse(wrong), wrong);
        }
    }
}
