package org.benchtop.bench.machine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.measure.GuestMeasurement;
import org.benchtop.bench.measure.HostCpu;
import org.benchtop.bench.measure.Job;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.bench.run.CaseRun;
import org.benchtop.bench.run.CaseRunner;
import org.benchtop.bench.run.MachineFigures;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.SpecCheck;
import org.benchtop.engine.stats.StatsSnapshot;
import org.benchtop.guests.DiskBenchLayout;
import org.benchtop.guests.DiskBenchResults;
import org.benchtop.guests.GuestLayout;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.benchtop.spi.memory.GuestFault;

/**
 * Runs every guest of a case in a machine of its own, all in this process, with the embedded {@code diskbench}.
 *
 * <p>Exits, interrupts and CPU time are counted over the time that all guests measure at once; throughput and latency
 * are the guests' own.
 */
public final class MachineCaseRunner implements CaseRunner {
    private static final VarHandle STATE =
            ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();
    private static final long POLL_MILLIS = 1;
    private static final long WATCH_MILLIS = 50;
    private static final long BOOT_NANOS = 60_000_000_000L;
    private static final long DRAIN_NANOS = 60_000_000_000L;
    private static final long ENDLESS_NANOS = 3_600_000_000_000L;
    private static final long MOST_MARGIN_NANOS = 200_000_000L;
    private static final double LEAST_OVERLAP = 0.9;
    private static final int CONSOLE_TAIL = 400;

    private final PluginRegistry plugins;
    private final Set<Path> prepared = new HashSet<>();

    /** Runs machines whose devices, backends and guests come from some plugins. */
    public MachineCaseRunner(PluginRegistry plugins) {
        this.plugins = plugins;
    }

    @Override
    public void check(CaseSpec spec, Path scratch) {
        if (!spec.job().guest().equals(Job.DISKBENCH)) {
            plugins.guestProgram(spec.job().guest());
            throw BenchtopException.config(
                    "job.guest: " + spec.job().guest() + " leaves no figures; use " + Job.DISKBENCH);
        }
        Set<Path> written = new HashSet<>();
        for (int guest = 0; guest < spec.guests(); guest++) {
            MachineSpec machine = CaseMachines.spec(
                    spec, guest, scratch, commandLine(spec.job()).words());
            SpecCheck.check(machine, plugins);
            for (DiskImages.Image image : DiskImages.of(machine)) {
                if (!written.add(image.file())) {
                    throw BenchtopException.config("case " + spec.id() + ": two guests share " + image.file()
                            + "; put ${guest} into its name");
                }
            }
        }
    }

    private JobCommandLine commandLine(Job job) {
        return JobCommandLine.of(job, plugins.guestProgram(job.guest()));
    }

    @Override
    public void prepare(CaseSpec spec, Path scratch, Progress progress) throws InterruptedException {
        if (!spec.images().fill()) {
            return;
        }
        for (int guest = 0; guest < spec.guests(); guest++) {
            MachineSpec machine = CaseMachines.spec(spec, guest, scratch, "");
            for (DiskImages.Image image : DiskImages.of(machine)) {
                if (prepared.add(image.file())) {
                    DiskImages.fill(image, progress);
                }
            }
        }
    }

    @Override
    public Measurement run(CaseRun run) throws InterruptedException {
        CaseSpec spec = run.spec();
        JobCommandLine commandLine = commandLine(spec.job());
        List<MachineSpec> specs = new ArrayList<>();
        for (int guest = 0; guest < spec.guests(); guest++) {
            specs.add(CaseMachines.spec(spec, guest, run.scratch(), commandLine.words()));
        }
        if (spec.images().dropPageCache()) {
            for (MachineSpec machine : specs) {
                for (DiskImages.Image image : DiskImages.of(machine)) {
                    DiskImages.dropPageCache(image.file());
                }
            }
        }
        List<Machine> machines = new ArrayList<>();
        try {
            for (MachineSpec machine : specs) {
                machines.add(Machine.create(machine, plugins));
            }
            return new Attempt(machines, specs, commandLine).measure();
        } finally {
            machines.forEach(Machine::close);
        }
    }

    /** One run on machines that are assembled. */
    private static final class Attempt {
        private final List<Machine> machines;
        private final List<MachineSpec> specs;
        private final JobCommandLine job;
        private final List<String> names;
        private final List<MemorySegment> results = new ArrayList<>();

        Attempt(List<Machine> machines, List<MachineSpec> specs, JobCommandLine job) {
            this.machines = machines;
            this.specs = specs;
            this.job = job;
            this.names = machines.stream().map(Machine::name).toList();
        }

