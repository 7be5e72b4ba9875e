package org.benchtop.testkit;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.bus.VcpuMmio;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.cpu.Hypervisor;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.net.NetBackend;
import org.jspecify.annotations.Nullable;

/**
 * A whole machine without vCPUs: the test plays the guest with {@link #pioRead}, {@link #mmioWrite} and so on, and
 * lets the event loops run with {@link #runPending} and {@link #advance}.
 *
 * <p>A {@link #device(String)} view shares everything but the id and the counters, for machines with several devices.
 */
public final class FakeDeviceContext implements DeviceContext {
    private final String id;
    private final Shared shared;
    private final FakeStats stats = new FakeStats();

    /** What all devices of one fake machine share. */
    private static final class Shared {
        final FakeClock clock = new FakeClock();
        final FakeEventLoop mainLoop = new FakeEventLoop("main", clock);
        final Map<String, FakeEventLoop> iothreads = new LinkedHashMap<>();
        final FakeGuestMemory memory;
        final FakeMemoryMap memoryMap = new FakeMemoryMap();
        final FakeBus pio = new FakeBus(AddressSpace.PIO);
        final FakeBus mmio = new FakeBus(AddressSpace.MMIO);
        final FakeIrqChip irqChip = new FakeIrqChip();
        final FakePciBus pci;
        final FakeMachineControl machine = new FakeMachineControl();
        final FakeServices services = new FakeServices();
        final Map<String, BlockBackend> drives = new LinkedHashMap<>();
        final Map<String, Chardev> chardevs = new LinkedHashMap<>();
        final Map<String, NetBackend> netdevs = new LinkedHashMap<>();
        HostServices host = new FakeHostServices();

        @Nullable
        IrqChip installedChip;

        @Nullable
        VcpuMmio vcpuMmio;

        @Nullable
        Hypervisor hypervisor;

        Shared(FakeGuestMemory memory) {
            this.memory = memory;
            this.pci = new FakePciBus(pio, mmio, memoryMap, new DelegatingChip(this));
        }
    }

    /** Lets an interrupt controller be installed after the PCI bus was made. */
    private record DelegatingChip(Shared shared) implements IrqChip {
        private IrqChip target() {
            IrqChip installed = shared.installedChip;
            return installed == null ? shared.irqChip : installed;
        }

        @Override
        public org.benchtop.spi.irq.IrqLine line(int gsi) {
            return target().line(gsi);
        }

        @Override
        public org.benchtop.spi.irq.Msi newMsi() {
            return target().newMsi();
        }

        @Override
        public boolean supportsMsi() {
            return target().supportsMsi();
        }
    }

    /** A machine with 16 MiB of RAM and a device named {@code dev0}. */
    public FakeDeviceContext() {
        this("dev0", FakeGuestMemory.ofSize(16 << 20));
    }

    public FakeDeviceContext(String id, FakeGuestMemory memory) {
        this(id, new Shared(memory));
    }

    private FakeDeviceContext(String id, Shared shared) {
        this.id = id;
        this.shared = shared;
    }

    /** The same machine as another device sees it. */
    public FakeDeviceContext device(String otherId) {
        return new FakeDeviceContext(otherId, shared);
    }

    /** Adds an entry of {@code drives:}. */
    public FakeDeviceContext drive(String name, BlockBackend backend) {
        shared.drives.put(name, backend);
        return this;
    }

    /** Adds an entry of {@code chardevs:}. */
    public FakeDeviceContext chardev(String name, Chardev backend) {
        shared.chardevs.put(name, backend);
        return this;
    }

    /** Adds an entry of {@code netdevs:}. */
    public FakeDeviceContext netdev(String name, NetBackend backend) {
        shared.netdevs.put(name, backend);
        return this;
    }

    /** Adds an entry of {@code iothreads:}. */
    public FakeDeviceContext iothread(String name) {
        shared.iothreads.put(name, new FakeEventLoop(name, shared.clock));
        return this;
    }

