package org.benchtop.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.measure.GuestMeasurement;
import org.benchtop.bench.measure.HostCpu;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.LatencyBucket;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.bench.run.CaseRun;
import org.benchtop.bench.run.CaseRunner;
import org.benchtop.bench.run.RunKind;
import org.benchtop.spi.BenchtopException;

/** Makes up measurements around a speed for each case, the same ones every time. */
public final class FakeCaseRunner implements CaseRunner {
    private static final long SECOND = 1_000_000_000L;

    /** Runs that were asked for, as {@code KIND case}. */
    public final List<String> runs = new ArrayList<>();

    private final ToDoubleFunction<CaseSpec> iops;
    private final SplittableRandom noise = new SplittableRandom(7);
    private int interruptAfter = Integer.MAX_VALUE;
    private int failAt = -1;

    public FakeCaseRunner(ToDoubleFunction<CaseSpec> iops) {
        this.iops = iops;
    }

    /** Interrupts the thread when so many measured runs are done. */
    public FakeCaseRunner interruptAfter(int measuredRuns) {
        interruptAfter = measuredRuns;
        return this;
    }

    /** Lets one run fail, counted from 0 over all kinds. */
    public FakeCaseRunner failAt(int run) {
        failAt = run;
        return this;
    }

    @Override
    public void check(CaseSpec spec, Path scratch) {
        if (spec.job().parameters().containsKey("impossible")) {
            throw BenchtopException.config("case " + spec.id() + ": impossible");
        }
    }

    @Override
    public void prepare(CaseSpec spec, Path scratch, Progress progress) {
        progress.doing("preparing " + spec.id());
    }

    @Override
    public Measurement run(CaseRun run) throws InterruptedException {
        long measured =
                runs.stream().filter(done -> done.startsWith("MEASURED")).count();
        if (run.kind() == RunKind.MEASURED && measured >= interruptAfter) {
            throw new InterruptedException();
        }
        runs.add(run.kind() + " " + run.spec().id());
        if (runs.size() - 1 == failAt) {
            throw BenchtopException.host("the disk is on fire");
        }
        List<GuestMeasurement> guests = new ArrayList<>();
        for (int i = 0; i < run.spec().guests(); i++) {
            guests.add(guest(iops.applyAsDouble(run.spec()) * (0.985 + 0.03 * noise.nextDouble())));
        }
        return new Measurement(
                guests, new HostCpu(SECOND, SECOND / 2, SECOND / 3, SECOND / 10), "fake", Map.of("image", "made up"));
    }

    private GuestMeasurement guest(double speed) {
        long requests = Math.round(speed);
        return new GuestMeasurement(
                requests,
                requests,
                0,
                requests * 4096,
                0,
                SECOND,
                latency(requests, 4_000),
                latency(requests, SECOND / speed),
                requests,
                Map.of("pio-out", requests, "mmio-write", requests / 10),
                requests,
                Map.of());
    }

    private Latency latency(long count, double typicalNanos) {
        List<LatencyBucket> buckets = new ArrayList<>();
        long left = count;
        double upper = typicalNanos * 0.7;
        double sum = 0;
        for (int step = 0; step < 40 && left > 0; step++) {
            long here = step == 39 ? left : Math.min(left, Math.max(1, (long) (left * 0.22)));
            buckets.add(new LatencyBucket((long) upper, here));
            sum += upper * here;
            left -= here;
            upper *= 1.06 + step * 0.002;
        }
        if (left > 0) {
            buckets.add(new LatencyBucket((long) upper, left));
            sum += upper * left;
        }
        return new Latency(
                count,
                (long) (typicalNanos * 0.65),
                sum / count,
                buckets.getLast().upperNanos(),
                typicalNanos * 0.3,
                buckets);
    }
}
