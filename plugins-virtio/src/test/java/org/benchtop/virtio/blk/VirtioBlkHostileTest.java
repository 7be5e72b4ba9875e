package org.benchtop.virtio.blk;

import static org.benchtop.testkit.virtio.FakeBlkRequests.NO_STATUS;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_OK;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_T_IN;
import static org.benchtop.testkit.virtio.FakeVirtQueue.VIRTQ_DESC_F_INDIRECT;
import static org.benchtop.testkit.virtio.FakeVirtQueue.VIRTQ_DESC_F_NEXT;
import static org.benchtop.testkit.virtio.FakeVirtQueue.VIRTQ_DESC_F_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue.Buffer;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a hostile driver gets: a device that needs a reset, or an error status; nothing else, and a reset heals it. */
final class VirtioBlkHostileTest {
    private final HeldBlockBackend disk = BlkMachine.disk().automatic();

    record Attack(String name, Consumer<BlkMachine> play) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Attack> attacks() {
        return Stream.of(
                new Attack("index jump", m -> m.queue.availIndex(17)),
                new Attack("index back", m -> m.queue.availIndex(0xffff)),
                new Attack("head out of range", m -> m.queue.offer(16)),
                new Attack("self loop", m -> {
                    m.queue.descriptor(0, 0x1000, 16, VIRTQ_DESC_F_NEXT, 0);
                    m.queue.offer(0);
                }),
                new Attack("next out of range", m -> {
                    m.queue.descriptor(0, 0x1000, 16, VIRTQ_DESC_F_NEXT, 16);
                    m.queue.offer(0);
                }),
                new Attack("header outside RAM", m -> {
                    m.queue.descriptor(0, 1L << 40, 16, VIRTQ_DESC_F_NEXT, 1);
                    m.queue.descriptor(1, 0x1000, 1, VIRTQ_DESC_F_WRITE, 0);
                    m.queue.offer(0);
                }),
                new Attack("data across the end of RAM", m -> {
                    m.queue.descriptor(0, m.requests.header(VIRTIO_BLK_T_IN, 0), 16, VIRTQ_DESC_F_NEXT, 1);
                    m.queue.descriptor(1, (16 << 20) - 511, 512, VIRTQ_DESC_F_WRITE, 0);
                    m.queue.offer(0);
                }),
                new Attack("data in the device's own registers", m -> {
                    long bar = m.context.pci().only().barAddress(0);
                    m.queue.descriptor(0, m.requests.header(VIRTIO_BLK_T_IN, 0), 16, VIRTQ_DESC_F_NEXT, 1);
                    m.queue.descriptor(1, bar, 512, VIRTQ_DESC_F_WRITE | VIRTQ_DESC_F_NEXT, 2);
                    m.queue.descriptor(2, 0x1000, 1, VIRTQ_DESC_F_WRITE, 0);
                    m.queue.offer(0);
                }),
                new Attack("empty buffer", m -> {
                    m.queue.descriptor(0, 0x1000, 0, 0, 0);
                    m.queue.offer(0);
                }),
                new Attack("readable after writable", m -> {
                    m.queue.add(List.of(Buffer.writable(0x1000, 16), Buffer.readable(0x2000, 16)));
                }),
                new Attack("nested indirect", m -> {
                    m.queue.descriptorAt(0x1000, 0x1000, 16, VIRTQ_DESC_F_INDIRECT, 0);
                    m.queue.descriptor(0, 0x1000, 16, VIRTQ_DESC_F_INDIRECT, 0);
                    m.queue.offer(0);
                }),
                new Attack("indirect of a bad size", m -> {
                    m.queue.descriptor(0, 0x1000, 20, VIRTQ_DESC_F_INDIRECT, 0);
                    m.queue.offer(0);
                }),
                new Attack("no status byte", m -> m.queue.add(List.of(Buffer.readable(m.requests.header(0, 0), 16)))),
                new Attack("no header", m -> m.queue.add(List.of(Buffer.writable(0x1000, 600)))),
                new Attack("short header", m -> {
                    m.queue.add(List.of(Buffer.readable(0x1000, 15), Buffer.writable(0x2000, 1)));
                }));
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void attackEndsInNeedsResetAndAResetHeals(Attack attack) {
        BlkMachine machine = BlkMachine.running(disk);
        int usedBefore = machine.queue.usedIndex();

        attack.play.accept(machine);
        machine.queue.ring();
        machine.context.runPending();

        assertTrue(machine.needsReset());
        assertEquals(usedBefore, machine.queue.usedIndex());
        assertEquals(0, disk.submitted());
        assertEquals(
                List.of(FakeVirtioDriver.messageVector(0)),
                machine.context.irqs().drainMessages().stream()
                        .map(message -> message.vector())
                        .toList(),
                "one configuration interrupt");
        assertEquals(1, machine.context.stats().value("guest-errors"));

        machine.start(-1L, 16);
        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.read(0, 512)));
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void brokenDeviceTakesNothingMore(Attack attack) {
        BlkMachine machine = BlkMachine.running(disk);
        attack.play.accept(machine);
        machine.queue.ring();
        machine.context.runPending();
        machine.context.memory().forgetWritten();
        machine.context.irqs().drainMessages();

        for (int i = 0; i < 5; i++) {
            machine.queue.ring();
            machine.context.runPending();
        }

        assertEquals(0, machine.context.memory().writtenBytes());
        assertEquals(List.of(), machine.context.irqs().drainMessages());
        assertEquals(0, disk.submitted());
    }

