package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.FdWatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LinuxEventLoopTest {
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

    private static void await(Semaphore semaphore, int permits) throws InterruptedException {
        assertTrue(semaphore.tryAcquire(permits, TIMEOUT_SECONDS, TimeUnit.SECONDS), "nothing happened in time");
    }

    private static void write(int fd, long value) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocateFrom(ValueLayout.JAVA_LONG, value);
            assertEquals(8, LibC.write(fd, buffer.address(), 8));
        }
    }

    @Test
    void ringRunsTheHandlerOnTheLoop() throws Exception {
        Semaphore rung = new Semaphore(0);
        AtomicReference<Boolean> inLoop = new AtomicReference<>(false);
        Doorbell doorbell = loop.doorbell("bell", () -> {
            inLoop.set(loop.inLoop());
            rung.release();
        });

        doorbell.ring();
        await(rung, 1);

        assertTrue(inLoop.get());
        assertFalse(loop.inLoop());
    }

    @Test
    void kernelRingsThroughTheDescriptor() throws Exception {
        Semaphore rung = new Semaphore(0);
        EventFdDoorbell doorbell = (EventFdDoorbell) loop.doorbell("bell", rung::release);

        for (int i = 0; i < 1000; i++) {
            write(doorbell.fd(), 1);
            await(rung, 1);
        }
        doorbell.ring();
        await(rung, 1);
    }

    @Test
    void ringsOfHandlersReachEachOther() throws Exception {
        Semaphore done = new Semaphore(0);
        AtomicInteger rounds = new AtomicInteger();
        Doorbell[] bells = new Doorbell[2];
        bells[0] = loop.doorbell("ping", () -> bells[1].ring());
        bells[1] = loop.doorbell("pong", () -> {
            if (rounds.incrementAndGet() < 10_000) {
                bells[0].ring();
            } else {
                done.release();
            }
        });

        bells[0].ring();

        await(done, 1);
    }

    @Test
    void ringAfterCloseDoesNothing() {
        AtomicInteger runs = new AtomicInteger();
        Doorbell doorbell = loop.doorbell("bell", runs::incrementAndGet);

        loop.call(() -> {
            doorbell.ring();
            doorbell.close();
        });
        doorbell.ring();
        loop.call(() -> {});
        loop.call(() -> {});

        assertEquals(0, runs.get());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 50_000})
    void noRingOfManyThreadsIsLost(long pollNanos) throws Exception {
        int threads = 4;
        int rounds = 10_000;
        try (LinuxEventLoop stressed = LinuxEventLoop.start("stress", pollNanos)) {
            List<Thread> started = new ArrayList<>();
            AtomicInteger lost = new AtomicInteger();
            for (int t = 0; t < threads; t++) {
                long[] mailbox = {0};
                AtomicLong seen = new AtomicLong();
                boolean byKernel = t % 2 == 1;
                EventFdDoorbell doorbell = (EventFdDoorbell) stressed.doorbell("bell" + t, () -> seen.set(mailbox[0]));
                started.add(Thread.ofPlatform().start(() -> {
                    for (int i = 1; i <= rounds; i++) {
                        mailbox[0] = i;
                        if (byKernel && i % 2 == 0) {
                            write(doorbell.fd(), 1);
                        } else {
                            doorbell.ring();
                        }
                        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
                        while (seen.get() < i) {
                            if (System.nanoTime() > giveUp) {
                                lost.incrementAndGet();
                                return;
                            }
                            Thread.yield();
                        }
                    }
                }));
            }
            for (Thread thread : started) {
                thread.join();
            }
            assertEquals(0, lost.get());
        }
    }

    @Test
    void coalescedRingsShowTheLastWrite() throws Exception {
        int threads = 4;
        int rings = 50_000;
        AtomicLong total = new AtomicLong();
        AtomicLong seen = new AtomicLong();
        CountDownLatch all = new CountDownLatch(1);
        Doorbell doorbell = loop.doorbell("bell", () -> {
            seen.set(total.get());
            if (seen.get() == (long) threads * rings) {
                all.countDown();
            }
        });
        List<Thread> started = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            started.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < rings; i++) {
                    total.incrementAndGet();
                    doorbell.ring();
                }
            }));
        }
        for (Thread thread : started) {
            thread.join();
        }

        assertTrue(all.await(TIMEOUT_SECONDS, TimeUnit.SECONDS), "saw only " + seen);
    }

    @Test
    void handlerThatThrowsDoesNotEndTheLoop() throws Exception {
        Semaphore rung = new Semaphore(0);
        Doorbell bad = loop.doorbell("bad", () -> {
            throw new IllegalStateException("expected by a test");
        });
        Doorbell good = loop.doorbell("good", rung::release);

        bad.ring();
        good.ring();

        await(rung, 1);
    }

    @Test
    void callRethrowsWhatTheTaskThrows() {
        IllegalStateException expected = new IllegalStateException("expected");

        IllegalStateException thrown = assertThrows(
                IllegalStateException.class,
                () -> loop.call(() -> {
                    throw expected;
                }));

        assertSame(expected, thrown);
    }

    @Test
    void callOnTheLoopRunsAtOnce() {
        List<String> order = new ArrayList<>();

        loop.call(() -> {
            loop.call(() -> order.add("inner"));
            order.add("outer");
        });

        assertEquals(List.of("inner", "outer"), order);
    }

    @Test
    void interruptedCallStillWaitsForItsTask() {
        AtomicInteger runs = new AtomicInteger();
        Thread.currentThread().interrupt();

        loop.call(runs::incrementAndGet);

        assertTrue(Thread.interrupted());
        assertEquals(1, runs.get());
    }

    @Test
    void tasksRunInOrder() {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            int number = i;
            loop.execute(() -> order.add(number));
        }
        loop.call(() -> {});

        assertEquals(java.util.stream.IntStream.range(0, 1000).boxed().toList(), order);
    }

    @Test
    void closedLoopRefusesTasksAndDescriptors() {
        EventFdDoorbell doorbell = (EventFdDoorbell) loop.doorbell("bell", () -> {});
        loop.close();

        assertThrows(BenchtopException.class, () -> loop.execute(() -> {}));
        assertThrows(BenchtopException.class, () -> loop.call(() -> {}));
        BenchtopException failure = assertThrows(BenchtopException.class, doorbell::fd);
        assertTrue(failure.getMessage().contains("test"), failure.getMessage());
        doorbell.ring();
    }

    @Test
    void closeRunsWhatWasQueued() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        AtomicInteger runs = new AtomicInteger();
        loop.execute(() -> {
            started.countDown();
            awaitUnchecked(release);
        });
        assertTrue(started.await(TIMEOUT_SECONDS, TimeUnit.SECONDS));
        for (int i = 0; i < 500; i++) {
            loop.execute(runs::incrementAndGet);
        }
        Thread closer = Thread.ofPlatform().start(loop::close);
        release.countDown();
        closer.join();

        assertEquals(500, runs.get());
    }

    private static void awaitUnchecked(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void watchedPipeIsReportedWhileItIsReadable() throws Exception {
        int fd = LibC.eventfd(0, LibC.EFD_NONBLOCK | LibC.EFD_CLOEXEC);
        Semaphore ready = new Semaphore(0);
        Semaphore writable = new Semaphore(0);
        AtomicReference<FdWatch> watch = new AtomicReference<>();
        watch.set(loop.watch(fd, (r, w) -> {
            if (w) {
                watch.get().interest(true, false);
                writable.release();
            }
            if (r) {
                watch.get().interest(false, false);
                ready.release();
            }
        }));

        watch.get().interest(true, true);
        await(writable, 1);
        assertEquals(0, ready.availablePermits());
        write(fd, 1);
        await(ready, 1);
        watch.get().interest(true, false);
        await(ready, 1);

        watch.get().close();
        LibC.close(fd);
    }

    @Test
    void watchClosedByAnotherHandlerOfTheSameTurnIsNotReported() throws Exception {
        int[] fds = {LibC.eventfd(1, LibC.EFD_CLOEXEC), LibC.eventfd(1, LibC.EFD_CLOEXEC)};
        FdWatch[] watches = new FdWatch[2];
        AtomicInteger runs = new AtomicInteger();
        Semaphore first = new Semaphore(0);
        loop.call(() -> {
            for (int i = 0; i < 2; i++) {
                watches[i] = loop.watch(fds[i], (r, w) -> {
                    runs.incrementAndGet();
                    watches[0].close();
                    watches[1].close();
                    first.release();
                });
                watches[i].interest(true, false);
            }
        });
        await(first, 1);
        loop.call(() -> {});

        assertEquals(1, runs.get());
        LibC.close(fds[0]);
        LibC.close(fds[1]);
    }

    @Test
    void regularFileIsAlwaysReady(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("f"), "text");
        int fd = LibC.open(file.toString(), LibC.O_RDONLY | LibC.O_CLOEXEC, 0);
        Semaphore ready = new Semaphore(0);
        AtomicInteger runs = new AtomicInteger();
        AtomicReference<FdWatch> watch = new AtomicReference<>();
        watch.set(loop.watch(fd, (r, w) -> {
            assertTrue(r);
            if (runs.incrementAndGet() == 3) {
                watch.get().interest(false, false);
                ready.release();
            }
        }));

        watch.get().interest(true, false);
        await(ready, 1);
        loop.call(() -> {});
        loop.call(() -> {});

        assertEquals(3, runs.get());
        watch.get().close();
        LibC.close(fd);
    }

    @Test
    void watchOfBadDescriptorSaysSo() {
        FdWatch watch = loop.watch(-1, (r, w) -> {});

        BenchtopException failure = assertThrows(BenchtopException.class, () -> watch.interest(true, false));

        assertTrue(failure.getMessage().contains("EBADF"), failure.getMessage());
    }

    @Test
    void openAndCloseCyclesLeakNothing() throws Exception {
        for (int i = 0; i < 10; i++) {
            useAndClose();
        }
        int descriptors = HostResources.openDescriptors();
        int threads = HostResources.threads();

        for (int i = 0; i < 200; i++) {
            useAndClose();
        }

        assertEquals(descriptors, HostResources.openDescriptors());
        // The JVM may start or stop a compiler thread meanwhile; a leak would be 200 threads.
        assertTrue(Math.abs(HostResources.threads() - threads) < 20, "threads: " + HostResources.threads());
    }

    private static void useAndClose() throws InterruptedException {
        Semaphore done = new Semaphore(0);
        LinuxEventLoop cycle = LinuxEventLoop.start("cycle");
        EventFdDoorbell left = (EventFdDoorbell) cycle.doorbell("left open", done::release);
        EventFdDoorbell closed = (EventFdDoorbell) cycle.doorbell("closed", done::release);
        cycle.timer(new ManualClock(), () -> {}).armAt(5);
        write(left.fd(), 1);
        write(closed.fd(), 1);
        await(done, 2);
        closed.close();
        left.ring();
        cycle.close();
        left.close();
    }

    @Test
    void loopClosedByItsOwnHandlerEnds() throws Exception {
        int descriptors = HostResources.openDescriptors();
        LinuxEventLoop own = LinuxEventLoop.start("own");

        own.execute(own::close);
        own.close();

        assertEquals(descriptors, HostResources.openDescriptors());
    }
}
