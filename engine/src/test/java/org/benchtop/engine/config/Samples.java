package org.benchtop.engine.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.PluginType;

/** Option records with everything that options can be. */
final class Samples {
    private Samples() {}

    enum Cache {
        WRITEBACK,
        NONE,
        WRITE_THROUGH,
        @Option(name = "io_uring")
        URING,
    }

    record Inner(
            @Option(doc = "a", value = "1") int a,
            @Option(doc = "b") Optional<String> b) {}

    record Everything(
            @Option(doc = "drive to use", ref = Option.Ref.DRIVE)
            String drive,

            @Option(doc = "flag", value = "on") boolean ioeventfd,

            @Option(doc = "queues", value = "1", min = 1, max = 256)
            int queues,

            @Option(doc = "size", value = "64MiB", unit = Option.Unit.BYTES, min = 512, max = 1L << 40)
            long sizeBytes,

            @Option(doc = "latency", value = "0", unit = Option.Unit.NANOSECONDS)
            long latencyNanos,

            @Option(doc = "ratio", value = "0.5", min = 0, max = 1)
            double ratio,

            @Option(doc = "where", value = "disk.img") Path file,
            @Option(doc = "how long", value = "2ms") Duration timeout,
            @Option(doc = "cache", value = "writeback") Cache cache,
            @Option(doc = "nested", value = "{}") Inner inner,
            @Option(doc = "numbers", value = "[]") List<Integer> numbers,
            @Option(doc = "names", value = "{}") Map<String, Boolean> names,
            @Option(doc = "serial") Optional<String> serial,

            @Option(doc = "thread", ref = Option.Ref.IOTHREAD)
            Optional<String> iothread) {
        Everything {
            if (queues == 13) {
                throw new IllegalArgumentException("queues: 13 is unlucky");
            }
        }
    }

    record Type<O extends Record>(String name, Class<O> optionsType) implements PluginType<O> {
        @Override
        public String summary() {
            return "A " + name + ".";
        }
    }

    static final Type<Everything> EVERYTHING = new Type<>("virtio-blk-pci", Everything.class);
}
