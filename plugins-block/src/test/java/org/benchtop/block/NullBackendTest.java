package org.benchtop.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.Test;

final class NullBackendTest {
    private final FakeCreateContext context = new FakeCreateContext("disk0");
    private final FakeEventLoop loop = context.eventLoop();

    private BlockBackend open(long latencyNanos) {
        return new NullType().create(new NullOptions(1 << 20, latencyNanos, true, false, 512), context);
    }

    @Test
    void eachRequestTakesTheLatency() {
        List<String> log = new ArrayList<>();
        try (BlockBackend backend = open(100);
                BlockQueue queue = backend.openQueue(loop)) {
            loop.call(() -> queue.submit(new BlockRequest.Flush(), (request, status) -> log.add("a" + now())));
            loop.advance(40);
            loop.call(() -> queue.submit(new BlockRequest.Flush(), (request, status) -> log.add("b" + now())));

            loop.advance(59);
            assertEquals(List.of(), log);
            loop.advance(1000);
        }
        assertEquals(List.of("a100", "b140"), log);
        assertEquals(0, loop.openHandles());
    }

    private long now() {
        return loop.clock().nanoTime();
    }

    @Test
    void requestSubmittedFromACompletionTakesTheLatencyToo() {
        List<Long> times = new ArrayList<>();
        BlockRequest flush = new BlockRequest.Flush();
        try (BlockBackend backend = open(100);
                BlockQueue queue = backend.openQueue(loop)) {
            loop.call(() -> queue.submit(flush, (request, status) -> {
                times.add(now());
                queue.submit(flush, (again, result) -> times.add(now()));
            }));

            loop.advance(1000);
        }
        assertEquals(List.of(100L, 200L), times);
    }

    @Test
    void readsGiveZeroes() {
        MemorySegment memory = Arena.ofAuto().allocate(200 << 10).fill((byte) 1);
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(memory, 0, 200 << 10);
        try (BlockBackend backend = open(0);
                BlockQueue queue = backend.openQueue(loop)) {
            queue.submit(read.at(0), (request, status) -> {});
        }
        assertArrayEquals(new byte[200 << 10], memory.toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    void badSizesAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> NullOptions.ofSize(1000));
        assertThrows(IllegalArgumentException.class, () -> new NullOptions(4096, 0, true, false, 1024));
    }

    @Test
    void warmRequestsAllocateNothing() {
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(Arena.ofAuto().allocate(4096), 0, 4096);
        try (BlockBackend backend = open(0);
                BlockQueue queue = backend.openQueue(loop)) {
            assertEquals(
                    0, AllocationMeter.bytesPerRound(2000, () -> queue.submit(read.at(0), (request, status) -> {})));
        }
    }
}
