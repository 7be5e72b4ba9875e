package org.benchtop.engine.linux;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.benchtop.spi.event.Doorbell;
import org.jspecify.annotations.Nullable;

/**
 * A doorbell that threads ring through a lock-free list and the kernel (KVM ioeventfd) through an eventfd.
 *
 * <p>{@link #ring} makes no system call unless the loop is asleep. The eventfd is made when {@link #fd} is first asked
 * for, is watched edge-triggered and never read, so a ring by the kernel costs the loop no system call of its own.
 */
public final class EventFdDoorbell implements Doorbell {
    private static final VarHandle PENDING;

    static {
        try {
            PENDING = MethodHandles.lookup().findVarHandle(EventFdDoorbell.class, "pending", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final LinuxEventLoop loop;
    private final String name;
    private final Runnable onRing;
    /** 1 from a ring until the loop is about to run the handler for it. */
    @SuppressWarnings("unused") // through PENDING
    private volatile int pending;

    private volatile boolean closed;
    private int fd = -1;
    private LoopSource.@Nullable Registration registration;

    /** The next in the loop's list of pending doorbells; belongs to the list while {@link #pending} is 1. */
    @Nullable
    EventFdDoorbell next;

    EventFdDoorbell(LinuxEventLoop loop, String name, Runnable onRing) {
        this.loop = loop;
        this.name = name;
        this.onRing = onRing;
    }

    /**
     * An eventfd that rings this doorbell when it is written to, such as by KVM_IOEVENTFD. It lives until {@link
     * #close}: detach it from the kernel before.
     */
    public synchronized int fd() {
        if (closed) {
            throw loop.closedError("doorbell " + name);
        }
        if (fd < 0) {
            int created = Errno.checkedInt(
                    "eventfd for doorbell " + name, LibC.eventfd(0, LibC.EFD_CLOEXEC | LibC.EFD_NONBLOCK));
            registration = loop.register(created, EpollEvent.EPOLLIN | EpollEvent.EPOLLET, events -> fire());
            fd = created;
        }
        return fd;
    }

    @Override
    public void ring() {
        // A read-modify-write, not a test first: it must be ordered after the ringer's stores, and the loop's own
        // read-modify-write in firePending then sees them.
        if (!closed && (int) PENDING.getAndSet(this, 1) == 0) {
            loop.post(this);
        }
    }

    /** Runs the handler for a ring through the list. */
    void firePending() {
        PENDING.getAndSet(this, 0);
        fire();
    }

    private void fire() {
        if (!closed) {
            loop.runHandler(onRing, name);
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        loop.forget(this);
        if (registration != null) {
            registration.close();
            LibC.close(fd);
        }
    }

    @Override
    public String toString() {
        return "doorbell " + name + " of " + loop.name();
    }
}
