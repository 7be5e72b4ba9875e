package org.benchtop.virtio.queue;

import static org.benchtop.testkit.virtio.FakeVirtQueue.Buffer.readable;
import static org.benchtop.testkit.virtio.FakeVirtQueue.Buffer.writable;
import static org.benchtop.testkit.virtio.FakeVirtQueue.VIRTQ_DESC_F_INDIRECT;
import static org.benchtop.testkit.virtio.FakeVirtQueue.VIRTQ_DESC_F_NEXT;
import static org.benchtop.testkit.virtio.FakeVirtQueue.VIRTQ_DESC_F_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.GuestHeap;
import org.benchtop.virtio.queue.QueueError.Kind;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every rule that a driver can break with its rings ends in its own error, and in nothing else. */
final class VirtQueueHostileTest {
    private static final int SIZE = 8;
    private static final int MAX_SIZE = 16;
    private static final long RAM_SIZE = 1 << 20;

    private final FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_SIZE);
    private final GuestHeap heap = new GuestHeap(memory, 1 << 12, RAM_SIZE / 2);
    private final FakeVirtQueue driver = new FakeVirtQueue(heap, SIZE, true, () -> {});
    private final VirtQueue queue = new VirtQueue(memory, MAX_SIZE);
    private final DescriptorChain chain = new DescriptorChain(0);

    @BeforeEach
    void start() {
        assertTrue(queue.start(layout(SIZE), true, true, 0, 0));
    }

    private RingLayout layout(int size) {
        return new RingLayout(size, driver.descriptorGpa(), driver.driverGpa(), driver.deviceGpa());
    }

    private void assertPopFails(Kind kind) {
        assertEquals(PopResult.ERROR, queue.pop(chain));
        assertEquals(kind, queue.error().orElseThrow().kind());
        assertEquals(PopResult.ERROR, queue.pop(chain), "the queue must stay stuck");
        assertEquals(0, queue.lastAvail(), "the chain must not count as taken");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 6, 32, -8, 65536})
    void badQueueSizeIsRefused(int size) {
        assertFalse(queue.start(layout(size), true, true, 0, 0));

        assertEquals(Kind.BAD_QUEUE_SIZE, queue.error().orElseThrow().kind());
    }

    @ParameterizedTest
    @CsvSource({"8,0,0", "1,0,0", "0,1,0", "0,0,2", "0,0,1"})
    void misalignedRingIsRefused(int descriptorShift, int driverShift, int deviceShift) {
        RingLayout bad = new RingLayout(
                SIZE,
                driver.descriptorGpa() + descriptorShift,
                driver.driverGpa() + driverShift,
                driver.deviceGpa() + deviceShift);

        assertFalse(queue.start(bad, true, true, 0, 0));

        assertEquals(Kind.RING_MISALIGNED, queue.error().orElseThrow().kind());
    }

    @ParameterizedTest
    @ValueSource(longs = {RAM_SIZE, RAM_SIZE - 16, 0xffff_ffff_ffff_fff0L, 0x7fff_ffff_ffff_fff0L, 1L << 32})
    void ringOutsideRamIsRefused(long gpa) {
        assertFalse(queue.start(new RingLayout(SIZE, gpa, 0x1000, 0x2000), true, true, 0, 0));
        assertEquals(Kind.RING_NOT_RAM, queue.error().orElseThrow().kind());
        assertFalse(queue.start(new RingLayout(SIZE, 0x1000, gpa, 0x2000), true, true, 0, 0));
        assertEquals(Kind.RING_NOT_RAM, queue.error().orElseThrow().kind());
        assertFalse(queue.start(new RingLayout(SIZE, 0x1000, 0x2000, gpa), true, true, 0, 0));
        assertEquals(Kind.RING_NOT_RAM, queue.error().orElseThrow().kind());
    }

    @ParameterizedTest
    @ValueSource(ints = {SIZE + 1, 1000, 0x8000, 0xffff})
    void indexJumpIsAnError(int index) {
        driver.availIndex(index);

        assertPopFails(Kind.INDEX_JUMP);
    }

    @Test
    void indexThatRunsBackwardsIsAnError() {
        driver.add(List.of(writable(0xa000, 1)));
        driver.add(List.of(writable(0xa000, 1)));
        assertEquals(PopResult.CHAIN, queue.pop(chain));
        assertEquals(PopResult.CHAIN, queue.pop(chain));

        driver.availIndex(1);

        assertEquals(PopResult.ERROR, queue.pop(chain));
        assertEquals(Kind.INDEX_JUMP, queue.error().orElseThrow().kind());
    }

    @ParameterizedTest
    @ValueSource(ints = {SIZE, 0xffff})
    void headOutsideTheTableIsAnError(int head) {
        driver.offer(head);

        assertPopFails(Kind.HEAD_OUT_OF_RANGE);
    }

    @ParameterizedTest
    @ValueSource(ints = {SIZE, 0xffff})
    void nextOutsideTheTableIsAnError(int next) {
        driver.descriptor(0, 0xa000, 16, VIRTQ_DESC_F_NEXT, next);
        driver.offer(0);

        assertPopFails(Kind.NEXT_OUT_OF_RANGE);
    }

    @Test
    void descriptorThatIsItsOwnNextIsALoop() {
        driver.descriptor(3, 0xa000, 16, VIRTQ_DESC_F_NEXT, 3);
        driver.offer(3);

        assertPopFails(Kind.LOOP);
    }

    @Test
    void longLoopIsALoop() {
        for (int i = 0; i < SIZE; i++) {
            driver.descriptor(i, 0xa000, 16, VIRTQ_DESC_F_NEXT, (i + 1) % SIZE);
        }
        driver.offer(0);

        assertPopFails(Kind.LOOP);
    }

    @Test
    void chainOverTheWholeTableIsNoLoop() {
        for (int i = 0; i < SIZE; i++) {
            driver.descriptor(i, 0xa000 + 256L * i, 16, i == SIZE - 1 ? 0 : VIRTQ_DESC_F_NEXT, i + 1);
        }
        driver.offer(0);

        assertEquals(PopResult.CHAIN, queue.pop(chain));
        assertEquals(SIZE, chain.descriptors());
    }

    @ParameterizedTest
    @CsvSource({
        "1048576,1",
        "1048575,2",
        "0xfee00000,4",
        "-1,1",
        "-4096,4096",
        "0x7fffffffffffffff,1",
        "0,-1",
        "4096,0x7fffffff"
    })
    void bufferOutsideRamIsAnError(String gpa, String length) {
        driver.descriptor(0, Long.decode(gpa), Long.decode(length).intValue(), VIRTQ_DESC_F_WRITE, 0);
        driver.offer(0);

        assertPopFails(Kind.BUFFER_NOT_RAM);
    }

    @Test
    void emptyBufferIsAnError() {
        driver.descriptor(0, 0xa000, 0, VIRTQ_DESC_F_WRITE, 0);
        driver.offer(0);

        assertPopFails(Kind.ZERO_LENGTH);
    }

    @Test
    void readableBufferAfterAWritableOneIsAnError() {
        driver.add(List.of(readable(0x8000, 16), writable(0x9000, 512), readable(0xa000, 1)));

        assertPopFails(Kind.READABLE_AFTER_WRITABLE);
    }

    @Test
    void indirectDescriptorWithoutTheFeatureIsAnError() {
        assertTrue(queue.start(layout(SIZE), true, false, 0, 0));
        driver.addIndirect(List.of(writable(0x9000, 512)));

        assertPopFails(Kind.INDIRECT_NOT_NEGOTIATED);
    }

    @Test
    void indirectTableInAnIndirectTableIsAnError() {
        driver.descriptorAt(0x8000, 0x8000, 16, VIRTQ_DESC_F_INDIRECT, 0);
        driver.descriptor(0, 0x8000, 16, VIRTQ_DESC_F_INDIRECT, 0);
        driver.offer(0);

        assertPopFails(Kind.INDIRECT_NESTED);
    }

    @Test
    void indirectDescriptorWithNextIsAnError() {
        long table = driver.indirectTable(List.of(writable(0x9000, 512)));
        driver.descriptor(0, table, 16, VIRTQ_DESC_F_INDIRECT | VIRTQ_DESC_F_NEXT, 1);
        driver.offer(0);

        assertPopFails(Kind.INDIRECT_WITH_NEXT);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 15, 17, 24, -1, -16, 0x100010})
    void indirectTableOfABadSizeIsAnError(int length) {
        driver.descriptor(0, 0x8000, length, VIRTQ_DESC_F_INDIRECT, 0);
        driver.offer(0);

        assertPopFails(Kind.INDIRECT_BAD_SIZE);
    }

    @Test
    void indirectTableOutsideRamIsAnError() {
        driver.descriptor(0, RAM_SIZE - 16, 32, VIRTQ_DESC_F_INDIRECT, 0);
        driver.offer(0);

        assertPopFails(Kind.INDIRECT_NOT_RAM);
    }

    @Test
    void nextOutsideAnIndirectTableIsAnError() {
        driver.descriptorAt(0x8000, 0x9000, 16, VIRTQ_DESC_F_NEXT, 2);
        driver.descriptor(0, 0x8000, 32, VIRTQ_DESC_F_INDIRECT, 0);
        driver.offer(0);

        assertPopFails(Kind.NEXT_OUT_OF_RANGE);
    }

    @Test
    void loopInAnIndirectTableIsAnError() {
        driver.descriptorAt(0x8000, 0x9000, 16, VIRTQ_DESC_F_NEXT, 1);
        driver.descriptorAt(0x8010, 0x9000, 16, VIRTQ_DESC_F_NEXT, 0);
        driver.descriptor(0, 0x8000, 32, VIRTQ_DESC_F_INDIRECT, 0);
        driver.offer(0);

        assertPopFails(Kind.LOOP);
    }

    @Test
    void chainWithMoreDescriptorsThanTheLargestQueueIsAnError() {
        List<FakeVirtQueue.Buffer> buffers = java.util.stream.IntStream.rangeClosed(0, MAX_SIZE)
                .mapToObj(i -> writable(0x10000 + 1024L * i, 512))
                .toList();
        driver.addIndirect(buffers);

        assertPopFails(Kind.CHAIN_TOO_LONG);
    }

    @Test
    void errorMessageNamesTheRuleAndTheValue() {
        driver.offer(9);
        queue.pop(chain);

        assertEquals(
                "head is outside the descriptor table: value=0x9",
                queue.error().orElseThrow().message());
    }
}
