package org.benchtop.virtio.blk;

import static org.benchtop.testkit.virtio.FakeBlkRequests.NO_STATUS;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_OK;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.benchtop.virtio.pci.VirtioPciDevice;
import org.junit.jupiter.api.Test;

/** {@code ioeventfd: off}: a notification is an exit of the vCPU that sends it. */
final class VirtioBlkExitTest {
    private final HeldBlockBackend disk = BlkMachine.disk().automatic();
    private final FakeDeviceContext context = new FakeDeviceContext("blk0", FakeGuestMemory.ofSize(16 << 20));
    private final LendingLoop loop = new LendingLoop(context.eventLoop());
    private final FakeVirtQueue queue;
    private final FakeVirtioDriver driver;
    private final FakeBlkRequests requests;

    VirtioBlkExitTest() {
        VirtioBlkPciOptions options =
                BlkMachine.options().with(o -> o.ioeventfd = false).build();
        Device device = new VirtioPciDevice(
                "blk0",
                options.pci(),
                attached -> new VirtioBlk(
                        "blk0", options.blk(), disk, List.of(loop), attached.memory(), reason -> {}, attached.stats()));
        device.attach(context);
        device.reset();
        driver = FakeVirtioDriver.of(context);
        queue = driver.start(-1L, 1, 16).getFirst();
        requests = new FakeBlkRequests(driver.heap(), queue);
        context.runPending();
    }

    @Test
    void exitRunsTheQueueOnTheVcpuWhereTheLoopLendsItsTurn() {
        FakeBlkRequests.Request request = requests.read(0, 512);

        queue.kick();

        assertEquals(VIRTIO_BLK_S_OK, request.status(), "before the loop has run");
        assertEquals(1, loop.lent);
        assertEquals(1, context.stats().value("notifications"));
    }

    @Test
    void exitWakesALoopThatDoesNotLendItsTurn() {
        loop.lends = false;
        FakeBlkRequests.Request request = requests.read(0, 512);

        queue.kick();
        assertEquals(NO_STATUS, request.status());
        context.runPending();

        assertEquals(VIRTIO_BLK_S_OK, request.status());
        assertEquals(1, context.stats().value("notifications"));
    }

    @Test
    void exitThroughTheWindowNeverRunsTheQueueOnTheVcpu() {
        FakeBlkRequests.Request request = requests.read(0, 512);

        driver.windowWrite(0, 0x3000, 2, 0);
        assertEquals(NO_STATUS, request.status(), "the bus is locked there");
        context.runPending();

        assertEquals(VIRTIO_BLK_S_OK, request.status());
        assertEquals(0, loop.lent);
    }

    @Test
    void notificationOfAQueueThatDoesNotExistIsIgnored() {
        context.mmioWrite(driver.notifyAddress(0) + 400, 2, 0);
        context.mmioWrite(driver.notifyAddress(0) + 4, 4, 0);
        context.runPending();

        assertEquals(0, context.stats().value("notifications"));
    }
}
