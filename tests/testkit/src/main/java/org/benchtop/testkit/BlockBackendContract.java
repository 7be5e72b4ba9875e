package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * What every {@link BlockBackend} must do: implement this in a test class and supply backends.
 *
 * <p>{@code -Dbenchtop.test.seed=N} repeats the random parts of a failure.
 */
public interface BlockBackendContract {
    /** The size of the backends of these tests. */
    long SIZE_BYTES = 1 << 20;

    /** A new writable backend of {@link #SIZE_BYTES} that reads as zeroes. Called once in a test. */
    BlockBackend open();

    /** A read-only backend of {@link #SIZE_BYTES}; empty where the type has none. */
    default Optional<BlockBackend> openReadOnly() {
        return Optional.empty();
    }

    /** Whether written data can be read back; not so for a backend that throws it away. */
    default boolean storesData() {
        return true;
    }

    /** A loop for queues of {@link #open}; the default runs on the test's thread. */
    default EventLoop newLoop(String name) {
        return new FakeEventLoop(name, new FakeClock());
    }

    /** Ends a loop of {@link #newLoop}. */
    default void closeLoop(EventLoop loop) {}

    /** The seed of random parts. */
    default long seed() {
        Long given = Long.getLong("benchtop.test.seed");
        return given == null ? new Random().nextLong() : given;
    }

    /** A test body with an open backend and a client on it. */
    @FunctionalInterface
    interface Body {
        /** Runs the test. */
        void run(BlockBackend backend, BlockClient client);
    }

    private void with(BlockBackend backend, Body body) {
        EventLoop loop = newLoop("contract");
        try (backend;
                BlockClient client = new BlockClient(backend, loop)) {
            body.run(backend, client);
        } finally {
            closeLoop(loop);
        }
    }