    @Test
    void errorBehindGoodRequestsLetsThoseCompleteNowhere() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        FakeBlkRequests.Request good = machine.requests.read(0, 512);
        machine.queue.offer(99);
        machine.queue.ring();
        machine.context.runPending();
        assertTrue(machine.needsReset());

        held.completeAll();
        machine.context.runPending();

        assertEquals(NO_STATUS, good.status(), "the driver has been told that nothing is to be expected");
        assertEquals(0, machine.queue.usedIndex());
    }

    @Test
    void errorInOneQueueStopsAll() {
        BlkMachine machine = BlkMachine.running(
                disk, BlkMachine.options().with(o -> o.queues = 2).build());
        machine.queues.get(1).offer(99);
        machine.queues.get(1).ring();
        machine.context.runPending();
        FakeBlkRequests.Request request = machine.requests.read(0, 512);

        machine.queue.ring();
        machine.context.runPending();

        assertEquals(NO_STATUS, request.status());
    }

    @Test
    void sameHeadTwiceInFlightIsCompletedTwice() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        int head = machine.requests.read(0, 512).head();
        machine.queue.offer(head);
        machine.queue.ring();
        machine.context.runPending();
        assertEquals(2, held.pending().size());

        held.completeAll();
        machine.context.runPending();

        assertEquals(2, machine.queue.usedIndex());
        assertFalse(machine.needsReset());
    }

    @Test
    void moreInFlightThanTheQueueHoldsIsAnError() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        int head = machine.requests.read(0, 512).head();
        for (int i = 1; i < 16; i++) {
            machine.queue.offer(head);
        }
        machine.queue.ring();
        machine.context.runPending();
        assertEquals(16, held.pending().size());
        assertFalse(machine.needsReset());

        machine.queue.offer(head);
        machine.queue.ring();
        machine.context.runPending();

        assertTrue(machine.needsReset());
        held.completeAll();
    }

    @Test
    void notificationsWithoutWorkAreHarmless() {
        BlkMachine machine = BlkMachine.running(disk);
        FakeBlkRequests.Request request = machine.requests.read(0, 512);

        for (int i = 0; i < 10; i++) {
            machine.queue.ring();
        }
        machine.context.runPending();
        machine.queue.ring();
        machine.context.runPending();

        assertEquals(VIRTIO_BLK_S_OK, request.status());
        assertEquals(1, machine.queue.usedIndex());
        assertEquals(1, disk.submitted());
    }

    @Test
    void driverThatNeverTakesItsUsedElementsIsNotWaitedFor() {
        BlkMachine machine = BlkMachine.running(disk);
        int head = machine.requests.read(0, 512).head();
        for (int i = 0; i < 100; i++) {
            machine.queue.offer(head);
            machine.queue.ring();
            machine.context.runPending();
        }

        assertEquals(101, machine.queue.usedIndex());
        assertFalse(machine.needsReset());
    }

    @Test
    void errorsAreLoggedOnlySoOften() {
        BlkMachine machine = BlkMachine.running(disk);
        for (int i = 0; i < 50; i++) {
            machine.queue.offer(99);
            machine.queue.ring();
            machine.context.runPending();
            machine.start(-1L, 16);
        }

        assertEquals(50, machine.context.stats().value("guest-errors"));
    }
}
