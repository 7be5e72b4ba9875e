package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.benchtop.block.BlockPlugin;
import org.benchtop.block.FileOptions;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.testkit.BlockBackendContract;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The raw file backend over real files, real event loops and the engine's own system calls. */
final class FileBackendOnLinuxTest {
    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    private static BlockBackend create(Path folder, FileOptions options) {
        for (BlockBackendType<?> type : new BlockPlugin().blockBackendTypes()) {
            if (type.optionsType() == FileOptions.class) {
                @SuppressWarnings("unchecked")
                BlockBackendType<FileOptions> fileType = (BlockBackendType<FileOptions>) type;
                return fileType.create(
                        options, new FakeCreateContext("disk0").folder(folder).host(new LinuxHost()));
            }
        }
        throw new AssertionError("no file type");
    }

    private static FileOptions options(CacheMode cache, Optional<Long> size, boolean readOnly) {
        return new FileOptions(
                Path.of("disk.img"),
                size,
                size.isPresent(),
                false,
                readOnly,
                cache,
                HostFileOptions.Aio.AUTO,
                4,
                FileOptions.DiscardMode.UNMAP,
                true,
                512,
                Optional.empty());
    }

    /** The contract with one cache mode. */
    private abstract class Contract implements BlockBackendContract {
        private final CacheMode cache;

        Contract(CacheMode cache) {
            this.cache = cache;
        }

        @Override
        public BlockBackend open() {
            try {
                return create(folder, options(cache, Optional.of(SIZE_BYTES), false));
            } catch (BenchtopException e) {
                Assumptions.assumeFalse(
                        cache.direct() && String.valueOf(e.getMessage()).contains("O_DIRECT"), e.getMessage());
                throw e;
            }
        }

        @Override
        public Optional<BlockBackend> openReadOnly() {
            open().close();
            return Optional.of(create(folder, options(cache, Optional.empty(), true)));
        }

        @Override
        public EventLoop newLoop(String name) {
            return LinuxEventLoop.start(name);
        }

        @Override
        public void closeLoop(EventLoop loop) {
            ((LinuxEventLoop) loop).close();
        }
    }

    @Nested
    final class Writeback extends Contract {
        Writeback() {
            super(CacheMode.WRITEBACK);
        }
    }

    @Nested
    final class None extends Contract {
        None() {
            super(CacheMode.NONE);
        }
    }

    @Nested
    final class Writethrough extends Contract {
        Writethrough() {
            super(CacheMode.WRITETHROUGH);
        }
    }

    @Nested
    final class WithALoop {
        private final LinuxEventLoop loop = LinuxEventLoop.start("test");

        @AfterEach
        void endLoop() {
            loop.close();
        }

        @Test
        void writtenBytesAreInTheFile() throws IOException {
            byte[] data = new byte[8192];
            java.util.Arrays.fill(data, (byte) 0x5a);
            try (BlockBackend backend = create(folder, options(CacheMode.WRITEBACK, Optional.of(1L << 20), false));
                    BlockClient client = new BlockClient(backend, loop)) {
                assertEquals(BlockStatus.OK, client.write(4096, data));
                assertEquals(BlockStatus.OK, client.flush());
            }
            byte[] file = Files.readAllBytes(folder.resolve("disk.img"));
            assertEquals(1 << 20, file.length);
            assertArrayEquals(data, java.util.Arrays.copyOfRange(file, 4096, 4096 + 8192));
        }

        @Test
        void secondWriterIsRefused() {
            try (BlockBackend first = create(folder, options(CacheMode.WRITEBACK, Optional.of(1L << 20), false))) {
                BenchtopException error = assertThrows(
                        BenchtopException.class,
                        () -> create(folder, options(CacheMode.WRITEBACK, Optional.empty(), false)));
                assertTrue(error.toString().contains("disk.img"), error.toString());
                assertTrue(first.describe().contains("disk.img"));
            }
        }

        @Test
        void warmRequestsAllocateNothingOnTheLoop() throws Exception {
            for (CacheMode cache : new CacheMode[] {CacheMode.WRITEBACK, CacheMode.NONE}) {
                BlockBackend backend;
                try {
                    backend = create(folder, options(cache, Optional.of(1L << 20), false));
                } catch (BenchtopException e) {
                    Assumptions.assumeFalse(cache.direct(), e.getMessage());
                    throw e;
                }
                try (backend;
                        BlockQueue queue = backend.openQueue(loop)) {
                    CompletableFuture<Long> least = new CompletableFuture<>();
                    loop.execute(() -> new Pump(queue, least).start());
                    assertEquals(0, least.get(120, TimeUnit.SECONDS), "bytes for 1000 requests with " + cache);
                }
            }
        }
    }

    /** Keeps eight requests in flight and measures what each thousand of them allocates on the loop's thread. */
    private static final class Pump implements BlockCompletion {
        private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        private static final int ROUND = 1000;
        private static final int ROUNDS = 1000;

        private final BlockQueue queue;
        private final CompletableFuture<Long> result;
        private final MemorySegment memory = Arena.ofAuto().allocate(8 * 4096, 4096);
        private long completions;
        private long before;
        private long least = Long.MAX_VALUE;
        private int inFlight;
        private boolean ending;

        Pump(BlockQueue queue, CompletableFuture<Long> result) {
            this.queue = queue;
            this.result = result;
        }

        void start() {
            before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 8; i++) {
                inFlight++;
                if (i % 2 == 0) {
                    BlockRequest.Read read = new BlockRequest.Read();
                    read.buffer().add(memory, i * 4096L, 4096);
                    queue.submit(read.at(i * 65536L), this);
                } else {
                    BlockRequest.Write write = new BlockRequest.Write();
                    write.buffer().add(memory, i * 4096L, 4096);
                    queue.submit(write.at(i * 65536L), this);
                }
            }
            queue.kick();
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            if (status != BlockStatus.OK) {
                result.completeExceptionally(new AssertionError(request + ": " + status));
                ending = true;
            }
            completions++;
            if (completions % ROUND == 0) {
                long now = THREADS.getCurrentThreadAllocatedBytes();
                least = Math.min(least, now - before);
                before = now;
                ending |= least == 0 || completions == (long) ROUND * ROUNDS;
            }
            if (ending) {
                if (--inFlight == 0) {
                    result.complete(least);
                }
                return;
            }
            queue.submit(request, this);
            queue.kick();
        }
    }
}
