package org.benchtop.virtio.queue;

import static org.benchtop.testkit.virtio.FakeVirtQueue.Buffer.readable;
import static org.benchtop.testkit.virtio.FakeVirtQueue.Buffer.writable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.GuestHeap;
import org.junit.jupiter.api.Test;

final class VirtQueueTest {
    private static final int SIZE = 8;

    private final FakeGuestMemory memory = FakeGuestMemory.withHole(1 << 20, 1 << 20);
    private final GuestHeap heap = new GuestHeap(memory, 1 << 12, (1 << 20) - (1 << 12));
    private final DescriptorChain chain = new DescriptorChain(0);
    private FakeVirtQueue driver = new FakeVirtQueue(heap, SIZE, false, () -> {});
    private final VirtQueue queue = new VirtQueue(memory, 256);

    private void start(boolean eventIdx) {
        driver = new FakeVirtQueue(heap, SIZE, eventIdx, () -> {});
        assertTrue(queue.start(layout(), eventIdx, true, 0, 0));
    }

    private RingLayout layout() {
        return new RingLayout(SIZE, driver.descriptorGpa(), driver.driverGpa(), driver.deviceGpa());
    }

    private void assertElement(IoVector vector, int index, long gpa, long length) {
        assertEquals(memory.regions().getFirst().segment().address() + gpa, vector.address(index));
        assertEquals(length, vector.length(index));
    }

    @Test
    void emptyQueueGivesNothing() {
        start(false);

        assertFalse(queue.hasAvailable());
        assertEquals(PopResult.EMPTY, queue.pop(chain));
    }

    @Test
    void chainOfThreeIsSplitByDirection() {
        start(false);
        int head = driver.add(List.of(readable(0x8000, 16), readable(0x9000, 512), writable(0xa000, 1)));

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(head, chain.head());
        assertEquals(3, chain.descriptors());
        assertElement(chain.readable(), 0, 0x8000, 16);
        assertElement(chain.readable(), 1, 0x9000, 512);
        assertElement(chain.writable(), 0, 0xa000, 1);
        assertEquals(PopResult.EMPTY, queue.pop(chain));
    }

    @Test
    void chainObjectIsReusable() {
        start(false);
        driver.add(List.of(readable(0x8000, 16), writable(0xa000, 100)));
        driver.add(List.of(writable(0xb000, 7)));
        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(0, chain.readable().count());
        assertEquals(1, chain.writable().count());
        assertElement(chain.writable(), 0, 0xb000, 7);
        assertEquals(1, chain.descriptors());
    }

    @Test
    void indirectTableIsFollowed() {
        start(false);
        driver.addIndirect(List.of(readable(0x8000, 16), writable(0xa000, 512), writable(0xc000, 1)));

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertElement(chain.readable(), 0, 0x8000, 16);
        assertElement(chain.writable(), 0, 0xa000, 512);
        assertElement(chain.writable(), 1, 0xc000, 1);
        assertEquals(3, chain.descriptors());
    }

    @Test
    void directDescriptorsMayBeFollowedByAnIndirectOne() {
        start(false);
        driver.addIndirect(List.of(readable(0x8000, 16)), List.of(readable(0x9000, 8), writable(0xc000, 1)));

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(24, chain.readable().sizeBytes());
        assertElement(chain.writable(), 0, 0xc000, 1);
    }

    @Test
    void writeFlagOfAnIndirectDescriptorIsIgnored() {
        start(false);
        long table = driver.indirectTable(List.of(readable(0x8000, 16), writable(0xc000, 1)));
        driver.descriptor(0, table, 32, FakeVirtQueue.VIRTQ_DESC_F_INDIRECT | FakeVirtQueue.VIRTQ_DESC_F_WRITE, 0);
        driver.offer(0);

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(16, chain.readable().sizeBytes());
    }

    @Test
    void indirectTableMayHaveMoreEntriesThanTheQueueWasMadeSmallTo() {
        start(false);
        List<FakeVirtQueue.Buffer> buffers = java.util.stream.IntStream.range(0, 100)
                .mapToObj(i -> writable(0x10000 + 1024L * i, 512))
                .toList();
        driver.addIndirect(buffers);

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(100, chain.writable().count());
    }

    @Test
    void unalignedIndirectTableIsFollowed() {
        start(false);
        driver.descriptorAt(0x8003, 0x9000, 5, FakeVirtQueue.VIRTQ_DESC_F_WRITE, 0);
        driver.descriptor(0, 0x8003, 16, FakeVirtQueue.VIRTQ_DESC_F_INDIRECT, 0);
        driver.offer(0);

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertElement(chain.writable(), 0, 0x9000, 5);
    }

