package org.benchtop.engine;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.Option;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuProbe;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.ExitCounts;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineType;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.pci.PciWindows;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.FakeIrqChip;

/**
 * A CPU whose guest code is a queue of Java lambdas, a bare board, and a port that records what happens to it: enough to
 * test the life of a machine on any host.
 */
public final class ScriptedPlugin implements Plugin {
    /** A piece of guest code: does port and memory accesses and says how the vCPU leaves guest mode. */
    interface GuestCode {
        VcpuExit run(CpuHost host, int vcpu) throws InterruptedException;
    }

    /** Written to the last port of the probe: asks for a pause. */
    static final int PAUSE = 99;

    /** The vCPUs of each machine, by machine name. */
    static final Map<String, List<ScriptedVcpu>> VCPUS = new ConcurrentHashMap<>();

    /** What happened to the probe device of each machine, by machine name. */
    static final Map<String, ConcurrentLinkedQueue<String>> PROBES = new ConcurrentHashMap<>();

    static List<ScriptedVcpu> vcpus(String machine) {
        return Objects.requireNonNull(VCPUS.get(machine), "a machine of that name");
    }

    static List<String> probes(String machine) {
        return List.copyOf(Objects.requireNonNull(PROBES.get(machine), "a machine of that name"));
    }

    @Override
    public String name() {
        return "scripted";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<CpuEngine<?>> cpuEngines() {
        return List.of(new ScriptedEngine());
    }

    @Override
    public List<MachineType> machineTypes() {
        return List.of(new BareBoard());
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(new ProbeType());
    }

    record NoOptions() {}

    static final class ScriptedEngine implements CpuEngine<NoOptions> {
        @Override
        public String name() {
            return "scripted";
        }

        @Override
        public String summary() {
            return "runs lambdas";
        }

        @Override
        public Class<NoOptions> optionsType() {
            return NoOptions.class;
        }

        @Override
        public CpuProbe probe() {
            return new CpuProbe(true, "always there", List.of());
        }

        @Override
        public int preference() {
            return -100;
        }

        @Override
        public CpuVm createVm(NoOptions options, CpuVmConfig config, CpuHost host) {
            VCPUS.put(config.machineName(), new java.util.concurrent.CopyOnWriteArrayList<>());
            return new ScriptedVm(config.machineName(), host);
        }
    }

    private static final class ScriptedVm implements CpuVm {
        private final String machine;
        private final CpuHost host;
        private final FakeIrqChip irqChip = new FakeIrqChip();

        ScriptedVm(String machine, CpuHost host) {
            this.machine = machine;
            this.host = host;
        }

        @Override
        public CpuVmFeatures features() {
            return new CpuVmFeatures(true, true, false, true);
        }

        @Override
        public void mapMemory(int slot, long gpa, MemorySegment memory, MemoryAccess access) {}

        @Override
        public void unmapMemory(int slot) {}

        @Override
        public Vcpu createVcpu(int index) {
            ScriptedVcpu vcpu = new ScriptedVcpu(index, host);
            vcpus(machine).add(vcpu);
            return vcpu;
        }

        @Override
        public Optional<IrqChip> irqChip() {
            return Optional.of(irqChip);
        }

        @Override
        public Optional<AutoCloseable> addIoEvent(
                AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
            return Optional.empty();
        }

        @Override
        public void logDirty(boolean enabled) {}

        @Override
        public void collectDirty(int slot, long[] bitmap) {}

        @Override
        public void written(long gpa, long lengthBytes) {}

        @Override
        public void close() {}
    }

    /** Runs its queue of code; waits like a halted CPU when the queue is empty. */
    static final class ScriptedVcpu implements Vcpu {
        private final int index;
        private final CpuHost host;
        private final ConcurrentLinkedQueue<GuestCode> code = new ConcurrentLinkedQueue<>();
        private final Semaphore wake = new Semaphore(0);
        private volatile boolean kicked;
        private volatile Registers registers = Registers.ZERO;
        volatile int resets;
        volatile boolean closed;

        ScriptedVcpu(int index, CpuHost host) {
            this.index = index;
            this.host = host;
        }

        void execute(GuestCode piece) {
            code.add(piece);
            wake.release();
        }

        @Override
        public int index() {
            return index;
        }

        @Override
        public VcpuExit run() {
            while (true) {
                if (kicked) {
                    kicked = false;
                    return VcpuExit.Kicked.INSTANCE;
                }
                GuestCode piece = code.poll();
                try {
                    if (piece != null) {
                        return piece.run(host, index);
                    }
                    wake.acquire();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        @Override
        public void kick() {
            kicked = true;
            wake.release();
        }

        @Override
        public void reset() {
            resets++;
        }

        @Override
        public Registers registers() {
            return registers;
        }

        @Override
        public void registers(Registers value) {
            registers = value;
        }

        @Override
        public SpecialRegisters specialRegisters() {
            SegmentRegister data = SegmentRegister.flatData(0x10);
            return new SpecialRegisters(
                    SegmentRegister.flatCode(8, true),
                    data,
                    data,
                    data,
                    data,
                    data,
                    data,
                    data,
                    new DescriptorTable(0, 0),
                    new DescriptorTable(0, 0),
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0);
        }

        @Override
        public void specialRegisters(SpecialRegisters value) {}

        @Override
        public OptionalLong msr(int number) {
            return OptionalLong.empty();
        }

        @Override
        public boolean msr(int number, long value) {
            return false;
        }

        @Override
        public OptionalLong translate(long virtualAddress) {
            return OptionalLong.of(virtualAddress);
        }

        @Override
        public void singleStep(boolean enabled) {}

        @Override
        public void breakpoints(long[] virtualAddresses) {}

        @Override
        public void injectNmi() {}

        @Override
        public void connect(LocalApic apic) {}

        @Override
        public void interruptChanged() {}

        @Override
        public void init() {}

        @Override
        public void startup(int vector) {}

        @Override
        public ExitCounts exits() {
            return new ExitCounts(0, Map.of());
        }

        @Override
        public SavedState saveState() {
            return SavedState.EMPTY;
        }

        @Override
        public void restoreState(SavedState state) {}

        @Override
        public void close() {
            closed = true;
        }
    }

    private static final class BareBoard implements MachineType {
        @Override
        public String name() {
            return "bare";
        }

        @Override
        public String summary() {
            return "a board with one probe";
        }

        @Override
        public List<PlatformDevice> platformDevices(Request request) {
            return List.of(new PlatformDevice("board-probe", "probe", Map.of("port", 0x500)));
        }

        @Override
        public long memoryHoleBase() {
            return 0xc000_0000L;
        }
    }

    /**
     * Options of the probe.
     *
     * @param port where it listens
     * @param failAttach fails when attached
     */
    record ProbeOptions(
            @Option(doc = "first port", min = 0, max = 0xfffc)
            int port,

            @Option(doc = "fail when attached", value = "off")
            boolean failAttach) {}

    private static final class ProbeType implements DeviceType<ProbeOptions> {
        @Override
        public String name() {
            return "probe";
        }

        @Override
        public String summary() {
            return "records what happens to it";
        }

        @Override
        public Class<ProbeOptions> optionsType() {
            return ProbeOptions.class;
        }

        @Override
        public Device create(ProbeOptions options, CreateContext context) {
            return new Probe(options);
        }
    }

    /** Port 0 exits with the value, 1 powers off, 2 resets, 3 panics. */
    private static final class Probe implements Device, PioDevice {
        private final ProbeOptions options;
        private ConcurrentLinkedQueue<String> log = new ConcurrentLinkedQueue<>();
        private Optional<DeviceContext> context = Optional.empty();

        Probe(ProbeOptions options) {
            this.options = options;
        }

        private void note(String what) {
            log.add(Integer.toHexString(options.port) + " " + what);
        }

        @Override
        public void attach(DeviceContext newContext) {
            context = Optional.of(newContext);
            log = PROBES.computeIfAbsent(newContext.machine().name(), n -> new ConcurrentLinkedQueue<>());
            newContext.pio(options.port, 4, this);
            if (newContext.pci().functions().isEmpty() && options.port == 0x500) {
                newContext.pci().windows(new PciWindows(0xc000, 0x4000, 0xe000_0000L, 0x1000_0000, 1L << 40, 1L << 30));
            }
            note("attach");
            if (options.failAttach) {
                throw org.benchtop.spi.BenchtopException.config("probe fails as asked");
            }
        }

        @Override
        public long read(long offset, int size) {
            return 0x42;
        }

        @Override
        public void write(long offset, int size, long value) {
            var machine = context.orElseThrow().machine();
            switch ((int) offset) {
                case 0 -> machine.requestExit((int) value);
                case 1 -> machine.requestPowerOff();
                case 2 -> machine.requestReset();
                default -> {
                    if (value == PAUSE) {
                        machine.requestPause("disk is full");
                    } else {
                        machine.guestPanicked("code " + value);
                    }
                }
            }
        }

        @Override
        public void reset() {
            note("reset");
        }

        @Override
        public void pause() {
            note("pause");
        }

        @Override
        public void resume() {
            note("resume");
        }

        @Override
        public SavedState saveState() {
            return SavedState.EMPTY;
        }

        @Override
        public void restoreState(SavedState state) {}

        @Override
        public void close() {
            note("close");
        }
    }
}
