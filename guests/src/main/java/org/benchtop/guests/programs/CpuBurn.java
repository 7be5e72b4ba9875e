package org.benchtop.guests.programs;

import org.benchtop.guests.lang.Guest;
import org.benchtop.guests.rt.Cmdline;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Smp;
import org.benchtop.guests.rt.Tsc;

/** Keeps CPUs busy with integer work in registers and says how many loop passes per second that was. */
final class CpuBurn {
    private static final int PASSES_PER_LOOK_AT_CLOCK = 1_000_000;
    private static final int MAX_CPUS = 16;
    private static final long LOOPS = Guest.reserve(8 * MAX_CPUS, 64);
    private static final long NANOS = Guest.reserve(8 * MAX_CPUS, 64);
    private static final long CHECKSUMS = Guest.reserve(8 * MAX_CPUS, 64);
    private static long runNanos;
    private static long loopLimit;

    private CpuBurn() {}

    static int main() {
        Cmdline.allow("seconds loops cpus");
        runNanos = Cmdline.number("seconds", 1, 1, 86_400) * 1_000_000_000L;
        loopLimit = Cmdline.number("loops", 0, 0, Long.MAX_VALUE);
        int cpus = (int) Cmdline.number("cpus", 1, 1, MAX_CPUS);
        if (cpus > 1 && Smp.start() < cpus) {
            Console.print("error: cpus=");
            Console.printDecimal(cpus);
            Console.print(", but the machine has ");
            Console.printDecimal(Smp.count());
            Console.newLine();
            return Exit.NO_DEVICE;
        }
        Tsc.khz();
        Smp.run(CpuBurn::burn, cpus);
        long total = 0;
        for (int cpu = 0; cpu < cpus; cpu++) {
            long loops = Guest.load64(LOOPS + 8L * cpu);
            long perSecond = loops * 1000 / Math.max(Guest.load64(NANOS + 8L * cpu) / 1_000_000, 1);
            total += perSecond;
            Console.print("cpu ");
            Console.printDecimal(cpu);
            Console.print(": ");
            Console.printDecimal(loops);
            Console.print(" loops, ");
            Console.printDecimal(perSecond);
            Console.print(" per second, checksum ");
            Console.printHex(Guest.load64(CHECKSUMS + 8L * cpu));
            Console.newLine();
        }
        Console.println("@@benchtop:result:begin");
        Console.print("{\"program\":\"cpuburn\",\"cpus\":");
        Console.printDecimal(cpus);
        Console.print(",\"loops_per_second\":");
        Console.printDecimal(total);
        Console.println("}");
        Console.println("@@benchtop:result:end");
        return Exit.OK;
    }

    private static void burn(int cpu) {
        long begin = Tsc.nanos();
        long loops = 0;
        long sum = cpu + 1;
        while (loopLimit != 0 ? loops < loopLimit : Tsc.nanos() - begin < runNanos) {
            int passes = PASSES_PER_LOOK_AT_CLOCK;
            if (loopLimit != 0) {
                passes = (int) Math.min(passes, loopLimit - loops);
            }
            sum = spin(sum, passes);
            loops += passes;
        }
        Guest.store64(LOOPS + 8L * cpu, loops);
        Guest.store64(NANOS + 8L * cpu, Tsc.nanos() - begin);
        Guest.store64(CHECKSUMS + 8L * cpu, sum);
    }

    private static long spin(long start, int passes) {
        long x = start;
        for (int i = 0; i < passes; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            x += i;
        }
        return x;
    }
}
