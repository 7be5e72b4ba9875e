package org.benchtop.shell.lab;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.HdrHistogram.Histogram;
import org.benchtop.bench.Bench;
import org.benchtop.bench.Trial;
import org.benchtop.bench.machine.MachineCaseRunner;
import org.benchtop.bench.measure.Job;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.report.Report;
import org.benchtop.bench.run.RunListener;
import org.benchtop.engine.Machine;
import org.benchtop.engine.asm.Disassembler;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.plugin.LoadedPlugin;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.SpecCheck;
import org.benchtop.engine.plugin.TypeDescription;
import org.benchtop.guests.GuestImage;
import org.benchtop.guests.GuestProgram;
import org.benchtop.shell.qemu.QemuCommandLine;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.guest.GuestProgramType;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a script, a JShell session or a notebook starts with; meant for {@code import static
 * org.benchtop.shell.lab.Lab.*}. Thread-safe.
 *
 * <p>Machines that are made here have a console that scripts can read: a chardev of type {@code stdio} becomes one in
 * memory, and a machine without serial port gets one. Everything else is as specified.
 */
public final class Lab {
    private static final LabState STATE = new LabState();

    private Lab() {}

    // ---- specifications

    /** Starts a specification in Java. */
    public static MachineSpecBuilder spec(String name) {
        return MachineSpec.named(name);
    }

    /**
     * Reads a specification.
     *
     * @param text YAML as in {@code benchtop run}; relative paths start from the current folder
     * @throws BenchtopException of kind CONFIG, naming line and column, for the first mistake
     */
    public static MachineSpec yaml(String text) {
        return MachineYaml.parse(text, "yaml", Path.of("").toAbsolutePath()).spec();
    }

    /** Reads a specification from a YAML file. */
    public static MachineSpec yaml(Path file) {
        return MachineSpec.load(file);
    }

    /**
     * Translates a QEMU command line; {@link QemuCommandLine} says what it understands.
     *
     * @param commandLine with or without {@code qemu-system-x86_64}, quoted as for a shell
     * @throws BenchtopException of kind UNSUPPORTED, naming the option, for what has no counterpart
     */
    public static MachineSpec qemu(String commandLine) {
        return QemuCommandLine.parse(commandLine).spec();
    }

    // ---- machines

    /**
     * Makes a machine; nothing runs yet.
     *
     * @throws BenchtopException if something in the specification is wrong or missing; nothing is left behind
     */
    public static Vm machine(MachineSpec spec) {
        return STATE.machine(spec);
    }

    /** Makes a machine from YAML text. */
    public static Vm machine(String yaml) {
        return machine(yaml(yaml));
    }

    /** Makes a machine from a YAML file. */
    public static Vm machine(Path file) {
        return machine(yaml(file));
    }

    /** Makes a small machine with a guest program typed in a cell. */
    public static Vm machine(GuestCode program) {
        return machine(
                spec(program.name()).memory("64MiB").guest(program.name(), "").build());
    }

    /** Makes a machine and starts it. */
    public static Vm boot(MachineSpec spec) {
        return started(machine(spec));
    }

    /** Makes a machine from YAML text and starts it. */
    public static Vm boot(String yaml) {
        return started(machine(yaml));
    }

    /** Makes a machine from a YAML file and starts it. */
    public static Vm boot(Path file) {
        return started(machine(file));
    }

    /** Makes a small machine with a guest program typed in a cell and starts it. */
    public static Vm boot(GuestCode program) {
        return started(machine(program));
    }

    private static Vm started(Vm vm) {
        try {
            return vm.start();
        } catch (RuntimeException | Error e) {
            vm.close();
            throw e;
        }
    }

    /** Machines that were made here and are not closed, the oldest first. */
    public static List<Vm> vms() {
        return STATE.vms();
    }

    /** The newest open machine of a name. */
    public static Vm vm(String name) {
        return vms().reversed().stream()
                .filter(vm -> vm.name().equals(name))
                .findFirst()
                .orElseThrow(() -> BenchtopException.config("there is no open machine \"" + name + "\" (open: "
                        + String.join(", ", vms().stream().map(Vm::name).toList()) + ")"));
    }

    /** Closes all machines that were made here. */
    public static void closeAll() {
        vms().forEach(Vm::close);
    }

    // ---- guest programs

    /** Compiles a lambda or method reference to a guest program named {@code cell}. */
    public static GuestCode guest(GuestBody body) {
        return STATE.add(GuestCode.compile("cell", body));
    }

    /** Compiles a lambda or method reference without result to a guest program named {@code cell}. */
    public static GuestCode guest(GuestAction body) {
        return STATE.add(GuestCode.compile("cell", body));
    }

    /**
     * Compiles a lambda or method reference to a guest program, which {@code boot: {guest: NAME}} then finds; a former
     * one of that name is replaced.
     *
     * @throws BenchtopException of kind CONFIG, naming method, line and construct, if the code uses something that guests
     *     cannot do (see {@code guests/README.md})
     */
    public static GuestCode guest(String name, GuestBody body) {
        return STATE.add(GuestCode.compile(name, body));
    }

