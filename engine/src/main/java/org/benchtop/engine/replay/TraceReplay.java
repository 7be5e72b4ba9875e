package org.benchtop.engine.replay;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.HdrHistogram.Histogram;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;

/** Repeats recorded requests on a backend, at the recorded times or one after the other as fast as it goes. */
public final class TraceReplay {
    private static final long LONGEST_NANOS = 3_600_000_000_000L;
    private static final int MAX_IN_FLIGHT = 4096;
    private static final int MAX_BUFFER_BYTES = 64 << 20;

    private final BlockBackend backend;
    private final EventLoop loop;
    private final List<TraceLine> lines;
    private final boolean asRecorded;
    private final int depth;
    private final Clock clock = Clock.host();
    private final CompletableFuture<Result> result = new CompletableFuture<>();
    private final ArrayDeque<Job> free = new ArrayDeque<>();
    private final Histogram latency = new Histogram(LONGEST_NANOS, 3);
    private final Histogram recorded = new Histogram(LONGEST_NANOS, 3);
    private final MemorySegment buffer;
    private final BlockQueue queue;
    private final Timer timer;

    private long startNanos;
    private int next;
    private int inFlight;
    private long bytes;
    private long errors;
    private boolean submitting;

    /**
     * What came out.
     *
     * @param requests how many
     * @param bytes how much was read and written
     * @param errors how many failed
     * @param elapsedNanos how long it took
     * @param latency of the requests now
     * @param recorded latency of the same requests in the trace
     */
    public record Result(
            long requests, long bytes, long errors, long elapsedNanos, Histogram latency, Histogram recorded) {}

    private TraceReplay(BlockBackend backend, EventLoop loop, List<TraceLine> lines, boolean asRecorded, int depth) {
        this.backend = backend;
        this.loop = loop;
        this.lines = lines;
        this.asRecorded = asRecorded;
        this.depth = asRecorded ? MAX_IN_FLIGHT : depth;
        this.buffer = Arena.ofAuto().allocate(longest(), 4096);
        this.queue = backend.openQueue(loop);
        this.timer = loop.timer(clock, this::submitDue);
    }

    private long longest() {
        long most = 4096;
        for (TraceLine line : lines) {
            if (line.kind() == TraceLine.Kind.READ || line.kind().changes()) {
                most = Math.max(most, Math.min(line.lengthBytes(), MAX_BUFFER_BYTES));
            }
        }
        return most;
    }

    /**
     * Repeats the requests and waits for the last one.
     *
     * @param asRecorded keeps the times of the trace; otherwise {@code depth} requests are kept in flight
     * @throws BenchtopException if a request does not fit the backend; nothing has been submitted then
     */
    public static Result run(BlockBackend backend, EventLoop loop, List<TraceLine> lines, boolean asRecorded, int depth)
            throws InterruptedException {
        check(backend.capabilities(), lines);
        TraceReplay replay = new TraceReplay(backend, loop, lines, asRecorded, depth);
        try {
            loop.execute(replay::begin);
            return replay.result.get();
        } catch (ExecutionException e) {
            throw BenchtopException.of(ErrorKind.INTERNAL, "the replay failed: " + e.getCause(), e);
        } finally {
            loop.call(() -> {
                replay.next = lines.size();
                replay.timer.close();
                replay.queue.drain();
            });
            replay.awaitIdle();
            replay.queue.close();
        }
    }

