package org.benchtop.virtio.blk;

import static org.benchtop.testkit.virtio.FakeBlkRequests.NO_STATUS;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_IOERR;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_OK;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** rerror and werror: what happens to requests that the host cannot carry out. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class VirtioBlkErrorPolicyTest {
    private final HeldBlockBackend disk = BlkMachine.disk();

    private BlkMachine machine(ErrorPolicy rerror, ErrorPolicy werror) {
        return BlkMachine.running(
                disk,
                BlkMachine.options()
                        .with(o -> o.rerror = rerror)
                        .with(o -> o.werror = werror)
                        .build());
    }

    private List<String> pauses(BlkMachine machine) {
        return machine.context.machine().requests();
    }

    @Test
    void reportTellsTheGuest() {
        BlkMachine machine = machine(ErrorPolicy.REPORT, ErrorPolicy.REPORT);
        FakeBlkRequests.Request read = machine.requests.read(0, 512);
        machine.go();

        disk.next().fail(BlockStatus.IO_ERROR);
        machine.go();

        assertEquals(VIRTIO_BLK_S_IOERR, read.status());
        assertEquals(List.of(), pauses(machine));
    }

    @Test
    void ignoreTellsTheGuestThatAllIsWell() {
        BlkMachine machine = machine(ErrorPolicy.IGNORE, ErrorPolicy.IGNORE);
        FakeBlkRequests.Request write = machine.requests.write(0, new byte[512]);
        machine.go();

        disk.next().fail(BlockStatus.NO_SPACE);
        machine.go();

        assertEquals(VIRTIO_BLK_S_OK, write.status());
        assertEquals(List.of(), pauses(machine));
        assertEquals(1, machine.context.stats().value("errors"));
    }

    @ParameterizedTest
    @EnumSource(
            value = ErrorPolicy.class,
            names = {"STOP", "ENOSPC"})
    void stoppedMachineTriesAgainWhenItIsResumed(ErrorPolicy werror) {
        BlkMachine machine = machine(ErrorPolicy.REPORT, werror);
        byte[] data = BlkMachine.pattern(1024, 1);
        FakeBlkRequests.Request write = machine.requests.write(4, data);
        machine.go();

        disk.next().fail(BlockStatus.NO_SPACE);
        machine.go();
        assertEquals(NO_STATUS, write.status(), "the guest sees nothing");
        assertEquals(1, pauses(machine).size());
        assertTrue(
                pauses(machine).getFirst().contains("no space left for write 1024 bytes at sector 4"),
                pauses(machine).getFirst());
        machine.device.pause();
        machine.device.resume();
        machine.context.runPending();
        disk.completeAll();
        machine.go();

        assertEquals(VIRTIO_BLK_S_OK, write.status());
        assertArrayEquals(data, disk.bytes(2048, 1024));
        assertEquals(1, pauses(machine).size());
    }

    @Test
    void enospcReportsOtherErrors() {
        BlkMachine machine = machine(ErrorPolicy.REPORT, ErrorPolicy.ENOSPC);
        FakeBlkRequests.Request flush = machine.requests.flush();
        machine.go();

        disk.next().fail(BlockStatus.IO_ERROR);
        machine.go();

        assertEquals(VIRTIO_BLK_S_IOERR, flush.status());
        assertEquals(List.of(), pauses(machine));
    }

    @Test
    void requestThatFailsAgainStopsTheMachineAgain() {
        BlkMachine machine = machine(ErrorPolicy.STOP, ErrorPolicy.STOP);
        FakeBlkRequests.Request read = machine.requests.read(0, 512);
        machine.go();
        for (int i = 1; i <= 3; i++) {
            disk.next().fail(BlockStatus.IO_ERROR);
            machine.context.runPending();
            assertEquals(i, pauses(machine).size());
            machine.device.pause();
            machine.device.resume();
            machine.context.runPending();
        }

        disk.completeAll();
        machine.go();

        assertEquals(VIRTIO_BLK_S_OK, read.status());
    }

    @Test
    void requestsBesideTheParkedOneAreCompleted() {
        BlkMachine machine = machine(ErrorPolicy.STOP, ErrorPolicy.STOP);
        FakeBlkRequests.Request bad = machine.requests.write(0, new byte[512]);
        FakeBlkRequests.Request good = machine.requests.write(8, BlkMachine.pattern(512, 2));
        machine.go();

        disk.pending().getFirst().fail(BlockStatus.IO_ERROR);
        disk.completeAll();
        machine.go();
        FakeBlkRequests.Request later = machine.requests.write(16, new byte[512]);
        machine.go();
        disk.completeAll();
        machine.go();

        assertEquals(NO_STATUS, bad.status());
        assertEquals(VIRTIO_BLK_S_OK, good.status());
        assertEquals(VIRTIO_BLK_S_OK, later.status(), "until the machine stands, work goes on");
    }

    @Test
    void resetForgetsParkedRequests() {
        BlkMachine machine = machine(ErrorPolicy.STOP, ErrorPolicy.STOP);
        FakeBlkRequests.Request write = machine.requests.write(0, new byte[512]);
        machine.go();
        disk.next().fail(BlockStatus.IO_ERROR);
        machine.context.runPending();
        machine.device.pause();

        machine.device.reset();
        machine.device.resume();
        machine.driver = FakeVirtioDriver.of(machine.context);
        machine.start(BlkMachine.ALL_FEATURES, 16);
        machine.context.runPending();

        assertEquals(0, disk.pending().size());
        assertEquals(NO_STATUS, write.status());
    }

    @Test
    void parkedRequestSurvivesSaveAndRestore() {
        BlkMachine first = machine(ErrorPolicy.STOP, ErrorPolicy.STOP);
        byte[] data = BlkMachine.pattern(512, 3);
        FakeBlkRequests.Request write = first.requests.write(1, data);
        first.go();
        disk.next().fail(BlockStatus.NO_SPACE);
        first.context.runPending();
        first.device.pause();
        SavedState saved = first.device.saveState();

        first.device.restoreState(saved);
        first.device.resume();
        first.context.runPending();
        disk.completeAll();
        first.go();

        assertEquals(VIRTIO_BLK_S_OK, write.status());
        assertArrayEquals(data, disk.bytes(512, 512));
    }

    @Test
    void hostileDriverCannotParkMoreThanItsQueueHolds() {
        BlkMachine machine = machine(ErrorPolicy.STOP, ErrorPolicy.STOP);
        for (int i = 0; i < 5; i++) {
            machine.requests.write(i, new byte[512]);
        }
        machine.go();
        while (!disk.pending().isEmpty()) {
            disk.next().fail(BlockStatus.IO_ERROR);
        }
        // The same heads are made available again although the device has not given them back.
        for (int i = 0; i < 16; i++) {
            machine.queue.offer(0);
        }
        machine.queue.ring();
        machine.context.runPending();
        while (!disk.pending().isEmpty()) {
            disk.next().fail(BlockStatus.IO_ERROR);
        }
        machine.context.runPending();

        assertTrue(machine.needsReset());
    }

    @Test
    void guestsOwnMistakeIsReportedWhateverThePolicy() {
        BlkMachine machine = machine(ErrorPolicy.STOP, ErrorPolicy.STOP);
        FakeBlkRequests.Request beyond = machine.requests.read(BlkMachine.DISK_BYTES / 512, 512);

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(beyond));
        assertEquals(List.of(), pauses(machine));
    }
}