    @Test
    void buffersAboveTheHoleAreReached() {
        start(false);
        driver.add(List.of(readable((1L << 32) + 0x1000, 64)));

        assertEquals(PopResult.CHAIN, queue.pop(chain));

        assertEquals(
                memory.regions().get(1).segment().address() + 0x1000,
                chain.readable().address(0));
    }

    @Test
    void usedElementsShowOnlyWhenPublished() {
        start(false);
        int head = driver.add(List.of(writable(0xa000, 100)));
        queue.pop(chain);

        queue.push(head, 42);
        assertEquals(0, driver.usedIndex());
        assertEquals(1, queue.unpublished());
        queue.publish();

        assertEquals(new FakeVirtQueue.Used(head, 42), driver.poll().orElseThrow());
        assertEquals(0, queue.unpublished());
    }

    @Test
    void publicationIsReportedAsWritten() {
        start(false);
        int head = driver.add(List.of(writable(0xa000, 100)));
        queue.pop(chain);
        memory.forgetWritten();

        queue.push(head, 1);
        queue.publish();

        assertTrue(memory.wasWritten(driver.deviceGpa(), 4 + 8));
    }

    @Test
    void indicesWrapAround() {
        start(true);
        for (int i = 0; i < 70_000; i++) {
            int head = driver.add(List.of(writable(0xa000, 100)));
            assertEquals(PopResult.CHAIN, queue.pop(chain));
            queue.push(head, i & 63);
            assertTrue(queue.publish(), "interrupt for element " + i);
            assertEquals(new FakeVirtQueue.Used(head, i & 63), driver.poll().orElseThrow());
        }
    }

    @Test
    void startInTheMiddleGoesOnThere() {
        start(false);
        driver.availIndex(0xfffe);
        assertTrue(queue.start(layout(), false, true, 0xfffe, 0xfffd));
        int head = driver.add(List.of(writable(0xa000, 1)));

        assertEquals(PopResult.CHAIN, queue.pop(chain));
        queue.push(head, 1);
        queue.publish();

        assertEquals(0xffff, queue.lastAvail());
        assertEquals(0xfffe, driver.usedIndex());
    }

    @Test
    void interruptFlagIsHonouredWithoutEventIdx() {
        start(false);
        driver.wantInterrupts(false);
        queue.push(driver.add(List.of(writable(0xa000, 1))), 1);
        assertFalse(queue.publish());

        driver.wantInterrupts(true);
        queue.push(driver.add(List.of(writable(0xa000, 1))), 1);

        assertTrue(queue.publish());
    }

    @Test
    void interruptComesWhenUsedEventIsPassed() {
        start(true);
        driver.usedEvent(2);

        queue.push(0, 1);
        assertFalse(queue.publish(), "element 0");
        queue.push(0, 1);
        assertFalse(queue.publish(), "element 1");
        queue.push(0, 1);
        queue.push(0, 1);
        assertTrue(queue.publish(), "elements 2 and 3");
        queue.push(0, 1);
        assertFalse(queue.publish(), "element 4");
    }

    @Test
    void interruptFlagIsIgnoredWithEventIdx() {
        start(true);
        driver.availFlags(1);
        driver.usedEvent(0);
        queue.push(0, 1);

        assertTrue(queue.publish());
    }

    @Test
    void notificationsAreSuppressedByFlagWithoutEventIdx() {
        start(false);
        driver.add(List.of(writable(0xa000, 1)));
        assertTrue(driver.notificationWanted());

        queue.suppressNotifications();
        assertFalse(driver.notificationWanted());
        queue.enableNotifications();

        assertTrue(driver.notificationWanted());
    }

    @Test
    void notificationsAreSuppressedByIndexWithEventIdx() {
        start(true);
        driver.add(List.of(writable(0xa000, 1)));
        assertTrue(driver.kick());

        queue.suppressNotifications();
        queue.pop(chain);
        driver.add(List.of(writable(0xa000, 1)));
        assertFalse(driver.kick(), "the device is busy");
        queue.pop(chain);
        assertFalse(queue.enableNotifications());
        driver.add(List.of(writable(0xa000, 1)));

        assertTrue(driver.kick(), "the device is idle");
    }

    @Test
    void enablingNotificationsSeesWhatCameMeanwhile() {
        start(true);
        queue.suppressNotifications();
        assertEquals(PopResult.EMPTY, queue.pop(chain));
        driver.add(List.of(writable(0xa000, 1)));

        assertTrue(queue.enableNotifications());
    }

    @Test
    void chainsTakenOutsideABurstAskForTheNextNotificationWhenStarved() {
        start(true);
        driver.add(List.of(writable(0xa000, 1)));
        driver.kick();
        assertEquals(PopResult.CHAIN, queue.pop(chain));
        assertEquals(PopResult.EMPTY, queue.pop(chain));

        driver.add(List.of(writable(0xa000, 1)));

        assertTrue(driver.kick());
    }
}
