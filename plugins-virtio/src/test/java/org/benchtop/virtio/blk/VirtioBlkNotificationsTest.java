package org.benchtop.virtio.blk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bursts: how often device and driver bother each other. */
final class VirtioBlkNotificationsTest {
    private static final long NO_EVENT_IDX = ~FakeVirtioDriver.VIRTIO_F_EVENT_IDX;

    private static BlkMachine running(org.benchtop.spi.block.BlockBackend drive, boolean eventIdx) {
        return BlkMachine.stopped(drive, VirtioBlkPciOptions.of("disk0")).start(eventIdx ? -1L : NO_EVENT_IDX, 16);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void burstThatCompletesAtOnceHasOneInterruptAndOneKick(boolean eventIdx) {
        ResizableBackend drive = new ResizableBackend(1 << 20);
        BlkMachine machine = running(drive, eventIdx);
        long kicks = drive.kicks();
        for (int i = 0; i < 5; i++) {
            machine.requests.read(i, 512);
        }

        machine.go();

        assertEquals(0, machine.requests.pending());
        assertEquals(1, machine.context.irqs().messageCount());
        assertEquals(1, drive.kicks() - kicks);
        assertEquals(5, drive.submitted());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void completionsOfOneTurnShareAnInterrupt(boolean eventIdx) {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = running(held, eventIdx);
        for (int i = 0; i < 5; i++) {
            machine.requests.read(i, 512);
        }
        machine.go();

        machine.context.eventLoop().call(() -> {
            for (int i = 0; i < 4; i++) {
                held.next().complete();
            }
        });
        machine.context.runPending();

        assertEquals(4, machine.queue.usedIndex());
        assertEquals(1, machine.context.irqs().messageCount());
        held.completeAll();
    }

    @Test
    void lastRequestInFlightIsShownAtOnce() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = running(held, true);
        machine.requests.read(0, 512);
        machine.go();

        machine.context.eventLoop().call(() -> {
            held.next().complete();
            assertEquals(1, machine.queue.usedIndex(), "within the completion");
            assertEquals(1, machine.context.irqs().messageCount());
        });
    }

    @Test
    void interruptsTheDriverDoesNotWantAreNotSent() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = running(held, true);
        machine.queue.usedEvent(2);
        for (int i = 0; i < 4; i++) {
            machine.requests.read(i, 512);
        }
        machine.go();
        List<Long> interruptsAfter = new ArrayList<>();

        for (int i = 0; i < 4; i++) {
            held.next().complete();
            machine.context.runPending();
            interruptsAfter.add(machine.context.irqs().messageCount());
        }

        assertEquals(List.of(0L, 0L, 1L, 1L), interruptsAfter);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void driverIsNotAskedForNotificationsDuringABurst(boolean eventIdx) {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = running(held, eventIdx);
        List<Boolean> wanted = new ArrayList<>();
        FakeBlkRequests requests = machine.requests;
        held.onSubmit(() -> {
            if (wanted.size() < 3) {
                requests.read(wanted.size(), 512);
                wanted.add(machine.queue.kick());
            }
        });
        requests.read(9, 512);
        machine.queue.kick();

        machine.context.runPending();

        assertEquals(List.of(false, false, false), wanted);
        assertEquals(4, held.pending().size(), "all were taken nevertheless");
        requests.read(0, 512);
        assertTrue(machine.queue.kick(), "and asked for again afterwards");
        machine.context.runPending();
        held.completeAll();
    }

    @Test
    void ringIsLookedAtAfterCompletions() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = running(held, true);
        machine.requests.read(0, 512);
        machine.requests.read(1, 512);
        machine.requests.read(2, 512);
        machine.go();
        machine.requests.read(3, 512);

        held.next().complete();
        machine.context.runPending();

        assertEquals(3, held.pending().size(), "two old ones and the new one, without a notification");
        held.completeAll();
    }

    @Test
    void endlessSupplyIsWorkedOffInTurnsOfTheLoop() {
        HeldBlockBackend drive = BlkMachine.disk().automatic();
        BlkMachine machine = running(drive, true);
        int head = machine.requests.read(0, 512).head();
        int[] left = {100_000};
        drive.onSubmit(() -> {
            if (left[0]-- > 0) {
                machine.queue.offer(head);
            }
        });
        machine.queue.ring();

        int turns = machine.context.runPending();

        assertEquals(100_001, drive.submitted());
        assertTrue(turns > 50, "other handlers of the loop get their turn: " + turns);
        assertFalse(machine.needsReset());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 1023, 1024, 1025, 2048, 4096})
    void driverIsAskedForNotificationsHoweverTheTurnsEnded(int requests) {
        HeldBlockBackend drive = BlkMachine.disk().automatic();
        BlkMachine machine = running(drive, true);
        int head = machine.requests.read(0, 512).head();
        int[] left = {requests - 1};
        drive.onSubmit(() -> {
            if (left[0]-- > 0) {
                machine.queue.offer(head);
            }
        });
        machine.queue.ring();
        machine.context.runPending();
        assertEquals(requests, drive.submitted());

        machine.queue.kick();
        machine.queue.offer(head);

        assertTrue(machine.queue.kick());
        machine.context.runPending();
        assertEquals(requests + 1, drive.submitted());
    }

    @Test
    void usedElementsOfALongBurstAreShownOnTheWay() {
        HeldBlockBackend drive = BlkMachine.disk().automatic();
        BlkMachine machine =
                BlkMachine.stopped(drive, VirtioBlkPciOptions.of("disk0")).start(-1L, 256);
        int head = machine.requests.read(0, 512).head();
        for (int i = 1; i < 256; i++) {
            machine.queue.offer(head);
        }
        List<Integer> used = new ArrayList<>();
        drive.onSubmit(() -> used.add(machine.queue.usedIndex()));

        machine.queue.kick();
        machine.context.runPending();

        assertEquals(256, used.size());
        assertTrue(used.getLast() >= 128, "published meanwhile: " + used.getLast());
    }
}
