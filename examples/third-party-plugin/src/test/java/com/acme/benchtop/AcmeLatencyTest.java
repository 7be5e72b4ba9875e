package com.acme.benchtop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The contract of every backend, and what this filter adds. */
final class AcmeLatencyTest {
    private final FakeCreateContext context = new FakeCreateContext("slow");
    private final FakeEventLoop loop = context.eventLoop();

    private BlockBackend open(AcmeLatencyOptions options) {
        context.drive("disk0", new HeldBlockBackend(1 << 20).automatic());
        return new AcmeLatencyType().create(options, context);
    }

    /** Over a backend that completes in any order, with no delay of its own so that no clock is needed. */
    @Nested
    final class Contract implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            FakeCreateContext fresh = new FakeCreateContext("slow")
                    .drive(
                            "disk0",
                            new CrankyBlockBackend(new HeldBlockBackend(SIZE_BYTES).automatic(), 7));
            return new AcmeLatencyType().create(new AcmeLatencyOptions("disk0", 0, 0, 0), fresh);
        }
    }

    @Test
    void eachKindOfRequestIsDelayedByItsOwnTime() {
        List<String> log = new ArrayList<>();
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(Arena.ofAuto().allocate(512), 0, 512);
        try (BlockBackend backend = open(new AcmeLatencyOptions("disk0", 300, 200, 0));
                BlockQueue queue = backend.openQueue(loop)) {
            loop.call(() -> {
                queue.submit(read.at(0), (request, status) -> log.add("read " + loop.clock().nanoTime()));
                queue.submit(
                        new BlockRequest.Discard().at(0, 512),
                        (request, status) -> log.add("discard " + loop.clock().nanoTime()));
                queue.submit(
                        new BlockRequest.Flush(),
                        (request, status) -> log.add("flush " + loop.clock().nanoTime()));
                queue.kick();
            });
            loop.advance(1000);
        }
        assertEquals(List.of("flush 0", "discard 200", "read 300"), log);
        assertEquals(2, context.stats().value("delayed"));
        assertEquals(0, loop.openHandles());
    }

    @Test
    void descriptionNamesTheDriveBeneath() {
        assertTrue(open(new AcmeLatencyOptions("disk0", 1, 1, 1)).describe().startsWith("acme-latency over "));
    }

    @Test
    void warmRequestsAllocateNothing() {
        context.drive("disk0", new HeldBlockBackend(1 << 20).automatic());
        BlockRequest.Flush flush = new BlockRequest.Flush();
        try (BlockBackend backend = new AcmeLatencyType().create(new AcmeLatencyOptions("disk0", 0, 0, 10), context);
                BlockQueue queue = backend.openQueue(loop)) {
            assertEquals(0, AllocationMeter.bytesPerRound(1000, () -> {
                loop.call(() -> {});
                submitAndWait(queue, flush);
            }));
        }
    }

    private void submitAndWait(BlockQueue queue, BlockRequest request) {
        pendingQueue = queue;
        pendingRequest = request;
        loop.call(submission);
        loop.advance(10);
    }

    private BlockQueue pendingQueue;
    private BlockRequest pendingRequest;
    private final Runnable submission = () -> pendingQueue.submit(pendingRequest, (request, status) -> {});
}
