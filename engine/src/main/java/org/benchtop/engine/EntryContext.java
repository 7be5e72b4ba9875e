package org.benchtop.engine;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import org.benchtop.engine.stats.EntryStats;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.bus.VcpuMmio;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.MachineControl;
import org.benchtop.spi.device.Services;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryMap;
import org.benchtop.spi.net.NetBackend;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.time.Clock;

/**
 * The machine as one entry sees it. Implements every context of the SPI; what the entry claims is remembered and freed
 * in reverse order.
 */
class EntryContext implements DeviceContext, BlockContext, ChardevContext, AutoCloseable {
    private final Machine machine;
    private final String id;
    private final EntryStats stats;
    private final System.Logger logger;
    private final Counter exits;
    private final Counter interrupts;
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();

    EntryContext(Machine machine, String id) {
        this.machine = machine;
        this.id = id;
        this.stats = machine.statistics().entry(id);
        this.logger = System.getLogger("org.benchtop." + machine.name() + "." + id);
        this.exits = stats.counter("exits");
        this.interrupts = stats.counter("interrupts");
    }

    private <T extends AutoCloseable> T owned(T resource) {
        synchronized (resources) {
            resources.push(resource);
        }
        return resource;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Path resolve(Path path) {
        return machine.resolve(path);
    }

    @Override
    public EntryStats stats() {
        return stats;
    }

    @Override
    public System.Logger logger() {
        return logger;
    }

    @Override
    public HostServices host() {
        return machine.host();
    }

    @Override
    public GuestMemory memory() {
        return machine.memory();
    }

    @Override
    public MemoryMap memoryMap() {
        return new MemoryMap() {
            @Override
            public java.lang.foreign.MemorySegment allocate(String name, long sizeBytes) {
                return machine.memoryMap().allocate(name, sizeBytes);
            }

            @Override
            public Mapping map(
                    String name,
                    long gpa,
                    java.lang.foreign.MemorySegment memory,
                    org.benchtop.spi.memory.MemoryAccess access) {
                return owned(machine.memoryMap().map(name, gpa, memory, access));
            }
        };
    }

    @Override
    public BusRange pio(int base, int size, PioDevice device) {
        return owned(machine.pioMap().add(id, base, size, device, exits));
    }

    @Override
    public BusRange mmio(long base, long sizeBytes, MmioDevice device) {
        return owned(machine.mmioMap().add(id, base, sizeBytes, device, exits));
    }

    @Override
    public void vcpuMmio(VcpuMmio device) {
        owned(machine.installVcpuMmio(id, device));
    }

    @Override
    public PciBus pci() {
        return machine.pciBus().viewOf(id, exits, interrupts, this::owned);
    }

    @Override
    public IrqLine irqLine(int gsi) {
        IrqLine line = machine.irqChip().line(gsi);
        return new CountedLine(line, interrupts);
    }

    private static final class CountedLine implements IrqLine {
        private final IrqLine line;
        private final Counter interrupts;
        private boolean asserted;

        CountedLine(IrqLine line, Counter interrupts) {
            this.line = line;
            this.interrupts = interrupts;
        }

        @Override
        public synchronized void set(boolean value) {
            if (value != asserted) {
                asserted = value;
                line.set(value);
                if (value) {
                    interrupts.increment();
                }
            }
        }
    }

    @Override
    public IrqChip irqChip() {
        IrqChip chip = machine.irqChip();
        return new IrqChip() {
            @Override
            public IrqLine line(int gsi) {
                return chip.line(gsi);
            }

            @Override
            public Msi newMsi() {
                return owned(chip.newMsi());
            }

            @Override
            public boolean supportsMsi() {
                return chip.supportsMsi();
            }
        };
    }

    @Override
    public void installIrqChip(IrqChip chip) {
        machine.installIrqChip(id, chip);
    }

    @Override
    public void installHypervisor(org.benchtop.spi.cpu.Hypervisor hypervisor) {
        owned(machine.installHypervisor(id, hypervisor));
    }

    @Override
    public IoEvent ioEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        return owned(machine.addIoEvent(space, address, match, doorbell));
    }

    @Override
    public Clock clock() {
        return machine.clock();
    }

    @Override
    public Timer timer(Runnable onExpiry) {
        return machine.virtualTime()
                .map(time -> time.timer(onExpiry))
                .orElseGet(() -> eventLoop().timer(clock(), onExpiry));
    }

    @Override
    public EventLoop eventLoop() {
        return machine.mainLoop();
    }

    @Override
    public EventLoop eventLoop(String iothread) {
        return machine.loop(iothread);
    }

    @Override
    public BlockBackend drive(String name) {
        return machine.takeDrive(name, id);
    }

    @Override
    public Chardev chardev(String name) {
        return machine.takeChardev(name, id);
    }

    @Override
    public NetBackend netdev(String name) {
        return machine.takeNetdev(name, id);
    }

    @Override
    public MachineControl machine() {
        return machine.control();
    }

    @Override
    public Services services() {
        return new Services() {
            @Override
            public <T> void provide(Class<T> type, T implementation) {
                owned(machine.services().provide(id, type, implementation));
            }

            @Override
            public <T> java.util.Optional<T> find(Class<T> type) {
                return machine.services().find(type);
            }
        };
    }

    @Override
    public void requestStop() {
        machine.requestStop();
    }

    @Override
    public void requestResume() {
        machine.requestResume();
    }

    /** For errors of this entry that are not the user's. */
    BenchtopException broken(String what, Throwable cause) {
        return BenchtopException.of(ErrorKind.PLUGIN, id + ": " + what + ": " + cause, cause);
    }

    @Override
    public void close() {
        while (true) {
            AutoCloseable resource;
            synchronized (resources) {
                resource = resources.poll();
            }
            if (resource == null) {
                return;
            }
            try {
                resource.close();
            } catch (Exception e) {
                logger.log(System.Logger.Level.WARNING, "releasing " + resource + " failed", e);
            }
        }
    }

    /** {@link CreateContext} under its plain name, for types without a context of their own. */
    CreateContext asCreateContext() {
        return this;
    }
}
