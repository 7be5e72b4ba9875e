package org.benchtop.testkit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;

/**
 * Wraps a backend with everything that {@link BlockQueue} allows and drivers forget: completions come before submit
 * returns or later, in any order, several at once, and with errors; and checks that the caller keeps the rules.
 *
 * <p>The choices depend on the seed only. Broken rules throw an {@link AssertionError} in the caller and are also
 * kept in {@link #violations}.
 */
public final class CrankyBlockBackend implements BlockBackend {
    /** Decides which requests fail. */
    @FunctionalInterface
    public interface Rule {
        /** {@link BlockStatus#OK} lets the request pass to the wrapped backend. */
        BlockStatus status(BlockRequest request);
    }

    private final BlockBackend wrapped;
    private final Random random;
    private final Set<BlockRequest> inFlight =
            Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<BlockRequest, Boolean>()));
    private final List<String> violations = Collections.synchronizedList(new ArrayList<>());
    private volatile Rule rule = request -> BlockStatus.OK;
    private volatile int latePercent = 70;

    public CrankyBlockBackend(BlockBackend wrapped, long seed) {
        this.wrapped = wrapped;
        this.random = new Random(seed);
    }

    /** Only checks the rules; completions come as the wrapped backend gives them. */
    public static CrankyBlockBackend asserting(BlockBackend wrapped) {
        CrankyBlockBackend backend = new CrankyBlockBackend(wrapped, 0);
        backend.latePercent = 0;
        return backend;
    }

    /** Lets requests fail by a rule. */
    public CrankyBlockBackend failing(Rule newRule) {
        rule = newRule;
        return this;
    }

    /** How many of 100 completions are delayed and reordered; 70 unless changed. */
    public CrankyBlockBackend latePercent(int percent) {
        latePercent = percent;
        return this;
    }

    /** Every broken rule so far. */
    public List<String> violations() {
        return List.copyOf(violations);
    }

    /** The number of requests in flight. */
    public int inFlight() {
        return inFlight.size();
    }

    @Override
    public BlockCapabilities capabilities() {
        return wrapped.capabilities();
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new Queue(wrapped.openQueue(loop), loop);
    }

    @Override
    public String describe() {
        return "cranky over " + wrapped.describe();
    }

    @Override
    public void close() {
        if (!inFlight.isEmpty()) {
            violation("backend closed with " + inFlight.size() + " requests in flight");
        }
        wrapped.close();
    }

    private void violation(String text) {
        violations.add(text);
        throw new AssertionError(text);
    }

    private synchronized boolean late() {
        return random.nextInt(100) < latePercent;
    }

    private synchronized int pick(int bound) {
        return random.nextInt(bound);
    }

    private record Late(BlockRequest request, BlockStatus status, BlockCompletion completion) {}

    private final class Queue implements BlockQueue {
        private final BlockQueue inner;
        private final EventLoop loop;
        private final List<Late> late = new ArrayList<>();
        private int queued;
        private boolean closed;

        Queue(BlockQueue inner, EventLoop loop) {
            this.inner = inner;
            this.loop = loop;
        }

        @Override
        public void submit(BlockRequest request, BlockCompletion completion) {
            checkCaller(request);
            long offset = request.offsetBytes();
            long length = request.lengthBytes();
            long buffer = bufferBytes(request);
            queued++;
            BlockStatus forced = rule.status(request);
            BlockCompletion checked = (done, status) -> {
                if (done.offsetBytes() != offset || done.lengthBytes() != length || bufferBytes(done) != buffer) {
                    violation(done + " was changed while it was in flight; it was submitted with offset=" + offset
                            + " length=" + length);
                }
                finish(done, status, completion);
            };
            if (forced == BlockStatus.OK) {
                inner.submit(request, checked);
            } else {
                checked.completed(request, forced);
            }
        }

        private void checkCaller(BlockRequest request) {
            if (closed) {
                violation(request + " submitted on a closed queue");
            }
            if (!loop.inLoop()) {
                violation(request + " submitted outside loop " + loop.name());
            }
            BlockCapabilities capabilities = capabilities();
            if (bufferCount(request) > capabilities.maxSegments()) {
                violation(request + " has " + bufferCount(request) + " segments; the backend takes "
                        + capabilities.maxSegments());
            }
            if (bufferBytes(request) != request.lengthBytes() && bufferBytes(request) >= 0) {
                violation(request + " has a buffer of " + bufferBytes(request) + " bytes: call at() after filling it");
            }
            if (bufferBytes(request) > capabilities.maxTransferBytes()) {
                violation(request + " is longer than " + capabilities.maxTransferBytes());
            }
            if (!inFlight.add(request)) {
                violation(request + " submitted again while it is in flight");
            }
        }

        private long bufferBytes(BlockRequest request) {
            return switch (request) {
                case BlockRequest.Read read -> read.buffer().sizeBytes();
                case BlockRequest.Write write -> write.buffer().sizeBytes();
                case BlockRequest.Flush flush -> -1;
                case BlockRequest.Discard discard -> -1;
                case BlockRequest.WriteZeroes zeroes -> -1;
            };
        }

        private int bufferCount(BlockRequest request) {
            return switch (request) {
                case BlockRequest.Read read -> read.buffer().count();
                case BlockRequest.Write write -> write.buffer().count();
                case BlockRequest.Flush flush -> 0;
                case BlockRequest.Discard discard -> 0;
                case BlockRequest.WriteZeroes zeroes -> 0;
            };
        }

        private void finish(BlockRequest request, BlockStatus status, BlockCompletion completion) {
            if (!loop.inLoop()) {
                violation(request + " completed outside loop " + loop.name());
            }
            if (late()) {
                late.add(new Late(request, status, completion));
                loop.execute(this::releaseSome);
            } else {
                deliver(new Late(request, status, completion));
            }
        }

        private void releaseSome() {
            if (late.isEmpty()) {
                return;
            }
            ArrayDeque<Late> released = new ArrayDeque<>();
            int count = 1 + pick(late.size());
            for (int i = 0; i < count; i++) {
                released.add(late.remove(pick(late.size())));
            }
            released.forEach(this::deliver);
        }

        private void deliver(Late done) {
            queued--;
            if (!inFlight.remove(done.request)) {
                violation(done.request + " completed twice");
            }
            done.completion.completed(done.request, done.status);
        }

        @Override
        public void kick() {
            inner.kick();
        }

        @Override
        public void drain() {
            inner.drain();
        }

        @Override
        public void close() {
            if (queued > 0) {
                violation("queue closed with " + queued + " requests in flight");
            }
            closed = true;
            inner.close();
        }
    }
}
