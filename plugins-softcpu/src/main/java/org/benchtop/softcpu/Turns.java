package org.benchtop.softcpu;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.VirtualTime;
import org.jspecify.annotations.Nullable;

/**
 * Deterministic mode: processors execute one at a time, in turns of so many instructions, and an instruction takes a
 * nanosecond. While all are idle, time goes to the next timer at once, unless it would be ahead of the host's.
 */
final class Turns implements VirtualTime {
    /** Instructions of a turn. */
    private static final int TURN = 20_000;

    /** What the wall clock shows when a machine starts. */
    private static final Instant EPOCH = Instant.parse("2026-01-01T00:00:00Z");

    private final SoftVm vm;
    private final long hostStart = System.nanoTime();
    private final List<VirtualTimer> armed = new ArrayList<>();
    /** The processor that executes. */
    private int turn;
    /** Instructions of its turn that are left. */
    private long left = TURN;
    /** Virtual time minus the executed instructions of the processor whose turn it is. */
    private long base;

    private long timersArmed;

    Turns(SoftVm vm) {
        this.vm = vm;
    }

    private @Nullable Cpu holder() {
        SoftVcpu vcpu = vm.vcpu(turn);
        return vcpu == null ? null : vcpu.cpu();
    }

    @Override
    public long nanoTime() {
        Cpu c = holder();
        return c == null ? base : base + c.instructions + c.partial;
    }

    @Override
    public Instant wallTime() {
        return EPOCH.plusNanos(nanoTime());
    }

    // ---- timers ----

    private final class VirtualTimer implements Timer {
        private final Runnable onExpiry;
        private long deadline;
        private long order;

        VirtualTimer(Runnable onExpiry) {
            this.onExpiry = onExpiry;
        }

        @Override
        public void armAt(long deadlineNanos) {
            synchronized (Turns.this) {
                armed.remove(this);
                deadline = deadlineNanos;
                order = timersArmed++;
                armed.add(this);
                Cpu c = holder();
                if (c != null) {
                    // The block that is executed ends first, as without this timer.
                    c.limit = Math.min(c.limit, Math.max(c.instructions, deadlineNanos - base));
                }
                Turns.this.notifyAll();
            }
        }

        @Override
        public void cancel() {
            synchronized (Turns.this) {
                armed.remove(this);
            }
        }

        @Override
        public void close() {
            cancel();
        }
    }

    @Override
    public Timer timer(Runnable onExpiry) {
        return new VirtualTimer(onExpiry);
    }

    private synchronized @Nullable VirtualTimer next() {
        VirtualTimer first = null;
        for (VirtualTimer timer : armed) {
            if (first == null
                    || timer.deadline < first.deadline
                    || timer.deadline == first.deadline && timer.order < first.order) {
                first = timer;
            }
        }
        return first;
    }

    private void expire() {
        while (true) {
            VirtualTimer timer;
            synchronized (this) {
                timer = next();
                if (timer == null || timer.deadline > nanoTime()) {
                    return;
                }
                armed.remove(timer);
            }
            timer.onExpiry.run();
        }
    }

    // ---- turns ----

    /** Waits for a processor's turn; false if it is asked to return instead. */
    synchronized boolean await(SoftVcpu vcpu) {
        while (turn != vcpu.index()) {
            if ((SoftVcpu.pending(vcpu.cpu()) & SoftVcpu.KICK) != 0) {
                return false;
            }
            pause(0);
        }
        return true;
    }

    private synchronized void pause(long nanos) {
        boolean interrupted = false;
        try {
            if (nanos == 0) {
                wait();
            } else {
                TimeUnit.NANOSECONDS.timedWait(this, nanos);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Something was asked of a processor. Any thread. */
    synchronized void wake() {
        notifyAll();
    }

    /** Sets how far the processor whose turn it is may execute. */
    synchronized void plan(Cpu c) {
        VirtualTimer timer = next();
        long limit = c.instructions + left;
        if (timer != null) {
            limit = Math.min(limit, Math.max(c.instructions, timer.deadline - base));
        }
        c.limit = Math.min(limit, c.vcpu.stopAfter());
    }

    /** After the processor whose turn it is has executed instructions. */
    void executed(SoftVcpu vcpu, long instructions) {
        left -= instructions;
        expire();
        if (left <= 0) {
            pass(vcpu, false);
        }
    }

    /**
     * Gives the turn to the next processor that has something to do. If none has, time goes on to the next timer.
     *
     * @param idle whether this processor has nothing to do either
     */
    void pass(SoftVcpu vcpu, boolean idle) {
        while (true) {
            synchronized (this) {
                int count = vm.cpus();
                for (int i = 1; i <= count; i++) {
                    int index = (vcpu.index() + i) % count;
                    SoftVcpu candidate = vm.vcpu(index);
                    if (candidate != null
                            && (candidate == vcpu ? !idle || candidate.called() : candidate.wantsTurn())) {
                        give(candidate);
                        return;
                    }
                }
                if ((SoftVcpu.pending(vcpu.cpu()) & SoftVcpu.KICK) != 0) {
                    return;
                }
                VirtualTimer timer = next();
                long now = nanoTime();
                long ahead = timer == null ? 0 : timer.deadline - (System.nanoTime() - hostStart);
                if (timer == null || ahead > 0) {
                    pause(ahead);
                    continue;
                }
                base += Math.max(0, timer.deadline - now);
            }
            expire();
        }
    }

    private void give(SoftVcpu next) {
        long now = nanoTime();
        turn = next.index();
        base = now - next.cpu().instructions;
        left = TURN;
        notifyAll();
    }

    synchronized SoftVm.CountedState save(long random) {
        return new SoftVm.CountedState(nanoTime(), turn, left, random);
    }

    synchronized void restore(SoftVm.CountedState state) {
        turn = state.turn();
        left = state.left();
        nanoTime(state.nanos());
    }

    /** Sets virtual time, however many instructions processors have executed. */
    synchronized void nanoTime(long nanos) {
        Cpu c = holder();
        base = nanos - (c == null ? 0 : c.instructions);
        notifyAll();
    }

    /** The first processor begins. */
    synchronized void reset() {
        SoftVcpu first = vm.vcpu(0);
        if (first != null) {
            give(first);
        }
    }
}
