package org.benchtop.virtio.queue;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestMemory;
import org.jspecify.annotations.Nullable;

/**
 * Moves chains of one queue between its rings and its device: in bursts, with one publication and at most one interrupt
 * for each, and with notifications suppressed meanwhile.
 *
 * <p>Everything runs on the queue's event loop, except {@link #notified}, {@link #doorbell} and {@link #inFlight}.
 * Allocates nothing once as many chains have been in flight as ever will be.
 */
public final class QueuePump {
    /** Chains in one turn of the loop, so that a busy queue does not keep the loop from its other handlers. */
    private static final int TURN_CHAINS = 1024;
    /** Completions that may wait for the end of a burst before the driver sees them. */
    private static final int PUBLISH_CHAINS = 64;

    private enum State {
        /** Not started. */
        STOPPED,
        /** Takes and completes chains. */
        RUNNING,
        /** Completes what is in flight. */
        STOPPING,
        /** Waits for what is in flight and forgets it. */
        DISCARDING,
    }

    private final int index;
    private final int maxSize;
    private final EventLoop loop;
    private final VirtQueue queue;
    private final QueueOwner owner;
    private final QueueStats stats;
    private final Doorbell doorbell;
    private final Runnable turn = this::turn;

    private QueueHandler handler = UNHANDLED;
    private State state = State.STOPPED;
    private RingLayout layout = new RingLayout(0, 0, 0, 0);
    private @Nullable Runnable onStopped;

    private final DescriptorChain[] chains;
    private final int[] free;
    private int created;
    private int freeCount;
    private int inFlight;
    /** Heads of chains that wait for the queue to be started again. */
    private final int[] parkedHeads;

    private int parked;
    private final long[] completedTakenNanos;

    private boolean inBurst;
    private boolean drained;
    private int turnChains;
    private long burstNanos;
    private boolean selfRung;

    private static final QueueHandler UNHANDLED = new QueueHandler() {
        @Override
        public void available() {}

        @Override
        public void restart(DescriptorChain chain) {}

        @Override
        public String describe(DescriptorChain chain) {
            return "";
        }
    };

    /**
     * A pump that is not started.
     *
     * @param index which queue of its device
     * @param maxSize largest queue size
     * @param loop where everything of this queue runs
     */
    public QueuePump(
            int index,
            int maxSize,
            EventLoop loop,
            GuestMemory memory,
            QueueOwner owner,
            QueueStats stats,
            String name) {
        this.index = index;
        this.maxSize = maxSize;
        this.loop = loop;
        this.queue = new VirtQueue(memory, maxSize);
        this.owner = owner;
        this.stats = stats;
        this.chains = new DescriptorChain[maxSize];
        this.free = new int[maxSize];
        this.parkedHeads = new int[maxSize];
        this.completedTakenNanos = new long[maxSize];
        this.doorbell = loop.doorbell(name, turn);
    }

    /** Connects the device. Before the first start. */
    public void handler(QueueHandler value) {
        handler = value;
    }

    /** The queue's event loop. Any thread. */
    public EventLoop loop() {
        return loop;
    }

    /** Rings for a notification of the driver. Any thread. */
    public Doorbell doorbell() {
        return doorbell;
    }

    /**
     * A notification of the driver that was an exit of the calling vCPU: the burst runs on this thread where the loop
     * lends its turn, as it is cheaper than waking the loop. Any thread that holds no lock.
     */
    public void notified() {
        if (!loop.tryRun(turn)) {
            doorbell.ring();
        }
    }

    /** Looks at the rings soon, as if notified. Any thread; does not wait. */
    public void look() {
        loop.execute(this::ringSelf);
    }

    /** The number of chains that the device works on; a recent value from other threads. */
    public int inFlight() {
        return inFlight;
    }

    /** The index of the next available entry to take. */
    public int lastAvail() {
        return queue.lastAvail();
    }

    /** The index of the next used element to fill. */
    public int usedIndex() {
        return queue.usedIndex();
    }