    /** Uses another host. */
    public FakeDeviceContext host(HostServices host) {
        shared.host = host;
        return this;
    }

    /** A guest's IN; 1, 2 or 4 bytes. */
    public long pioRead(int port, int size) {
        return shared.pio.read(port, size);
    }

    /** A guest's OUT; 1, 2 or 4 bytes. */
    public void pioWrite(int port, int size, long value) {
        shared.pio.write(port, size, value);
    }

    /** A guest's load outside RAM; mapped memory (ROMs, memory BARs) answers where it covers the address. */
    public long mmioRead(long address, int size) {
        var mapped = shared.memoryMap.at(address);
        if (mapped.isPresent() && sticksOut(mapped.get(), address, size)) {
            long value = 0;
            for (int i = 0; i < size; i++) {
                value |= (mmioRead(address + i, 1) & 0xff) << 8 * i;
            }
            return value;
        }
        if (mapped.isPresent()) {
            long value = 0;
            for (int i = 0; i < size; i++) {
                value |= (mapped.get()
                                        .memory()
                                        .get(
                                                java.lang.foreign.ValueLayout.JAVA_BYTE,
                                                address - mapped.get().gpa() + i)
                                & 0xffL)
                        << 8 * i;
            }
            return value;
        }
        return shared.mmio.read(address, size);
    }

    private static boolean sticksOut(FakeMemoryMap.FakeMapping mapping, long address, int size) {
        return address - mapping.gpa() + size > mapping.memory().byteSize();
    }

    /** A guest's store outside RAM; mapped memory takes it where it covers the address and may be written. */
    public void mmioWrite(long address, int size, long value) {
        var mapped = shared.memoryMap.at(address);
        if (mapped.isPresent() && sticksOut(mapped.get(), address, size)) {
            for (int i = 0; i < size; i++) {
                mmioWrite(address + i, 1, value >>> 8 * i & 0xff);
            }
            return;
        }
        if (mapped.isPresent()) {
            for (int i = 0; i < size && mapped.get().access() == MemoryAccess.READ_WRITE; i++) {
                mapped.get()
                        .memory()
                        .set(
                                java.lang.foreign.ValueLayout.JAVA_BYTE,
                                address - mapped.get().gpa() + i,
                                (byte) (value >>> 8 * i));
            }
            return;
        }
        shared.mmio.write(address, size, value);
    }

    /** The default loop and all iothreads. */
    public List<FakeEventLoop> loops() {
        List<FakeEventLoop> all = new ArrayList<>();
        all.add(shared.mainLoop);
        all.addAll(shared.iothreads.values());
        return all;
    }

    /** Lets all loops run until nothing is pending on any. */
    public int runPending() {
        int total = 0;
        int ran;
        do {
            ran = shared.mainLoop.runPending();
            for (FakeEventLoop loop : shared.iothreads.values()) {
                ran += loop.runPending();
            }
            total += ran;
        } while (ran > 0);
        return total;
    }

