package org.benchtop.engine;

import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.benchtop.engine.asm.Disassembler;
import org.benchtop.engine.asm.Instruction;
import org.benchtop.engine.boot.BootFacts;
import org.benchtop.engine.boot.BootImage;
import org.benchtop.engine.boot.BootState;
import org.benchtop.engine.bus.IoEventTable;
import org.benchtop.engine.bus.RangeMap;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.memory.PageDirtyLog;
import org.benchtop.engine.memory.PhysicalMap;
import org.benchtop.engine.memory.Ram;
import org.benchtop.engine.pci.PciBusCore;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.stats.MachineStats;
import org.benchtop.engine.stats.StatsSnapshot;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.VcpuMmio;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.cpu.Hypervisor;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.device.Acpi;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.MachineControl;
import org.benchtop.spi.device.TextScreen;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.net.NetBackend;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.time.Clock;
import org.benchtop.spi.time.VirtualTime;
import org.jspecify.annotations.Nullable;

/**
 * A virtual machine: RAM, vCPUs, buses and whatever is plugged into them.
 *
 * <p>Made by {@link #create}; every method may be called from any thread. A machine holds host resources until {@link
 * #close}, which is idempotent.
 */
public final class Machine implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.machine");

    private final MachineSpec spec;
    private final MachineParts parts;
    private final MachineStats statistics = new MachineStats();
    private final MachineClock clock = new MachineClock();
    private final ServiceRegistry services = new ServiceRegistry();
    private final RangeMap pio = new RangeMap(AddressSpace.PIO, 0xffff);
    private final RangeMap mmio = new RangeMap(AddressSpace.MMIO, (1L << 52) - 1);
    private final IoEventTable ioEvents = new IoEventTable();
    private final Control control = new Control();
    private final Map<String, AttachedDevice> devices = new LinkedHashMap<>();
    private final List<Vcpu> vcpus = new ArrayList<>();
    private final ReentrantLock lifecycle = new ReentrantLock();
    private final ExecutorService controlThread;
    private final PciBusCore pci;
    private RunGate gate;
    private List<VcpuRunner> runners = List.of();
    private volatile MachineState state = MachineState.CREATED;
    private volatile CompletableFuture<MachineExit> exit = new CompletableFuture<>();
    private volatile @Nullable IrqChip irqChip;
    private volatile @Nullable VcpuMmio vcpuMmio;
    private volatile @Nullable Hypervisor hypervisor;
    private volatile @Nullable DebugStop debugStop;
    private volatile @Nullable String pauseReason;
    /** How often the machine was started or resumed, so that a late request to pause does not hit the next run. */
    private final AtomicLong runs = new AtomicLong();

    private volatile @Nullable MachineObserver observer;
    /** Whether {@link #step} waits for an instruction to end. */
    private volatile boolean stepping;

    /** A device and the context that it claims things through. */
    record AttachedDevice(String id, String type, Device device, EntryContext context) {}

    /**
     * Where a vCPU stopped for the debugger.
     *
     * @param vcpu its index
     * @param rip where it stands
     */
    public record DebugStop(int vcpu, long rip) {}

    private Machine(MachineSpec spec, PluginRegistry plugins) {
        this.spec = spec;
        this.gate = new RunGate(spec.cpus());
        this.controlThread = Executors.newSingleThreadExecutor(
                Thread.ofPlatform().name(spec.name() + "-control").daemon(true).factory());
        MachineParts made = null;
        try {
            made = new MachineParts(this, spec, plugins);
            this.parts = made;
            this.pci = new PciBusCore(pio, mmio, this::addIoEvent, made.memoryMap(), this::irqChip);
            made.vm().irqChip().ifPresent(chip -> irqChip = chip);
            made.populate(vcpus, devices);
            resetAll();
        } catch (RuntimeException | Error e) {
            if (made != null) {
                closeDevices();
                made.close();
            }
            controlThread.shutdown();
            throw e;
        }
    }

    /**
     * Assembles a machine: allocates RAM, opens backends, attaches devices, loads the boot image. Nothing runs yet.
     *
     * @throws BenchtopException when something in the specification is wrong or missing; nothing is left behind
     */
    public static Machine create(MachineSpec spec, PluginRegistry plugins) {
        return new Machine(spec, plugins);
    }

    /** What it was made from. */
    public MachineSpec spec() {
        return spec;
    }

    /** Its name. */
    public String name() {
        return spec.name();
    }

    /** Where it is in its life. */
    public MachineState state() {
        return state;
    }

    /** The name of the CPU engine and what its probe found. */
    public String accelerator() {
        return parts.accelerator();
    }

    /** How the guest is started. */
    public String bootDescription() {
        return parts.boot().description();
    }

    /** Guest RAM. */
    public GuestMemory memory() {
        return parts.ram();
    }

    /** The VM of its CPU engine: for what tools attach to guest code. */
    public CpuVm cpuVm() {
        return parts.vm();
    }

    /** The vCPUs. Their registers may be used while the machine is paused or stopped. */
    public List<Vcpu> vcpus() {
        return List.copyOf(vcpus);
    }

    /** Devices by id, in the order of attachment. */
    public Map<String, Device> devices() {
        Map<String, Device> map = new LinkedHashMap<>();
        devices.forEach((id, d) -> map.put(id, d.device()));
        return map;
    }

    /** The type of a device; empty if there is none of that id. */
    public Optional<String> deviceType(String id) {
        return Optional.ofNullable(devices.get(id)).map(AttachedDevice::type);
    }

    /** What lies where in the guest physical address space, by address: RAM, ROM and other mapped memory. */
    public List<PhysicalMap.Flat> physicalMap() {
        return parts.memoryMap().flat();
    }

    /** The display whose text can be read, if the machine has one. */
    public Optional<TextScreen> screen() {
        return services.find(TextScreen.class);
    }

    /** A character backend by name, for consoles. */
    public Optional<Chardev> chardev(String name) {
        return parts.chardevIfPresent(name);
    }

    /** A drive by name. */
    public Optional<BlockBackend> drive(String name) {
        return parts.driveIfPresent(name);
    }

    /** The PCI bus. */
    public PciBusCore pciBus() {
        return pci;
    }

    /** I/O ports. */
    public RangeMap pioMap() {
        return pio;
    }

    /** Memory-mapped registers. */
    public RangeMap mmioMap() {
        return mmio;
    }

    /** Every counter now; vCPU exits are under {@code vcpuN}. */
    public StatsSnapshot stats() {
        return statistics.snapshot();
    }

    /** Installs what sees the machine live, in place of the one before; empty for none. */
    public void observe(Optional<MachineObserver> newObserver) {
        observer = newObserver.orElse(null);
    }

    @Nullable
    MachineObserver observer() {
        return observer;
    }

    private void enter(MachineState newState) {
        state = newState;
        MachineObserver seeing = observer;
        if (seeing != null) {
            seeing.state(newState);
        }
    }

    /** The last stop for the debugger. */
    public Optional<DebugStop> debugStop() {
        return Optional.ofNullable(debugStop);
    }

    /** Why a device has paused the machine; empty if it is not paused, or because somebody called {@link #pause}. */
    public Optional<String> pauseReason() {
        return Optional.ofNullable(pauseReason);
    }

    private BenchtopException wrongState(String what) {
        return BenchtopException.of(
                ErrorKind.CONFIG,
                "machine " + name() + " cannot " + what + ": it is "
                        + state.name().toLowerCase());
    }

    /** Starts a new or stopped machine, or resumes a paused one. */
    public void start() {
        lifecycle.lock();
        try {
            switch (state) {
                case CREATED -> launch(true);
                case STOPPED -> {
                    resetAll();
                    devices.values().forEach(d -> d.device().resume());
                    exit = new CompletableFuture<>();
                    launch(true);
                }
                case PAUSED -> resume();
                case RUNNING -> {}
                case CLOSED -> throw wrongState("start");
            }
        } finally {
            lifecycle.unlock();
        }
    }

    private void launch(boolean running) {
        gate = new RunGate(vcpus.size());
        RunGate opened = gate;
        VcpuEvents events = new VcpuEvents();
        runs.incrementAndGet();
        pauseReason = null;
        runners = vcpus.stream()
                .map(v -> new VcpuRunner(name(), v, opened, events))
                .toList();
        runners.forEach(VcpuRunner::start);
        if (running) {
            startTime();
            enter(MachineState.RUNNING);
            gate.open();
        } else {
            pauseDevices();
            stopTime();
            enter(MachineState.PAUSED);
        }
    }

    private void startTime() {
        parts.vm().paused(false);
        clock.run();
        parts.clockChanged();
    }

    private void stopTime() {
        clock.freeze();
        parts.clockChanged();
        parts.vm().paused(true);
    }

    /** Holds vCPUs and devices; returns when nothing moves any more. */
    public void pause() {
        lifecycle.lock();
        try {
            if (state == MachineState.PAUSED || state == MachineState.STOPPED) {
                return;
            }
            if (state != MachineState.RUNNING) {
                throw wrongState("pause");
            }
            holdVcpus();
            pauseDevices();
            stopTime();
            enter(MachineState.PAUSED);
        } finally {
            lifecycle.unlock();
        }
    }

    /** Goes on after {@link #pause}. */
    public void resume() {
        lifecycle.lock();
        try {
            if (state == MachineState.RUNNING) {
                return;
            }
            if (state != MachineState.PAUSED) {
                throw wrongState("resume");
            }
            debugStop = null;
            pauseReason = null;
            runs.incrementAndGet();
            startTime();
            devices.values().forEach(d -> d.device().resume());
            enter(MachineState.RUNNING);
            gate.open();
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * The states of some devices of a paused machine, by id in the machine's order.
     *
     * @throws BenchtopException if the machine is not paused or has no such device
     */
    public Map<String, SavedState> saveDevices(Collection<String> ids) {
        lifecycle.lock();
        try {
            if (state != MachineState.PAUSED) {
                throw wrongState("save devices");
            }
            checkIds(ids);
            Map<String, SavedState> states = new LinkedHashMap<>();
            devices.forEach((id, attached) -> {
                if (ids.contains(id)) {
                    states.put(id, attached.device().saveState());
                }
            });
            return states;
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Resets some devices of a paused machine and gives them states of {@link #saveDevices}.
     *
     * @throws BenchtopException if the machine is not paused, has no such device, or a state is of another device
     */
    public void restoreDevices(Map<String, SavedState> states) {
        lifecycle.lock();
        try {
            if (state != MachineState.PAUSED) {
                throw wrongState("restore devices");
            }
            checkIds(states.keySet());
            devices.forEach((id, attached) -> {
                if (states.containsKey(id)) {
                    attached.device().reset();
                }
            });
            devices.forEach((id, attached) -> {
                SavedState saved = states.get(id);
                if (saved != null) {
                    attached.device().restoreState(saved);
                }
            });
        } finally {
            lifecycle.unlock();
        }
    }

    private void checkIds(Collection<String> ids) {
        for (String id : ids) {
            if (!devices.containsKey(id)) {
                throw BenchtopException.config("machine " + name() + " has no device \"" + id + "\" (devices: "
                        + String.join(", ", devices.keySet()) + ")");
            }
        }
    }

    private void pauseFor(String reason, long run) {
        lifecycle.lock();
        try {
            boolean stillMeant = run == runs.get() && (state == MachineState.RUNNING || state == MachineState.PAUSED);
            if (!stillMeant || pauseReason != null) {
                return;
            }
            pauseReason = reason;
            pause();
        } finally {
            lifecycle.unlock();
        }
        LOG.log(
                Level.WARNING,
                "machine {0} is paused: {1}; the request is tried again when it resumes",
                name(),
                reason);
    }

    private void holdVcpus() {
        gate.hold();
        runners.forEach(VcpuRunner::kick);
        gate.awaitQuiet();
    }

    private void pauseDevices() {
        List<AttachedDevice> reverse = new ArrayList<>(devices.values()).reversed();
        reverse.forEach(d -> d.device().pause());
    }

    /**
     * Runs something that looks at vCPUs, devices or memory while no vCPU is in guest mode; a running machine goes on
     * afterwards and does not notice more than a short delay. Not for vCPU threads.
     *
     * @throws BenchtopException if the machine is closed
     */
    public <T> T whileHeld(Supplier<T> action) {
        lifecycle.lock();
        try {
            refuseClosed();
            boolean reopen = false;
            if (state == MachineState.RUNNING) {
                reopen = gate.hold();
                runners.forEach(VcpuRunner::kick);
                gate.awaitQuiet();
            }
            try {
                return action.get();
            } finally {
                if (reopen) {
                    gate.open();
                }
            }
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Runs something that uses memory or devices, which stay as long as it runs: {@link #close} waits.
     *
     * @throws BenchtopException if the machine is closed
     */
    public <T> T whileOpen(Supplier<T> action) {
        lifecycle.lock();
        try {
            refuseClosed();
            return action.get();
        } finally {
            lifecycle.unlock();
        }
    }

    private void refuseClosed() {
        if (state == MachineState.CLOSED) {
            throw wrongState("be used");
        }
    }

    /**
     * Lets one vCPU execute one instruction while the others wait; the machine is paused afterwards.
     *
     * @return false if it did not complete in time, such as a halt without an interrupt
     * @throws BenchtopException if the machine is stopped or closed
     */
    public boolean step(int vcpu, Duration timeout) throws InterruptedException {
        lifecycle.lockInterruptibly();
        try {
            switch (state) {
                case CREATED -> launch(false);
                case RUNNING -> pause();
                case PAUSED -> {}
                case STOPPED, CLOSED -> throw wrongState("step");
            }
            gate.awaitQuiet();
            Vcpu stepped = vcpus.get(vcpu);
            debugStop = null;
            stepping = true;
            stepped.singleStep(true);
            startTime();
            devices.values().forEach(d -> d.device().resume());
            boolean back = false;
            try {
                long deadline = System.nanoTime() + timeout.toNanos();
                do {
                    // A kick from before may send the vCPU back at once, having done nothing.
                    back = gate.pass(vcpu, deadline - System.nanoTime());
                } while (back && stepping && debugStop == null && System.nanoTime() < deadline);
                return back && debugStop != null;
            } finally {
                if (!back) {
                    stepped.kick();
                }
                gate.awaitQuiet();
                stepped.singleStep(false);
                stepping = false;
                pauseDevices();
                stopTime();
            }
        } finally {
            lifecycle.unlock();
        }
    }

    /** Resets the machine as the reset button would; a stopped machine stays stopped. */
    public void reset() {
        lifecycle.lock();
        try {
            switch (state) {
                case CREATED, STOPPED -> resetAll();
                case RUNNING -> {
                    holdVcpus();
                    resetAll();
                    gate.open();
                }
                case PAUSED -> resetAll();
                case CLOSED -> throw wrongState("reset");
            }
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Takes an external snapshot of a drive, also while the machine runs: a new qcow2 image, the overlay, gets everything
     * that is written from now on, over what the drive has had, which stays as it is at this moment, with every request
     * that has been completed and none that has not. The guest notices a short pause. The machine's specification still
     * names the file of before.
     *
     * @param drive a drive of a device, of type {@code file}, {@code qcow2} or {@code phy}
     * @param overlay the new image, which must not exist; relative to the machine's folder
     */
    public void snapshotDrive(String drive, Path overlay) {
        lifecycle.lock();
        try {
            refuseClosed();
            DriveOverlay plan = parts.planOverlay(drive, resolve(overlay));
            boolean running = state == MachineState.RUNNING;
            if (running) {
                pause();
            }
            try {
                parts.putOverlay(drive, plan);
            } finally {
                if (running) {
                    resume();
                }
            }
        } finally {
            lifecycle.unlock();
        }
    }

    private void resetAll() {
        for (AttachedDevice attached : devices.values()) {
            attached.device().reset();
        }
        parts.vm().reset();
        vcpus.forEach(Vcpu::reset);
        BootImage boot = parts.boot();
        if (!boot.firmware()) {
            pci.placeBars();
        }
        OptionalLong rsdp = services.find(Acpi.class)
                .map(acpi -> OptionalLong.of(acpi.rsdpGpa()))
                .orElse(OptionalLong.empty());
        setBootState(
                boot.apply(parts.ram(), new BootFacts(rsdp, vcpus.getFirst().tscKilohertz())));
        debugStop = null;
        MachineObserver seeing = observer;
        if (seeing != null) {
            seeing.reset();
        }
    }

    private void setBootState(BootState boot) {
        Vcpu first = vcpus.getFirst();
        first.specialRegisters(boot.specialRegisters());
        first.registers(boot.registers());
    }

    /** Stops the machine for good; it can still be inspected, and started again from reset. */
    public void stop() {
        end(new MachineExit.Stopped());
    }

    private void end(MachineExit why) {
        lifecycle.lock();
        try {
            if (state == MachineState.CLOSED || state == MachineState.STOPPED) {
                return;
            }
            boolean wasRunning = state == MachineState.RUNNING;
            gate.end();
            runners.forEach(VcpuRunner::kick);
            runners.forEach(VcpuRunner::join);
            runners = List.of();
            if (wasRunning) {
                pauseDevices();
                stopTime();
            }
            enter(MachineState.STOPPED);
            exit.complete(why);
        } finally {
            lifecycle.unlock();
        }
    }

    /** Waits until the machine has stopped. */
    public MachineExit awaitExit() throws InterruptedException {
        try {
            return exit.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the exit never completes exceptionally", e);
        }
    }

    /** Waits at most so long; empty if the machine still runs. */
    public Optional<MachineExit> awaitExit(Duration timeout) throws InterruptedException {
        try {
            return Optional.of(exit.get(timeout.toNanos(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the exit never completes exceptionally", e);
        }
    }

    /** How it stopped, if it has. */
    public Optional<MachineExit> exit() {
        return Optional.ofNullable(exit.getNow(null));
    }

    /** Stops the machine soon, without waiting; for signal handlers and terminals. */
    public void requestStop() {
        later(this::stop);
    }

    /** Resumes the machine soon if it is paused, without waiting; for terminals. */
    public void requestResume() {
        later(() -> {
            lifecycle.lock();
            try {
                if (state == MachineState.PAUSED) {
                    resume();
                }
            } finally {
                lifecycle.unlock();
            }
        });
    }

    private void later(Runnable action) {
        try {
            controlThread.execute(() -> {
                try {
                    action.run();
                } catch (RuntimeException e) {
                    LOG.log(Level.ERROR, "machine " + name() + ": control action failed", e);
                    exit.complete(new MachineExit.Failed(String.valueOf(e.getMessage())));
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.log(Level.DEBUG, "machine {0} is closed: request dropped", name());
        }
    }

    /** Releases everything: vCPUs, devices, backends, threads, descriptors and mappings. */
    @Override
    public void close() {
        lifecycle.lock();
        try {
            if (state == MachineState.CLOSED) {
                return;
            }
            end(new MachineExit.Stopped());
            enter(MachineState.CLOSED);
            closeDevices();
            parts.close();
        } finally {
            lifecycle.unlock();
        }
        controlThread.shutdown();
        awaitControlThread();
    }

    private void awaitControlThread() {
        boolean interrupted = false;
        while (true) {
            try {
                if (controlThread.awaitTermination(1, TimeUnit.MINUTES)) {
                    break;
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeDevices() {
        for (AttachedDevice attached : new ArrayList<>(devices.values()).reversed()) {
            try {
                attached.device().close();
            } catch (RuntimeException e) {
                LOG.log(Level.WARNING, "closing " + attached.id() + " failed", e);
            }
            attached.context().close();
        }
        devices.clear();
    }

    MachineStats statistics() {
        return statistics;
    }

    Path resolve(Path path) {
        return spec.baseDir().resolve(path);
    }

    HostServices host() {
        return parts.host();
    }

    PhysicalMap memoryMap() {
        return parts.memoryMap();
    }

    Clock clock() {
        return virtualTime().map(Clock.class::cast).orElse(clock);
    }

    Optional<VirtualTime> virtualTime() {
        return parts.vm().virtualTime();
    }

    ServiceRegistry services() {
        return services;
    }

    MachineControl control() {
        return control;
    }

    IrqChip irqChip() {
        IrqChip chip = irqChip;
        if (chip == null) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    "machine " + name() + " has no interrupt controller: the CPU engine brings none"
                            + " and no platform device provides one");
        }
        return chip;
    }

    void installIrqChip(String owner, IrqChip chip) {
        if (irqChip != null) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG, owner + " cannot be the interrupt controller: machine " + name() + " has one");
        }
        irqChip = chip;
    }

    AutoCloseable installVcpuMmio(String owner, VcpuMmio device) {
        if (vcpuMmio != null) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    owner + " cannot answer for single vCPUs: machine " + name() + " has a device that does");
        }
        vcpuMmio = device;
        return () -> vcpuMmio = null;
    }

    AutoCloseable installHypervisor(String owner, Hypervisor offered) {
        if (!parts.vm().features().hypercalls()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    owner + " needs a CPU engine that passes hypercalls on: " + accelerator()
                            + " does not; accel: soft does");
        }
        if (hypervisor != null) {
            throw BenchtopException.config(
                    owner + " cannot offer a hypervisor interface: machine " + name() + " has a device that does");
        }
        hypervisor = offered;
        return () -> hypervisor = null;
    }

    IoEvent addIoEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        Optional<AutoCloseable> taken = parts.vm().addIoEvent(space, address, match, doorbell);
        if (taken.isPresent()) {
            return new EngineIoEvent(taken.get());
        }
        IoEventTable.Entry entry = ioEvents.add(new IoEventTable.Entry(space, address, match, doorbell));
        return new BusIoEvent(entry);
    }

    private record EngineIoEvent(AutoCloseable registration) implements IoEvent {
        @Override
        public boolean accelerated() {
            return true;
        }

        @Override
        public void close() {
            try {
                registration.close();
            } catch (Exception e) {
                throw BenchtopException.of(ErrorKind.INTERNAL, "removing an ioEvent failed: " + e.getMessage(), e);
            }
        }
    }

    private final class BusIoEvent implements IoEvent {
        private final IoEventTable.Entry entry;

        BusIoEvent(IoEventTable.Entry entry) {
            this.entry = entry;
        }

        @Override
        public boolean accelerated() {
            return false;
        }

        @Override
        public void close() {
            ioEvents.remove(entry);
        }
    }

    EventLoop mainLoop() {
        return parts.mainLoop();
    }

    EventLoop loop(String iothread) {
        return parts.loop(iothread);
    }

    BlockBackend takeDrive(String drive, String user) {
        return parts.takeDrive(drive, user);
    }

    Chardev takeChardev(String chardev, String user) {
        return parts.takeChardev(chardev, user);
    }

    NetBackend takeNetdev(String netdev, String user) {
        return parts.takeNetdev(netdev, user);
    }

    /** What vCPUs reach when they leave guest mode. */
    CpuHost cpuHost() {
        return new BusHost();
    }

    private final class BusHost implements CpuHost {
        @Override
        public long pioRead(int vcpu, int port, int size) {
            long value = pio.read(port, size);
            MachineObserver seeing = observer;
            if (seeing != null) {
                seeing.access(vcpu, AddressSpace.PIO, false, port, size, value);
            }
            return value;
        }

        @Override
        public void pioWrite(int vcpu, int port, int size, long value) {
            if (!ioEvents.ring(AddressSpace.PIO, port, size, value)) {
                pio.write(port, size, value);
            }
            MachineObserver seeing = observer;
            if (seeing != null) {
                seeing.access(vcpu, AddressSpace.PIO, true, port, size, value);
            }
        }

        @Override
        public long mmioRead(int vcpu, long gpa, int size) {
            VcpuMmio local = vcpuMmio;
            long value = local != null && local.decodes(vcpu, gpa) ? local.read(vcpu, gpa, size) : mmio.read(gpa, size);
            MachineObserver seeing = observer;
            if (seeing != null) {
                seeing.access(vcpu, AddressSpace.MMIO, false, gpa, size, value);
            }
            return value;
        }

        @Override
        public void mmioWrite(int vcpu, long gpa, int size, long value) {
            VcpuMmio local = vcpuMmio;
            if (local != null && local.decodes(vcpu, gpa)) {
                local.write(vcpu, gpa, size, value);
            } else if (!ioEvents.ring(AddressSpace.MMIO, gpa, size, value)) {
                mmio.write(gpa, size, value);
            }
            MachineObserver seeing = observer;
            if (seeing != null) {
                seeing.access(vcpu, AddressSpace.MMIO, true, gpa, size, value);
            }
        }

        @Override
        public long hypercall(int vcpu, long number, long a0, long a1, long a2, long a3, long a4) {
            // -KVM_ENOSYS: the answer of a hypervisor that does not know the call.
            return -1000;
        }

        @Override
        public long hypercall(int vcpu, long[] registers, boolean longMode, int privilegeLevel) {
            Hypervisor installed = hypervisor;
            return installed == null
                    ? CpuHost.super.hypercall(vcpu, registers, longMode, privilegeLevel)
                    : installed.hypercall(vcpu, registers, longMode, privilegeLevel);
        }

        @Override
        public boolean cpuid(int vcpu, int leaf, int[] registers) {
            Hypervisor installed = hypervisor;
            return installed != null && installed.cpuid(vcpu, leaf, registers);
        }

        @Override
        public OptionalLong readMsr(int vcpu, int msr) {
            Hypervisor installed = hypervisor;
            return installed == null ? OptionalLong.empty() : installed.readMsr(vcpu, msr);
        }

        @Override
        public boolean writeMsr(int vcpu, int msr, long value) {
            Hypervisor installed = hypervisor;
            return installed != null && installed.writeMsr(vcpu, msr, value);
        }

        @Override
        public String disassemble(byte[] code, long address, int bits) {
            return code.length == 0
                    ? ""
                    : Disassembler.decode(code, 0, address, bits).text();
        }
    }

    /** Collects vCPU writes for dirty logs. */
    Ram.DirtySource dirtySource() {
        return new Ram.DirtySource() {
            @Override
            public void enable(boolean enabled) {
                parts.vm().logDirty(enabled);
            }

            @Override
            public void collect(PageDirtyLog log) {
                parts.memoryMap().slots().forEach((flat, slot) -> {
                    long[] bitmap = new long[(int) ((flat.sizeBytes() >>> 12) + 63 >>> 6)];
                    parts.vm().collectDirty(slot, bitmap);
                    for (int w = 0; w < bitmap.length; w++) {
                        for (long bits = bitmap[w]; bits != 0; bits &= bits - 1) {
                            long page = 64L * w + Long.numberOfTrailingZeros(bits);
                            log.mark(flat.gpa() + (page << 12), 1);
                        }
                    }
                });
            }
        };
    }

    private final class VcpuEvents implements VcpuRunner.Listener {
        private volatile boolean tripleFaultSeen;

        @Override
        public void shutdown(Vcpu vcpu) {
            stepping = false;
            // A guest that faults again after each reset would fill the log.
            Level level = tripleFaultSeen ? Level.DEBUG : Level.WARNING;
            tripleFaultSeen = true;
            LOG.log(level, "machine {0}: vcpu{1} triple fault, reset", name(), vcpu.index());
            control.requestReset();
        }

        @Override
        public void debug(Vcpu vcpu, VcpuExit.Debug stop) {
            debugStop = new DebugStop(vcpu.index(), stop.rip());
            if (!stepping) {
                later(Machine.this::pause);
            }
        }

        @Override
        public void failed(Vcpu vcpu, VcpuExit.Failed failure) {
            stepping = false;
            byte[] code = failure.instructionBytes();
            String bytes = code.length == 0
                    ? "not readable"
                    : HexFormat.ofDelimiter(" ").formatHex(code);
            fail("vcpu" + vcpu.index() + ": " + failure.reason() + " at rip=0x" + Long.toHexString(failure.rip())
                    + instruction(vcpu.specialRegisters(), failure) + " (instruction bytes: " + bytes + ")");
        }

        private static String instruction(SpecialRegisters state, VcpuExit.Failed failure) {
            if (failure.instructionBytes().length == 0) {
                return "";
            }
            int bits = state.cs().longMode() ? 64 : state.cs().db() ? 32 : 16;
            Instruction instruction = Disassembler.decode(failure.instructionBytes(), 0, failure.rip(), bits);
            return instruction.valid() ? ": " + instruction.text() : "";
        }

        @Override
        public void halted(Vcpu vcpu) {
            stepping = false;
            fail("vcpu" + vcpu.index() + " halted and the machine has no interrupt controller to wake it");
        }

        @Override
        public void crashed(Vcpu vcpu, Throwable cause) {
            stepping = false;
            LOG.log(Level.ERROR, "vcpu" + vcpu.index() + " thread of " + name() + " crashed", cause);
            fail("internal error in vcpu" + vcpu.index() + ": " + cause);
        }
    }

    private void fail(String message) {
        later(() -> end(new MachineExit.Failed(message)));
    }

    private final class Control implements MachineControl {
        @Override
        public String name() {
            return Machine.this.name();
        }

        @Override
        public int cpus() {
            return spec.cpus();
        }

        @Override
        public boolean firmware() {
            return parts.boot().firmware();
        }

        private void afterCurrentInstruction(Runnable action) {
            gate.hold();
            runners.forEach(VcpuRunner::kick);
            later(action);
        }

        @Override
        public void requestPowerOff() {
            afterCurrentInstruction(() -> end(new MachineExit.PowerOff()));
        }

        @Override
        public void requestReset() {
            if (spec.onReboot() == MachineSpec.OnReboot.STOP) {
                afterCurrentInstruction(() -> end(new MachineExit.Reboot()));
            } else {
                afterCurrentInstruction(Machine.this::reset);
            }
        }

        @Override
        public void requestExit(int code) {
            afterCurrentInstruction(() -> end(new MachineExit.GuestExit(code)));
        }

        @Override
        public void guestPanicked(String message) {
            switch (spec.onPanic()) {
                case STOP -> afterCurrentInstruction(() -> end(new MachineExit.Failed("guest panicked: " + message)));
                case PAUSE -> afterCurrentInstruction(Machine.this::pause);
                case IGNORE -> LOG.log(Level.WARNING, "machine {0}: guest panicked: {1}", name(), message);
            }
        }

        @Override
        public void requestPause(String reason) {
            long run = runs.get();
            later(() -> pauseFor(reason, run));
        }

        @Override
        public Vcpu vcpu(int index) {
            return vcpus.get(index);
        }

        @Override
        public CpuVmFeatures cpuFeatures() {
            return parts.vm().features();
        }
    }

    @Override
    public String toString() {
        return "Machine[" + name() + " " + state.name().toLowerCase() + "]";
    }
}
