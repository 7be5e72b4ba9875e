package org.benchtop.block;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Nested;

/** The contract over {@code memory} and {@code null}. */
final class RamBackendsContractTest {
    @Nested
    final class Memory implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return CrankyBlockBackend.asserting(
                    new MemoryType().create(MemoryOptions.ofSize(SIZE_BYTES), new FakeCreateContext("disk0")));
        }

        @Override
        public Optional<BlockBackend> openReadOnly() {
            FakeHostServices host = new FakeHostServices();
            host.file(Path.of("/fake/content"), SIZE_BYTES);
            return Optional.of(new MemoryType()
                    .create(
                            new MemoryOptions(Optional.empty(), Optional.of(Path.of("content")), true, 512),
                            new FakeCreateContext("disk0").host(host)));
        }
    }

    @Nested
    final class MemoryWith4KiBBlocks implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return new MemoryType()
                    .create(
                            new MemoryOptions(Optional.of(SIZE_BYTES), Optional.empty(), false, 4096),
                            new FakeCreateContext("disk0"));
        }
    }

    @Nested
    final class Null implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return new NullType().create(NullOptions.ofSize(SIZE_BYTES), new FakeCreateContext("disk0"));
        }

        @Override
        public Optional<BlockBackend> openReadOnly() {
            return Optional.of(new NullType()
                    .create(new NullOptions(SIZE_BYTES, 0, true, true, 512), new FakeCreateContext("disk0")));
        }

        @Override
        public boolean storesData() {
            return false;
        }
    }

    @Nested
    final class NullWithLatency implements BlockBackendContract {
        @Override
        public BlockBackend open() {
            return CrankyBlockBackend.asserting(new NullBackend(
                    new NullOptions(SIZE_BYTES, 50_000, true, false, 512), org.benchtop.spi.time.Clock.host()));
        }

        @Override
        public boolean storesData() {
            return false;
        }
    }
}
