package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link LinuxEventLoop#tryRun}: another thread works in the loop's place while it sleeps. */
final class LentTurnTest {
    private static final long TIMEOUT_SECONDS = 60;

    private LinuxEventLoop loop = LinuxEventLoop.start("unused");

    @BeforeEach
    void start() {
        loop.close();
        loop = LinuxEventLoop.start("test");
    }

    @AfterEach
    void stop() {
        loop.close();
    }

    /** Tries until the loop sleeps. */
    private void runLent(Runnable task) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        while (!loop.tryRun(task)) {
            assertTrue(System.nanoTime() < end, "the loop never lends its turn");
            Thread.onSpinWait();
        }
    }

    private static void await(Semaphore semaphore) throws InterruptedException {
        assertTrue(semaphore.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS), "nothing happened in time");
    }

    @Test
    void sleepingLoopLendsItsTurnToTheCaller() {
        AtomicReference<Thread> ranOn = new AtomicReference<>();
        AtomicBoolean inLoop = new AtomicBoolean();

        runLent(() -> {
            ranOn.set(Thread.currentThread());
            inLoop.set(loop.inLoop());
        });

        assertEquals(Thread.currentThread(), ranOn.get());
        assertTrue(inLoop.get());
        assertFalse(loop.inLoop());
    }

    @Test
    void busyLoopLendsNothing() throws Exception {
        Semaphore entered = new Semaphore(0);
        Semaphore leave = new Semaphore(0);
        loop.execute(() -> {
            entered.release();
            leave.acquireUninterruptibly();
        });
        await(entered);

        boolean ran = loop.tryRun(() -> {});
        leave.release();

        assertFalse(ran);
    }

    @Test
    void loopLendsNothingToItself() {
        AtomicBoolean ran = new AtomicBoolean();

        loop.call(() -> ran.set(loop.tryRun(() -> {})));
        runLent(() -> ran.compareAndSet(false, loop.tryRun(() -> {})));

        assertFalse(ran.get());
    }

    @Test
    void whatALentTurnPostsRunsOnTheLoop() throws Exception {
        Semaphore rung = new Semaphore(0);
        Semaphore ran = new Semaphore(0);
        Semaphore fired = new Semaphore(0);
        Doorbell doorbell = loop.doorbell("bell", rung::release);
        Timer timer = loop.timer(Clock.host(), fired::release);

        runLent(doorbell::ring);
        await(rung);
        runLent(() -> loop.execute(ran::release));
        await(ran);
        runLent(() -> timer.armAt(Clock.host().nanoTime() + 1_000_000));
        await(fired);
    }

    @Test
    void taskThatThrowsGivesTheTurnBack() throws Exception {
        Semaphore ran = new Semaphore(0);

        runLent(() -> {
            throw new IllegalStateException("thrown on purpose by the test");
        });
        loop.execute(ran::release);

        await(ran);
    }

    @Test
    void loopCanBeClosedInALentTurn() {
        runLent(loop::close);
        loop.close();

        assertFalse(loop.tryRun(() -> {}));
    }

    @Test
    void turnsNeverOverlap() throws Exception {
        int rounds = 20_000;
        long[] unguarded = {0};
        long[] expected = new long[3];
        Semaphore done = new Semaphore(0);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < expected.length; t++) {
            int index = t;
            Semaphore rung = new Semaphore(0);
            Doorbell doorbell = loop.doorbell("bell" + t, () -> {
                unguarded[0]++;
                expected[index]++;
                rung.release();
            });
            Runnable lent = () -> {
                unguarded[0]++;
                expected[index]++;
            };
            threads.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < rounds; i++) {
                    if (!loop.tryRun(lent)) {
                        doorbell.ring();
                        rung.acquireUninterruptibly();
                    }
                }
                done.release();
            }));
        }
        for (int t = 0; t < expected.length; t++) {
            await(done);
        }

        long[] sum = {0, 0};
        loop.call(() -> {
            sum[0] = unguarded[0];
            sum[1] = expected[0] + expected[1] + expected[2];
        });

        assertEquals(3L * rounds, sum[0]);
        assertEquals(sum[0], sum[1]);
    }
}
