package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** One word for each event, linked into queues by priority (the "FIFO-based event channel ABI" of Xen). */
final class FifoEvents implements EventAbi {
    /** Bits of a link. */
    static final int LINK_BITS = 17;
    /** Priorities, 0 is the highest. */
    static final int PRIORITIES = 16;

    static final int DEFAULT_PRIORITY = 7;
    /** The size of struct evtchn_fifo_control_block. */
    static final int CONTROL_BYTES = 8 + 4 * PRIORITIES;
    /** Words in one page of the array. */
    static final int WORDS_PER_PAGE = Xen.PAGE_SIZE / 4;

    private static final int PENDING = 1 << 31;
    private static final int MASKED = 1 << 30;
    private static final int LINKED = 1 << 29;
    private static final int LINK_MASK = (1 << LINK_BITS) - 1;
    private static final long HEAD = 8;
    /** A guest that keeps changing the word of its last event would otherwise hold us up; so it loses that queue. */
    private static final int LINK_ATTEMPTS = 1000;

    private final AtomicReferenceArray<@Nullable MemorySegment> pages;
    private final Queues[] vcpus;
    private final VcpuInfos infos;
    /** For each port the queue that it was linked into last: vCPU * PRIORITIES + priority. */
    private final AtomicIntegerArray lastQueue;

    private int pageCount;

    /** The queues of one vCPU. */
    private static final class Queues {
        volatile @Nullable MemorySegment control;
        final int[] tails = new int[PRIORITIES];
    }

    FifoEvents(int ports, int cpus, VcpuInfos infos) {
        this.pages = new AtomicReferenceArray<>((ports + WORDS_PER_PAGE - 1) / WORDS_PER_PAGE);
        this.lastQueue = new AtomicIntegerArray(ports);
        this.vcpus = new Queues[cpus];
        for (int i = 0; i < cpus; i++) {
            vcpus[i] = new Queues();
        }
        this.infos = infos;
    }

    /** Sets the control block of a vCPU; false if it has one. */
    boolean control(int vcpu, MemorySegment block) {
        Queues queues = vcpus[vcpu];
        synchronized (queues) {
            if (queues.control != null) {
                return false;
            }
            queues.control = block;
            return true;
        }
    }

    /** Appends a page to the array; false if it is full. */
    synchronized boolean expand(MemorySegment page) {
        if (pageCount == pages.length()) {
            return false;
        }
        pages.set(pageCount++, page);
        return true;
    }

    /** The number of ports that have a word. */
    synchronized int ports() {
        return pageCount * WORDS_PER_PAGE;
    }

    private @Nullable MemorySegment page(int port) {
        int page = port / WORDS_PER_PAGE;
        return page < pages.length() ? pages.get(page) : null;
    }

    private static long offset(int port) {
        return port % WORDS_PER_PAGE * 4L;
    }

    @Override
    public boolean setPending(int port, int vcpu, int priority) {
        MemorySegment page = page(port);
        if (page == null) {
            return false;
        }
        int old = (int) Xen.INTS.getAndBitwiseOr(page, offset(port), PENDING);
        return (old & (MASKED | LINKED)) == 0 && link(page, port, vcpu, priority);
    }

    @Override
    public boolean remind(int port, int vcpu, int priority) {
        return setPending(port, vcpu, priority);
    }

    private boolean link(MemorySegment page, int port, int vcpu, int priority) {
        Queues queues = vcpus[vcpu];
        MemorySegment control = queues.control;
        if (control == null || ((int) Xen.INTS.getAndBitwiseOr(page, offset(port), LINKED) & LINKED) != 0) {
            return false;
        }
        forget(port, vcpu, priority);
        boolean behind;
        synchronized (queues) {
            int tail = queues.tails[priority];
            // An event that was the last itself has left the queue empty, although it looks linked now.
            behind = tail != 0 && tail != port && linkBehind(tail, port);
            if (!behind) {
                Xen.INTS.setVolatile(control, HEAD + priority * 4L, port);
            }
            queues.tails[priority] = port;
        }
        int ready = 1 << priority;
        return !behind && ((int) Xen.INTS.getAndBitwiseOr(control, 0L, ready) & ready) == 0 && infos.markPending(vcpu);
    }

    /** Takes an event away as the last of the queue that it was in before, if it goes to another. */
    private void forget(int port, int vcpu, int priority) {
        int place = vcpu * PRIORITIES + priority;
        int before = lastQueue.getAndSet(port, place);
        if (before != place) {
            Queues old = vcpus[before / PRIORITIES];
            synchronized (old) {
                if (old.tails[before % PRIORITIES] == port) {
                    old.tails[before % PRIORITIES] = 0;
                }
            }
        }
    }

    /** Links an event behind another; false if the guest has taken that from its queue already. */
    private boolean linkBehind(int tail, int port) {
        MemorySegment page = page(tail);
        if (page == null) {
            return false;
        }
        for (int i = 0; i < LINK_ATTEMPTS; i++) {
            int word = (int) Xen.INTS.getVolatile(page, offset(tail));
            if ((word & LINKED) == 0) {
                return false;
            }
            if (Xen.INTS.compareAndSet(page, offset(tail), word, word & ~LINK_MASK | port)) {
                return true;
            }
            Thread.onSpinWait();
        }
        return false;
    }

    @Override
    public boolean unmask(int port) {
        MemorySegment page = page(port);
        return page != null && ((int) Xen.INTS.getAndBitwiseAnd(page, offset(port), ~MASKED) & PENDING) != 0;
    }

    @Override
    public void clear(int port) {
        MemorySegment page = page(port);
        if (page != null) {
            Object unused = (int) Xen.INTS.getAndBitwiseAnd(page, offset(port), ~PENDING);
        }
    }

    @Override
    public boolean pending(int port) {
        MemorySegment page = page(port);
        return page != null && ((int) Xen.INTS.getVolatile(page, offset(port)) & PENDING) != 0;
    }

    @Override
    public boolean masked(int port) {
        MemorySegment page = page(port);
        return page == null || ((int) Xen.INTS.getVolatile(page, offset(port)) & MASKED) != 0;
    }
}
