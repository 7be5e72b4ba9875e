package org.benchtop.shell;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.benchtop.bench.ExperimentCli;
import org.benchtop.bench.ExperimentOptions;
import org.benchtop.bench.experiment.ExperimentOverrides;
import org.benchtop.bench.machine.MachineCaseRunner;
import org.benchtop.engine.plugin.PluginRegistry;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code benchtop bench}. */
@Command(
        name = "bench",
        description = "Run an experiment: a matrix over machine YAML and jobs, repeated and compared.",
        footer = {
            "",
            "Ctrl-C keeps what is finished; the same command goes on from there.",
        })
final class BenchCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Parameters(paramLabel = "EXPERIMENT.yaml", description = "The experiment.")
    Path file = Path.of("");

    @Mixin
    Plugins plugins = new Plugins();

    @Option(
            names = "--set",
            paramLabel = "PATH=VALUE",
            description = "Change a value of the machine, or job.…, guests, seed, warmup-runs, repeats.")
    List<String> settings = new ArrayList<>();

    @Option(names = "--repeats", paramLabel = "N", description = "Run each case so many times.")
    @Nullable
    Integer repeats;

    @Option(
            names = "--filter",
            paramLabel = "WORDS",
            description = "Run only some cases: AXIS=VALUE, AXIS=ONE|OTHER or a part of a case's name.")
    List<String> filters = new ArrayList<>();

    @Option(names = "--quick", description = "Cut the experiment down to a check that it works.")
    boolean quick;

    @Option(names = "--list", description = "List the cases and run none.")
    boolean list;

    @Option(names = "--restart", description = "Set earlier results aside instead of going on from them.")
    boolean restart;

    @Option(
            names = "--out",
            paramLabel = "FOLDER",
            description = "Where results are kept, in a folder of the experiment's name (default: results).")
    Path out = ExperimentOptions.DEFAULT_OUT;

    @Option(
            names = "--scratch",
            paramLabel = "FOLDER",
            description = "Where disk images are made (default: with the results).")
    @Nullable
    Path scratch;

    BenchCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        ExperimentOptions options = new ExperimentOptions(
                new ExperimentOverrides(
                        repeats == null ? OptionalInt.empty() : OptionalInt.of(repeats), settings, quick),
                filters,
                restart,
                list,
                out,
                Optional.ofNullable(scratch));
        PrintStream stream = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        try (PluginRegistry registry = plugins.load(List.of())) {
            return ExperimentCli.run(
                    file, options, new MachineCaseRunner(registry), stream, terminal.out(), terminal.columns());
        }
    }
}
