package org.benchtop.virtio.blk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.benchtop.virtio.pci.VirtioPciDevice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A driver on one thread, the queue on another: nothing gets lost between notification and interrupt suppression. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
final class VirtioBlkThreadsTest {
    private static final int REQUESTS = 60_000;

    /** Completes at once or a little later, on the loop. */
    private static final class LaterBackend implements BlockBackend {
        @Override
        public BlockCapabilities capabilities() {
            return new BlockCapabilities(1 << 20, 512, 512, false, true, true, CacheMode.WRITEBACK, 1024, 1 << 30);
        }

        @Override
        public BlockQueue openQueue(EventLoop loop) {
            Random random = new Random(1);
            return new BlockQueue() {
                @Override
                public void submit(BlockRequest request, BlockCompletion completion) {
                    if (random.nextInt(4) == 0) {
                        completion.completed(request, BlockStatus.OK);
                    } else {
                        loop.execute(() -> completion.completed(request, BlockStatus.OK));
                    }
                }

                @Override
                public void close() {}
            };
        }

        @Override
        public String describe() {
            return "later";
        }

        @Override
        public void close() {}
    }

    private final FakeDeviceContext context = new FakeDeviceContext("blk0", FakeGuestMemory.ofSize(16 << 20));
    private final ThreadLoop loop = new ThreadLoop();
    private final VirtioPciDevice device;
    private final FakeVirtioDriver driver;

    VirtioBlkThreadsTest() {
        VirtioBlkPciOptions options = VirtioBlkPciOptions.of("disk0");
        device = new VirtioPciDevice(
                "blk0",
                options.pci(),
                attached -> new VirtioBlk(
                        "blk0",
                        options.blk(),
                        new LaterBackend(),
                        List.of(loop),
                        attached.memory(),
                        reason -> {},
                        attached.stats()));
        device.attach(context);
        device.reset();
        context.memory().recordWritten(false);
        context.irqs().recordMessages(false);
        driver = FakeVirtioDriver.of(context);
        driver.enableMsix();
    }

    private void reads(FakeVirtQueue queue, int slots) {
        for (int i = 0; i < slots; i++) {
            long header = driver.heap().allocate(16, 16);
            queue.descriptor(3 * i, header, 16, FakeVirtQueue.VIRTQ_DESC_F_NEXT, 3 * i + 1);
            queue.descriptor(
                    3 * i + 1,
                    driver.heap().allocate(512, 16),
                    512,
                    FakeVirtQueue.VIRTQ_DESC_F_NEXT | FakeVirtQueue.VIRTQ_DESC_F_WRITE,
                    3 * i + 2);
            queue.descriptor(3 * i + 2, driver.heap().allocate(1, 1), 1, FakeVirtQueue.VIRTQ_DESC_F_WRITE, 0);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void noNotificationAndNoInterruptIsLost(boolean eventIdx) {
        long features = eventIdx ? -1L : ~FakeVirtioDriver.VIRTIO_F_EVENT_IDX;
        FakeVirtQueue queue = driver.start(features, 1, 64).getFirst();
        int slots = 16;
        reads(queue, slots);
        Random random = new Random(2);
        int sent = 0;
        int received = 0;
        while (received < REQUESTS) {
            int batch = Math.min(1 + random.nextInt(4), Math.min(slots - (sent - received), REQUESTS - sent));
            for (int i = 0; i < batch; i++) {
                queue.offer(3 * (sent++ % slots));
            }
            if (batch > 0) {
                queue.kick();
            }
            // As a driver does: ask for an interrupt, look once more, and only then sleep until it comes.
            long before = context.irqs().messageCount();
            queue.wantInterrupts(true);
            VarHandle.fullFence();
            int done = queue.usedIndex() - received & 0xffff;
            if (done == 0 && sent - received == slots) {
                awaitInterrupt(before, received);
                done = queue.usedIndex() - received & 0xffff;
            }
            for (int i = 0; i < done; i++) {
                received++;
                queue.takeBlindly();
            }
        }

        assertEquals(REQUESTS, received);
        assertFalse(loop.failed, () -> String.valueOf(loop.failure));
        assertEquals(0, driver.status() & FakeVirtioDriver.DEVICE_NEEDS_RESET);
        assertEquals(REQUESTS, context.stats().value("reads"));
        device.close();
        loop.close();
    }

    private void awaitInterrupt(long before, int received) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (context.irqs().messageCount() == before) {
            assertTrue(System.nanoTime() < deadline, "no interrupt after " + received + " requests");
            Thread.onSpinWait();
        }
    }

    @Test
    void resetsAndPausesInFullFlightLoseNothingAndHangNowhere() {
        Random random = new Random(3);
        for (int round = 0; round < 200; round++) {
            FakeVirtQueue queue = driver.start(-1L, 1, 64).getFirst();
            int slots = 16;
            reads(queue, slots);
            for (int i = 0; i < 40; i++) {
                queue.offer(3 * (i % slots));
                queue.ring();
                if (random.nextInt(8) == 0) {
                    device.pause();
                    int used = queue.usedIndex();
                    assertEquals(0, context.stats().value("queue-depth"));
                    assertEquals(used, queue.usedIndex());
                    device.resume();
                }
            }
            driver.status(0);
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (driver.status() != 0) {
                assertTrue(System.nanoTime() < deadline, "reset does not end");
                Thread.onSpinWait();
            }
            int used = queue.usedIndex();
            assertEquals(0, context.stats().value("queue-depth"));
            loop.call(() -> {});
            assertEquals(used, queue.usedIndex());
        }
        assertFalse(loop.failed, () -> String.valueOf(loop.failure));
        device.close();
        loop.close();
    }
}
