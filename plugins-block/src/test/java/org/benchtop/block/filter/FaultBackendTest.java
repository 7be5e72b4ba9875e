package org.benchtop.block.filter;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeStats;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;

final class FaultBackendTest {
    private final FakeEventLoop loop = new FakeEventLoop();
    private final HeldBlockBackend disk = new HeldBlockBackend(1 << 20).automatic();
    private final FakeStats stats = new FakeStats();

    private static FaultOptions.Rule rule(
            FaultOptions.Op op,
            long after,
            long every,
            Optional<Long> count,
            Optional<FaultOptions.Effect> effect,
            Optional<FaultOptions.Result> result) {
        return new FaultOptions.Rule(op, 0, Optional.empty(), after, every, count, 1, 0, effect, result, 512);
    }

    private static FaultOptions.Rule failing(FaultOptions.Op op) {
        return rule(op, 0, 1, Optional.empty(), Optional.empty(), Optional.empty());
    }

    private BlockClient client(FaultOptions.Rule... rules) {
        return new BlockClient(
                new FaultBackend(new FaultOptions("below", List.of(rules), 7), disk, loop.clock(), stats), loop);
    }

    private static byte[] bytes(int value, int length) {
        byte[] data = new byte[length];
        Arrays.fill(data, (byte) value);
        return data;
    }

    @Test
    void onlyTheKindThatTheRuleNamesFails() {
        try (BlockClient client = client(failing(FaultOptions.Op.READ))) {
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 512));
            assertEquals(BlockStatus.OK, client.write(0, bytes(1, 512)));
            assertEquals(BlockStatus.OK, client.flush());
            assertEquals(1, stats.value("faults"));
        }
    }

    @Test
    void afterEveryAndCountChooseRequests() {
        try (BlockClient client =
                client(rule(FaultOptions.Op.READ, 2, 3, Optional.of(2L), Optional.empty(), Optional.empty()))) {
            List<Integer> failed = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                if (client.tryRead(0, 512) != BlockStatus.OK) {
                    failed.add(i);
                }
            }
            assertEquals(List.of(2, 5), failed);
        }
    }

    @Test
    void rangeChoosesRequestsThatTouchIt() {
        FaultOptions.Rule range = new FaultOptions.Rule(
                FaultOptions.Op.ANY,
                4096,
                Optional.of(1024L),
                0,
                1,
                Optional.empty(),
                1,
                0,
                Optional.empty(),
                Optional.of(FaultOptions.Result.NO_SPACE),
                512);
        try (BlockClient client = client(range)) {
            assertEquals(BlockStatus.OK, client.tryRead(0, 4096));
            assertEquals(BlockStatus.NO_SPACE, client.tryRead(0, 4608));
            assertEquals(BlockStatus.NO_SPACE, client.tryRead(4608, 512));
            assertEquals(BlockStatus.OK, client.tryRead(5120, 512));
        }
    }

    @Test
    void failedWriteChangesNothing() {
        try (BlockClient client = client(failing(FaultOptions.Op.WRITE))) {
            assertEquals(BlockStatus.IO_ERROR, client.write(0, bytes(1, 1024)));
            assertArrayEquals(new byte[1024], disk.bytes(0, 1024));
        }
    }

    @Test
    void tornWriteChangesItsFirstBlocksOnly() {
        try (BlockClient client = client(rule(
                FaultOptions.Op.WRITE,
                0,
                1,
                Optional.empty(),
                Optional.of(FaultOptions.Effect.TORN),
                Optional.of(FaultOptions.Result.IO_ERROR)))) {
            assertEquals(BlockStatus.IO_ERROR, client.write(0, bytes(1, 1024)));
            assertArrayEquals(bytes(1, 512), disk.bytes(0, 512));
            assertArrayEquals(new byte[512], disk.bytes(512, 512));
        }
    }

    @Test
    void lostWriteIsAcknowledged() {
        try (BlockClient client = client(rule(
                FaultOptions.Op.WRITE,
                0,
                1,
                Optional.empty(),
                Optional.of(FaultOptions.Effect.NONE),
                Optional.empty()))) {
            assertEquals(BlockStatus.OK, client.write(0, bytes(1, 512)));
            assertArrayEquals(new byte[512], disk.bytes(0, 512));
        }
    }

    @Test
    void corruptReadDiffersInOneBit() {
        try (BlockClient client = client(rule(
                FaultOptions.Op.READ,
                0,
                1,
                Optional.of(1L),
                Optional.of(FaultOptions.Effect.CORRUPT),
                Optional.empty()))) {
            byte[] read = client.read(0, 4096);
            int bits = 0;
            for (byte b : read) {
                bits += Integer.bitCount(b & 0xff);
            }
            assertEquals(1, bits);
            assertArrayEquals(new byte[4096], client.read(0, 4096));
        }
    }

    @Test
    void delayHoldsARequestAndDrainLetsItGo() {
        FaultOptions.Rule slow = new FaultOptions.Rule(
                FaultOptions.Op.ANY,
                0,
                Optional.empty(),
                0,
                1,
                Optional.empty(),
                1,
                1_000_000,
                Optional.empty(),
                Optional.empty(),
                512);
        int[] done = new int[1];
        try (BlockClient client = client(slow)) {
            org.benchtop.spi.block.BlockRequest.Flush flush = new org.benchtop.spi.block.BlockRequest.Flush();
            loop.call(() -> client.queue().submit(flush, (request, status) -> done[0]++));
            loop.advance(999_999);
            assertEquals(0, done[0]);
            loop.advance(1);
            assertEquals(1, done[0]);
            loop.call(() -> client.queue().submit(flush, (request, status) -> done[0]++));
            loop.call(() -> client.queue().drain());
            assertEquals(2, done[0]);
        }
        assertEquals(0, loop.openHandles());
    }

    @Test
    void probabilityIsTheSameForTheSameSeed() {
        List<List<BlockStatus>> runs = new ArrayList<>();
        for (int run = 0; run < 2; run++) {
            FaultOptions.Rule rule = new FaultOptions.Rule(
                    FaultOptions.Op.ANY,
                    0,
                    Optional.empty(),
                    0,
                    1,
                    Optional.empty(),
                    0.5,
                    0,
                    Optional.empty(),
                    Optional.empty(),
                    512);
            List<BlockStatus> statuses = new ArrayList<>();
            try (BlockClient client = client(rule)) {
                for (int i = 0; i < 64; i++) {
                    statuses.add(client.tryRead(0, 512));
                }
            }
            runs.add(statuses);
        }
        assertEquals(runs.get(0), runs.get(1));
        assertEquals(32, runs.get(0).stream().filter(s -> s == BlockStatus.OK).count(), 16);
    }

    @Test
    void ruleThatMakesNoSenseIsRefused() {
        assertThrows(
                IllegalArgumentException.class,
                () -> rule(
                        FaultOptions.Op.FLUSH,
                        0,
                        1,
                        Optional.empty(),
                        Optional.of(FaultOptions.Effect.TORN),
                        Optional.empty()));
        assertThrows(
                IllegalArgumentException.class,
                () -> rule(
                        FaultOptions.Op.WRITE,
                        0,
                        1,
                        Optional.empty(),
                        Optional.of(FaultOptions.Effect.CORRUPT),
                        Optional.empty()));
    }
}
