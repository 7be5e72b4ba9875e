package org.benchtop.virtio.scsi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.GuestHeap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Once warm, a command costs no allocation on its way from the doorbell to the interrupt. */
final class VirtioScsiAllocationTest {
    private static final int COMMANDS_PER_ROUND = 2_000;
    private static final long SLACK_BYTES = COMMANDS_PER_ROUND / 4;

    /** Completes everything at once and does nothing, without allocating. */
    private static final class Nothing implements BlockBackend, BlockQueue {
        @Override
        public BlockCapabilities capabilities() {
            return new BlockCapabilities(1 << 20, 512, 512, false, true, true, CacheMode.WRITEBACK, 128, 1 << 20);
        }

        @Override
        public BlockQueue openQueue(EventLoop loop) {
            return this;
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            completion.completed(request, BlockStatus.OK);
        }

        @Override
        public String describe() {
            return "nothing";
        }

        @Override
        public void close() {}
    }

    @ParameterizedTest
    @CsvSource({
        "28 00 00 00 00 08 00 00 08 00, true",
        "2a 00 00 00 00 08 00 00 08 00, false",
        "88 00 00 00 00 00 00 00 00 08 00 00 00 08 00 00, true",
        "2a 08 00 00 00 08 00 00 08 00, false"
    })
    void commandAllocatesNothing(String cdb, boolean in) {
        ScsiMachine m = ScsiMachine.stopped(new Nothing(), VirtioScsiPciOptions.defaults(), ScsiHdOptions.of("disk0"))
                .start(-1L);
        m.command(ScsiMachine.READY);
        m.context.memory().recordWritten(false);
        m.context.irqs().recordMessages(false);
        FakeVirtQueue queue = m.queues.get(2);
        GuestHeap heap = m.driver.heap();
        byte[] request = new byte[51];
        request[0] = 1;
        byte[] raw = HexFormat.ofDelimiter(" ").parseHex(cdb);
        System.arraycopy(raw, 0, request, 19, raw.length);
        long header = m.place(request);
        long data = heap.allocate(4096, 4096);
        long response = heap.allocate(108, 16);
        int next = FakeVirtQueue.VIRTQ_DESC_F_NEXT;
        int write = FakeVirtQueue.VIRTQ_DESC_F_WRITE;
        queue.descriptor(0, header, 51, next, 1);
        if (in) {
            queue.descriptor(1, response, 108, next | write, 2);
            queue.descriptor(2, data, 4096, write, 0);
        } else {
            queue.descriptor(1, data, 4096, next, 2);
            queue.descriptor(2, response, 108, write, 0);
        }
        int before = queue.usedIndex();

        long bytes = AllocationMeter.bytesPerRound(COMMANDS_PER_ROUND / 4, () -> {
            for (int i = 0; i < 4; i++) {
                queue.offer(0);
            }
            queue.usedEvent(queue.usedIndex());
            queue.ring();
            m.context.eventLoop().runPending();
        });

        assertTrue((queue.usedIndex() - before & 0xffff) > 0, "commands were answered");
        assertEquals(0, heap.segment(response, 12).get(java.lang.foreign.ValueLayout.JAVA_BYTE, 10));
        assertEquals(0, heap.segment(response, 12).get(java.lang.foreign.ValueLayout.JAVA_BYTE, 11));
        assertTrue(bytes < SLACK_BYTES, COMMANDS_PER_ROUND + " commands allocate " + bytes + " bytes");
    }
}
