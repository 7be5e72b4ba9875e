package org.benchtop.virtio.blk;

import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;
import org.benchtop.testkit.FakeEventLoop;

/** A fake loop that lends its turn, or not. */
final class LendingLoop implements EventLoop {
    private final FakeEventLoop loop;
    boolean lends = true;
    int lent;

    LendingLoop(FakeEventLoop loop) {
        this.loop = loop;
    }

    @Override
    public String name() {
        return loop.name();
    }

    @Override
    public boolean inLoop() {
        return loop.inLoop();
    }

    @Override
    public void execute(Runnable task) {
        loop.execute(task);
    }

    @Override
    public void call(Runnable task) {
        loop.call(task);
    }

    @Override
    public boolean tryRun(Runnable task) {
        if (lends) {
            lent++;
            loop.call(task);
        }
        return lends;
    }

    @Override
    public Doorbell doorbell(String name, Runnable onRing) {
        return loop.doorbell(name, onRing);
    }

    @Override
    public Timer timer(Clock clock, Runnable onExpiry) {
        return loop.timer(clock, onExpiry);
    }

    @Override
    public FdWatch watch(int fd, FdWatch.Handler handler) {
        return loop.watch(fd, handler);
    }
}