    /**
     * Starts a stopped queue at the given indices; a layout that is wrong fails the device.
     *
     * @param parkedHeads heads of chains before {@code lastAvail} that were parked when the queue was stopped
     */
    public void start(
            RingLayout newLayout,
            boolean eventIdx,
            boolean indirect,
            int lastAvail,
            int usedIndex,
            List<Integer> parkedHeads) {
        if (state != State.STOPPED) {
            return;
        }
        layout = newLayout;
        if (!queue.start(newLayout, eventIdx, indirect, lastAvail, usedIndex)) {
            owner.failed(index, queue.error().orElseThrow());
            return;
        }
        state = State.RUNNING;
        parked = 0;
        for (int head : parkedHeads) {
            restart(head);
        }
        ringSelf();
    }

    private void restart(int head) {
        if (state != State.RUNNING || !owner.operational() || inFlight + parked >= queue.size()) {
            return;
        }
        DescriptorChain chain = freeCount > 0 ? chains[free[freeCount - 1]] : create();
        if (queue.take(chain, head) != PopResult.CHAIN) {
            queue.error().ifPresent(error -> owner.failed(index, error));
            return;
        }
        taken(chain);
        handler.restart(chain);
    }

    private void taken(DescriptorChain chain) {
        freeCount--;
        inFlight++;
        chain.busy(true);
        chain.takenNanos(inBurst ? burstNanos : System.nanoTime());
    }

    /** The heads of chains that wait for the queue to be started again, oldest first. */
    public List<Integer> parkedHeads() {
        List<Integer> heads = new ArrayList<>();
        for (int i = 0; i < parked; i++) {
            heads.add(parkedHeads[i]);
        }
        return heads;
    }

    /**
     * Takes no more chains, and calls back on this loop when none is in flight: at once if there is none now.
     *
     * @param discard whether the driver is not to see completions any more
     */
    public void stop(boolean discard, Runnable stopped) {
        if (discard) {
            parked = 0;
        }
        if (state == State.STOPPED) {
            stopped.run();
            return;
        }
        if (!discard) {
            publish();
        }
        state = discard ? State.DISCARDING : State.STOPPING;
        onStopped = stopped;
        if (inFlight > 0) {
            handler.drain();
        }
        stopIfIdle();
    }

    private void stopIfIdle() {
        if (inFlight > 0 || state == State.RUNNING || state == State.STOPPED) {
            return;
        }
        if (state == State.STOPPING) {
            publish();
        }
        state = State.STOPPED;
        Runnable callback = onStopped;
        onStopped = null;
        if (callback != null) {
            callback.run();
        }
    }

    /** Frees the doorbell. Nothing is in flight. */
    public void close() {
        doorbell.close();
    }

    private void ringSelf() {
        if (!selfRung) {
            selfRung = true;
            doorbell.ring();
        }
    }

    /** One turn: after the driver's doorbell or our own. */
    private void turn() {
        if (selfRung) {
            selfRung = false;
        } else {
            stats.notifications().increment();
        }
        if (state != State.RUNNING) {
            if (state == State.STOPPING) {
                publish();
            }
            return;
        }
        publish();
        // A turn that ended in the middle has left notifications suppressed, even if nothing has come since.
        boolean nothingToDo = queue.notifying() && !queue.hasAvailable();
        if (nothingToDo || !owner.operational()) {
            return;
        }
        turnChains = TURN_CHAINS;
        boolean more;
        do {
            queue.suppressNotifications();
            burst();
            more = state == State.RUNNING && turnChains > 0 && owner.operational();
            more = more && queue.enableNotifications() && drained;
        } while (more);
        if (turnChains == 0) {
            ringSelf();
        }
    }

    private void burst() {
        inBurst = true;
        drained = false;
        burstNanos = System.nanoTime();
        try {
            handler.available();
        } finally {
            inBurst = false;
        }
        publish();
    }

    /** Whether the device is taking chains in one go, so that what it starts can be kicked together afterwards. */
    public boolean inBurst() {
        return inBurst;
    }

