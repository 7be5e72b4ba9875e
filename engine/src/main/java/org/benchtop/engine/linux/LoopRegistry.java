package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;

/**
 * What is in a loop's epoll set. The kernel carries a token of slot and generation with each event, so an event of a
 * registration that was closed a moment ago, perhaps by another handler of the same turn, reaches nobody.
 */
final class LoopRegistry {
    private final int epollFd;
    private final Object lock = new Object();
    private final MemorySegment event = Arena.ofAuto().allocate(EpollEvent.BYTES, 8);
    private final Deque<Integer> freeSlots = new ArrayDeque<>();
    /** Replaced, never changed, so that the loop reads it without a lock. */
    private volatile @Nullable Entry[] entries = {};

    private volatile LoopFdWatch[] alwaysReady = {};
    private int generation;
    private boolean closed;

    LoopRegistry(int epollFd) {
        this.epollFd = epollFd;
    }

    /** Adds a descriptor; fails with errno EPERM in the context for one that cannot be waited for. */
    LoopSource.Registration add(int fd, int events, LoopSource source) {
        synchronized (lock) {
            if (closed) {
                throw BenchtopException.of(ErrorKind.INTERNAL, "descriptor " + fd + ": the event loop is closed");
            }
            Integer slot = freeSlots.poll();
            if (slot == null) {
                slot = entries.length;
                entries = Arrays.copyOf(entries, entries.length + 1);
            }
            Entry entry = new Entry(fd, slot, ((long) ++generation << 32) | slot, source);
            set(slot, entry);
            int result = control(EpollEvent.EPOLL_CTL_ADD, entry, events);
            if (result < 0) {
                entry.remove();
                throw Errno.exception("epoll_ctl of descriptor " + fd, result);
            }
            return entry;
        }
    }

    private void set(int slot, @Nullable Entry entry) {
        @Nullable Entry[] changed = entries.clone();
        changed[slot] = entry;
        entries = changed;
    }

    private int control(int operation, Entry entry, int events) {
        EpollEvent.set(event, events, entry.token);
        return LibC.epollCtl(epollFd, operation, entry.fd, event.address());
    }

    /** Calls the source that an event is for. Loop thread. */
    void dispatch(long token, int events, LinuxEventLoop loop) {
        Entry entry = entries[(int) token];
        if (entry != null && entry.token == token) {
            try {
                entry.source.ready(events);
            } catch (Throwable failure) {
                loop.handlerFailed("descriptor " + entry.fd, failure);
            }
        }
    }

    void alwaysReady(LoopFdWatch watch, boolean on) {
        synchronized (lock) {
            LoopFdWatch[] old = alwaysReady;
            LoopFdWatch[] others =
                    Arrays.stream(old).filter(other -> other != watch).toArray(LoopFdWatch[]::new);
            if (on) {
                others = Arrays.copyOf(others, others.length + 1);
                others[others.length - 1] = watch;
            }
            alwaysReady = others;
        }
    }

    boolean hasAlwaysReady() {
        return alwaysReady.length > 0;
    }

    /** Reports descriptors that are always ready. Loop thread. */
    void runAlwaysReady() {
        for (LoopFdWatch watch : alwaysReady) {
            watch.reportAlwaysReady();
        }
    }

    void close() {
        synchronized (lock) {
            closed = true;
            alwaysReady = new LoopFdWatch[0];
        }
    }

    private final class Entry implements LoopSource.Registration {
        private final int fd;
        private final int slot;
        private final long token;
        private final LoopSource source;
        private boolean removed;

        Entry(int fd, int slot, long token, LoopSource source) {
            this.fd = fd;
            this.slot = slot;
            this.token = token;
            this.source = source;
        }

        @Override
        public void events(int events) {
            synchronized (lock) {
                if (!removed && !closed) {
                    Errno.checked("epoll_ctl of descriptor " + fd, control(EpollEvent.EPOLL_CTL_MOD, this, events));
                }
            }
        }

        @Override
        public void close() {
            synchronized (lock) {
                if (!removed && !closed) {
                    control(EpollEvent.EPOLL_CTL_DEL, this, 0);
                    remove();
                }
            }
        }

        private void remove() {
            removed = true;
            set(slot, null);
            freeSlots.add(slot);
        }
    }
}
