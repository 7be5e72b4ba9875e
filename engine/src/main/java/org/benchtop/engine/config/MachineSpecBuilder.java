package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuModel;

/** Builds a {@link MachineSpec} in Java, with the names of the YAML. Not thread-safe. */
public final class MachineSpecBuilder {
    private final String name;
    private String machine = "pc";
    private EntrySpec accel = EntrySpec.of("auto", Map.of()).at("accel");
    private int cpus = 1;
    private CpuModel cpu = CpuModel.HOST;
    private MemorySpec memory = MemorySpec.of(MachineSpec.DEFAULT_MEMORY_BYTES);
    private BootSpec boot = new BootSpec.None();
    private final List<String> iothreads = new ArrayList<>();
    private final Map<String, EntrySpec> drives = new LinkedHashMap<>();
    private final Map<String, EntrySpec> chardevs = new LinkedHashMap<>();
    private final Map<String, EntrySpec> netdevs = new LinkedHashMap<>();
    private EntrySpec display = EntrySpec.of(MachineSpec.NO_DISPLAY, Map.of()).at("display");
    private final List<EntrySpec> devices = new ArrayList<>();
    private final List<Path> plugins = new ArrayList<>();
    private MachineSpec.OnReboot onReboot = MachineSpec.OnReboot.RESTART;
    private MachineSpec.OnPanic onPanic = MachineSpec.OnPanic.STOP;
    private SourceMap sources = SourceMap.EMPTY;
    private Path baseDir = Path.of("").toAbsolutePath();

    MachineSpecBuilder(String name) {
        this.name = name;
    }

    MachineSpecBuilder(MachineSpec spec) {
        this.name = spec.name();
        this.machine = spec.machine();
        this.accel = spec.accel();
        this.cpus = spec.cpus();
        this.cpu = spec.cpu();
        this.memory = spec.memory();
        this.boot = spec.boot();
        this.iothreads.addAll(spec.iothreads());
        this.drives.putAll(spec.drives());
        this.chardevs.putAll(spec.chardevs());
        this.netdevs.putAll(spec.netdevs());
        this.display = spec.display();
        this.devices.addAll(spec.devices());
        this.plugins.addAll(spec.plugins());
        this.onReboot = spec.onReboot();
        this.onPanic = spec.onPanic();
        this.baseDir = spec.baseDir();
        this.sources = spec.sources();
    }

    /** The board; {@code pc} by default. */
    public MachineSpecBuilder machine(String type) {
        machine = type;
        return this;
    }

    /** The CPU engine; {@code auto} by default. */
    public MachineSpecBuilder accel(String type) {
        return accel(type, Map.of());
    }

    /** The CPU engine with options. */
    public MachineSpecBuilder accel(String type, Map<String, ?> options) {
        accel = EntrySpec.of(type, options).at("accel");
        return this;
    }

    /** The CPU engine with options. */
    public MachineSpecBuilder accel(String type, Record options) {
        accel = EntrySpec.of(type, options).at("accel");
        return this;
    }

    /** The number of vCPUs, 1 by default. */
    public MachineSpecBuilder cpus(int count) {
        cpus = count;
        return this;
    }

    /** What CPU the guest sees; the host's by default. */
    public MachineSpecBuilder cpu(CpuModel model) {
        cpu = model;
        return this;
    }

    /** The amount of RAM, such as {@code 512M}. */
    public MachineSpecBuilder memory(String size) {
        OptionalLong sizeBytes = Units.parseSize(size);
        if (sizeBytes.isEmpty()) {
            throw BenchtopException.config("memory: expected a size such as 512M, 4GiB or 10GB, got \"" + size + "\"");
        }
        return memory(MemorySpec.of(sizeBytes.getAsLong()));
    }

    /** RAM. */
    public MachineSpecBuilder memory(MemorySpec spec) {
        memory = spec;
        return this;
    }

    /** What the machine starts with; nothing by default. */
    public MachineSpecBuilder boot(BootSpec spec) {
        boot = spec;
        return this;
    }

    /** Starts with an embedded guest program. */
    public MachineSpecBuilder guest(String program, String cmdline) {
        return boot(new BootSpec.Guest(program, cmdline));
    }