        Measurement measure() throws InterruptedException {
            for (Machine machine : machines) {
                results.add(resultsOf(machine));
            }
            machines.forEach(Machine::start);
            long[] began = new long[machines.size()];
            long lastBegan = 0;
            long firstBegan = Long.MAX_VALUE;
            for (int i = 0; i < began.length; i++) {
                awaitState(i, DiskBenchLayout.STATE_RUNNING, System.nanoTime() + BOOT_NANOS, POLL_MILLIS);
                began[i] = System.nanoTime();
                lastBegan = Math.max(lastBegan, began[i]);
                firstBegan = Math.min(firstBegan, began[i]);
            }
            sleepUntil(lastBegan + job.warmupNanos());
            CpuTimes cpuBefore = CpuTimes.now(names);
            List<StatsSnapshot> before = machines.stream().map(Machine::stats).toList();
            if (job.runtimeNanos() > 0) {
                // The guests print their results when they are done: counting ends a little before that.
                sleepUntil(firstBegan + job.warmupNanos() + job.runtimeNanos() - margin(job.runtimeNanos()));
            } else {
                awaitState(0, DiskBenchLayout.STATE_COMPLETE, System.nanoTime() + ENDLESS_NANOS, POLL_MILLIS);
            }
            List<StatsSnapshot> after = machines.stream().map(Machine::stats).toList();
            HostCpu cpu = CpuTimes.now(names).since(cpuBefore);
            Map<String, String> facts = facts(lastBegan - firstBegan);
            List<GuestMeasurement> guests = new ArrayList<>();
            for (int i = 0; i < machines.size(); i++) {
                awaitState(i, DiskBenchLayout.STATE_COMPLETE, System.nanoTime() + DRAIN_NANOS, POLL_MILLIS);
                guests.add(guest(results.get(i), after.get(i).since(before.get(i))));
            }
            String accelerator = machines.getFirst().accelerator();
            int detail = accelerator.indexOf(" (");
            return new Measurement(guests, cpu, detail < 0 ? accelerator : accelerator.substring(0, detail), facts);
        }

        private static long margin(long runtimeNanos) {
            return Math.min(MOST_MARGIN_NANOS, runtimeNanos / 10);
        }

        private static MemorySegment resultsOf(Machine machine) {
            try {
                return machine.memory().slice(GuestLayout.RESULTS, GuestLayout.RESULTS_SIZE);
            } catch (GuestFault e) {
                throw BenchtopException.of(
                        ErrorKind.CONFIG, "memory: too little for " + Job.DISKBENCH + ", 64MiB are enough", e);
            }
        }

        private static GuestMeasurement guest(MemorySegment results, StatsSnapshot window) {
            DiskBenchResults figures = DiskBenchResults.parse(results);
            MachineFigures host = MachineFigures.of(window);
            Map<String, Long> counters = new LinkedHashMap<>();
            counters.put("notifications", figures.notifications());
            counters.put("missed-interrupts", figures.missedInterrupts());
            counters.put("flushes", host.flushes());
            return new GuestMeasurement(
                    figures.read().requests() + figures.write().requests(),
                    figures.read().requests(),
                    figures.write().requests(),
                    figures.read().bytes() + figures.write().bytes(),
                    host.errors(),
                    figures.elapsedNanos(),
                    DiskbenchFigures.slat(figures),
                    DiskbenchFigures.clat(figures),
                    host.reads() + host.writes() + host.flushes(),
                    host.exits(),
                    host.interrupts(),
                    counters);
        }

        /** What the kernel says about the images while they are in use. */
        private Map<String, String> facts(long skewNanos) throws InterruptedException {
            Map<String, String> facts = new LinkedHashMap<>();
            for (DiskImages.Image image : DiskImages.of(specs.getFirst())) {
                OpenFlags.of(image.file()).ifPresent(flags -> facts.put("image opened", flags));
                DiskImages.cachedShare(image.file())
                        .ifPresent(share -> facts.put(
                                "image in page cache", share < 0.01 ? "under 1 %" : share > 0.99 ? "all" : "partly"));
            }
            if (job.runtimeNanos() > 0 && skewNanos > job.runtimeNanos() * (1 - LEAST_OVERLAP)) {
                facts.put("overlap", String.format(Locale.ROOT, "guests started up to %.1f s apart", skewNanos / 1e9));
            }
            return facts;
        }

        private void awaitState(int guest, int wanted, long deadline, long pollMillis) throws InterruptedException {
            while ((int) STATE.getAcquire(results.get(guest), (long) DiskBenchLayout.STATE) < wanted) {
                refuseEnd(guest);
                if (System.nanoTime() - deadline > 0) {
                    throw BenchtopException.of(
                            ErrorKind.GUEST,
                            names.get(guest) + ": " + Job.DISKBENCH + " does not "
                                    + (wanted == DiskBenchLayout.STATE_RUNNING ? "start" : "finish")
                                    + consoleTail(guest));
                }
                Thread.sleep(pollMillis);
            }
        }

        private void sleepUntil(long nanoTime) throws InterruptedException {
            while (true) {
                long left = nanoTime - System.nanoTime();
                if (left <= 0) {
                    return;
                }
                for (int guest = 0; guest < machines.size(); guest++) {
                    refuseEnd(guest);
                }
                Thread.sleep(Duration.ofNanos(Math.min(left, WATCH_MILLIS * 1_000_000)));
            }
        }

        /** A guest that ends before its results are complete has failed. */
        private void refuseEnd(int guest) {
            Optional<MachineExit> exit = machines.get(guest).exit();
            int state = (int) STATE.getAcquire(results.get(guest), (long) DiskBenchLayout.STATE);
            if (exit.isPresent() && state != DiskBenchLayout.STATE_COMPLETE) {
                throw BenchtopException.of(
                        ErrorKind.GUEST,
                        names.get(guest) + ": " + exit.get().describe() + " before it was done" + consoleTail(guest));
            }
        }

        private String consoleTail(int guest) {
            String text = machines.get(guest)
                    .chardev(CaseMachines.CONSOLE)
                    .flatMap(Chardev::console)
                    .map(Attempt::tail)
                    .orElse("");
            return text.isEmpty() ? "" : "; its console ends with: " + text;
        }

        private static String tail(ConsoleBuffer console) {
            String text = console.text(Math.max(console.start(), console.end() - CONSOLE_TAIL));
            return text.strip().replaceAll("[\\r\\n]+", " | ").replaceAll("\\p{Cntrl}", "?");
        }
    }
}
