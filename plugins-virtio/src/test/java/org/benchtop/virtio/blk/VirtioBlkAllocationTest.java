package org.benchtop.virtio.blk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.benchtop.testkit.virtio.GuestHeap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Once warm, a request costs no allocation on its way from the doorbell to the interrupt. */
final class VirtioBlkAllocationTest {
    private static final int REQUESTS_PER_ROUND = 2_000;
    /** What a whole round may allocate: nothing per request, but the JVM itself may do so once. */
    private static final long SLACK_BYTES = REQUESTS_PER_ROUND / 4;

    private static void assertAllocatesNothing(BlkMachine machine, int type, boolean indirect) {
        machine.context.memory().recordWritten(false);
        machine.context.irqs().recordMessages(false);
        FakeVirtQueue queue = machine.queue;
        GuestHeap heap = machine.driver.heap();
        long header = machine.requests.header(type, 8);
        long data = heap.allocate(4096, 4096);
        long status = heap.allocate(1, 1);
        int dataFlag = type == 0 ? FakeVirtQueue.VIRTQ_DESC_F_WRITE : 0;
        if (indirect) {
            long table = heap.allocate(48, 16);
            queue.descriptorAt(table, header, 16, FakeVirtQueue.VIRTQ_DESC_F_NEXT, 1);
            queue.descriptorAt(table + 16, data, 4096, FakeVirtQueue.VIRTQ_DESC_F_NEXT | dataFlag, 2);
            queue.descriptorAt(table + 32, status, 1, FakeVirtQueue.VIRTQ_DESC_F_WRITE, 0);
            queue.descriptor(0, table, 48, FakeVirtQueue.VIRTQ_DESC_F_INDIRECT, 0);
        } else {
            queue.descriptor(0, header, 16, FakeVirtQueue.VIRTQ_DESC_F_NEXT, 1);
            queue.descriptor(1, data, 4096, FakeVirtQueue.VIRTQ_DESC_F_NEXT | dataFlag, 2);
            queue.descriptor(2, status, 1, FakeVirtQueue.VIRTQ_DESC_F_WRITE, 0);
        }
        int before = queue.usedIndex();

        long bytes = AllocationMeter.bytesPerRound(REQUESTS_PER_ROUND / 4, () -> {
            for (int i = 0; i < 4; i++) {
                queue.offer(0);
            }
            queue.usedEvent(queue.usedIndex());
            queue.ring();
            machine.context.eventLoop().runPending();
        });

        assertTrue((queue.usedIndex() - before & 0xffff) > 0, "requests were answered");
        assertEquals(0, heap.segment(status, 1).get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0));
        assertTrue(bytes < SLACK_BYTES, REQUESTS_PER_ROUND + " requests allocate " + bytes + " bytes");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void requestAllocatesNothing(int type) {
        assertAllocatesNothing(BlkMachine.running(new ResizableBackend(1 << 20)), type, false);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void indirectRequestAllocatesNothing(int type) {
        assertAllocatesNothing(BlkMachine.running(new ResizableBackend(1 << 20)), type, true);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void requestWithoutEventIdxAllocatesNothing(int type) {
        BlkMachine machine = BlkMachine.stopped(new ResizableBackend(1 << 20), VirtioBlkPciOptions.of("disk0"))
                .start(~FakeVirtioDriver.VIRTIO_F_EVENT_IDX, 16);

        assertAllocatesNothing(machine, type, false);
    }
}
