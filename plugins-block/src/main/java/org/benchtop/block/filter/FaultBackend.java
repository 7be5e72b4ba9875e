package org.benchtop.block.filter;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.benchtop.block.RequestCheck;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;
import org.benchtop.spi.time.Clock;
import org.jspecify.annotations.Nullable;

/** Passes requests on to another drive, except those that a rule hits. */
final class FaultBackend implements BlockBackend {
    private final BlockBackend inner;
    private final Clock clock;
    private final Counter faults;
    private final List<Matcher> matchers = new ArrayList<>();
    private final Random random;

    FaultBackend(FaultOptions options, BlockBackend inner, Clock clock, Stats stats) {
        this.inner = inner;
        this.clock = clock;
        this.faults = stats.counter("faults");
        this.random = new Random(options.seed());
        for (FaultOptions.Rule rule : options.rules()) {
            matchers.add(new Matcher(rule));
        }
    }

    /** A rule and how often it has matched. Guarded by the backend. */
    private static final class Matcher {
        private final FaultOptions.Rule rule;
        private long matched;
        private long hits;

        Matcher(FaultOptions.Rule rule) {
            this.rule = rule;
        }

        boolean hits(BlockRequest request, Random random) {
            if (!rightKind(request) || !inRange(request)) {
                return false;
            }
            matched++;
            boolean turn = matched > rule.after() && (matched - rule.after() - 1) % rule.every() == 0;
            boolean left = rule.count().isEmpty() || hits < rule.count().get();
            boolean likely = rule.probability() >= 1 || turn && left && random.nextDouble() < rule.probability();
            if (turn && left && likely) {
                hits++;
                return true;
            }
            return false;
        }

        private boolean rightKind(BlockRequest request) {
            return switch (rule.op()) {
                case ANY -> true;
                case READ -> request instanceof BlockRequest.Read;
                case WRITE -> request instanceof BlockRequest.Write;
                case FLUSH -> request instanceof BlockRequest.Flush;
                case DISCARD -> request instanceof BlockRequest.Discard;
                case WRITE_ZEROES -> request instanceof BlockRequest.WriteZeroes;
            };
        }

        private boolean inRange(BlockRequest request) {
            if (request instanceof BlockRequest.Flush) {
                return true;
            }
            long end = request.offsetBytes() + request.lengthBytes();
            boolean before = rule.length().isPresent()
                    && request.offsetBytes() - rule.offset() >= rule.length().get();
            return end > rule.offset() && !before;
        }
    }

    private synchronized FaultOptions.@Nullable Rule hit(BlockRequest request) {
        for (int i = 0; i < matchers.size(); i++) {
            if (matchers.get(i).hits(request, random)) {
                return matchers.get(i).rule;
            }
        }
        return null;
    }

    private synchronized int bit(long bits) {
        return (int) (random.nextDouble() * Math.min(bits, Integer.MAX_VALUE));
    }

    @Override
    public BlockCapabilities capabilities() {
        return inner.capabilities();
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue(inner.openQueue(loop), loop);
    }

    @Override
    public String describe() {
        return "fault, " + matchers.size() + (matchers.size() == 1 ? " rule" : " rules") + ", over " + inner.describe();
    }

    /** The drive below is the engine's to close. */
    @Override
    public void close() {}

    private final class Queue implements BlockQueue {
        private final BlockQueue queue;
        private final EventLoop loop;
        private final ArrayDeque<Struck> free = new ArrayDeque<>();
        private final List<Struck> delayed = new ArrayList<>();

        Queue(BlockQueue queue, EventLoop loop) {
            this.queue = queue;
            this.loop = loop;
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            boolean possible = RequestCheck.check(request, capabilities()) == BlockStatus.OK;
            FaultOptions.@Nullable Rule rule = possible ? hit(request) : null;
            if (rule == null) {
                queue.submit(request, completion);
                return;
            }
            faults.increment();
            Struck struck = free.isEmpty() ? new Struck(this) : free.pop();
            struck.start(request, completion, rule);
        }

