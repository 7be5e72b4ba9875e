package org.benchtop.shell;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.benchtop.engine.DriveSet;
import org.benchtop.engine.config.Units;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.replay.TraceLine;
import org.benchtop.engine.replay.TraceReplay;
import org.benchtop.spi.BenchtopException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image replay}. */
@Command(
        name = "replay",
        description = "Repeat the requests that a drive of type trace has recorded on another drive, and time them.")
public final class ImageReplayCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Parameters(index = "0", paramLabel = "TRACE", description = "The recording.")
    Path trace = Path.of("");

    @Parameters(index = "1", paramLabel = "FILE", description = "The image; with --vm the name of a drive.")
    String file = "";

    @Mixin
    DriveArgument drive = new DriveArgument();

    @Mixin
    Plugins plugins = new Plugins();

    @Option(
            names = {"-w", "--write"},
            description = "Repeat writes, discards and zeroes too. They DESTROY the content of the drive.")
    boolean write;

    @Option(names = "--fast", description = "Do not keep the recorded times: one request after the other, see --depth.")
    boolean fast;

    @Option(
            names = {"-d", "--depth"},
            paramLabel = "N",
            defaultValue = "32",
            description = "Requests in flight with --fast (default: 32).")
    int depth;

    @Override
    public Integer call() throws InterruptedException {
        if (depth < 1 || depth > 4096) {
            throw BenchtopException.config("--depth: " + depth + " is outside 1..4096");
        }
        List<TraceLine> all = TraceLine.readAll(trace);
        List<TraceLine> lines = write
                ? all
                : all.stream().filter(line -> !line.kind().changes()).toList();
        try (PluginRegistry registry = plugins.load(drive.plugins());
                DriveSet drives = drive.drives(file, registry, !write);
                LinuxEventLoop loop = LinuxEventLoop.start("replay")) {
            TraceReplay.Result result = TraceReplay.run(drives.open(drive.name(file)), loop, lines, !fast, depth);
            print(result, all.size() - lines.size());
            return result.errors() == 0 ? 0 : 3;
        }
    }

    private void print(TraceReplay.Result result, int leftOut) {
        PrintWriter out = command.commandLine().getOut();
        double seconds = Math.max(1, result.elapsedNanos()) / 1e9;
        out.println(String.format(
                Locale.ROOT,
                "%d requests, %d bytes in %.3f s: %.0f IOPS, %.1f MB/s, %d errors%s",
                result.requests(),
                result.bytes(),
                seconds,
                result.requests() / seconds,
                result.bytes() / seconds / 1e6,
                result.errors(),
                leftOut == 0 ? "" : "; " + leftOut + " changes left out (repeat them with --write)"));
        out.println("latency now:      " + latency(result.latency()));
        out.println("latency recorded: " + latency(result.recorded()));
        out.flush();
    }

    private static String latency(Histogram histogram) {
        return "mean " + Units.formatNanos((long) histogram.getMean()) + ", p50 "
                + Units.formatNanos(histogram.getValueAtPercentile(50)) + ", p99 "
                + Units.formatNanos(histogram.getValueAtPercentile(99)) + ", max "
                + Units.formatNanos(histogram.getMaxValue());
    }
}
