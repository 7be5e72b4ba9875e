package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.time.Clock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LoopTimersTest {
    private static final long TIMEOUT_SECONDS = 60;
    private static final Clock REAL = new Clock() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public Instant wallTime() {
            return Instant.now();
        }
    };

    private final LinuxEventLoop loop = LinuxEventLoop.start("timers");
    private final ManualClock clock = new ManualClock();

    @AfterEach
    void stop() {
        loop.close();
    }

    private static void await(Semaphore semaphore, int permits) throws InterruptedException {
        assertTrue(semaphore.tryAcquire(permits, TIMEOUT_SECONDS, TimeUnit.SECONDS), "nothing happened in time");
    }

    /** Sets the clock and lets everything that is due run. */
    private void advanceTo(long nanos) {
        clock.set(nanos);
        loop.clockChanged();
        settle();
    }

    private void settle() {
        // Two calls are two turns at least, and timers run in every turn after the timerfd is read.
        Semaphore due = new Semaphore(0);
        Timer marker = loop.timer(clock, due::release);
        marker.armAt(clock.nanoTime());
        due.acquireUninterruptibly();
        loop.call(() -> {});
        marker.close();
    }

    @Test
    void timersFireInOrderOfTheirDeadlines() {
        List<Long> deadlines =
                new ArrayList<>(LongStream.rangeClosed(1, 500).boxed().toList());
        Collections.shuffle(deadlines, new Random(1));
        List<Long> fired = Collections.synchronizedList(new ArrayList<>());
        for (long deadline : deadlines) {
            loop.timer(clock, () -> fired.add(deadline)).armAt(deadline);
        }

        advanceTo(250);
        assertEquals(LongStream.rangeClosed(1, 250).boxed().toList(), fired);
        advanceTo(1000);
        assertEquals(LongStream.rangeClosed(1, 500).boxed().toList(), fired);
    }

    @Test
    void randomArmingAndCancellingMatchesAModel() {
        Random random = new Random(7);
        int count = 64;
        long[] deadlines = new long[count];
        AtomicInteger[] fired = new AtomicInteger[count];
        int[] expected = new int[count];
        Timer[] timers = new Timer[count];
        for (int i = 0; i < count; i++) {
            AtomicInteger counter = new AtomicInteger();
            fired[i] = counter;
            timers[i] = loop.timer(clock, counter::incrementAndGet);
            deadlines[i] = -1;
        }
        long now = 0;
        for (int round = 0; round < 300; round++) {
            for (int step = 0; step < 10; step++) {
                int i = random.nextInt(count);
                if (random.nextInt(4) == 0) {
                    timers[i].cancel();
                    deadlines[i] = -1;
                } else {
                    deadlines[i] = now + 1 + random.nextInt(1000);
                    timers[i].armAt(deadlines[i]);
                }
            }
            now += random.nextInt(300);
            advanceTo(now);
            for (int i = 0; i < count; i++) {
                if (deadlines[i] >= 0 && deadlines[i] <= now) {
                    expected[i]++;
                    deadlines[i] = -1;
                }
                assertEquals(expected[i], fired[i].get(), "timer " + i + " in round " + round);
            }
        }
    }

    @Test
    void cancelledTimerDoesNotFire() {
        AtomicInteger runs = new AtomicInteger();
        Timer timer = loop.timer(clock, runs::incrementAndGet);
        timer.armAt(10);
        timer.cancel();

        advanceTo(20);

        assertEquals(0, runs.get());
    }

    @Test
    void timerCancelledByAnotherHandlerOfTheSameTurnDoesNotFire() {
        AtomicInteger runs = new AtomicInteger();
        Timer second = loop.timer(clock, runs::incrementAndGet);
        Timer first = loop.timer(clock, second::close);
        first.armAt(10);
        second.armAt(11);

        advanceTo(20);

        assertEquals(0, runs.get());
    }

    @Test
    void armingAgainReplacesTheDeadline() {
        AtomicInteger runs = new AtomicInteger();
        Timer timer = loop.timer(clock, runs::incrementAndGet);
        timer.armAt(10);
        timer.armAt(30);

        advanceTo(20);
        assertEquals(0, runs.get());
        advanceTo(30);
        assertEquals(1, runs.get());
    }

    @Test
    void passedDeadlineFiresAtOnce() throws Exception {
        Semaphore fired = new Semaphore(0);
        clock.set(100);
        Timer timer = loop.timer(clock, fired::release);

        timer.armAt(Long.MIN_VALUE);
        await(fired, 1);
        timer.armAt(99);
        await(fired, 1);
    }

    @Test
    void timerThatAlwaysArmsAgainDoesNotStarveOthers() throws Exception {
        Semaphore others = new Semaphore(0);
        Timer[] greedy = new Timer[1];
        greedy[0] = loop.timer(clock, () -> greedy[0].armAt(0));
        greedy[0].armAt(0);

        loop.doorbell("other", others::release).ring();
        await(others, 1);
        loop.call(() -> {});
        greedy[0].close();
    }

    @Test
    void farDeadlineNeitherFiresNorOverflows() {
        AtomicInteger runs = new AtomicInteger();
        loop.timer(clock, runs::incrementAndGet).armAt(Long.MAX_VALUE);
        clock.set(-5);

        advanceTo(1000);

        assertEquals(0, runs.get());
    }

    @Test
    void timersOfTwoClocksAreIndependent() throws Exception {
        Semaphore real = new Semaphore(0);
        AtomicInteger manual = new AtomicInteger();
        loop.timer(clock, manual::incrementAndGet).armAt(1);
        loop.timer(REAL, real::release).armAt(REAL.nanoTime() + 1_000_000);

        await(real, 1);
        assertEquals(0, manual.get());
        advanceTo(1);
        assertEquals(1, manual.get());
    }

    @Test
    void realTimeTimerNeverFiresEarly() throws Exception {
        Semaphore fired = new Semaphore(0);
        AtomicLong firedAt = new AtomicLong();
        Timer timer = loop.timer(REAL, () -> {
            firedAt.set(REAL.nanoTime());
            fired.release();
        });
        for (int i = 0; i < 50; i++) {
            long deadline = REAL.nanoTime() + i * 20_000L;
            timer.armAt(deadline);
            await(fired, 1);
            assertTrue(firedAt.get() >= deadline);
        }
    }

    @Test
    void clockThatMovesWithoutNoticeIsStillFollowed() throws Exception {
        Semaphore fired = new Semaphore(0);
        loop.timer(clock, fired::release).armAt(1_000);
        loop.call(() -> {});

        clock.set(1_000);

        await(fired, 1);
    }
}
