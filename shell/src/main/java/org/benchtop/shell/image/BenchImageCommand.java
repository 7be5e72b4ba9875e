package org.benchtop.shell.image;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image bench}. */
@Command(name = "bench", description = "Time requests on an image, without a machine.")
final class BenchImageCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(
            names = {"-c", "--count"},
            paramLabel = "N",
            defaultValue = "75000",
            description = "Requests (default: 75000).")
    long count = 75_000;

    @Option(
            names = {"-d", "--depth"},
            paramLabel = "N",
            defaultValue = "64",
            description = "Requests in flight (default: 64).")
    int depth = 64;

    @Option(
            names = {"-s", "--buffer-size"},
            paramLabel = "SIZE",
            defaultValue = "4k",
            description = "Bytes per request (default: 4k).")
    String size = "4k";

    @Option(
            names = {"-o", "--offset"},
            paramLabel = "OFFSET",
            defaultValue = "0",
            description = "Where the first request starts.")
    String offset = "0";

    @Option(
            names = {"-S", "--step-size"},
            paramLabel = "SIZE",
            defaultValue = "0",
            description = "Distance of requests (default: their size).")
    String step = "0";

    @Option(
            names = {"-t", "--cache"},
            paramLabel = "CACHE",
            defaultValue = "writeback",
            description = "Cache mode (default: writeback).")
    String cache = "writeback";

    @Option(
            names = {"-i", "--aio"},
            paramLabel = "AIO",
            defaultValue = "auto",
            description = "auto, threads, native or io_uring.")
    String aio = "auto";

    @Option(names = "-n", description = "Native AIO, as -i native.")
    boolean nativeAio;

    @Option(
            names = {"-w", "--write"},
            description = "Write instead of reading.")
    boolean write;

    @Option(names = "--pattern", paramLabel = "BYTE", defaultValue = "0", description = "What is written.")
    int pattern;

    @Option(
            names = "--flush-interval",
            paramLabel = "N",
            defaultValue = "0",
            description = "Flush after every N writes.")
    int flushInterval;

    @Option(names = "--output", paramLabel = "HOW", defaultValue = "human", description = "human or json.")
    String output = "human";

    @Option(
            names = {"-q", "--quiet"},
            description = "Print only the time.")
    boolean quiet;

    @Option(
            names = {"-U", "--force-share"},
            description = "Read an image that is in use.")
    boolean share;

    @Parameters(paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Override
    public Integer call() {
        boolean json = ImageTool.json(output);
        long bytes = ImageTool.size(size);
        if (count < 1 || depth < 1 || depth > 65536 || bytes < 512 || bytes > 1 << 30 || bytes % 512 != 0) {
            throw BenchtopException.config("allowed: -c 1 and more, -d 1 to 65536, -s multiples of 512 up to 1 GiB");
        }
        try (ImageTool tool = new ImageTool(command)) {
            ImageOpen how = ImageOpen.readOnly(file)
                    .writable(write)
                    .cache(ImageTool.cache(cache))
                    .aio(nativeAio ? ImageTool.aio("native") : ImageTool.aio(aio), 4)
                    .lock(!share);
            try (Image image = tool.open(how, format);
                    LinuxEventLoop loop = LinuxEventLoop.start("bench")) {
                long distance = ImageTool.size(step) == 0 ? bytes : ImageTool.size(step);
                if (!quiet && !json) {
                    tool.out()
                            .println("Sending " + count + (write ? " write" : " read") + " requests, " + bytes
                                    + " bytes each, " + depth + " in parallel (starting at offset "
                                    + ImageTool.size(offset) + ", step size " + distance + ")");
                    tool.out().flush();
                }
                Run run = new Run(image, loop, (int) bytes, distance);
                double seconds = run.seconds();
                if (json) {
                    Map<String, Object> map = new LinkedHashMap<>();
                    map.put("requests", count);
                    map.put("bytes", bytes);
                    map.put("depth", depth);
                    map.put("seconds", seconds);
                    map.put("iops", count / seconds);
                    tool.print(map);
                } else {
                    tool.out().printf(Locale.ROOT, "Run completed in %.3f seconds.%n", seconds);
                }
                return 0;
            }
        }
    }

    private final class Run {
        private final Image image;
        private final LinuxEventLoop loop;
        private final int bytes;
        private final long distance;
        private final CountDownLatch finished = new CountDownLatch(1);
        private final BlockRequest.Flush flush = new BlockRequest.Flush();
        private long at = ImageTool.size(offset);
        private long started;
        private long completed;
        private boolean flushing;
        private BlockStatus failure = BlockStatus.OK;

        Run(Image image, LinuxEventLoop loop, int bytes, long distance) {
            this.image = image;
            this.loop = loop;
            this.bytes = bytes;
            this.distance = distance;
        }

        double seconds() {
            BlockQueue queue = image.openQueue(loop);
            int slots = (int) Math.min(depth, count);
            MemorySegment memory = ImageTool.memory((long) slots * bytes);
            memory.fill((byte) pattern);
            long start = System.nanoTime();
            loop.execute(() -> {
                for (int i = 0; i < slots; i++) {
                    new Slot(queue, memory, (long) i * bytes).next();
                }
                queue.kick();
            });
            try {
                finished.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw BenchtopException.host("interrupted");
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            loop.call(queue::close);
            if (failure != BlockStatus.OK) {
                throw BenchtopException.host(file + ": a request failed: " + failure.words());
            }
            return seconds;
        }

        private final class Slot implements BlockCompletion {
            private final BlockQueue queue;
            private final BlockRequest.Read read = new BlockRequest.Read();
            private final BlockRequest.Write put = new BlockRequest.Write();

            Slot(BlockQueue queue, MemorySegment memory, long start) {
                this.queue = queue;
                read.buffer().add(memory, start, bytes);
                put.buffer().add(memory, start, bytes);
            }

            void next() {
                if (started == count || failure != BlockStatus.OK) {
                    return;
                }
                started++;
                if (at > image.capabilities().sizeBytes() - bytes) {
                    at = ImageTool.size(offset);
                }
                long where = at;
                at += distance;
                queue.submit(write ? put.at(where) : read.at(where), this);
            }

            @Override
            public void completed(BlockRequest request, BlockStatus status) {
                completed++;
                if (status != BlockStatus.OK) {
                    failure = status;
                }
                if (flushInterval > 0 && write && completed % flushInterval == 0 && !flushing) {
                    flushing = true;
                    queue.submit(flush, (done, result) -> {
                        flushing = false;
                        end();
                    });
                }
                next();
                queue.kick();
                end();
            }
        }

        private void end() {
            if (completed == started && (started == count || failure != BlockStatus.OK) && !flushing) {
                finished.countDown();
            }
        }
    }
}
