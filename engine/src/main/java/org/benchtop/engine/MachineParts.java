package org.benchtop.engine;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.benchtop.engine.boot.BootImage;
import org.benchtop.engine.boot.BootLoader;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.OptionBinder;
import org.benchtop.engine.config.SourcePosition;
import org.benchtop.engine.linux.GuestRam;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.memory.PhysicalMap;
import org.benchtop.engine.memory.Ram;
import org.benchtop.engine.memory.RamLayout;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.cpu.CpuProbe;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineType;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.guest.BootFiles;
import org.benchtop.spi.guest.BootSourceContext;
import org.benchtop.spi.guest.BootSourceType;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.memory.MemoryRegion;
import org.benchtop.spi.net.NetBackend;
import org.benchtop.spi.net.NetBackendType;

/** Everything that a machine holds besides its devices: made in order, released in reverse. */
final class MachineParts implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.machine");
    /** What a user who waits for the machine to start wants to know. */
    private static final System.Logger BOOT_LOG = System.getLogger("org.benchtop.boot");

    private final Machine machine;
    private final MachineSpec spec;
    private final PluginRegistry plugins;
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private final LinuxHost host = new LinuxHost();
    private final Map<String, LinuxEventLoop> loops = new LinkedHashMap<>();
    private final Map<String, BlockBackend> drives = new LinkedHashMap<>();
    /** What devices have taken, and what their drives are now. */
    private final Map<String, InstrumentedBackend> taken = new HashMap<>();

    private final Map<String, EntrySpec> overlays = new HashMap<>();
    private final Set<String> opening = new LinkedHashSet<>();
    private final Map<String, Chardev> chardevs = new LinkedHashMap<>();
    private final Map<String, NetBackend> netdevs = new LinkedHashMap<>();
    private final Map<String, String> users = new HashMap<>();
    private final String accelerator;
    private final BootImage boot;
    private final CpuVm vm;
    private final Ram ram;
    private final PhysicalMap memoryMap;
    private final MachineType board;

    MachineParts(Machine machine, MachineSpec spec, PluginRegistry plugins) {
        this.machine = machine;
        this.spec = spec;
        this.plugins = plugins;
        try {
            this.board = plugins.machine(spec.machine());
            this.boot = BootLoader.load(spec.boot(), plugins::guestProgram, this::prepare);
            Chosen<?> chosen = choose();
            this.accelerator = chosen.describe();
            for (String name : spec.iothreads()) {
                loops.put(name, owned(LinuxEventLoop.start(spec.name() + "-" + name)));
            }
            loops.put(MAIN_LOOP, owned(LinuxEventLoop.start(spec.name() + "-main")));
            GuestRam memory = owned(GuestRam.allocate(
                    spec.name(),
                    spec.memory().sizeBytes(),
                    spec.memory().shared(),
                    spec.memory().hugePages() ? GuestRam.Pages.HUGE : GuestRam.Pages.NORMAL));
            List<MemoryRegion> regions = RamLayout.around(memory.segment(), board.memoryHoleBase());
            this.vm = owned(chosen.createVm(spec, machine));
            this.ram = new Ram(regions, vm::written, machine.dirtySource());
            this.memoryMap = new PhysicalMap(vm, Arena.ofAuto(), regions);
            boot.map(memoryMap);
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private static final String MAIN_LOOP = "main";

    private BootFiles prepare(BootSpec.Source source) {
        return prepare(plugins.bootSource(source.source()), source.source());
    }

    private <O extends Record> BootFiles prepare(BootSourceType<O> type, EntrySpec entry) {
        O options = OptionBinder.bind(type, entry, spec.bindContext());
        try {
            return type.prepare(options, new SourceContext());
        } catch (BenchtopException e) {
            throw located(entry, e);
        }
    }

    /** What boot sources get. */
    private final class SourceContext implements BootSourceContext {
        @Override
        public Path resolve(Path path) {
            return machine.resolve(path);
        }

        @Override
        public void progress(String what) {
            BOOT_LOG.log(Level.INFO, "{0}: {1}", spec.name(), what);
        }
    }

    private <T extends AutoCloseable> T owned(T resource) {
        resources.push(resource);
        return resource;
    }

    /** A CPU engine with its bound options. */
    private record Chosen<O extends Record>(CpuEngine<O> engine, O options, CpuProbe probe) {
        CpuVm createVm(MachineSpec spec, Machine machine) {
            return engine.createVm(options, new CpuVmConfig(spec.name(), spec.cpus(), spec.cpu()), machine.cpuHost());
        }

        String describe() {
            return engine.name() + " (" + probe.reason() + ")";
        }
    }

    private Chosen<?> choose() {
        EntrySpec accel = spec.accel();
        if (!accel.type().equals("auto")) {
            return bind(plugins.cpuEngine(accel), accel, true);
        }
        List<String> reasons = new ArrayList<>();
        List<CpuEngine<?>> engines = new ArrayList<>(plugins.cpuEngines());
        engines.sort(Comparator.comparingInt((CpuEngine<?> e) -> -e.preference()));
        List<CpuEngine<?>> usable = new ArrayList<>();
        for (CpuEngine<?> engine : engines) {
            CpuProbe probe = engine.probe();
            if (probe.usable()) {
                usable.add(engine);
            } else {
                reasons.add(engine.name() + ": " + probe.reason());
            }
        }
        if (!usable.isEmpty()) {
            return bind(best(usable), accel, false);
        }
        throw BenchtopException.host("accel: auto: no CPU engine is usable here ("
                + (reasons.isEmpty() ? "none is loaded" : String.join("; ", reasons)) + ")");
    }

    /** The first; for a kernel the first that runs kernels. */
    private CpuEngine<?> best(List<CpuEngine<?>> usable) {
        boolean kernel = spec.boot() instanceof BootSpec.Kernel || spec.boot() instanceof BootSpec.Source;
        if (kernel && usable.size() > 1) {
            for (CpuEngine<?> engine : usable) {
                if (engine.runsKernels()) {
                    return engine;
                }
                LOG.log(Level.INFO, "{0}: {1} does not run kernels here", spec.name(), engine.name());
            }
        }
        return usable.getFirst();
    }

    private <O extends Record> Chosen<O> bind(CpuEngine<O> engine, EntrySpec accel, boolean mustProbe) {
        CpuProbe probe = engine.probe();
        if (mustProbe && !probe.usable()) {
            throw located(
                    accel, BenchtopException.host("accel " + engine.name() + " is not usable here: " + probe.reason()));
        }
        return new Chosen<>(engine, OptionBinder.bind(engine, accel, spec.bindContext()), probe);
    }

    /** Creates vCPUs, backends and devices, in this order. */
    void populate(List<Vcpu> vcpus, Map<String, Machine.AttachedDevice> devices) {
        for (int i = 0; i < spec.cpus(); i++) {
            Vcpu vcpu = owned(vm.createVcpu(i));
            vcpus.add(vcpu);
            machine.statistics().entry("vcpu" + i).family(() -> vcpu.exits().byReason());
            machine.statistics()
                    .entry("vcpu" + i)
                    .gauge("exits", "", () -> vcpu.exits().total());
        }
        spec.drives().keySet().forEach(this::openDrive);
        spec.chardevs().forEach(this::openChardev);
        spec.netdevs().forEach(this::openNetdev);
        List<String> ids = spec.deviceIds();
        MachineType.Request request =
                new MachineType.Request(spec.cpus(), spec.memory().sizeBytes(), vm.features(), boot.firmware());
        for (MachineType.PlatformDevice device : board.platformDevices(request)) {
            if (!ids.contains(device.id())) {
                attach(
                        device.id(),
                        EntrySpec.of(device.type(), device.options()).at(device.id()),
                        devices);
            }
        }
        if (!spec.display().type().equals(MachineSpec.NO_DISPLAY) && !ids.contains(MachineSpec.DISPLAY)) {
            attach(MachineSpec.DISPLAY, spec.display(), devices);
            if (machine.screen().isEmpty()) {
                throw located(
                        spec.display(),
                        BenchtopException.config("the device " + spec.display().type() + " is no display"));
            }
        }
        for (int i = 0; i < ids.size(); i++) {
            attach(ids.get(i), spec.devices().get(i), devices);
        }
        refuseUnused("drive", spec.drives().keySet());
    }

    /** A drive that nothing uses is almost always a typo; say so, but run. */
    private void refuseUnused(String what, Set<String> names) {
        for (String name : names) {
            if (!users.containsKey(what + " " + name)) {
                LOG.log(Level.WARNING, "{0}: {1} \"{2}\" is not used by any device", spec.name(), what, name);
            }
        }
    }

    private void attach(String id, EntrySpec entry, Map<String, Machine.AttachedDevice> devices) {
        DeviceType<?> type = plugins.device(entry);
        EntryContext context = new EntryContext(machine, id);
        Device device = create(type, entry, context);
        Machine.AttachedDevice attached = new Machine.AttachedDevice(id, type.name(), device, context);
        devices.put(id, attached);
        try {
            device.attach(context);
        } catch (BenchtopException e) {
            throw located(entry, e);
        } catch (RuntimeException e) {
            throw context.broken("attaching failed", e);
        }
    }

    private <O extends Record> Device create(DeviceType<O> type, EntrySpec entry, EntryContext context) {
        O options = OptionBinder.bind(type, entry, spec.bindContext());
        return guarded(entry, context, () -> type.create(options, context));
    }

    /** Says which entry of the specification an error belongs to. */
    private static BenchtopException located(EntrySpec entry, BenchtopException e) {
        String where =
                entry.typePosition() == SourcePosition.NONE ? entry.path() : entry.typePosition() + " " + entry.path();
        return BenchtopException.of(e.kind(), where + ": " + e.getMessage(), e.context(), e);
    }

    private static <T> T guarded(EntrySpec entry, EntryContext context, Supplier<T> factory) {
        try {
            return factory.get();
        } catch (BenchtopException e) {
            throw located(entry, e);
        } catch (RuntimeException e) {
            throw context.broken("creation failed", e);
        }
    }

    private BlockBackend openDrive(String name) {
        BlockBackend open = drives.get(name);
        if (open != null) {
            return open;
        }
        EntrySpec entry = spec.drives().get(name);
        if (entry == null) {
            throw BenchtopException.config("there is no drive \"" + name + "\" (drives: "
                    + String.join(", ", spec.drives().keySet()) + ")");
        }
        if (!opening.add(name)) {
            throw entry.error(
                    "drives refer to each other in a circle: " + String.join(" -> ", opening) + " -> " + name);
        }
        BlockBackend backend = openDrive(name, plugins.drive(entry), entry);
        opening.remove(name);
        drives.put(name, backend);
        return owned(backend);
    }

    private <O extends Record> BlockBackend openDrive(String name, BlockBackendType<O> type, EntrySpec entry) {
        O options = OptionBinder.bind(type, entry, spec.bindContext());
        EntryContext context = owned(new EntryContext(machine, name) {
            @Override
            public BlockBackend drive(String inner) {
                BlockBackend backend = openDrive(inner);
                use("drive", inner, "drive " + name);
                return backend;
            }
        });
        return guarded(entry, context, () -> type.create(options, context));
    }

    private void openChardev(String name, EntrySpec entry) {
        chardevs.put(name, owned(openChardev(name, plugins.chardev(entry), entry)));
    }

    private <O extends Record> Chardev openChardev(String name, ChardevType<O> type, EntrySpec entry) {
        O options = OptionBinder.bind(type, entry, spec.bindContext());
        EntryContext context = owned(new EntryContext(machine, name));
        return guarded(entry, context, () -> type.create(options, context));
    }

    private void openNetdev(String name, EntrySpec entry) {
        netdevs.put(name, owned(openNetdev(name, plugins.netdev(entry), entry)));
    }

    private <O extends Record> NetBackend openNetdev(String name, NetBackendType<O> type, EntrySpec entry) {
        O options = OptionBinder.bind(type, entry, spec.bindContext());
        EntryContext context = owned(new EntryContext(machine, name));
        return guarded(entry, context, () -> type.create(options, context));
    }

    private synchronized void use(String what, String name, String user) {
        String other = users.putIfAbsent(what + " " + name, user);
        if (other != null) {
            throw BenchtopException.config(what + " \"" + name + "\" of " + user + " is used by " + other + " already");
        }
    }

    BlockBackend takeDrive(String name, String user) {
        BlockBackend backend = openDrive(name);
        use("drive", name, user);
        InstrumentedBackend instrumented = new InstrumentedBackend(
                machine, name, backend, machine.statistics().entry(name));
        taken.put(name, instrumented);
        return instrumented;
    }

    /** What a snapshot of a drive into a new image will be; refuses what cannot be, without changing anything. */
    DriveOverlay planOverlay(String name, Path file) {
        if (!taken.containsKey(name)) {
            throw BenchtopException.config("there is no drive \"" + name + "\" that a device uses (drives: "
                    + String.join(", ", taken.keySet().stream().sorted().toList()) + ")");
        }
        if (drive(name).capabilities().readOnly()) {
            throw BenchtopException.config("drive " + name + ": is read-only, so there is nothing to snapshot");
        }
        if (Files.exists(file)) {
            throw BenchtopException.config(file + ": exists; a snapshot makes a new image");
        }
        return DriveOverlay.over(name, entry(name), spec.baseDir(), file);
    }

    /** Carries out a plan while devices stand still. */
    void putOverlay(String name, DriveOverlay plan) {
        EntrySpec before = entry(name);
        plugins.imageFormat("qcow2")
                .create(
                        new ImageCreation(
                                plan.file(),
                                drive(name).capabilities().sizeBytes(),
                                Optional.of(plan.backing()),
                                Map.of()),
                        new EntryContext(machine, name));
        try {
            taken(name).replace(() -> openAnew(name, plan.entry()), () -> openAnew(name, before));
        } catch (RuntimeException e) {
            try {
                Files.deleteIfExists(plan.file());
            } catch (IOException left) {
                e.addSuppressed(left);
            }
            throw e;
        }
        overlays.put(name, plan.entry());
    }

    private BlockBackend openAnew(String name, EntrySpec entry) {
        BlockBackend backend = openDrive(name, plugins.drive(entry), entry);
        drives.put(name, backend);
        return owned(backend);
    }

    private BlockBackend drive(String name) {
        return Objects.requireNonNull(drives.get(name));
    }

    /** What a drive is now. */
    private EntrySpec entry(String name) {
        EntrySpec overlay = overlays.get(name);
        return overlay == null ? Objects.requireNonNull(spec.drives().get(name)) : overlay;
    }

    private InstrumentedBackend taken(String name) {
        return Objects.requireNonNull(taken.get(name));
    }

    Chardev takeChardev(String name, String user) {
        Chardev chardev = chardevs.get(name);
        if (chardev == null) {
            throw BenchtopException.config(
                    "there is no chardev \"" + name + "\" (chardevs: " + String.join(", ", chardevs.keySet()) + ")");
        }
        use("chardev", name, user);
        return chardev;
    }

    NetBackend takeNetdev(String name, String user) {
        NetBackend netdev = netdevs.get(name);
        if (netdev == null) {
            throw BenchtopException.config(
                    "there is no netdev \"" + name + "\" (netdevs: " + String.join(", ", netdevs.keySet()) + ")");
        }
        use("netdev", name, user);
        return netdev;
    }

    Optional<Chardev> chardevIfPresent(String name) {
        return Optional.ofNullable(chardevs.get(name));
    }

    Optional<BlockBackend> driveIfPresent(String name) {
        return Optional.ofNullable(drives.get(name));
    }

    EventLoop mainLoop() {
        return loop(MAIN_LOOP);
    }

    EventLoop loop(String name) {
        LinuxEventLoop loop = loops.get(name);
        if (loop == null) {
            throw BenchtopException.config(
                    "there is no iothread \"" + name + "\" (iothreads: " + String.join(", ", spec.iothreads()) + ")");
        }
        return loop;
    }

    void clockChanged() {
        loops.values().forEach(LinuxEventLoop::clockChanged);
    }

    HostServices host() {
        return host;
    }

    String accelerator() {
        return accelerator;
    }

    BootImage boot() {
        return boot;
    }

    CpuVm vm() {
        return vm;
    }

    Ram ram() {
        return ram;
    }

    PhysicalMap memoryMap() {
        return memoryMap;
    }

    @Override
    public void close() {
        while (!resources.isEmpty()) {
            AutoCloseable resource = resources.pop();
            try {
                resource.close();
            } catch (Exception e) {
                LOG.log(Level.WARNING, "releasing " + resource + " of " + spec.name() + " failed", e);
            }
        }
    }
}
