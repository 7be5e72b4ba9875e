package org.benchtop.system;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import org.benchtop.block.FileOptions;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.testkit.BlockClient;

/** A process of its own that uses a raw file, to be watched ({@code calls}) or killed ({@code write}) by a test. */
final class DurabilityProbe {
    static final int SLOTS = 64;
    static final int SLOT_BYTES = 4096;
    static final int WRITES_PER_FLUSH = 16;

    private DurabilityProbe() {}

    public static void main(String[] args) {
        Path file = Path.of(args[1]);
        switch (args[0]) {
            case "calls" -> {
                for (CacheMode cache : CacheMode.values()) {
                    calls(file, cache);
                }
            }
            default -> write(file, CacheMode.valueOf(args[2]), HostFileOptions.Aio.valueOf(args[3]));
        }
    }

    private static BlockBackend open(Path file, CacheMode cache, HostFileOptions.Aio aio) {
        FileOptions options = new FileOptions(
                file,
                Optional.of((long) SLOTS * SLOT_BYTES),
                true,
                false,
                false,
                cache,
                aio,
                4,
                FileOptions.DiscardMode.UNMAP,
                true,
                512,
                Optional.empty());
        return BlockTypes.open("file", options, BlockTypes.context(Path.of("/")));
    }

    /** A call that says in the trace what comes next. */
    private static void mark(CacheMode cache, String what) {
        boolean there = Files.exists(Path.of("/benchtop-mark", cache.name().toLowerCase(Locale.ROOT), what));
        if (there) {
            throw new IllegalStateException("the mark exists");
        }
    }

    private static void require(BlockStatus status) {
        if (status != BlockStatus.OK) {
            throw new IllegalStateException("status " + status);
        }
    }

    private static void calls(Path file, CacheMode cache) {
        mark(cache, "open");
        try (LinuxEventLoop loop = LinuxEventLoop.start("probe");
                BlockBackend backend = open(file, cache, HostFileOptions.Aio.THREADS);
                BlockClient client = new BlockClient(backend, loop)) {
            mark(cache, "write");
            require(client.write(0, new byte[4096]));
            mark(cache, "flush");
            require(client.flush());
            mark(cache, "fua");
            require(client.write(4096, new byte[4096], true));
            mark(cache, "zeroes");
            require(client.writeZeroes(8192, 4096, false));
            mark(cache, "discard");
            require(client.discard(12288, 4096));
            mark(cache, "close");
        }
        mark(cache, "end");
    }

    /** Writes stamps round and round, four at a time, and says after each flush how far it is. */
    private static void write(Path file, CacheMode cache, HostFileOptions.Aio aio) {
        try (LinuxEventLoop loop = LinuxEventLoop.start("probe");
                BlockBackend backend = open(file, cache, aio);
                BlockClient client = new BlockClient(backend, loop)) {
            MemorySegment memory = Arena.ofAuto().allocate(4L * SLOT_BYTES, 4096);
            for (int stamp = 1; ; ) {
                for (int burst = 0; burst < WRITES_PER_FLUSH / 4; burst++) {
                    int first = stamp;
                    int[] done = new int[1];
                    loop.call(() -> {
                        for (int i = 0; i < 4; i++) {
                            MemorySegment slot = memory.asSlice((long) i * SLOT_BYTES, SLOT_BYTES);
                            for (long at = 0; at < SLOT_BYTES; at += 4) {
                                slot.set(ValueLayout.JAVA_INT, at, first + i);
                            }
                            BlockRequest.Write write = new BlockRequest.Write();
                            write.buffer().add(memory, (long) i * SLOT_BYTES, SLOT_BYTES);
                            client.queue()
                                    .submit(write.at((long) ((first + i) % SLOTS) * SLOT_BYTES), (request, status) -> {
                                        require(status);
                                        done[0]++;
                                    });
                        }
                        client.queue().kick();
                    });
                    int[] seen = new int[1];
                    BlockClient.await(
                            loop,
                            () -> {
                                loop.call(() -> seen[0] = done[0]);
                                return seen[0] == 4;
                            },
                            "four writes");
                    stamp += 4;
                }
                require(client.flush());
                System.out.println(stamp - 1);
            }
        }
    }
}