    /** Takes the next available chain; {@link DescriptorChain#NONE} if there is none, or not now. */
    public DescriptorChain next() {
        if (state != State.RUNNING || inBurst && turnChains == 0) {
            return DescriptorChain.NONE;
        }
        if (inFlight + parked >= queue.size()) {
            // A driver that keeps the rules has no more heads to offer.
            if (queue.hasAvailable()) {
                fail(new QueueError(QueueError.Kind.TOO_MANY_IN_FLIGHT, inFlight + parked + 1L));
            }
            drained = true;
            return DescriptorChain.NONE;
        }
        DescriptorChain chain = freeCount > 0 ? chains[free[freeCount - 1]] : create();
        switch (queue.pop(chain)) {
            case CHAIN -> {
                taken(chain);
                turnChains--;
                return chain;
            }
            case EMPTY -> drained = true;
            case ERROR -> queue.error().ifPresent(error -> owner.failed(index, error));
        }
        return DescriptorChain.NONE;
    }

    private DescriptorChain create() {
        DescriptorChain chain = new DescriptorChain(created);
        chains[created] = chain;
        free[freeCount++] = created++;
        return chain;
    }

    /** Whether a completion of this queue reaches the driver: otherwise its buffers must not be written any more. */
    public boolean mayWrite() {
        return (state == State.RUNNING || state == State.STOPPING) && owner.operational();
    }

    /**
     * Gives a chain back to the driver.
     *
     * @param writtenBytes how much of its writable buffers was written
     */
    public void complete(DescriptorChain chain, long writtenBytes) {
        if (mayWrite()) {
            completedTakenNanos[queue.unpublished()] = chain.takenNanos();
            queue.push(chain.head(), writtenBytes);
        }
        released(chain);
    }

    /** Whether a chain can be parked: not when its completion would not reach the driver anyway. */
    public boolean mayPark() {
        return mayWrite();
    }

    /**
     * Gives up a chain for now; the driver sees nothing of it. It is begun again, through {@link QueueHandler#restart},
     * when the queue is started after its next stop, and forgotten when the device is reset.
     */
    public void park(DescriptorChain chain) {
        parkedHeads[parked++] = chain.head();
        released(chain);
    }

    private void released(DescriptorChain chain) {
        release(chain);
        if (inBurst) {
            if (queue.unpublished() >= Math.min(PUBLISH_CHAINS, queue.size())) {
                publish();
            }
        } else if (inFlight == 0 || queue.unpublished() >= Math.min(PUBLISH_CHAINS, queue.size())) {
            publish();
            stopIfIdle();
        } else {
            // More completions of this turn may follow: they share a publication, an interrupt and a look at the ring.
            ringSelf();
        }
    }

    /** Gives up a chain that breaks its device's rules; the device needs a reset then. */
    public void fail(DescriptorChain chain, QueueError.Kind kind, long value) {
        release(chain);
        fail(new QueueError(kind, value));
        stopIfIdle();
    }

    private void fail(QueueError error) {
        queue.fail(error);
        owner.failed(index, error);
    }

    private void release(DescriptorChain chain) {
        chain.busy(false);
        free[freeCount++] = chain.slot();
        inFlight--;
    }

    private void publish() {
        int count = queue.unpublished();
        if (count == 0) {
            return;
        }
        if (!mayWrite()) {
            queue.forgetUnpublished();
            return;
        }
        boolean interrupt = queue.publish();
        if (interrupt) {
            stats.interrupts().increment();
            owner.interruptQueue(index);
        }
        long now = System.nanoTime();
        for (int i = 0; i < count; i++) {
            stats.latency().record(now - completedTakenNanos[i]);
        }
    }

    /** Whether it is started and has not come to rest. */
    public boolean started() {
        return state != State.STOPPED;
    }

    /** The started queue now. */
    public QueueView view() {
        List<QueueView.Pending> pending = new ArrayList<>();
        long now = System.nanoTime();
        for (int i = 0; i < created; i++) {
            DescriptorChain chain = chains[i];
            if (chain.busy()) {
                pending.add(new QueueView.Pending(
                        chain.head(),
                        chain.descriptors(),
                        chain.readable().sizeBytes(),
                        chain.writable().sizeBytes(),
                        now - chain.takenNanos(),
                        handler.describe(chain)));
            }
        }
        return new QueueView(
                index,
                state.name().toLowerCase(Locale.ROOT),
                layout,
                queue.lastAvail(),
                queue.availIndex(),
                queue.usedIndex(),
                queue.publishedIndex(),
                pending);
    }

    /** Which queue of its device. */
    public int index() {
        return index;
    }

    /** The largest queue size. */
    public int maxSize() {
        return maxSize;
    }
}
