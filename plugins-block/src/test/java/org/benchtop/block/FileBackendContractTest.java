package org.benchtop.block;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeFile;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Nested;

/** The contract over the ways that requests can take: in place, bounced, read-modify-write, short, late. */
final class FileBackendContractTest {
    private abstract static class OverFakeHost implements BlockBackendContract {
        private final FakeHostServices host = new FakeHostServices();

        abstract CacheMode cache();

        abstract void prepare(FakeFile file);

        FileOptions options(boolean readOnly) {
            return new FileOptions(
                    Path.of("disk.img"),
                    Optional.empty(),
                    false,
                    false,
                    readOnly,
                    cache(),
                    HostFileOptions.Aio.AUTO,
                    4,
                    FileOptions.DiscardMode.UNMAP,
                    true,
                    512,
                    Optional.empty());
        }

        private BlockBackend open(boolean readOnly) {
            prepare(host.file(Path.of("/fake/disk.img"), SIZE_BYTES));
            return new FileType().create(options(readOnly), new FakeCreateContext("disk0").host(host));
        }

        @Override
        public BlockBackend open() {
            return CrankyBlockBackend.asserting(open(false));
        }

        @Override
        public Optional<BlockBackend> openReadOnly() {
            return Optional.of(open(true));
        }
    }

    @Nested
    final class Writeback extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.WRITEBACK;
        }

        @Override
        void prepare(FakeFile file) {}
    }

    @Nested
    final class WritethroughCompletedLater extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.WRITETHROUGH;
        }

        @Override
        void prepare(FakeFile file) {
            file.completion(FakeFile.Completion.LATER);
        }
    }

    @Nested
    final class ShortTransfers extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.UNSAFE;
        }

        @Override
        void prepare(FakeFile file) {
            file.maxBytesPerOperation(1000).completion(FakeFile.Completion.LATER);
        }
    }

    @Nested
    final class DirectWith512ByteBlocks extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.NONE;
        }

        @Override
        void prepare(FakeFile file) {
            file.completion(FakeFile.Completion.LATER);
        }
    }

    @Nested
    final class DirectWith4KiBBlocksBelow512ByteRequests extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.NONE;
        }

        @Override
        void prepare(FakeFile file) {
            file.directAlignment(4096).completion(FakeFile.Completion.LATER);
        }
    }

    @Nested
    final class DirectsyncShortAndAtOnce extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.DIRECTSYNC;
        }

        @Override
        void prepare(FakeFile file) {
            file.directAlignment(4096).maxBytesPerOperation(8192);
        }
    }

    @Nested
    final class WithoutFallocate extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.NONE;
        }

        @Override
        void prepare(FakeFile file) {
            file.directAlignment(4096)
                    .completion(FakeFile.Completion.LATER)
                    .fault((kind, offset, length) -> switch (kind) {
                        case PUNCH_HOLE, ZERO_RANGE -> FakeFile.EOPNOTSUPP;
                        case READ, WRITE, SYNC -> 0;
                    });
        }
    }

    @Nested
    final class BlockDevice extends OverFakeHost {
        @Override
        CacheMode cache() {
            return CacheMode.NONE;
        }

        @Override
        void prepare(FakeFile file) {
            file.blockDevice(true);
        }
    }
}