    private static byte[] pattern(long seed, int lengthBytes) {
        byte[] bytes = new byte[lengthBytes];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @Test
    default void capabilitiesAreSane() {
        with(open(), (backend, client) -> {
            BlockCapabilities capabilities = backend.capabilities();
            assertEquals(SIZE_BYTES, capabilities.sizeBytes());
            assertTrue(
                    capabilities.logicalBlockSizeBytes() == 512 || capabilities.logicalBlockSizeBytes() == 4096,
                    "logical block size " + capabilities.logicalBlockSizeBytes());
            assertEquals(0, capabilities.sizeBytes() % capabilities.logicalBlockSizeBytes());
            assertTrue(capabilities.physicalBlockSizeBytes() >= capabilities.logicalBlockSizeBytes());
            assertTrue(capabilities.maxSegments() >= 1);
            assertTrue(capabilities.maxTransferBytes() >= 65536);
            assertFalse(capabilities.readOnly());
            assertFalse(backend.describe().isBlank());
        });
    }

    @Test
    default void newBackendReadsAsZeroes() {
        with(open(), (backend, client) -> assertArrayEquals(new byte[65536], client.read(SIZE_BYTES - 65536, 65536)));
    }

    @Test
    default void writtenDataReadsBack() {
        Assumptions.assumeTrue(storesData());
        with(open(), (backend, client) -> {
            byte[] first = pattern(1, 4096);
            byte[] last = pattern(2, 8192);

            assertEquals(BlockStatus.OK, client.write(0, first));
            assertEquals(BlockStatus.OK, client.write(SIZE_BYTES - last.length, last));

            assertArrayEquals(first, client.read(0, first.length));
            assertArrayEquals(last, client.read(SIZE_BYTES - last.length, last.length));
            assertArrayEquals(new byte[4096], client.read(4096, 4096));
        });
    }

    @Test
    default void oneBlockWriteLeavesItsNeighboursAlone() {
        Assumptions.assumeTrue(storesData());
        with(open(), (backend, client) -> {
            int block = backend.capabilities().logicalBlockSizeBytes();
            byte[] model = pattern(3, 8 * block);
            client.write(0, model);

            byte[] one = pattern(4, block);
            assertEquals(BlockStatus.OK, client.write(3L * block, one));

            System.arraycopy(one, 0, model, 3 * block, block);
            assertArrayEquals(model, client.read(0, 8 * block));
        });
    }

    @Test
    default void accessBeyondTheEndIsOutOfRange() {
        with(open(), (backend, client) -> {
            int block = backend.capabilities().logicalBlockSizeBytes();
            for (long offset : new long[] {SIZE_BYTES, SIZE_BYTES - block, -block, Long.MAX_VALUE - block + 1}) {
                assertEquals(BlockStatus.OUT_OF_RANGE, client.tryRead(offset, 2 * block), "read at " + offset);
                assertEquals(BlockStatus.OUT_OF_RANGE, client.write(offset, new byte[2 * block]), "write at " + offset);
                assertEquals(BlockStatus.OUT_OF_RANGE, client.writeZeroes(offset, 2L * block, true), "at " + offset);
            }
            assertEquals(BlockStatus.OUT_OF_RANGE, client.writeZeroes(block, Long.MAX_VALUE - block + 1, false));
            assertEquals(BlockStatus.OK, client.tryRead(SIZE_BYTES - block, block));
        });
    }

    @Test
    default void unalignedAccessIsOutOfRange() {
        with(open(), (backend, client) -> {
            int block = backend.capabilities().logicalBlockSizeBytes();
            assertEquals(BlockStatus.OUT_OF_RANGE, client.tryRead(1, block));
            assertEquals(BlockStatus.OUT_OF_RANGE, client.tryRead(0, block - 1));
            assertEquals(BlockStatus.OUT_OF_RANGE, client.write(block / 2, new byte[block]));
            assertEquals(BlockStatus.OUT_OF_RANGE, client.write(0, new byte[block + 1]));
            assertEquals(BlockStatus.OUT_OF_RANGE, client.writeZeroes(0, block + 1, true));
        });
    }

    @Test
    default void zeroLengthRequestsSucceed() {
        with(open(), (backend, client) -> {
            assertEquals(BlockStatus.OK, client.tryRead(0, 0));
            assertEquals(BlockStatus.OK, client.write(SIZE_BYTES, new byte[0]));
            assertEquals(BlockStatus.OK, client.writeZeroes(0, 0, true));
        });
    }

    @Test
    default void flushAndDurableWriteSucceed() {
        with(open(), (backend, client) -> {
            byte[] data = pattern(5, 4096);
            assertEquals(BlockStatus.OK, client.flush());
            assertEquals(BlockStatus.OK, client.write(8192, data, true));
            assertEquals(BlockStatus.OK, client.flush());
            if (storesData()) {
                assertArrayEquals(data, client.read(8192, 4096));
            }
        });
    }

    @Test
    default void discardedBlocksReadAsBeforeOrZero() {
        Assumptions.assumeTrue(storesData());
        with(open(), (backend, client) -> {
            int block = backend.capabilities().logicalBlockSizeBytes();
            byte[] before = pattern(6, 64 * block);
            client.write(0, before);

            BlockStatus status = client.discard(block, 40L * block);

            assertTrue(status == BlockStatus.OK || status == BlockStatus.UNSUPPORTED, "discard: " + status);
            assertTrue(!backend.capabilities().discard() || status == BlockStatus.OK, "discard is announced");
            byte[] after = client.read(0, 64 * block);
            for (int i = 0; i < 64; i++) {
                byte[] now = Arrays.copyOfRange(after, i * block, (i + 1) * block);
                boolean old = Arrays.equals(now, Arrays.copyOfRange(before, i * block, (i + 1) * block));
                boolean inside = i >= 1 && i < 41;
                assertTrue(old || inside && Arrays.equals(now, new byte[block]), "block " + i + " after discard");
            }
        });
    }

    @Test
    default void zeroedBlocksReadAsZero() {
        Assumptions.assumeTrue(storesData());
        with(open(), (backend, client) -> {
            int block = backend.capabilities().logicalBlockSizeBytes();
            byte[] model = pattern(7, 64 * block);
            client.write(0, model);

            assertEquals(BlockStatus.OK, client.writeZeroes(block, 33L * block, true));
            assertEquals(BlockStatus.OK, client.writeZeroes(50L * block, block, false));

            Arrays.fill(model, block, 34 * block, (byte) 0);
            Arrays.fill(model, 50 * block, 51 * block, (byte) 0);
            assertArrayEquals(model, client.read(0, 64 * block));
        });
    }

    @Test
    default void scatteredBuffersOfOddSizesAndAddressesAreTransferred() {
        Assumptions.assumeTrue(storesData());
        with(open(), (backend, client) -> {
            int length = 16384;
            int segments = Math.min(9, backend.capabilities().maxSegments());
            byte[] data = pattern(8, length);
            MemorySegment memory = Arena.ofAuto().allocate(4L * length, 4096);
            BlockRequest.Write write = new BlockRequest.Write();
            scatter(write.buffer(), memory, length, segments);
            write.buffer().copyFrom(0, MemorySegment.ofArray(data), 0, length);
            assertEquals(BlockStatus.OK, client.submit(write.at(4096)));
            assertArrayEquals(data, client.read(4096, length));

            memory.fill((byte) 0x77);
            BlockRequest.Read read = new BlockRequest.Read();
            scatter(read.buffer(), memory, length, segments);
            assertEquals(BlockStatus.OK, client.submit(read.at(4096)));
            byte[] gathered = new byte[length];
            read.buffer().copyTo(0, MemorySegment.ofArray(gathered), 0, length);
            assertArrayEquals(data, gathered);
            assertEquals(0x77, memory.get(ValueLayout.JAVA_BYTE, 0), "a byte beside the buffers changed");
        });
    }

    private static void scatter(org.benchtop.spi.memory.IoVector vector, MemorySegment memory, int length, int count) {
        long at = 3;
        int left = length;
        for (int i = 0; i < count; i++) {
            int take = i == count - 1 ? left : Math.min(left, 1 + 997 * i);
            vector.add(memory, at, take);
            at += take + 1 + 2L * i;
            left -= take;
        }
    }

    @Test
    default void manyRequestsInFlightCompleteOnceEach() {
        with(open(), (backend, client) -> {
            int block = Math.max(4096, backend.capabilities().logicalBlockSizeBytes());
            int count = 128;
            MemorySegment memory = Arena.ofAuto().allocate((long) count * block, 4096);
            int[] completions = new int[count];
            int[] total = new int[1];
            List<BlockStatus> bad = new ArrayList<>();
            EventLoop loop = newLoop("many");
            try (BlockClient other = new BlockClient(backend, loop)) {
                loop.call(() -> {
                    for (int i = 0; i < count; i++) {
                        memory.asSlice((long) i * block, block).fill((byte) (i + 1));
                        BlockRequest.Write write = new BlockRequest.Write();
                        write.buffer().add(memory, (long) i * block, block);
                        int index = i;
                        other.queue().submit(write.at((long) i * block), (request, status) -> {
                            completions[index]++;
                            total[0]++;
                            if (status != BlockStatus.OK) {
                                bad.add(status);
                            }
                        });
                    }
                    other.queue().kick();
                });
                int[] seen = new int[1];
                BlockClient.await(
                        loop,
                        () -> {
                            loop.call(() -> seen[0] = total[0]);
                            return seen[0] >= count;
                        },
                        "128 writes");
                assertEquals(List.of(), bad);
                assertTrue(Arrays.stream(completions).allMatch(times -> times == 1), Arrays.toString(completions));
                if (storesData()) {
                    byte[] all = other.read(0, count * block);
                    for (int i = 0; i < count; i++) {
                        assertEquals((byte) (i + 1), all[i * block], "block " + i);
                        assertEquals((byte) (i + 1), all[(i + 1) * block - 1], "block " + i);
                    }
                }
            } finally {
                closeLoop(loop);
            }
        });
    }

    @Test
    default void twoQueuesOnTwoThreadsAgreeWithAModel() {
        Assumptions.assumeTrue(storesData());
        long seed = seed();
        try (BlockBackend backend = open()) {
            int block = backend.capabilities().logicalBlockSizeBytes();
            List<CompletableFuture<byte[]>> models = new ArrayList<>();
            for (int worker = 0; worker < 2; worker++) {
                int mine = worker;
                models.add(CompletableFuture.supplyAsync(
                        () -> work(backend, block, mine, new Random(seed + mine)),
                        task -> Thread.ofPlatform().start(task)));
            }
            byte[] even = models.get(0).join();
            byte[] odd = models.get(1).join();
            EventLoop loop = newLoop("judge");
            try (BlockClient client = new BlockClient(backend, loop)) {
                byte[] stored = client.read(0, even.length);
                for (int i = 0; i < stored.length; i++) {
                    byte expected = i / block % 2 == 0 ? even[i] : odd[i];
                    assertEquals(expected, stored[i], "byte " + i + " (repeat with -Dbenchtop.test.seed=" + seed + ")");
                }
            } finally {
                closeLoop(loop);
            }
        }
    }

    /** Random writes, zeroes, discards and checked reads of every second block. */
    private byte[] work(BlockBackend backend, int block, int mine, Random random) {
        int blocks = (int) Math.min(256, SIZE_BYTES / block);
        byte[] model = new byte[blocks * block];
        EventLoop loop = newLoop("worker" + mine);
        try (BlockClient client = new BlockClient(backend, loop)) {
            for (int i = 0; i < 400; i++) {
                int at = (random.nextInt(blocks / 2) * 2 + mine) * block;
                switch (random.nextInt(6)) {
                    case 0, 1, 2 -> {
                        byte[] data = new byte[block];
                        random.nextBytes(data);
                        System.arraycopy(data, 0, model, at, block);
                        assertEquals(BlockStatus.OK, client.write(at, data, random.nextInt(8) == 0));
                    }
                    case 3 -> {
                        Arrays.fill(model, at, at + block, (byte) 0);
                        assertEquals(BlockStatus.OK, client.writeZeroes(at, block, random.nextBoolean()));
                    }
                    case 4 -> assertEquals(BlockStatus.OK, client.flush());
                    default -> assertArrayEquals(Arrays.copyOfRange(model, at, at + block), client.read(at, block));
                }
            }
        } finally {
            closeLoop(loop);
        }
        return model;
    }

    @Test
    default void overlappingWritesDoNotTearABlock() {
        Assumptions.assumeTrue(storesData());
        try (BlockBackend backend = open()) {
            int block = backend.capabilities().logicalBlockSizeBytes();
            List<CompletableFuture<Void>> workers = new ArrayList<>();
            for (int worker = 0; worker < 2; worker++) {
                byte stamp = (byte) (worker + 1);
                workers.add(CompletableFuture.runAsync(
                        () -> {
                            EventLoop loop = newLoop("stamp" + stamp);
                            byte[] data = new byte[16 * block];
                            Arrays.fill(data, stamp);
                            try (BlockClient client = new BlockClient(backend, loop)) {
                                for (int i = 0; i < 50; i++) {
                                    assertEquals(BlockStatus.OK, client.write((long) (i % 3) * block, data));
                                }
                            } finally {
                                closeLoop(loop);
                            }
                        },
                        task -> Thread.ofPlatform().start(task)));
            }
            workers.forEach(CompletableFuture::join);
            EventLoop loop = newLoop("judge");
            try (BlockClient client = new BlockClient(backend, loop)) {
                byte[] stored = client.read(0, 18 * block);
                for (int i = 0; i < 18; i++) {
                    for (int j = 1; j < block; j++) {
                        assertEquals(stored[i * block], stored[i * block + j], "block " + i + " is torn");
                    }
                }
            } finally {
                closeLoop(loop);
            }
        }
    }

    @Test
    default void readOnlyBackendRefusesChanges() {
        Optional<BlockBackend> backend = openReadOnly();
        Assumptions.assumeTrue(backend.isPresent(), "the type has no read-only mode");
        with(backend.get(), (readOnly, client) -> {
            assertTrue(readOnly.capabilities().readOnly());
            assertEquals(BlockStatus.READ_ONLY, client.write(0, new byte[4096]));
            assertEquals(BlockStatus.READ_ONLY, client.writeZeroes(0, 4096, true));
            assertEquals(BlockStatus.READ_ONLY, client.discard(0, 4096));
            assertEquals(BlockStatus.OK, client.tryRead(0, 4096));
            assertEquals(BlockStatus.OK, client.flush());
        });
    }

    @Test
    default void backendWorksAfterErrorsAndCloses() {
        with(open(), (backend, client) -> {
            client.tryRead(SIZE_BYTES, 4096);
            client.write(-4096, new byte[4096]);

            assertEquals(BlockStatus.OK, client.write(0, new byte[4096]));
            assertEquals(BlockStatus.OK, client.tryRead(0, 4096));
        });
    }

    @Test
    default void requestCanBeSubmittedAgainFromItsCompletion() {
        EventLoop loop = newLoop("again");
        try (BlockBackend backend = open();
                BlockClient client = new BlockClient(backend, loop)) {
            int[] left = {1000};
            BlockRequest.Flush flush = new BlockRequest.Flush();
            BlockRequest.Read read = new BlockRequest.Read();
            read.buffer().add(Arena.ofAuto().allocate(4096, 4096), 0, 4096);
            read.at(0);
            loop.call(() -> client.queue().submit(read, new org.benchtop.spi.block.BlockCompletion() {
                private int depth;

                @Override
                public void completed(BlockRequest request, BlockStatus status) {
                    assertEquals(BlockStatus.OK, status);
                    if (--left[0] > 0 && depth < 16) {
                        depth++;
                        client.queue().submit(request, this);
                        client.queue().kick();
                        depth--;
                    } else if (left[0] > 0) {
                        loop.execute(() -> client.queue().submit(request, this));
                    }
                }
            }));
            int[] seen = new int[1];
            BlockClient.await(
                    loop,
                    () -> {
                        loop.call(() -> seen[0] = left[0]);
                        return seen[0] <= 0;
                    },
                    "1000 chained reads");
            assertEquals(BlockStatus.OK, client.submit(flush));
        } finally {
            closeLoop(loop);
        }
    }
}
