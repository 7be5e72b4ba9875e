package org.benchtop.block.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeStats;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;

final class ThrottleBackendTest {
    private static final long SECOND = 1_000_000_000L;

    private final FakeEventLoop loop = new FakeEventLoop();
    private final HeldBlockBackend disk = new HeldBlockBackend(1 << 20).automatic();
    private final List<Long> completed = new ArrayList<>();

    private static ThrottleOptions options(
            Optional<Long> iops, Optional<Long> iopsWrite, Optional<Long> bps, long burst) {
        return new ThrottleOptions(
                "below", iops, Optional.empty(), iopsWrite, bps, Optional.empty(), Optional.empty(), burst);
    }

    private BlockQueue queue(ThrottleOptions options) {
        return new ThrottleBackend(options, disk, loop.clock(), new FakeStats()).openQueue(loop);
    }

    private void submit(BlockQueue queue, BlockRequest request) {
        loop.call(() -> {
            queue.submit(request, (done, status) -> completed.add(loop.clock().nanoTime()));
            queue.kick();
        });
    }

    private static BlockRequest.Read read(int bytes) {
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(Arena.ofAuto().allocate(bytes), 0, bytes);
        return read.at(0);
    }

    private static BlockRequest.Write write() {
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(Arena.ofAuto().allocate(512), 0, 512);
        return write.at(0);
    }

    @Test
    void requestsLeaveAtTheRate() {
        try (BlockQueue queue = queue(options(Optional.of(10L), Optional.empty(), Optional.empty(), 0))) {
            long start = loop.clock().nanoTime();
            for (int i = 0; i < 5; i++) {
                submit(queue, read(512));
            }
            assertEquals(1, completed.size());
            loop.advance(SECOND);
            assertEquals(
                    List.of(
                            start,
                            start + SECOND / 10,
                            start + SECOND / 5,
                            start + 3 * SECOND / 10,
                            start + 2 * SECOND / 5),
                    completed);
        }
    }

    @Test
    void bytesCount() {
        try (BlockQueue queue = queue(options(Optional.empty(), Optional.empty(), Optional.of(65536L), 0))) {
            submit(queue, read(65536));
            submit(queue, read(512));
            loop.advance(SECOND - 1);
            assertEquals(1, completed.size());
            loop.advance(1);
            assertEquals(2, completed.size());
        }
    }

    @Test
    void burstGoesAtOnce() {
        try (BlockQueue queue = queue(options(Optional.of(100L), Optional.empty(), Optional.empty(), SECOND / 10))) {
            for (int i = 0; i < 20; i++) {
                submit(queue, read(512));
            }
            assertEquals(11, completed.size());
        }
        loop.advance(0);
    }

    @Test
    void readsAreNotHeldUpByALimitOnWrites() {
        try (BlockQueue queue = queue(options(Optional.empty(), Optional.of(1L), Optional.empty(), 0))) {
            submit(queue, write());
            submit(queue, write());
            submit(queue, read(512));
            assertEquals(2, completed.size(), "the first write and the read");
            loop.advance(SECOND);
            assertEquals(3, completed.size());
        }
    }

    @Test
    void flushIsNotDelayed() {
        try (BlockQueue queue = queue(options(Optional.of(1L), Optional.empty(), Optional.empty(), 0))) {
            submit(queue, write());
            submit(queue, new BlockRequest.Flush());
            assertEquals(2, completed.size());
        }
    }

    @Test
    void drainLetsEverythingGo() {
        try (BlockQueue queue = queue(options(Optional.of(1L), Optional.empty(), Optional.empty(), 0))) {
            for (int i = 0; i < 50; i++) {
                submit(queue, read(512));
            }
            loop.call(queue::drain);
            assertEquals(50, completed.size());
            assertEquals(0, loop.armedTimers());
        }
    }

    @Test
    void limitsAreSharedByAllQueues() {
        ThrottleBackend backend = new ThrottleBackend(
                options(Optional.of(10L), Optional.empty(), Optional.empty(), 0), disk, loop.clock(), new FakeStats());
        try (BlockQueue first = backend.openQueue(loop);
                BlockQueue second = backend.openQueue(loop)) {
            for (int i = 0; i < 5; i++) {
                submit(first, read(512));
                submit(second, read(512));
            }
            loop.advance(SECOND - SECOND / 10);
            assertEquals(10, completed.size());
            assertEquals(9 * SECOND / 10, completed.getLast() - completed.getFirst());
        }
    }

    @Test
    void noLimitIsRefused() {
        IllegalArgumentException error = assertThrows(
                IllegalArgumentException.class, () -> options(Optional.empty(), Optional.empty(), Optional.empty(), 0));
        assertTrue(String.valueOf(error.getMessage()).contains("needs a limit"), error.getMessage());
    }
}
