package org.benchtop.block.qcow2;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.FakeFile;
import org.junit.jupiter.api.Nested;

/** The contract over every shape of image. */
final class Qcow2ContractTest {
    private abstract static class Shape implements BlockBackendContract {
        private final TestImages images = new TestImages();

        abstract Map<String, String> options();

        CacheMode cache() {
            return CacheMode.WRITEBACK;
        }

        Optional<ImageBacking> backing() {
            return Optional.empty();
        }

        void prepare(TestImages on, FakeFile file) {
            file.completion(FakeFile.Completion.LATER);
        }

        @Override
        public BlockBackend open() {
            prepare(images, images.create("disk.qcow2", SIZE_BYTES, options(), backing()));
            return CrankyBlockBackend.asserting(images.open(TestImages.how("disk.qcow2", true, cache())));
        }

        @Override
        public Optional<BlockBackend> openReadOnly() {
            prepare(images, images.create("disk.qcow2", SIZE_BYTES, options(), backing()));
            return Optional.of(images.open(TestImages.how("disk.qcow2", false, cache())));
        }
    }

    @Nested
    final class Version3 extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of();
        }
    }

    @Nested
    final class CompletedAtOnce extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of();
        }

        @Override
        void prepare(TestImages on, FakeFile file) {}
    }

    @Nested
    final class Version2Writethrough extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("compat", "0.10");
        }

        @Override
        CacheMode cache() {
            return CacheMode.WRITETHROUGH;
        }
    }

    @Nested
    final class TinyClustersAnd1BitRefcounts extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("cluster_size", "512", "refcount_bits", "1");
        }
    }

    @Nested
    final class TinyClustersAnd64BitRefcountsDirect extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("cluster_size", "512", "refcount_bits", "64");
        }

        @Override
        CacheMode cache() {
            return CacheMode.NONE;
        }
    }

    @Nested
    final class HugeClustersAndShortTransfers extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("cluster_size", "2M");
        }

        @Override
        void prepare(TestImages on, FakeFile file) {
            file.completion(FakeFile.Completion.LATER).maxBytesPerOperation(100_000);
        }
    }

    @Nested
    final class ExtendedL2 extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("extended_l2", "on", "cluster_size", "16k");
        }
    }

    @Nested
    final class LazyRefcounts extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("lazy_refcounts", "on", "cluster_size", "4k");
        }
    }

    @Nested
    final class DirectWith4KiBBlocks extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("cluster_size", "4k");
        }

        @Override
        CacheMode cache() {
            return CacheMode.DIRECTSYNC;
        }

        @Override
        void prepare(TestImages on, FakeFile file) {
            file.directAlignment(4096).completion(FakeFile.Completion.LATER);
        }
    }

    @Nested
    final class OverABackingFile extends Shape {
        @Override
        Map<String, String> options() {
            return new HashMap<>(Map.of("cluster_size", "8k"));
        }

        @Override
        Optional<ImageBacking> backing() {
            return Optional.of(new ImageBacking("base.qcow2", Optional.of("qcow2")));
        }

        @Override
        void prepare(TestImages on, FakeFile file) {
            on.create("base.qcow2", SIZE_BYTES - 5 * 512, Map.of());
            file.completion(FakeFile.Completion.LATER);
        }
    }

    @Nested
    final class Version2OverABackingFile extends Shape {
        @Override
        Map<String, String> options() {
            return Map.of("compat", "0.10", "cluster_size", "1k");
        }

        @Override
        Optional<ImageBacking> backing() {
            return Optional.of(new ImageBacking("base.raw", Optional.of("raw")));
        }

        @Override
        void prepare(TestImages on, FakeFile file) {
            on.host().file(TestImages.path("base.raw"), SIZE_BYTES / 2);
        }
    }
}
