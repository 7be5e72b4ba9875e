package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.Test;

class KvmKickTest {
    private static final String SPIN = "eb fe"; // jmp $

    private volatile byte[] junk = {};

    @Test
    void kickBeforeRunMakesTheNextRunReturn() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, SPIN);
            guest.vcpu().kick();
            guest.vcpu().kick();

            VcpuExit exit = guest.vcpu().run();

            assertSame(VcpuExit.Kicked.INSTANCE, exit);
            assertEquals(1, guest.vcpu().exits().byReason().getOrDefault("kick", 0L));
        }
    }

    @Test
    void kickFromAnAccessHandlerReturnsAfterTheInstruction() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, "e6 48 eb fe"); // out 0x48,al; jmp $
            guest.ports.put(0x48, value -> guest.vcpu().kick());

            VcpuExit exit = guest.vcpu().run();

            assertSame(VcpuExit.Kicked.INSTANCE, exit);
            assertEquals(KvmGuest.CODE + 2, guest.vcpu().registers().rip());
        }
    }

    /** Each kick carries a number that the vCPU thread must see after its run returns: none is lost, under GC load. */
    @Test
    void noKickIsLostWhileTheCollectorRuns() {
        int kicks = 2000;
        AtomicLong requested = new AtomicLong();
        AtomicLong seen = new AtomicLong();
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, SPIN);
            Thread vcpu = Thread.ofPlatform().start(() -> {
                while (!guest.stopped) {
                    assertInstanceOf(VcpuExit.Kicked.class, guest.vcpu().run());
                    seen.set(requested.get());
                }
            });
            Thread garbage = Thread.ofPlatform().daemon().start(() -> {
                while (!guest.stopped) {
                    for (int i = 0; i < 1000; i++) {
                        junk = new byte[1000];
                    }
                    System.gc();
                    LockSupport.parkNanos(10_000_000);
                }
            });

            for (int i = 1; i <= kicks; i++) {
                long expected = i;
                requested.set(expected);
                guest.vcpu().kick();
                guest.await("kick " + i, () -> seen.get() >= expected);
            }

            guest.stop(vcpu, garbage);
            assertTrue(seen.get() >= kicks);
            assertEquals(1000, junk.length);
        }
    }

    @Test
    void kicksOfManyThreadsAreAllServed() throws InterruptedException {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, SPIN);
            AtomicLong returns = new AtomicLong();
            Thread vcpu = Thread.ofPlatform().start(() -> {
                while (!guest.stopped) {
                    guest.vcpu().run();
                    returns.incrementAndGet();
                }
            });
            Thread[] kickers = new Thread[4];
            AtomicReference<Throwable> failure = new AtomicReference<>();
            for (int t = 0; t < kickers.length; t++) {
                kickers[t] = Thread.ofPlatform().start(() -> {
                    try {
                        for (int i = 0; i < 100; i++) {
                            long before = returns.get();
                            guest.vcpu().kick();
                            guest.await("kick", () -> returns.get() > before);
                        }
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                });
            }
            for (Thread kicker : kickers) {
                kicker.join();
            }

            guest.stop(vcpu);
            assertEquals(null, failure.get());
        }
    }

    @Test
    void kickAfterTheThreadHasEndedIsHarmless() throws InterruptedException {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, SPIN);
            for (int i = 0; i < 50; i++) {
                guest.vcpu().kick();
                Thread thread = Thread.ofPlatform().start(() -> guest.vcpu().run());
                guest.vcpu().kick();
                thread.join();
                guest.vcpu().kick();
            }

            assertTrue(guest.vcpu().exits().byReason().getOrDefault("kick", 0L) >= 50);
        }
    }

    @Test
    void runOnAVirtualThreadIsRefused() throws InterruptedException {
        try (KvmGuest guest = new KvmGuest()) {
            AtomicReference<BenchtopException> refusal = new AtomicReference<>();
            Thread.ofVirtual()
                    .start(() -> refusal.set(assertThrows(
                            BenchtopException.class, () -> guest.vcpu().run())))
                    .join();

            assertEquals("test vCPU 0 needs a platform thread", refusal.get().getMessage());
        }
    }

    @Test
    void closeStopsARunningVcpuAndWaitsForIt() throws InterruptedException {
        AtomicReference<VcpuExit> exit = new AtomicReference<>();
        Thread thread;
        KvmVcpu vcpu;
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, "c7 05 04 00 02 00 01 00 00 00 eb fe"); // mov dword [0x20004],1; jmp $
            vcpu = guest.vcpu();
            KvmVcpu running = vcpu;
            thread = Thread.ofPlatform().start(() -> exit.set(running.run()));
            guest.await("ready", () -> guest.word(0x2_0004) == 1);
        }

        thread.join();
        assertSame(VcpuExit.Kicked.INSTANCE, exit.get());
        vcpu.kick();
        vcpu.close();
        assertFalse(thread.isAlive());
        assertThrows(BenchtopException.class, vcpu::run);
        assertThrows(BenchtopException.class, vcpu::registers);
    }
}
