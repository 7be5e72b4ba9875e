package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.benchtop.block.BlockPlugin;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.testkit.FakeCreateContext;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Many event loops on one qcow2 image, woken by doorbells and by threads that borrow their turns as vCPUs do, standing
 * still between rounds as a paused machine does. A wake-up that is lost is a round that does not end.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class Qcow2StressTest {
    private static final int LOOPS = 4;
    private static final int DEPTH = 8;
    private static final int ROUNDS = 25;
    private static final int REQUESTS_PER_ROUND = 60;
    private static final int BLOCK = 4096;
    private static final long SIZE = 16L << 20;
    private static final long TIMEOUT_SECONDS = 120;

    @TempDir
    private Path folder = Path.of("");

    private final AtomicReference<Optional<String>> failure = new AtomicReference<>(Optional.empty());

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    /** The work of one loop, in its own part of the disk, so that it knows what it has written. */
    private final class Worker {
        private final LinuxEventLoop loop;
        private final BlockQueue queue;
        private final Random random;
        private final long firstBlock;
        private final int[] stamps = new int[(int) (SIZE / LOOPS / BLOCK)];
        private final boolean[] busy = new boolean[stamps.length];
        private final List<Slot> idle = new ArrayList<>();
        private final Doorbell doorbell;
        private int left;
        private int nextStamp = 1;
        private CountDownLatch roundDone = new CountDownLatch(0);

        Worker(LinuxEventLoop loop, BlockQueue queue, int index, long seed, Arena arena) {
            this.loop = loop;
            this.queue = queue;
            this.random = new Random(seed + index);
            this.firstBlock = (long) index * stamps.length;
            this.doorbell = loop.doorbell("stress" + index, this::pump);
            for (int i = 0; i < DEPTH; i++) {
                idle.add(new Slot(arena.allocate(BLOCK, 4096)));
            }
        }

        CountDownLatch beginRound() {
            CountDownLatch done = new CountDownLatch(1);
            loop.call(() -> {
                left = REQUESTS_PER_ROUND;
                roundDone = done;
            });
            return done;
        }

        /** As a notification of a vCPU: in a lent turn where the loop sleeps, by the doorbell otherwise. */
        void notifyFromElsewhere() {
            if (!loop.tryRun(this::pump)) {
                doorbell.ring();
            }
        }

        private void pump() {
            while (left > 0 && !idle.isEmpty()) {
                int block = random.nextInt(stamps.length);
                if (busy[block]) {
                    continue;
                }
                left--;
                busy[block] = true;
                idle.removeLast().start(block);
            }
            queue.kick();
            if (left == 0 && idle.size() == DEPTH) {
                roundDone.countDown();
            }
        }

        private final class Slot implements BlockCompletion {
            private final MemorySegment memory;
            private final BlockRequest.Read read = new BlockRequest.Read();
            private final BlockRequest.Write write = new BlockRequest.Write();
            private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
            private final BlockRequest.Flush flush = new BlockRequest.Flush();
            private int block;
            private int stamp;

            Slot(MemorySegment memory) {
                this.memory = memory;
                read.buffer().add(memory, 0, BLOCK);
                write.buffer().add(memory, 0, BLOCK);
            }

            void start(int newBlock) {
                block = newBlock;
                long at = (firstBlock + block) * BLOCK;
                switch (random.nextInt(8)) {
                    case 0 -> {
                        stamp = 0;
                        queue.submit(zeroes.at(at, BLOCK, true), this);
                    }
                    case 1 -> {
                        stamp = stamps[block];
                        queue.submit(flush, this);
                    }
                    case 2, 3, 4 -> {
                        stamp = stamps[block];
                        memory.fill((byte) 0xee);
                        queue.submit(read.at(at), this);
                    }
                    default -> {
                        stamp = nextStamp++;
                        for (long i = 0; i < BLOCK; i += 4) {
                            memory.set(ValueLayout.JAVA_INT, i, stamp);
                        }
                        queue.submit(write.at(at), this);
                    }
                }
            }

            @Override
            public void completed(BlockRequest request, BlockStatus status) {
                if (status != BlockStatus.OK) {
                    failure.set(Optional.of(request + ": " + status));
                }
                if (request == read) {
                    for (long i = 0; i < BLOCK; i += 4) {
                        if (memory.get(ValueLayout.JAVA_INT, i) != stamp) {
                            failure.set(Optional.of("block " + (firstBlock + block) + " holds "
                                    + memory.get(ValueLayout.JAVA_INT, i) + " instead of " + stamp));
                        }
                    }
                }
                stamps[block] = stamp;
                busy[block] = false;
                idle.add(this);
                pump();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = HostFileOptions.Aio.class,
            names = {"THREADS", "IO_URING"})
    void everyRequestOfManyLoopsIsCompleted(HostFileOptions.Aio aio) throws Exception {
        long seed = Long.getLong("benchtop.test.seed", 1);
        FakeCreateContext context = BlockTypes.context(folder);
        ImageFormat qcow2 = new BlockPlugin()
                .imageFormats().stream()
                        .filter(format -> format.name().equals("qcow2"))
                        .findFirst()
                        .orElseThrow();
        Path file = folder.resolve("disk.qcow2");
        qcow2.create(
                new ImageCreation(file, SIZE, Optional.empty(), Map.of("cluster_size", "8192", "extended_l2", "off")),
                context);
        ImageOpen how =
                ImageOpen.readOnly(file).writable(true).cache(CacheMode.UNSAFE).aio(aio, 4);
        List<LinuxEventLoop> loops = new ArrayList<>();
        try (Arena arena = Arena.ofShared();
                Image image = qcow2.open(how, context)) {
            List<Worker> workers = new ArrayList<>();
            for (int i = 0; i < LOOPS; i++) {
                LinuxEventLoop loop = LinuxEventLoop.start("stress" + i);
                loops.add(loop);
                workers.add(new Worker(loop, image.openQueue(loop), i, seed, arena));
            }
            for (int round = 0; round < ROUNDS; round++) {
                List<CountDownLatch> done =
                        workers.stream().map(Worker::beginRound).toList();
                workers.forEach(Worker::notifyFromElsewhere);
                for (int i = 0; i < LOOPS; i++) {
                    assertTrue(
                            done.get(i).await(TIMEOUT_SECONDS, TimeUnit.SECONDS),
                            "loop " + i + " does not end round " + round + " (seed " + seed + ")");
                }
                assertEquals(Optional.empty(), failure.get(), "seed " + seed);
            }
            for (Worker worker : workers) {
                worker.loop.call(worker.queue::close);
                worker.doorbell.close();
            }
        } finally {
            loops.forEach(LinuxEventLoop::close);
        }
        try (Image image = qcow2.open(ImageOpen.readOnly(file), context)) {
            ImageCheck check = image.check(ImageCheck.Repair.NONE);
            assertEquals(0, check.corruptions(), () -> check.messages().toString());
            assertEquals(0, check.leaks(), () -> check.messages().toString());
        }
    }
}
