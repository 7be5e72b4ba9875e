package org.benchtop.guests.rt;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.CpuTask;
import org.benchtop.guests.lang.Guest;

/**
 * Starts the other CPUs and gives them work.
 *
 * <p>INIT and SIPI are broadcast and arrivals counted; the ACPI MADT, where there is one, says how many to wait for.
 * Idle CPUs halt.
 */
public final class Smp {
    private static final int MAILBOX_SIZE = 64;
    private static final long MAILBOXES = Guest.reserve(GuestLayout.MAX_CPUS * MAILBOX_SIZE, MAILBOX_SIZE);
    private static final long APIC_IDS = Guest.reserve(4 * GuestLayout.MAX_CPUS, 64);
    private static final int DONE = 8;
    private static final long ARRIVAL_TIMEOUT_NANOS = 3_000_000_000L;
    private static final long SETTLED_NANOS = 100_000_000L;
    private static boolean started;

    private Smp() {}

    /** Starts all other CPUs, once, and returns how many CPUs there are now, with this one. */
    public static int start() {
        if (started) {
            return count();
        }
        started = true;
        Guest.store32(APIC_IDS, LocalApic.id());
        int expected = Acpi.cpus();
        if (expected == 1) {
            return 1;
        }
        long code = Guest.symbol("smp_trampoline");
        Guest.copy(GuestLayout.SMP_TRAMPOLINE, code, Guest.symbol("smp_trampoline_end") - code);
        LocalApic.initOthers();
        Tsc.sleepNanos(10_000_000);
        int page = (int) (GuestLayout.SMP_TRAMPOLINE >> 12);
        LocalApic.startOthers(page);
        Tsc.sleepNanos(200_000);
        LocalApic.startOthers(page);
        awaitArrivals(expected);
        return count();
    }

    private static void awaitArrivals(int expected) {
        long begin = Tsc.nanos();
        long lastChange = begin;
        int seen = 1;
        while (true) {
            int now = Guest.load32Acquire(GuestLayout.CPU_COUNT);
            long time = Tsc.nanos();
            if (now != seen) {
                seen = now;
                lastChange = time;
            }
            if (seen >= expected && expected > 0
                    || expected == 0 && time - lastChange > SETTLED_NANOS
                    || time - begin > ARRIVAL_TIMEOUT_NANOS) {
                return;
            }
            Guest.pause();
        }
    }

    /** How many CPUs are at work. */
    public static int count() {
        return Math.min(Guest.load32Acquire(GuestLayout.CPU_COUNT), GuestLayout.MAX_CPUS);
    }

    /** The APIC id of a started CPU. */
    public static int apicId(int cpu) {
        return Guest.load32(APIC_IDS + 4L * cpu);
    }

    static void serve(int cpu) {
        Guest.store32Release(APIC_IDS + 4L * cpu, LocalApic.id());
        Guest.enableInterrupts();
        long mailbox = MAILBOXES + (long) cpu * MAILBOX_SIZE;
        while (true) {
            long task = Guest.load64Acquire(mailbox);
            if (task == 0) {
                Guest.waitWhileEqual(mailbox, 0);
            } else {
                Guest.callTask(task, cpu);
                Guest.store64(mailbox, 0);
                Guest.store64Volatile(mailbox + DONE, 1);
                LocalApic.wakeOthers();
            }
        }
    }

    /** Runs {@code task} on the CPUs 0 to {@code cpus - 1}, this one included, and waits for all of them. */
    public static void run(CpuTask task, int cpus) {
        long address = Guest.taskAddress(task);
        for (int cpu = 1; cpu < cpus; cpu++) {
            long mailbox = MAILBOXES + (long) cpu * MAILBOX_SIZE;
            Guest.store64(mailbox + DONE, 0);
            Guest.store64Release(mailbox, address);
        }
        if (cpus > 1) {
            Guest.fence();
            LocalApic.wakeOthers();
        }
        Guest.callTask(address, 0);
        for (int cpu = 1; cpu < cpus; cpu++) {
            long done = MAILBOXES + (long) cpu * MAILBOX_SIZE + DONE;
            while (Guest.load64Acquire(done) == 0) {
                Guest.waitWhileEqual(done, 0);
            }
        }
    }
}
