package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.Test;

/** Once warm, a request costs no allocation from the command to the interrupt. */
final class IdeAllocationTest {
    private static final int REQUESTS = 500;
    private static final long SLACK_BYTES = REQUESTS;

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

    @Test
    void dmaRequestOnIdeAllocatesNothing() {
        IdeMachine m = IdeMachine.disk(new Nothing());
        m.context.memory().recordWritten(false);
        m.table(IdeMachine.DATA, 4096);

        FakeDeviceContext context = m.context;
        FakeEventLoop loop = context.eventLoop();
        int master = m.master();

        long bytes = AllocationMeter.bytesPerRound(REQUESTS, () -> {
            context.pioWrite(0x1f2, 1, 8);
            context.pioWrite(0x1f3, 1, 16);
            context.pioWrite(0x1f6, 1, 0xe0);
            context.pioWrite(0x1f7, 1, 0xc8);
            context.pioWrite(master, 1, 9);
            loop.runPending();
            context.pioWrite(master, 1, 0);
            context.pioRead(0x1f7, 1);
        });

        assertEquals(0x50, m.in(IdeMachine.STATUS));
        assertTrue(bytes < SLACK_BYTES, REQUESTS + " requests allocate " + bytes + " bytes");
    }

    @Test
    void queuedRequestOnAhciAllocatesNothing() {
        AhciMachine m = AhciMachine.disk(new Nothing());
        m.context.memory().recordWritten(false);
        m.prepare(0, 0x60, 8, 16, 0, 0x40, AhciMachine.DATA, 4096);

        FakeDeviceContext context = m.context;
        FakeEventLoop loop = context.eventLoop();
        long base = context.pci().only().barAddress(5);

        long bytes = AllocationMeter.bytesPerRound(REQUESTS, () -> {
            context.mmioWrite(base + AhciMachine.SACT, 4, 1);
            context.mmioWrite(base + AhciMachine.CI, 4, 1);
            loop.runPending();
            context.mmioWrite(base + AhciMachine.IS, 4, -1);
        });

        assertEquals(0, m.read(AhciMachine.SACT));
        assertTrue(bytes < SLACK_BYTES, REQUESTS + " requests allocate " + bytes + " bytes");
    }
}
