package org.benchtop.virtio.blk;

import static org.benchtop.testkit.virtio.FakeBlkRequests.NO_STATUS;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_OK;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_ENABLE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_RESET;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_SELECT;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_SIZE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.VIRTIO_F_RING_RESET;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.benchtop.virtio.queue.QueueView;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reset, pause, save and restore with requests in flight. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class VirtioBlkLifecycleTest {
    private final HeldBlockBackend held = BlkMachine.disk();

    /** Runs on another thread, as a vCPU does, and leaves the loop to the test. */
    private static CompletableFuture<Void> onVcpu(Runnable action) {
        return CompletableFuture.runAsync(
                action, task -> Thread.ofPlatform().daemon().start(task));
    }

    @Test
    void driverResetWithARequestInFlightIsDoneOnlyWhenThatIs() {
        BlkMachine machine = BlkMachine.running(held);
        FakeBlkRequests.Request request = machine.requests.read(0, 512);
        machine.go();

        machine.driver.status(0);
        assertNotEquals(0, machine.driver.status(), "the vCPU is let go although the request hangs");
        machine.context.memory().forgetWritten();
        held.completeAll();
        machine.context.runPending();

        assertEquals(0, machine.driver.status());
        assertEquals(NO_STATUS, request.status());
        assertEquals(0, machine.context.memory().writtenBytes());
        assertEquals(List.of(), machine.context.irqs().drainMessages());
    }

    @Test
    void driverResetWaitsForAShortRequest() throws Exception {
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.read(0, 512);
        machine.go();

        CompletableFuture<Void> reset = onVcpu(() -> machine.driver.status(0));
        held.completeAll();
        reset.get(30, TimeUnit.SECONDS);

        assertEquals(0, machine.driver.status());
    }

    @Test
    void stepsOfADriverThatDoesNotWaitForItsResetAreIgnored() {
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.read(0, 512);
        machine.go();
        machine.driver.status(0);

        machine.driver.status(FakeVirtioDriver.ACKNOWLEDGE);
        machine.driver.common(QUEUE_SELECT, 2, 0);
        machine.driver.common(QUEUE_ENABLE, 2, 1);
        held.completeAll();
        machine.context.runPending();

        assertEquals(0, machine.driver.status());
        assertEquals(0, machine.driver.common(QUEUE_ENABLE, 2));
        machine.start(-1L, 8);
        machine.requests.read(0, 512);
        machine.go();
        assertEquals(1, held.pending().size());
        held.completeAll();
    }

    @Test
    void machineResetDiscardsWhatIsInFlight() throws Exception {
        BlkMachine machine = BlkMachine.running(held);
        FakeBlkRequests.Request request = machine.requests.write(0, new byte[512]);
        machine.go();

        CompletableFuture<Void> reset = onVcpu(machine.device::reset);
        Thread.sleep(20);
        assertEquals(false, reset.isDone(), "a request is in flight");
        held.completeAll();
        reset.get(30, TimeUnit.SECONDS);

        assertEquals(NO_STATUS, request.status());
        assertEquals(-1, machine.context.pci().only().barAddress(0), "BARs are cleared");
    }

    @Test
    void pauseCompletesWhatIsInFlight() throws Exception {
        BlkMachine machine = BlkMachine.running(held);
        FakeBlkRequests.Request first = machine.requests.read(0, 512);
        FakeBlkRequests.Request second = machine.requests.read(1, 512);
        machine.go();
        FakeBlkRequests.Request third = machine.requests.read(2, 512);

        CompletableFuture<Void> pause = onVcpu(machine.device::pause);
        Thread.sleep(20);
        held.completeAll();
        pause.get(30, TimeUnit.SECONDS);

        assertEquals(VIRTIO_BLK_S_OK, first.status());
        assertEquals(VIRTIO_BLK_S_OK, second.status());
        assertEquals(2, machine.queue.usedIndex());
        assertEquals(NO_STATUS, third.status(), "nothing new is taken");
        machine.queue.ring();
        machine.context.runPending();
        assertEquals(0, held.pending().size());

        machine.device.resume();
        machine.context.runPending();
        held.completeAll();
        assertEquals(VIRTIO_BLK_S_OK, machine.status(third), "taken after resume without a notification");
    }

    @Test
    void savedDeviceGoesOnInAnotherMachine() {
        BlkMachine first = BlkMachine.running(held.automatic());
        assertEquals(VIRTIO_BLK_S_OK, first.status(first.requests.write(3, BlkMachine.pattern(512, 7))));
        first.driver.deviceConfig(0x20, 1, 0);
        FakeBlkRequests.Request waiting = first.requests.read(3, 512);
        first.device.pause();
        SavedState saved = first.device.saveState();

        HeldBlockBackend otherDisk = BlkMachine.disk().automatic();
        otherDisk.poke(3 * 512, held.bytes(3 * 512, 512));
        BlkMachine second = BlkMachine.stopped(otherDisk, VirtioBlkPciOptions.of("disk0"));
        second.context.memory().poke(0, first.context.memory().bytes(0, 16 << 20));
        second.device.pause();
        second.device.restoreState(saved);
        second.device.resume();
        second.context.runPending();

        byte[] data = second.context.memory().bytes(waiting.dataGpa(), 512);
        assertArrayEquals(BlkMachine.pattern(512, 7), data, "the request that waited");
        assertEquals(0, second.driver.deviceConfig(0x20, 1), "writeback");
        assertEquals(1, second.context.irqs().messageCount(), "its interrupt, through the restored vectors");
    }

    @Test
    void brokenDeviceIsRestoredBroken() {
        BlkMachine first = BlkMachine.running(held);
        first.queue.offer(99);
        first.queue.ring();
        first.context.runPending();
        first.device.pause();

        BlkMachine second = BlkMachine.stopped(BlkMachine.disk(), VirtioBlkPciOptions.of("disk0"));
        second.device.pause();
        second.device.restoreState(first.device.saveState());
        second.device.resume();

        assertTrue(second.needsReset());
        second.start(-1L, 16);
        assertEquals(0, second.driver.status() & FakeVirtioDriver.DEVICE_NEEDS_RESET);
    }

    @Test
    void stateOfADeviceWithOtherOptionsIsRefused() {
        BlkMachine first = BlkMachine.running(
                held, BlkMachine.options().with(o -> o.queues = 2).build());
        first.device.pause();
        SavedState saved = first.device.saveState();
        BlkMachine second = BlkMachine.stopped(BlkMachine.disk(), VirtioBlkPciOptions.of("disk0"));
        second.device.pause();

        BenchtopException e = assertThrows(BenchtopException.class, () -> second.device.restoreState(saved));

        assertTrue(String.valueOf(e.getMessage()).startsWith("blk0: saved state has"), e.getMessage());
    }

    // Reset of one queue: 2.6.1.

    @Test
    void queueResetEndsItsRequestsAndItCanBeSetUpAnew() {
        BlkMachine machine = BlkMachine.running(
                held, BlkMachine.options().with(o -> o.queues = 2).build());
        FakeBlkRequests.Request request = machine.requests.read(0, 512);
        machine.go();
        machine.driver.common(QUEUE_SELECT, 2, 0);

        machine.driver.common(QUEUE_RESET, 2, 1);
        assertEquals(1, machine.driver.common(QUEUE_RESET, 2));
        held.completeAll();
        machine.context.runPending();

        assertEquals(0, machine.driver.common(QUEUE_RESET, 2));
        assertEquals(0, machine.driver.common(QUEUE_ENABLE, 2));
        assertEquals(256, machine.driver.common(QUEUE_SIZE, 2));
        assertEquals(NO_STATUS, request.status());
        FakeVirtQueue again = machine.driver.openQueue(0, 32);
        FakeBlkRequests requests = new FakeBlkRequests(machine.driver.heap(), again);
        FakeBlkRequests.Request next = requests.read(0, 512);
        again.kick();
        machine.context.runPending();
        held.completeAll();
        assertEquals(VIRTIO_BLK_S_OK, next.status());
    }

    @Test
    void queueResetLeavesOtherQueuesAlone() {
        BlkMachine machine = BlkMachine.running(
                held.automatic(), BlkMachine.options().with(o -> o.queues = 2).build());
        machine.driver.common(QUEUE_SELECT, 2, 1);

        machine.driver.common(QUEUE_RESET, 2, 1);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.read(0, 512)));
    }

    @Test
    void queueResetWithoutTheFeatureDoesNothing() {
        BlkMachine machine = BlkMachine.stopped(held.automatic(), VirtioBlkPciOptions.of("disk0"))
                .start(~VIRTIO_F_RING_RESET, 16);
        machine.driver.common(QUEUE_SELECT, 2, 0);

        machine.driver.common(QUEUE_RESET, 2, 1);

        assertEquals(1, machine.driver.common(QUEUE_ENABLE, 2));
        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.read(0, 512)));
    }

    @Test
    void resetOfTheDeviceDuringAQueueResetFollowsIt() {
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.read(0, 512);
        machine.go();
        machine.driver.common(QUEUE_SELECT, 2, 0);
        machine.driver.windowWrite(0, QUEUE_RESET, 2, 1);
        machine.driver.windowWrite(0, FakeVirtioDriver.DEVICE_STATUS, 1, 0);
        machine.context.runPending();
        assertNotEquals(0, machine.driver.status());

        held.completeAll();
        machine.context.runPending();

        assertEquals(0, machine.driver.status());
    }

    // Inspection.

    @Test
    void inspectionShowsWhatIsInFlight() {
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.read(5, 4096);
        machine.requests.flush();
        machine.go();

        Map<String, Object> view = machine.device.inspect();

        List<?> queues = assertInstanceOf(List.class, view.get("queues"));
        QueueView queue = assertInstanceOf(QueueView.class, queues.getFirst());
        assertEquals("running", queue.state());
        assertEquals(16, queue.layout().size());
        assertEquals(2, queue.lastAvail());
        assertEquals(2, queue.availIndex());
        assertEquals(0, queue.usedIndex());
        assertEquals(
                List.of("read 4096 bytes at sector 5", "flush"),
                queue.pending().stream().map(QueueView.Pending::request).toList());
        assertEquals(4097, queue.pending().getFirst().writableBytes());
        assertEquals("held 1048576 bytes", view.get("drive"));
        held.completeAll();
    }
}