    /** Starts with a kernel. */
    public MachineSpecBuilder kernel(Path kernel, Optional<Path> initrd, String cmdline) {
        return boot(new BootSpec.Kernel(kernel, initrd, cmdline, BootSpec.Protocol.AUTO));
    }

    /** Starts with firmware. */
    public MachineSpecBuilder firmware(Path image) {
        return boot(new BootSpec.Firmware(image));
    }

    /** Adds an event loop. */
    public MachineSpecBuilder iothread(String iothread) {
        iothreads.add(iothread);
        return this;
    }

    /** Adds or replaces a block backend. */
    public MachineSpecBuilder drive(String drive, String type, Map<String, ?> options) {
        drives.put(drive, EntrySpec.of(type, options).at("drives." + drive));
        return this;
    }

    /** Adds or replaces a block backend. */
    public MachineSpecBuilder drive(String drive, String type, Record options) {
        drives.put(drive, EntrySpec.of(type, options).at("drives." + drive));
        return this;
    }

    /** Adds or replaces a character backend. */
    public MachineSpecBuilder chardev(String chardev, String type, Map<String, ?> options) {
        chardevs.put(chardev, EntrySpec.of(type, options).at("chardevs." + chardev));
        return this;
    }

    /** Adds or replaces a character backend. */
    public MachineSpecBuilder chardev(String chardev, String type, Record options) {
        chardevs.put(chardev, EntrySpec.of(type, options).at("chardevs." + chardev));
        return this;
    }

    /** Adds or replaces a network backend. */
    public MachineSpecBuilder netdev(String netdev, String type, Map<String, ?> options) {
        netdevs.put(netdev, EntrySpec.of(type, options).at("netdevs." + netdev));
        return this;
    }

    /** Adds or replaces a network backend. */
    public MachineSpecBuilder netdev(String netdev, String type, Record options) {
        netdevs.put(netdev, EntrySpec.of(type, options).at("netdevs." + netdev));
        return this;
    }

    /** What shows the guest's screen, such as {@code vga-text}; nothing by default. */
    public MachineSpecBuilder display(String type) {
        display = EntrySpec.of(type, Map.of()).at("display");
        return this;
    }

    /** Plugs a device in; a member {@code id} names it. */
    public MachineSpecBuilder device(String type, Map<String, ?> options) {
        devices.add(EntrySpec.of(type, options).at("devices[" + devices.size() + "]"));
        return this;
    }

    /** Plugs a device in. */
    public MachineSpecBuilder device(String type, Record options) {
        devices.add(EntrySpec.of(type, options).at("devices[" + devices.size() + "]"));
        return this;
    }

    /** Plugs a device with an id in. */
    public MachineSpecBuilder device(String id, String type, Record options) {
        devices.add(EntrySpec.of(type, options)
                .at("devices[" + devices.size() + "]")
                .withId(id));
        return this;
    }

    /** Loads a plugin from a jar. */
    public MachineSpecBuilder plugin(Path jar) {
        plugins.add(jar);
        return this;
    }

    /** What a guest's reset does; it restarts by default. */
    public MachineSpecBuilder onReboot(MachineSpec.OnReboot action) {
        onReboot = action;
        return this;
    }

    /** What a guest's crash does; it stops by default. */
    public MachineSpecBuilder onPanic(MachineSpec.OnPanic action) {
        onPanic = action;
        return this;
    }

    /** The folder that relative paths start from; the current one by default. */
    public MachineSpecBuilder baseDir(Path folder) {
        baseDir = folder.toAbsolutePath();
        return this;
    }

    /**
     * The spec.
     *
     * @throws BenchtopException of kind CONFIG if a name or number is wrong
     */
    public MachineSpec build() {
        MachineSpec spec = new MachineSpec(
                name, machine, accel, cpus, cpu, memory, boot, iothreads, drives, chardevs, netdevs, display, devices,
                plugins, onReboot, onPanic, baseDir, sources);
        Problems problems = new Problems();
        SpecReader.checkNames(spec, problems);
        problems.throwFirst();
        return spec;
    }
}
