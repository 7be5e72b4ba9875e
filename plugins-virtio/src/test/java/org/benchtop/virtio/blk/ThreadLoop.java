package org.benchtop.virtio.blk;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;

/** A loop with a thread of its own, for races that a loop without one cannot show. */
final class ThreadLoop implements EventLoop, AutoCloseable {
    private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Thread thread =
            Thread.ofPlatform().daemon().name("thread-loop").unstarted(this::run);
    private volatile boolean closed;
    volatile Throwable failure = new Throwable("none");
    volatile boolean failed;

    ThreadLoop() {
        thread.start();
    }

    private void run() {
        while (!closed) {
            try {
                tasks.take().run();
            } catch (InterruptedException e) {
                return;
            } catch (Throwable t) {
                failure = t;
                failed = true;
            }
        }
    }

    @Override
    public String name() {
        return "thread";
    }

    @Override
    public boolean inLoop() {
        return Thread.currentThread() == thread;
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
    }

    @Override
    public void call(Runnable task) {
        if (inLoop()) {
            task.run();
            return;
        }
        CountDownLatch done = new CountDownLatch(1);
        execute(() -> {
            try {
                task.run();
            } finally {
                done.countDown();
            }
        });
        try {
            done.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public Doorbell doorbell(String name, Runnable onRing) {
        AtomicBoolean pending = new AtomicBoolean();
        AtomicBoolean open = new AtomicBoolean(true);
        Runnable handler = () -> {
            pending.set(false);
            if (open.get()) {
                onRing.run();
            }
        };
        return new Doorbell() {
            @Override
            public void ring() {
                if (open.get() && !pending.getAndSet(true)) {
                    tasks.add(handler);
                }
            }

            @Override
            public void close() {
                open.set(false);
            }
        };
    }

    @Override
    public Timer timer(Clock clock, Runnable onExpiry) {
        throw new UnsupportedOperationException("no timers");
    }

    @Override
    public FdWatch watch(int fd, FdWatch.Handler handler) {
        throw new UnsupportedOperationException("no descriptors");
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
