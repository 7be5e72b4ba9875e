package org.benchtop.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeFile;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The power fails after random requests, and any of the sectors that were not synced may or may not have reached the
 * medium. What docs/block.md promises must be there.
 */
final class PowerCutTest {
    private static final int SECTOR = 512;
    private static final int SECTORS = 64;
    private static final int ROUNDS = 60;

    private final Random random = new Random(
            Long.getLong("benchtop.test.seed") == null ? new Random().nextLong() : Long.getLong("benchtop.test.seed"));

    /** What a sector may hold: each value is a stamp that fills the sector, 0 for zeroes. */
    private static final class Model {
        private final List<Set<Integer>> current = new ArrayList<>();
        private final List<Set<Integer>> possible = new ArrayList<>();

        Model() {
            for (int i = 0; i < SECTORS; i++) {
                current.add(new HashSet<>(Set.of(0)));
                possible.add(new HashSet<>(Set.of(0)));
            }
        }

        void begun(int sector, int stamp) {
            possible.get(sector).add(stamp);
        }

        void done(int sector, int stamp, boolean durable) {
            current.get(sector).clear();
            current.get(sector).add(stamp);
            if (durable) {
                durable(sector);
            }
        }

        /** A discarded sector keeps its content or becomes zero. */
        void discarded(int sector) {
            current.get(sector).add(0);
            possible.get(sector).add(0);
        }

        void durable(int sector) {
            possible.set(sector, new HashSet<>(current.get(sector)));
        }

        void flushed() {
            for (int i = 0; i < SECTORS; i++) {
                durable(i);
            }
        }
    }

    private static FileOptions options(CacheMode cache) {
        return new FileOptions(
                Path.of("disk.img"),
                Optional.empty(),
                false,
                false,
                false,
                cache,
                HostFileOptions.Aio.AUTO,
                4,
                FileOptions.DiscardMode.UNMAP,
                true,
                SECTOR,
                Optional.empty());
    }

    @ParameterizedTest
    @CsvSource({
        "WRITEBACK, 512, 4096",
        "NONE, 512, 1000000",
        "NONE, 4096, 4096",
        "WRITETHROUGH, 512, 1000000",
        "DIRECTSYNC, 512, 1024",
        "DIRECTSYNC, 4096, 4096",
    })
    void promisedDataIsThereAndNoSectorIsTorn(CacheMode cache, int directAlignment, long maxBytesPerOperation) {
        for (int round = 0; round < ROUNDS; round++) {
            FakeHostServices host = new FakeHostServices();
            FakeFile file = host.file(Path.of("/fake/disk.img"), SECTORS * SECTOR)
                    .directAlignment(directAlignment)
                    .maxBytesPerOperation(maxBytesPerOperation);
            FakeCreateContext context = new FakeCreateContext("disk0").host(host);
            Model model = new Model();
            BlockBackend backend = new FileType().create(options(cache), context);
            BlockClient client = new BlockClient(backend, context.eventLoop());
            int stamp = run(client, cache, model);
            writeInterrupted(client, file, context, model, stamp + 1);

            file.powerCut(random);

            check(file, model, cache + " round " + round);
        }
    }

    /** Random requests, one after the other; returns the last stamp. */
    private int run(BlockClient client, CacheMode cache, Model model) {
        int stamp = 0;
        int requests = random.nextInt(40);
        for (int i = 0; i < requests; i++) {
            int sector = random.nextInt(SECTORS);
            int count = 1 + random.nextInt(Math.min(16, SECTORS - sector));
            boolean durable = random.nextInt(4) == 0;
            boolean alwaysDurable = !cache.writeCache();
            switch (random.nextInt(8)) {
                case 0 -> {
                    assertEquals(BlockStatus.OK, client.flush());
                    model.flushed();
                }
                case 1 -> {
                    boolean unmap = random.nextBoolean();
                    begin(model, sector, count, 0);
                    assertEquals(
                            BlockStatus.OK, client.writeZeroes((long) sector * SECTOR, (long) count * SECTOR, unmap));
                    done(model, sector, count, 0, alwaysDurable);
                }
                case 2 -> {
                    assertEquals(BlockStatus.OK, client.discard((long) sector * SECTOR, (long) count * SECTOR));
                    for (int s = sector; s < sector + count; s++) {
                        model.discarded(s);
                    }
                }
                default -> {
                    stamp++;
                    begin(model, sector, count, stamp);
                    assertEquals(BlockStatus.OK, client.write((long) sector * SECTOR, bytes(stamp, count), durable));
                    done(model, sector, count, stamp, durable || alwaysDurable);
                }
            }
        }
        return stamp;
    }

    private static void begin(Model model, int sector, int count, int stamp) {
        for (int s = sector; s < sector + count; s++) {
            model.begun(s, stamp);
        }
    }

    private static void done(Model model, int sector, int count, int stamp, boolean durable) {
        for (int s = sector; s < sector + count; s++) {
            model.done(s, stamp, durable);
        }
    }

    private static byte[] bytes(int stamp, int sectors) {
        byte[] bytes = new byte[sectors * SECTOR];
        MemorySegment segment = MemorySegment.ofArray(bytes);
        for (int i = 0; i < bytes.length; i += 4) {
            segment.set(ValueLayout.JAVA_INT_UNALIGNED, i, stamp);
        }
        return bytes;
    }

    /** A write that is under way when the power fails. */
    private void writeInterrupted(
            BlockClient client, FakeFile file, FakeCreateContext context, Model model, int stamp) {
        int sector = random.nextInt(SECTORS - 8);
        byte[] data = bytes(stamp, 8);
        MemorySegment memory = Arena.ofAuto().allocate(data.length, 4096);
        MemorySegment.copy(data, 0, memory, ValueLayout.JAVA_BYTE, 0, data.length);
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(memory, 0, data.length);
        begin(model, sector, 8, stamp);
        file.completion(FakeFile.Completion.HELD);
        context.eventLoop()
                .call(() -> client.queue().submit(write.at((long) sector * SECTOR), (request, status) -> {}));
        for (int steps = random.nextInt(4); steps > 0 && file.held() > 0; steps--) {
            file.completeHeld();
        }
    }

    private static void check(FakeFile file, Model model, String what) {
        for (int sector = 0; sector < SECTORS; sector++) {
            MemorySegment now = MemorySegment.ofArray(file.bytes((long) sector * SECTOR, SECTOR));
            int stamp = now.get(ValueLayout.JAVA_INT_UNALIGNED, 0);
            for (int i = 0; i < SECTOR; i += 4) {
                assertEquals(
                        stamp, now.get(ValueLayout.JAVA_INT_UNALIGNED, i), what + ": sector " + sector + " is torn");
            }
            assertTrue(
                    model.possible.get(sector).contains(stamp),
                    what + ": sector " + sector + " holds " + stamp + ", possible: " + model.possible.get(sector));
        }
    }
}