        @Override
        public void kick() {
            queue.kick();
        }

        @Override
        public void drain() {
            for (Struck struck : List.copyOf(delayed)) {
                struck.timer.cancel();
                struck.proceed();
            }
            queue.drain();
        }

        @Override
        public void close() {
            free.forEach(struck -> struck.timer.close());
            queue.close();
        }
    }

    /** A request that a rule has hit. Reused. */
    private final class Struck implements BlockCompletion {
        private static final BlockRequest IDLE = new BlockRequest.Flush();

        private final Queue queue;
        private final Timer timer;
        private final BlockRequest.Read read = new BlockRequest.Read();
        private final BlockRequest.Write write = new BlockRequest.Write();
        private BlockRequest request = IDLE;
        private BlockCompletion completion = (done, status) -> {};
        private FaultOptions.@Nullable Rule rule;

        Struck(Queue queue) {
            this.queue = queue;
            this.timer = queue.loop.timer(clock, this::proceed);
        }

        void start(BlockRequest newRequest, BlockCompletion newCompletion, FaultOptions.Rule newRule) {
            request = newRequest;
            completion = newCompletion;
            rule = newRule;
            if (newRule.delay() > 0) {
                queue.delayed.add(this);
                timer.armAt(clock.nanoTime() + newRule.delay());
            } else {
                proceed();
            }
        }

        private FaultOptions.Rule rule() {
            FaultOptions.Rule now = rule;
            if (now == null) {
                throw new IllegalStateException("no request");
            }
            return now;
        }

        private void proceed() {
            queue.delayed.remove(this);
            switch (rule().done()) {
                case NONE -> completed(request, BlockStatus.OK);
                case FULL, CORRUPT -> {
                    queue.queue.submit(request, this);
                    queue.queue.kick();
                }
                case TORN -> tear();
            }
        }

        private void tear() {
            int block = capabilities().logicalBlockSizeBytes();
            long part = Math.min(request.lengthBytes(), rule().bytes() / block * block);
            switch (request) {
                case BlockRequest.Read whole -> {
                    read.buffer().clear();
                    read.buffer().addFrom(whole.buffer(), 0, part);
                    queue.queue.submit(read.at(whole.offsetBytes()), this);
                }
                case BlockRequest.Write whole -> {
                    write.buffer().clear();
                    write.buffer().addFrom(whole.buffer(), 0, part);
                    queue.queue.submit(write.at(whole.offsetBytes(), whole.durable()), this);
                }
                case BlockRequest.Flush flush -> queue.queue.submit(flush, this);
                case BlockRequest.Discard discard -> queue.queue.submit(discard, this);
                case BlockRequest.WriteZeroes zeroes -> queue.queue.submit(zeroes, this);
            }
            queue.queue.kick();
        }

        @Override
        public void completed(BlockRequest done, BlockStatus status) {
            BlockStatus reported = status == BlockStatus.OK ? rule().reported().status() : status;
            if (status == BlockStatus.OK
                    && rule().done() == FaultOptions.Effect.CORRUPT
                    && request instanceof BlockRequest.Read whole) {
                flip(whole.buffer());
            }
            BlockRequest finished = request;
            BlockCompletion told = completion;
            request = IDLE;
            rule = null;
            queue.free.push(this);
            told.completed(finished, reported);
        }

        private void flip(IoVector buffer) {
            if (buffer.sizeBytes() == 0) {
                return;
            }
            int bit = bit(8 * buffer.sizeBytes());
            long position = bit >>> 3;
            MemorySegment one = MemorySegment.ofArray(new byte[] {(byte) (buffer.getByte(position) ^ 1 << (bit & 7))});
            buffer.copyFrom(position, one, 0, one.byteSize());
        }
    }
}
