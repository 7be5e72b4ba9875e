package org.benchtop.shell;

import java.io.PrintWriter;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.benchtop.bench.RunFigures;
import org.benchtop.bench.RunReport;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.OutputFile;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.Units;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.SpecCheck;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop run}. */
@Command(
        name = "run",
        description = "Boot a machine described in YAML; its console is wherever its chardevs are.",
        footer = {"", "Ctrl-A x stops a machine whose console is on the terminal."})
final class RunCommand implements Callable<Integer> {
    private static final System.Logger LOG = System.getLogger("org.benchtop.shell");
    private static final long SHUTDOWN_SECONDS = 10;

    private final Terminal terminal;

    @Spec
    CommandSpec command;

    @Parameters(paramLabel = "VM.yaml", description = "The machine.")
    Path file = Path.of("");

    @Mixin
    MachineFile machineFile = new MachineFile();

    @Mixin
    Plugins plugins = new Plugins();

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            description = "Stop the machine after this time (exit code 4).")
    @Nullable
    Duration timeout;

    @Option(names = "--report", paramLabel = "FILE.json", description = "Write the report as JSON as well.")
    @Nullable
    Path report;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print no report.")
    boolean quiet;

    @Option(
            names = {"-v", "--verbose"},
            description = "Say what happens.")
    void verbose(boolean on) {
        if (on) {
            ConsoleLog.level(Level.INFO);
        }
    }

    RunCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws InterruptedException {
        if (report != null) {
            OutputFile.check(report);
        }
        MachineSpec spec = machineFile.spec(file);
        try (PluginRegistry registry = plugins.load(spec.plugins())) {
            SpecCheck.check(spec, registry);
            return run(spec, registry);
        }
    }

    private int run(MachineSpec spec, PluginRegistry registry) throws InterruptedException {
        PrintWriter out = command.commandLine().getOut();
        PrintWriter err = command.commandLine().getErr();
        Machine machine;
        SlowNote note = SlowNote.on(terminal, err, "starting " + spec.name());
        try {
            machine = Machine.create(spec, registry);
        } finally {
            note.close();
        }
        CountDownLatch finished = new CountDownLatch(1);
        Thread hook = stopOnSignal(machine, finished);
        RunFigures figures;
        MachineExit exit;
        try (machine) {
            LOG.log(Level.INFO, "{0}: {1}", spec.name(), machine.accelerator());
            LOG.log(Level.INFO, "{0}: {1}", spec.name(), machine.bootDescription());
            long cpuBefore = processCpuNanos();
            long start = System.nanoTime();
            Optional<ScreenPainter> screen = ScreenPainter.on(machine, terminal, out);
            try {
                machine.start();
                exit = awaitExit(machine);
            } finally {
                screen.ifPresent(ScreenPainter::close);
            }
            long elapsedNanos = System.nanoTime() - start;
            long cpuNanos = cpuBefore < 0 ? -1 : processCpuNanos() - cpuBefore;
            figures = RunFigures.of(spec.name(), machine.accelerator(), machine.stats(), elapsedNanos, cpuNanos);
        } finally {
            finished.countDown();
        }
        if (!quiet) {
            out.print(RunReport.text(figures));
            out.flush();
        }
        writeReport(figures);
        forget(hook);
        if (exit.exitCode() != 0) {
            err.println(command.commandLine().getColorScheme().errorText("benchtop:") + " " + spec.name() + ": "
                    + exit.describe());
        } else {
            LOG.log(Level.INFO, "{0}: {1}", spec.name(), exit.describe());
        }
        return exit.exitCode();
    }

    private MachineExit awaitExit(Machine machine) throws InterruptedException {
        if (timeout == null) {
            return machine.awaitExit();
        }
        Optional<MachineExit> exit = machine.awaitExit(timeout);
        if (exit.isPresent()) {
            return exit.get();
        }
        machine.stop();
        return new MachineExit.Failed(
                "stopped after " + Units.formatNanos(timeout.toNanos()) + " (--timeout) without having ended");
    }

    private void writeReport(RunFigures figures) {
        if (report == null) {
            return;
        }
        OutputFile.write(report, RunReport.json(figures).getBytes(StandardCharsets.UTF_8));
    }

    private static long processCpuNanos() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .map(Duration::toNanos)
                .orElse(-1L);
    }

    /** Ctrl-C and SIGTERM stop the machine in order, so that files are flushed and the terminal is restored. */
    private static Thread stopOnSignal(Machine machine, CountDownLatch finished) {
        Thread hook = new Thread(
                () -> {
                    machine.requestStop();
                    try {
                        boolean done = finished.await(SHUTDOWN_SECONDS, TimeUnit.SECONDS);
                        if (!done) {
                            System.err.println(
                                    "benchtop: " + machine.name() + " did not stop in " + SHUTDOWN_SECONDS + " s");
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "benchtop-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        return hook;
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            LOG.log(Level.DEBUG, "the process is ending already");
        }
    }
}