    private static void check(BlockCapabilities capabilities, List<TraceLine> lines) {
        for (TraceLine line : lines) {
            boolean data = line.kind() == TraceLine.Kind.READ
                    || line.kind() == TraceLine.Kind.WRITE
                    || line.kind() == TraceLine.Kind.WRITE_FUA;
            if (line.kind() != TraceLine.Kind.FLUSH && !capabilities.contains(line.offsetBytes(), line.lengthBytes())) {
                throw BenchtopException.config("the trace has a request at " + line.offsetBytes() + " of "
                        + line.lengthBytes() + " bytes, which does not fit a disk of " + capabilities.sizeBytes()
                        + " bytes with blocks of " + capabilities.logicalBlockSizeBytes());
            }
            if (data && line.lengthBytes() > Math.min(MAX_BUFFER_BYTES, capabilities.maxTransferBytes())) {
                throw BenchtopException.config("the trace has a request of " + line.lengthBytes()
                        + " bytes, which is longer than this drive takes");
            }
            if (line.kind().changes() && capabilities.readOnly()) {
                throw BenchtopException.config("the trace changes the disk, but the drive is read-only");
            }
        }
    }

    private void awaitIdle() {
        boolean[] idle = new boolean[1];
        while (!idle[0]) {
            loop.call(() -> idle[0] = inFlight == 0);
            if (!idle[0]) {
                Thread.yield();
            }
        }
    }

    private void begin() {
        startNanos = clock.nanoTime();
        submitDue();
        finishIfDone();
    }

    private void submitDue() {
        submitting = true;
        while (next < lines.size() && inFlight < depth) {
            TraceLine line = lines.get(next);
            if (asRecorded) {
                long due = startNanos + line.startNanos();
                if (due > clock.nanoTime()) {
                    timer.armAt(due);
                    break;
                }
            }
            next++;
            inFlight++;
            Job job = free.isEmpty() ? new Job() : free.pop();
            job.submit(line);
        }
        submitting = false;
        queue.kick();
    }

    private void finishIfDone() {
        if (next == lines.size() && inFlight == 0) {
            result.complete(new Result(lines.size(), bytes, errors, clock.nanoTime() - startNanos, latency, recorded));
        }
    }

    private final class Job implements BlockCompletion {
        private final BlockRequest.Read read = new BlockRequest.Read();
        private final BlockRequest.Write write = new BlockRequest.Write();
        private final BlockRequest.Flush flush = new BlockRequest.Flush();
        private final BlockRequest.Discard discard = new BlockRequest.Discard();
        private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
        private TraceLine line = new TraceLine(0, 0, 0, TraceLine.Kind.FLUSH, 0, 0);
        private long submittedNanos;

        void submit(TraceLine newLine) {
            line = newLine;
            submittedNanos = clock.nanoTime();
            queue.submit(request(), this);
        }

        private BlockRequest request() {
            return switch (line.kind()) {
                case READ -> {
                    read.buffer().clear();
                    read.buffer().add(buffer, 0, line.lengthBytes());
                    yield read.at(line.offsetBytes());
                }
                case WRITE, WRITE_FUA -> {
                    write.buffer().clear();
                    write.buffer().add(buffer, 0, line.lengthBytes());
                    yield write.at(line.offsetBytes(), line.kind() == TraceLine.Kind.WRITE_FUA);
                }
                case FLUSH -> flush;
                case DISCARD -> discard.at(line.offsetBytes(), line.lengthBytes());
                case WRITE_ZEROES -> zeroes.at(line.offsetBytes(), line.lengthBytes(), false);
                case WRITE_ZEROES_UNMAP -> zeroes.at(line.offsetBytes(), line.lengthBytes(), true);
            };
        }

        @Override
        public void completed(BlockRequest request, BlockStatus status) {
            latency.recordValue(Math.clamp(clock.nanoTime() - submittedNanos, 0, LONGEST_NANOS));
            recorded.recordValue(Math.clamp(line.latencyNanos(), 0, LONGEST_NANOS));
            if (status == BlockStatus.OK) {
                bytes += request instanceof BlockRequest.Read || request instanceof BlockRequest.Write
                        ? line.lengthBytes()
                        : 0;
            } else {
                errors++;
            }
            inFlight--;
            free.push(this);
            if (!submitting) {
                submitDue();
            }
            finishIfDone();
        }
    }
}
