package org.benchtop.engine.linux;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.event.FdWatch;
import org.jspecify.annotations.Nullable;

/** A level-triggered watch of one descriptor that its user owns. */
final class LoopFdWatch implements FdWatch {
    private static final int BROKEN = EpollEvent.EPOLLERR | EpollEvent.EPOLLHUP;

    private final LinuxEventLoop loop;
    private final int fd;
    private final FdWatch.Handler handler;
    private LoopSource.@Nullable Registration registration;
    /** A regular file or the like, which epoll refuses because it never makes anybody wait. */
    private boolean neverWaits;

    private volatile boolean readable;
    private volatile boolean writable;
    private volatile boolean closed;

    LoopFdWatch(LinuxEventLoop loop, int fd, FdWatch.Handler handler) {
        this.loop = loop;
        this.fd = fd;
        this.handler = handler;
    }

    @Override
    public synchronized void interest(boolean readable, boolean writable) {
        if (closed) {
            return;
        }
        this.readable = readable;
        this.writable = writable;
        int events = (readable ? EpollEvent.EPOLLIN : 0) | (writable ? EpollEvent.EPOLLOUT : 0);
        if (neverWaits) {
            loop.alwaysReady(this, events != 0);
        } else if (events == 0) {
            unregister();
        } else if (registration != null) {
            registration.events(events);
        } else {
            register(events);
        }
    }

    private void register(int events) {
        try {
            registration = loop.register(fd, events, this::ready);
        } catch (BenchtopException e) {
            if (!"EPERM".equals(e.context().get("errno"))) {
                throw e;
            }
            neverWaits = true;
            loop.alwaysReady(this, true);
        }
    }

    private void unregister() {
        if (registration != null) {
            registration.close();
            registration = null;
        }
    }

    private void ready(int events) {
        if (closed) {
            return;
        }
        boolean broken = (events & BROKEN) != 0;
        handler.ready(broken || (events & EpollEvent.EPOLLIN) != 0, broken || (events & EpollEvent.EPOLLOUT) != 0);
    }

    void reportAlwaysReady() {
        if (!closed && (readable || writable)) {
            loop.runHandler(() -> handler.ready(readable, writable), "descriptor " + fd);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        unregister();
        if (neverWaits) {
            loop.alwaysReady(this, false);
        }
    }
}