    /** Moves the clock to the next timer of any loop again and again until the time is reached, running what is due. */
    public void advance(long deltaNanos) {
        long target = shared.clock.nanoTime() + deltaNanos;
        runPending();
        while (shared.clock.nanoTime() < target) {
            long next = shared.mainLoop.nextDeadlineNanos();
            for (FakeEventLoop loop : shared.iothreads.values()) {
                next = Math.min(next, loop.nextDeadlineNanos());
            }
            shared.clock.advanceTo(Math.min(next, target));
            runPending();
        }
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Path resolve(Path path) {
        return Path.of("/fake").resolve(path);
    }

    @Override
    public FakeStats stats() {
        return stats;
    }

    @Override
    public System.Logger logger() {
        return System.getLogger("benchtop.test." + id);
    }

    @Override
    public HostServices host() {
        return shared.host;
    }

    @Override
    public FakeGuestMemory memory() {
        return shared.memory;
    }

    @Override
    public FakeMemoryMap memoryMap() {
        return shared.memoryMap;
    }

    @Override
    public BusRange pio(int base, int size, PioDevice device) {
        return shared.pio.claim(id, base, size, device);
    }

    @Override
    public BusRange mmio(long base, long sizeBytes, MmioDevice device) {
        return shared.mmio.claim(id, base, sizeBytes, device);
    }

    /** The port space, to look at what is claimed. */
    public FakeBus pioBus() {
        return shared.pio;
    }

    /** The memory space, to look at what is claimed. */
    public FakeBus mmioBus() {
        return shared.mmio;
    }

    @Override
    public void vcpuMmio(VcpuMmio device) {
        if (shared.vcpuMmio != null) {
            throw BenchtopException.config("another device answers for single vCPUs already");
        }
        shared.vcpuMmio = device;
    }

    @Override
    public void installHypervisor(Hypervisor hypervisor) {
        if (shared.hypervisor != null) {
            throw BenchtopException.config("another device offers a hypervisor interface already");
        }
        shared.hypervisor = hypervisor;
    }

    /** What {@link #installHypervisor} got. */
    public Hypervisor hypervisor() {
        return java.util.Objects.requireNonNull(shared.hypervisor, "no device offers a hypervisor interface");
    }

    /** A load by one vCPU: what {@link #vcpuMmio} registered answers first. */
    public long mmioRead(int vcpu, long address, int size) {
        VcpuMmio local = shared.vcpuMmio;
        return local != null && local.decodes(vcpu, address)
                ? local.read(vcpu, address, size)
                : mmioRead(address, size);
    }

    /** A store by one vCPU: what {@link #vcpuMmio} registered takes it first. */
    public void mmioWrite(int vcpu, long address, int size, long value) {
        VcpuMmio local = shared.vcpuMmio;
        if (local != null && local.decodes(vcpu, address)) {
            local.write(vcpu, address, size, value);
        } else {
            mmioWrite(address, size, value);
        }
    }

    @Override
    public FakePciBus pci() {
        return shared.pci;
    }

    @Override
    public IrqChip irqChip() {
        IrqChip installed = shared.installedChip;
        return installed == null ? shared.irqChip : installed;
    }

    /** What the fake interrupt controllers have seen, where no device has installed others. */
    public FakeIrqChip irqs() {
        return shared.irqChip;
    }

    @Override
    public void installIrqChip(IrqChip chip) {
        if (shared.installedChip != null) {
            throw BenchtopException.config("an interrupt controller is already installed");
        }
        shared.installedChip = chip;
    }

    @Override
    public IoEvent ioEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        return shared.pci.bus(space).ioEvent(address, match, doorbell);
    }

    @Override
    public FakeClock clock() {
        return shared.clock;
    }

    @Override
    public FakeEventLoop eventLoop() {
        return shared.mainLoop;
    }

    @Override
    public FakeEventLoop eventLoop(String iothread) {
        EventLoop loop = shared.iothreads.get(iothread);
        if (loop == null) {
            throw BenchtopException.config("no iothread \"" + iothread + "\"; there are " + shared.iothreads.keySet());
        }
        return (FakeEventLoop) loop;
    }

    @Override
    public BlockBackend drive(String name) {
        return take(shared.drives, "drive", name);
    }

    @Override
    public Chardev chardev(String name) {
        return take(shared.chardevs, "chardev", name);
    }

    @Override
    public NetBackend netdev(String name) {
        return take(shared.netdevs, "netdev", name);
    }

    private static <T> T take(Map<String, T> map, String what, String name) {
        T entry = map.remove(name);
        if (entry == null) {
            throw BenchtopException.config("no unused " + what + " \"" + name + "\"; there are " + map.keySet());
        }
        return entry;
    }

    @Override
    public FakeMachineControl machine() {
        return shared.machine;
    }

    @Override
    public FakeServices services() {
        return shared.services;
    }
}
