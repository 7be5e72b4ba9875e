package org.benchtop.block.filter;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.time.Clock;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeStats;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;

/** The contract over filters on a drive that completes at once, or late and in any order. */
final class FilterContractTest {
    @TempDir
    private Path folder = Path.of("");

    /** Closes the drive below after the filter, as the engine does. */
    private record Owned(BlockBackend filter, BlockBackend below) implements BlockBackend {
        @Override
        public BlockCapabilities capabilities() {
            return filter.capabilities();
        }

        @Override
        public BlockQueue openQueue(EventLoop loop) {
            return filter.openQueue(loop);
        }

        @Override
        public String describe() {
            return filter.describe();
        }

        @Override
        public void close() {
            filter.close();
            below.close();
        }
    }

    private interface Filter {
        BlockBackend over(BlockBackend below);
    }

    private static BlockBackend disk() {
        return new HeldBlockBackend(BlockBackendContract.SIZE_BYTES).automatic();
    }

    private static BlockBackend on(BlockBackend below, Filter filter) {
        return new Owned(CrankyBlockBackend.asserting(filter.over(below)), below);
    }

    private static BlockBackend onLate(Filter filter) {
        return on(new CrankyBlockBackend(disk(), 11), filter);
    }

    @Nested
    final class Overlay implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return onLate(below -> new OverlayType()
                    .create(
                            new OverlayOptions("below", OverlayOptions.Store.MEMORY, Optional.empty()),
                            new FakeCreateContext("disk0").drive("below", below)));
        }
    }

    @Nested
    final class OverlayOverLateChanges implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            BlockBackend below = disk();
            return new Owned(new OverlayBackend(below, new CrankyBlockBackend(disk(), 12)), below);
        }
    }

    @Nested
    final class Throttle implements BlockBackendContract {

        @Override
        public BlockBackend open() {
            return onLate(below -> new ThrottleBackend(
                    new ThrottleOptions(
                            "below",
                            Optional.of(2_000L),
                            Optional.empty(),
                            Optional.empty(),
                            Optional.empty(),
                            Optional.of(10_000_000L),
                            Optional.of(5_000_000L),
                            1_000_000),
                    below,
                    // The host's time, so that loops on several threads agree about it.
                    Clock.host(),
                    new FakeStats()));
        }
    }

    @Nested
    final class FaultThatDelaysAndTears implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            FaultOptions.Rule delay = new FaultOptions.Rule(
                    FaultOptions.Op.ANY,
                    0,
                    Optional.empty(),
                    0,
                    3,
                    Optional.empty(),
                    1,
                    10_000,
                    Optional.empty(),
                    Optional.empty(),
                    512);
            return onLate(below -> new FaultBackend(
                    new FaultOptions("below", List.of(delay), 1), below, Clock.host(), new FakeStats()));
        }
    }

    @Nested
    final class Trace implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return onLate(below -> new TraceType()
                    .create(
                            new TraceOptions("below", folder.resolve("trace.txt")),
                            new FakeCreateContext("disk0").drive("below", below)));
        }
    }
}