    /** Compiles a lambda or method reference without result to a guest program. */
    public static GuestCode guest(String name, GuestAction body) {
        return STATE.add(GuestCode.compile(name, body));
    }

    /** Compiles a static method without parameters to a guest program. */
    public static GuestCode guest(String name, Class<?> type, String method) {
        return STATE.add(GuestCode.compile(name, type, method));
    }

    // ---- plugins

    /** The plugins in use. */
    public static List<LoadedPlugin> plugins() {
        return STATE.registry().plugins();
    }

    /** What is known of a type: its options with types, defaults and ranges. */
    public static List<TypeDescription> describe(String type) {
        return STATE.registry().describe(type);
    }

    /**
     * Loads plugins from a jar; machines that are made from now on may use them. A plugin that throws while it is loaded
     * is left out with a warning that names it.
     *
     * @return what was loaded; empty if all of it was before
     * @throws BenchtopException of kind PLUGIN, naming the jar, if it is missing, no jar, without plugins, made for another
     *     SPI, or brings a name that is taken
     */
    public static List<LoadedPlugin> plugin(Path jar) {
        return STATE.add(jar);
    }

    /**
     * Adds a plugin that was written in a cell or script; one of the same name that was added before is replaced.
     * Machines that are made from now on use it.
     */
    public static void plugin(Plugin plugin) {
        STATE.add(plugin);
    }

    /** All plugins as machines see them. */
    public static PluginRegistry registry() {
        return STATE.registry();
    }

    // ---- code

    /** Machine code in Intel syntax. */
    public static Disassembly disasm(byte[] code, long address, int bits) {
        return Disassembly.of(
                Disassembler.decodeAll(code, address, bits, Integer.MAX_VALUE),
                bits,
                OptionalLong.empty(),
                Optional.empty());
    }

    // ---- measuring

    /** A disk workload of the embedded {@code diskbench}; {@code with} sets its parameters. */
    public static Job disk() {
        return Job.disk();
    }

    /** Measures a job on the default machine. */
    public static Report bench(Job job) {
        return STATE.bench().bench(job);
    }

    /** Measures a job on a machine; see {@link Trial}. */
    public static Report bench(Trial trial) {
        return STATE.bench().bench(trial, Bench.DEFAULT_REPEATS);
    }

    /** Measures several times. */
    public static Report bench(Trial trial, int repeats) {
        return STATE.bench().bench(trial, repeats);
    }

    /** Compares two jobs on the default machine, run by run in turn: is {@code a} faster than {@code b}? */
    public static Report compare(Job a, Job b) {
        return STATE.bench().compare(a, b);
    }

    /** Compares two trials, run by run in turn: is {@code a} faster than {@code b}? */
    public static Report compare(Trial a, Trial b) {
        return compare(a, b, Bench.DEFAULT_COMPARED_REPEATS, Metric.IOPS);
    }

    /** Compares two trials in a figure. */
    public static Report compare(Trial a, Trial b, int repeats, Metric metric) {
        return STATE.bench().compare(a, b, repeats, metric);
    }

    /** Who hears how measurements go on; a front end installs its progress display here. */
    public static void progress(RunListener listener) {
        STATE.progress(listener);
    }

    // ---- plots

    /** A line through values. */
    public static Plot plot(double... ys) {
        return Plot.of(ys);
    }

    /** A line. */
    public static Plot plot(double[] xs, double[] ys) {
        return Plot.line("", xs, ys);
    }

    /** A line with a name; {@link Plot#add} adds more. */
    public static Plot plot(String name, double[] xs, double[] ys) {
        return Plot.line(name, xs, ys);
    }

    /** Bars. */
    public static Plot plot(Map<String, ? extends Number> bars) {
        return Plot.bars(bars);
    }

    /** The distribution of a latency. */
    public static Plot plot(Latency latency) {
        return Plot.cdf("", latency);
    }

    /** The distribution of durations in nanoseconds. */
    public static Plot plot(Histogram nanos) {
        return Plot.cdf("", nanos);
    }

    /** Requests per second of each case of a report. */
    public static Plot plot(Report report) {
        return Plot.of(report, Metric.IOPS);
    }

    /** A figure of each case of a report. */
    public static Plot plot(Report report, Metric metric) {
        return Plot.of(report, metric);
    }

    /** Exits by reason. */
    public static Plot plot(ExitHistogram exits) {
        return Plot.bars(exits.byReason()).title("exits of " + exits.machine()).yLabel("exits");
    }

    /** What scripts of one process share. */
    private static final class LabState {
        private static final String CONSOLE = "console";

