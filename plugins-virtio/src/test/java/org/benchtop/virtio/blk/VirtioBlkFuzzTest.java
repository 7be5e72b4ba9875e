package org.benchtop.virtio.blk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A guest that does anything: random registers, random rings, random requests. The device must answer or need a reset,
 * keep the rules of its backend, write only where it was told to, and work again after a reset.
 *
 * <p>{@code -Dbenchtop.test.seed=N} repeats a failure; seeds that have found one are kept in {@link #keptSeeds}.
 */
final class VirtioBlkFuzzTest {
    private static final Duration BUDGET = Duration.ofSeconds(5);
    /** RAM that no descriptor of the fuzzer names: the device must never write it. */
    private static final long GUARD_GPA = 0x40_0000;

    private static final int GUARD_BYTES = 0x1_0000;

    static LongStream keptSeeds() {
        return LongStream.rangeClosed(1, 24);
    }

    @ParameterizedTest
    @MethodSource("keptSeeds")
    void keptSeed(long seed) {
        run(seed);
    }

    @Test
    void newSeedsForAWhile() {
        Long given = Long.getLong("benchtop.test.seed");
        if (given != null) {
            run(given);
            return;
        }
        Random seeds = new Random();
        long end = System.nanoTime() + BUDGET.toNanos();
        while (System.nanoTime() < end) {
            run(seeds.nextLong());
        }
    }

    private static void run(long seed) {
        try {
            Assertions.assertTimeout(Duration.ofSeconds(30), () -> new Fuzzer(seed).run());
        } catch (Throwable t) {
            throw new AssertionError("seed " + seed + ": " + t.getMessage(), t);
        }
    }

    private static final class Fuzzer {
        private final Random random;
        private final HeldBlockBackend disk = BlkMachine.disk().automatic();
        private final CrankyBlockBackend drive;
        private final BlkMachine machine;
        private final byte[] guard = new byte[GUARD_BYTES];
        private final byte[] diskBefore;
        private List<FakeVirtQueue> queues = new ArrayList<>();

        Fuzzer(long seed) {
            random = new Random(seed);
            drive = new CrankyBlockBackend(disk, seed)
                    .failing(request ->
                            request.offsetBytes() % 7 == 3 * 512 % 7 ? BlockStatus.IO_ERROR : BlockStatus.OK);
            machine = BlkMachine.stopped(
                    drive,
                    BlkMachine.options()
                            .with(o -> {
                                o.queues = 1 + random.nextInt(3);
                                o.queueSize = 16 << random.nextInt(3);
                                o.readOnly = random.nextInt(8) == 0;
                                o.ioeventfd = random.nextBoolean();
                                o.eventIdx = random.nextInt(4) != 0;
                                o.indirectDesc = random.nextInt(4) != 0;
                            })
                            .build());
            machine.context.memory().recordWritten(false);
            random.nextBytes(guard);
            machine.context.memory().poke(GUARD_GPA, guard);
            disk.poke(0, BlkMachine.pattern((int) BlkMachine.DISK_BYTES, seed));
            diskBefore = disk.bytes(0, (int) BlkMachine.DISK_BYTES);
        }

        void run() {
            for (int round = 0; round < 12; round++) {
                start();
                for (int step = 0; step < 60; step++) {
                    step();
                }
                machine.context.runPending();
            }
            assertEquals(List.of(), drive.violations());
            assertTrue(
                    java.util.Arrays.equals(guard, machine.context.memory().bytes(GUARD_GPA, GUARD_BYTES)),
                    "memory that was not offered has changed");
            machine.driver.busMaster(true);
            machine.context.pci().assignResources();
            machine.driver = FakeVirtioDriver.of(machine.context);
            machine.driver.heap().allocate(0x60_0000, 16);
            machine.start(-1L, 16);
            assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, machine.status(machine.requests.flush()), "after a reset");
            machine.device.close();
            assertEquals(0, disk.openQueues());
            assertTrue(diskBefore.length == BlkMachine.DISK_BYTES);
        }

        private void start() {
            if (random.nextInt(4) == 0) {
                machine.driver.enableMsix();
            }
            machine.driver.reset();
            machine.context.runPending();
            long features = random.nextInt(4) == 0 ? random.nextLong() : -1L;
            machine.driver.negotiate(features);
            queues = new ArrayList<>();
            int count = (int) machine.driver.common(FakeVirtioDriver.NUM_QUEUES, 2);
            for (int i = 0; i < count; i++) {
                queues.add(machine.driver.openQueue(i, 4 << random.nextInt(3)));
            }
            machine.driver.driverOk();
            machine.context.runPending();
        }

        private FakeVirtQueue anyQueue() {
            return queues.get(random.nextInt(queues.size()));
        }

        private void step() {
            FakeVirtQueue queue = anyQueue();
            switch (random.nextInt(12)) {
                case 0, 1, 2, 3 -> wellFormedChain(queue);
                case 4 -> randomDescriptor(queue);
                case 5 -> queue.offer(random.nextInt(4) == 0 ? random.nextInt(0x10000) : random.nextInt(queue.size()));
                case 6 -> {
                    if (random.nextInt(8) == 0) {
                        queue.availIndex(random.nextInt(0x10000));
                    }
                }
                case 7 -> queue.usedEvent(random.nextInt(0x10000));
                case 8 -> randomRegister();
                case 9 -> {
                    if (random.nextInt(6) == 0) {
                        lifecycle();
                    }
                }
                default -> {
                    queue.ring();
                    machine.context.runPending();
                }
            }
        }

        /** A chain that the queue takes, with a request that may make no sense. */
        private void wellFormedChain(FakeVirtQueue queue) {
            int[] types = {0, 0, 0, 1, 1, 1, 4, 8, 11, 13, random.nextInt()};
            long buffers = 0x10_0000 + 0x1000L * random.nextInt(256);
            MemorySegment header = machine.driver.heap().segment(buffers, 16);
            header.set(ValueLayout.JAVA_INT, 0, types[random.nextInt(types.length)]);
            header.set(ValueLayout.JAVA_LONG, 8, random.nextInt(4) == 0 ? random.nextLong() : random.nextInt(2100));
            int first = random.nextInt(queue.size());
            int length = 1 + random.nextInt(4);
            int at = first;
            for (int i = 0; i < length; i++) {
                boolean last = i == length - 1;
                int next = (at + 1) % queue.size();
                int bytes = i == 0 ? 16 : last ? 1 : 512 * (1 + random.nextInt(4));
                boolean write = i > 0 && (last || random.nextBoolean());
                int flags =
                        (write ? FakeVirtQueue.VIRTQ_DESC_F_WRITE : 0) | (last ? 0 : FakeVirtQueue.VIRTQ_DESC_F_NEXT);
                queue.descriptor(at, buffers + 0x1000L * i, bytes, flags, next);
                at = next;
            }
            queue.offer(first);
        }

        private void randomDescriptor(FakeVirtQueue queue) {
            long gpa = switch (random.nextInt(4)) {
                case 0 -> random.nextLong();
                case 1 -> (16 << 20) - random.nextInt(64);
                default -> 0x10_0000 + random.nextInt(0x10_0000);
            };
            int length = switch (random.nextInt(4)) {
                case 0 -> random.nextInt();
                case 1 -> 16 * random.nextInt(20);
                default -> random.nextInt(2048);
            };
            boolean inGuard = gpa < GUARD_GPA + GUARD_BYTES && gpa >= 0 && gpa + (length & 0xffff_ffffL) > GUARD_GPA;
            int flags = random.nextInt(8);
            queue.descriptor(
                    random.nextInt(queue.size()),
                    inGuard ? 0x10_0000 : gpa,
                    inGuard ? 512 : length,
                    flags,
                    random.nextInt(4) == 0 ? random.nextInt(0x10000) : random.nextInt(queue.size()));
            if ((flags & FakeVirtQueue.VIRTQ_DESC_F_INDIRECT) != 0) {
                byte[] junk = new byte[256];
                for (int i = 0; i < junk.length; i += 16) {
                    // Addresses of indirect descriptors stay below 2 MiB, so below the guard.
                    junk[i + 1] = (byte) random.nextInt(256);
                    junk[i + 2] = (byte) random.nextInt(0x20);
                    junk[i + 8] = (byte) random.nextInt(256);
                    junk[i + 9] = (byte) random.nextInt(4);
                    junk[i + 12] = (byte) random.nextInt(8);
                    junk[i + 14] = (byte) random.nextInt(18);
                }
                machine.context.memory().poke(0x20_0000, junk);
                queue.descriptor(
                        random.nextInt(queue.size()),
                        0x20_0000,
                        16 * (1 + random.nextInt(16)),
                        FakeVirtQueue.VIRTQ_DESC_F_INDIRECT,
                        0);
            }
        }

        private void randomRegister() {
            int offset = random.nextInt(0x3c);
            int size = 1 << random.nextInt(4);
            if (random.nextBoolean()) {
                machine.driver.common(offset, size);
            } else if (offset + size <= FakeVirtioDriver.QUEUE_DESC || offset >= 0x38) {
                // Ring addresses stay as they are: a used ring over the guard would be the guest's own choice.
                machine.driver.common(offset, size, random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(16));
            }
            machine.driver.deviceConfig(random.nextInt(80), size);
            machine.driver.deviceConfig(random.nextInt(80), size, random.nextLong());
            machine.driver.isr();
        }

        private void lifecycle() {
            switch (random.nextInt(4)) {
                case 0 -> {
                    machine.device.pause();
                    machine.device.inspect();
                    var saved = machine.device.saveState();
                    machine.device.restoreState(saved);
                    machine.device.resume();
                }
                case 1 -> machine.driver.status(0);
                case 2 -> machine.driver.busMaster(random.nextBoolean());
                default -> {
                    machine.device.inspect();
                    machine.driver.common(FakeVirtioDriver.QUEUE_RESET, 2, 1);
                }
            }
        }
    }
}