        private final List<Vm> vms = new ArrayList<>();
        private final Map<String, Plugin> live = new LinkedHashMap<>();
        private final List<Path> jars = new ArrayList<>();
        private @Nullable PluginRegistry base;
        private @Nullable PluginRegistry registry;
        private @Nullable BenchFolder folder;
        private RunListener listener = new PrintedProgress();
        private boolean hooked;

        synchronized PluginRegistry registry() {
            PluginRegistry known = registry;
            if (known == null) {
                known = base();
                for (Plugin plugin : live.values()) {
                    known = known.with(plugin, "this session");
                }
                registry = known;
            }
            return known;
        }

        private PluginRegistry base() {
            PluginRegistry known = base;
            if (known == null) {
                PluginRegistry builtIn = PluginRegistry.builtIn();
                List<Path> all = new ArrayList<>();
                Optional.ofNullable(System.getProperty("benchtop.home"))
                        .ifPresent(home -> all.addAll(PluginRegistry.jarsIn(Path.of(home, "plugins"))));
                all.addAll(jars);
                known = all.isEmpty() ? builtIn : builtIn.with(all);
                known.warnings().forEach(LabState::warn);
                base = known;
            }
            return known;
        }

        private static void warn(String text) {
            System.getLogger("org.benchtop.shell").log(System.Logger.Level.WARNING, text);
        }

        synchronized List<LoadedPlugin> add(Path jar) {
            PluginRegistry with = base().with(List.of(jar));
            List<LoadedPlugin> fresh = new ArrayList<>(with.plugins());
            fresh.removeAll(base().plugins());
            List<String> skipped = new ArrayList<>(with.warnings());
            skipped.removeAll(base().warnings());
            skipped.forEach(LabState::warn);
            if (fresh.isEmpty() && !skipped.isEmpty()) {
                // As if the jar had not been named, so that it can be loaded when it is repaired.
                with.close();
                return fresh;
            }
            PluginRegistry all = with;
            for (Plugin plugin : live.values()) {
                all = all.with(plugin, "this session");
            }
            jars.add(jar);
            base = with;
            registry = all;
            return fresh;
        }

        synchronized void add(Plugin plugin) {
            Map<String, Plugin> all = new LinkedHashMap<>(live);
            all.put(plugin.name(), plugin);
            PluginRegistry with = base();
            for (Plugin one : all.values()) {
                with = with.with(one, "this session");
            }
            live.clear();
            live.putAll(all);
            registry = with;
        }

        GuestCode add(GuestCode program) {
            add(new GuestCodePlugin(program));
            return program;
        }

        Vm machine(MachineSpec spec) {
            MachineSpec interactive = interactive(spec);
            PluginRegistry plugins = registry();
            if (!spec.plugins().isEmpty()) {
                plugins = plugins.with(spec.plugins());
            }
            SpecCheck.check(interactive, plugins);
            Machine machine = Machine.create(interactive, plugins);
            Vm[] made = new Vm[1];
            PluginRegistry programs = plugins;
            Vm vm = new Vm(machine, () -> image(interactive, programs), () -> forget(made[0]));
            made[0] = vm;
            synchronized (this) {
                vms.add(vm);
                if (!hooked) {
                    hooked = true;
                    Runtime.getRuntime().addShutdownHook(new Thread(Lab::closeAll, "benchtop-close"));
                }
            }
            return vm;
        }

        /** The embedded program of a machine with its symbols, where it has some. */
        private static Optional<GuestImage> image(MachineSpec spec, PluginRegistry plugins) {
            if (!(spec.boot() instanceof BootSpec.Guest guest)) {
                return Optional.empty();
            }
            GuestProgramType program = plugins.guestProgram(guest.program());
            if (program instanceof GuestCode code) {
                return Optional.of(code.image());
            }
            return program instanceof GuestProgram own ? Optional.of(own.image()) : Optional.empty();
        }

        private synchronized void forget(Vm vm) {
            vms.remove(vm);
        }

        synchronized List<Vm> vms() {
            return List.copyOf(vms);
        }

        private static MachineSpec interactive(MachineSpec spec) {
            MachineSpecBuilder builder = spec.toBuilder();
            boolean serial = false;
            for (EntrySpec device : spec.devices()) {
                serial |= device.type().equals("isa-serial");
            }
            spec.chardevs().forEach((name, entry) -> {
                if (entry.type().equals("stdio")) {
                    builder.chardev(name, "memory", Map.of());
                }
            });
            if (!serial && !spec.chardevs().containsKey(CONSOLE)) {
                builder.chardev(CONSOLE, "memory", Map.of());
                builder.device("isa-serial", Map.of("chardev", CONSOLE));
            }
            return builder.build();
        }

        synchronized Bench bench() {
            BenchFolder known = folder;
            if (known == null) {
                known = BenchFolder.create();
                folder = known;
            }
            return new Bench(new MachineCaseRunner(registry()), listener, known.path());
        }

        synchronized void progress(RunListener newListener) {
            listener = newListener;
        }
    }
}
