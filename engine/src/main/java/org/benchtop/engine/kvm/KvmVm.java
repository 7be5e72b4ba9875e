package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.EventFdDoorbell;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.state.SavedState;

/** A VM of KVM with interrupt controllers and timer in the kernel. */
public final class KvmVm implements CpuVm {
    /** Four pages below 4 GiB that KVM needs on some CPUs for real mode; no RAM, ROM or device may be there. */
    private static final long IDENTITY_MAP_GPA = 0xfeff_c000L;

    private static final long TSS_GPA = IDENTITY_MAP_GPA + MemorySlots.PAGE_BYTES;
    private static final int KVM_PIT_SPEAKER_DUMMY = 1;
    private static final int MSR_EXIT_INVALID_OR_UNKNOWN = 3;

    private final KvmSystem system;
    private final int fd;
    private final CpuVmConfig config;
    private final CpuHost host;
    private final MemorySlots memory;
    private final InKernelIrqChip irqChip;
    private final IoEvents ioEvents;
    private final CoalescedRing coalescedRing;
    private final CpuidTable cpuid;
    private final int[] msrIndices;
    private final int runMappingBytes;
    private final VmState powerOn;
    private final List<KvmVcpu> vcpus = new CopyOnWriteArrayList<>();
    private volatile boolean coalescing;
    private long pausedClockNanos = -1;
    private boolean closed;

    private KvmVm(KvmSystem system, int fd, KvmOptions options, CpuVmConfig config, CpuHost host) {
        this.system = system;
        this.fd = fd;
        this.config = config;
        this.host = host;
        cpuid = GuestCpuid.forModel(config.model(), system.supportedCpuid(), system.has(KvmCap.TSC_DEADLINE_TIMER));
        msrIndices = system.msrIndices();
        runMappingBytes = system.runMappingBytes();
        createPlatform();
        InKernelIrqChip.Delivery delivery = delivery(system, options.msi());
        irqChip = new InKernelIrqChip(fd, system.value(KvmCap.IRQ_ROUTING), delivery);
        memory = new MemorySlots(fd, system.memorySlots(), system.has(KvmCap.READONLY_MEM), this::holdVcpus);
        ioEvents = new IoEvents(fd, system);
        coalescedRing = new CoalescedRing(host);
        powerOn = readState();
    }

    /**
     * Creates a VM.
     *
     * @throws BenchtopException with one line if the host or KVM cannot, or an option is wrong
     */
    static KvmVm create(KvmOptions options, CpuVmConfig config, CpuHost host) {
        KvmSystem system = KvmSystem.open(options.device());
        int fd = -1;
        try {
            if (config.cpus() < 1 || config.cpus() > system.maxVcpus()) {
                throw BenchtopException.config(
                        "cpus: " + config.cpus() + " is outside 1–" + system.maxVcpus() + ", which KVM allows here");
            }
            fd = system.createVm();
            return new KvmVm(system, fd, options, config, host);
        } catch (RuntimeException e) {
            if (fd >= 0) {
                LibC.close(fd);
            }
            system.close();
            throw e;
        }
    }

    private static InKernelIrqChip.Delivery delivery(KvmSystem system, KvmOptions.MsiDelivery wanted) {
        boolean signal = system.has(KvmCap.SIGNAL_MSI);
        boolean irqfd = system.has(KvmCap.IRQFD);
        return switch (wanted) {
            case AUTO ->
                signal
                        ? InKernelIrqChip.Delivery.SIGNAL
                        : irqfd ? InKernelIrqChip.Delivery.IRQFD : InKernelIrqChip.Delivery.NONE;
            case SIGNAL -> {
                if (!signal) {
                    throw system.unsupported("msi: signal needs KVM_CAP_SIGNAL_MSI");
                }
                yield InKernelIrqChip.Delivery.SIGNAL;
            }
            case IRQFD -> {
                if (!irqfd) {
                    throw system.unsupported("msi: irqfd needs KVM_CAP_IRQFD");
                }
                yield InKernelIrqChip.Delivery.IRQFD;
            }
        };
    }

    /** What must be there before the first vCPU. */
    private void createPlatform() {
        call("KVM_SET_TSS_ADDR", KvmIoctl.KVM_SET_TSS_ADDR, TSS_GPA);
        try (Arena arena = Arena.ofConfined()) {
            if (system.has(KvmCap.SET_IDENTITY_MAP_ADDR)) {
                MemorySegment address = arena.allocateFrom(ValueLayout.JAVA_LONG, IDENTITY_MAP_GPA);
                call("KVM_SET_IDENTITY_MAP_ADDR", KvmIoctl.KVM_SET_IDENTITY_MAP_ADDR, address.address());
            }
            call("KVM_CREATE_IRQCHIP", KvmIoctl.KVM_CREATE_IRQCHIP, 0);
            MemorySegment pit = arena.allocate(KvmPitConfig.LAYOUT);
            KvmPitConfig.flags(pit, 0, KVM_PIT_SPEAKER_DUMMY);
            call("KVM_CREATE_PIT2", KvmIoctl.KVM_CREATE_PIT2, pit.address());
            if (system.has(KvmCap.REINJECT_CONTROL)) {
                MemorySegment control = arena.allocate(KvmReinjectControl.LAYOUT);
                KvmReinjectControl.pitReinject(control, 0, 0);
                call("KVM_REINJECT_CONTROL", KvmIoctl.KVM_REINJECT_CONTROL, control.address());
            }
            if (system.has(KvmCap.X86_USER_SPACE_MSR) && system.has(KvmCap.ENABLE_CAP_VM)) {
                MemorySegment cap = arena.allocate(KvmEnableCap.LAYOUT);
                KvmEnableCap.cap(cap, 0, KvmCap.X86_USER_SPACE_MSR.number);
                KvmEnableCap.args(cap, 0, 0, MSR_EXIT_INVALID_OR_UNKNOWN);
                call("KVM_ENABLE_CAP", KvmIoctl.KVM_ENABLE_CAP, cap.address());
            }
        }
    }

    private void call(String what, long request, long argument) {
        // SAFETY: every caller passes a number, or the address of a live struct of the size in the request number.
        int result = LibC.ioctl(fd, request, argument);
        if (result < 0) {
            throw Errno.exception(config.machineName() + ": " + what, result);
        }
    }

    String name() {
        return config.machineName();
    }

    int cpus() {
        return config.cpus();
    }

    KvmSystem system() {
        return system;
    }

    CpuidTable cpuid() {
        return cpuid;
    }

    int[] msrIndices() {
        return msrIndices;
    }

    @Override
    public CpuVmFeatures features() {
        return new CpuVmFeatures(true, true, system.has(KvmCap.IOEVENTFD), system.has(KvmCap.READONLY_MEM));
    }

    @Override
    public void mapMemory(int slot, long gpa, MemorySegment segment, MemoryAccess access) {
        memory.map(slot, gpa, segment, access);
    }

    @Override
    public void unmapMemory(int slot) {
        memory.unmap(slot);
    }

    private void holdVcpus() {
        vcpus.forEach(KvmVcpu::hold);
        vcpus.forEach(KvmVcpu::awaitHeld);
    }

    void awaitMemoryChange() {
        memory.awaitChange();
    }

    /** Copies out of one slot; false if the range is not in one. */
    boolean readMemory(long gpa, byte[] destination, int offset, int lengthBytes) {
        return memory.at(gpa)
                .filter(found -> found.byteSize() >= lengthBytes)
                .map(found -> {
                    MemorySegment.copy(found, ValueLayout.JAVA_BYTE, 0, destination, offset, lengthBytes);
                    return true;
                })
                .orElse(false);
    }

    @Override
    public synchronized KvmVcpu createVcpu(int index) {
        if (closed) {
            throw BenchtopException.of(ErrorKind.INTERNAL, config.machineName() + " is closed");
        }
        if (index < 0 || index >= config.cpus() || vcpus.stream().anyMatch(vcpu -> vcpu.index() == index)) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL,
                    config.machineName() + " vCPU " + index + " exists already or is outside 0–" + (config.cpus() - 1));
        }
        int vcpuFd = Errno.checkedInt(
                config.machineName() + ": KVM_CREATE_VCPU", LibC.ioctl(fd, KvmIoctl.KVM_CREATE_VCPU, index));
        KvmVcpu vcpu = new KvmVcpu(this, host, index, vcpuFd, runMappingBytes, system.value(KvmCap.COALESCED_MMIO));
        vcpus.add(vcpu);
        return vcpu;
    }

    void forget(KvmVcpu vcpu) {
        vcpus.remove(vcpu);
    }

    @Override
    public Optional<IrqChip> irqChip() {
        return Optional.of(irqChip);
    }

    @Override
    public Optional<AutoCloseable> addIoEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        return doorbell instanceof EventFdDoorbell eventFd
                ? ioEvents.add(space, address, match, eventFd.fd())
                : Optional.empty();
    }

    /**
     * Queues the guest's writes to a range instead of leaving guest mode for each: for write-only registers whose effect
     * may come late. Queued writes reach the host, in order, before the next exit of any vCPU is handled.
     *
     * @return takes the range out again; empty if this KVM cannot do it
     */
    public Optional<AutoCloseable> coalesce(AddressSpace space, long address, int sizeBytes) {
        boolean port = space == AddressSpace.PIO;
        if (!system.has(KvmCap.COALESCED_MMIO) || (port && !system.has(KvmCap.COALESCED_PIO))) {
            return Optional.empty();
        }
        coalesced("KVM_REGISTER_COALESCED_MMIO", KvmIoctl.KVM_REGISTER_COALESCED_MMIO, port, address, sizeBytes);
        coalescing = true;
        return Optional.of(() -> {
            synchronized (this) {
                if (!closed) {
                    coalesced(
                            "KVM_UNREGISTER_COALESCED_MMIO",
                            KvmIoctl.KVM_UNREGISTER_COALESCED_MMIO,
                            port,
                            address,
                            sizeBytes);
                }
            }
        });
    }

    private void coalesced(String what, long request, boolean port, long address, int sizeBytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment zone = arena.allocate(KvmCoalescedMmioZone.LAYOUT);
            KvmCoalescedMmioZone.addr(zone, 0, address);
            KvmCoalescedMmioZone.size(zone, 0, sizeBytes);
            KvmCoalescedMmioZone.pio(zone, 0, port ? 1 : 0);
            call(what, request, zone.address());
        }
    }

    /** Hands on what was queued; nearly free while nothing is. */
    void drainCoalesced(MemorySegment ring, int vcpu) {
        if (coalescing) {
            coalescedRing.drain(ring, vcpu);
        }
    }

    @Override
    public void logDirty(boolean enabled) {
        memory.logDirty(enabled);
    }

    @Override
    public void collectDirty(int slot, long[] bitmap) {
        memory.collectDirty(slot, bitmap);
    }

    @Override
    public void written(long gpa, long lengthBytes) {
        // The CPU keeps its caches coherent.
    }

    @Override
    public synchronized void paused(boolean paused) {
        if (closed || !system.has(KvmCap.ADJUST_CLOCK)) {
            return;
        }
        if (paused) {
            pausedClockNanos = clockNanos();
        } else if (pausedClockNanos != -1) {
            clockNanos(pausedClockNanos);
            pausedClockNanos = -1;
            if (system.has(KvmCap.KVMCLOCK_CTRL)) {
                vcpus.forEach(KvmVcpu::notifyPaused);
            }
        }
    }

    private long clockNanos() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment clock = arena.allocate(KvmClockData.LAYOUT);
            call("KVM_GET_CLOCK", KvmIoctl.KVM_GET_CLOCK, clock.address());
            return KvmClockData.clock(clock, 0);
        }
    }

    private void clockNanos(long value) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment clock = arena.allocate(KvmClockData.LAYOUT);
            KvmClockData.clock(clock, 0, value);
            KvmClockData.flags(clock, 0, 0);
            call("KVM_SET_CLOCK", KvmIoctl.KVM_SET_CLOCK, clock.address());
        }
    }

    private VmState readState() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pit = arena.allocate(KvmPitState2.LAYOUT);
            call("KVM_GET_PIT2", KvmIoctl.KVM_GET_PIT2, pit.address());
            return new VmState(
                    irqChip.state(GsiRoutes.CHIP_PIC_MASTER),
                    irqChip.state(GsiRoutes.CHIP_PIC_SLAVE),
                    irqChip.state(GsiRoutes.CHIP_IOAPIC),
                    pit.toArray(ValueLayout.JAVA_BYTE),
                    system.has(KvmCap.ADJUST_CLOCK) ? clockNanos() : 0);
        }
    }

    private void writeControllers(VmState state) {
        irqChip.state(state.picMaster());
        irqChip.state(state.picSlave());
        irqChip.state(state.ioapic());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pit = Blob.of(arena, state.pit(), KvmPitState2.SIZE, "kvm_pit_state2");
            call("KVM_SET_PIT2", KvmIoctl.KVM_SET_PIT2, pit.address());
        }
        irqChip.refreshLines();
    }

    @Override
    public synchronized void reset() {
        writeControllers(powerOn);
    }

    @Override
    public synchronized SavedState saveState() {
        return new SavedState(VmState.VERSION, readState());
    }

    @Override
    public synchronized void restoreState(SavedState state) {
        if (state.version() > VmState.VERSION || !(state.content() instanceof VmState content)) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    config.machineName() + ": saved state of version " + state.version()
                            + " is not one of accel kvm up to version " + VmState.VERSION);
        }
        writeControllers(content);
        if (system.has(KvmCap.ADJUST_CLOCK)) {
            clockNanos(content.clockNanos());
            pausedClockNanos = pausedClockNanos == -1 ? -1 : content.clockNanos();
        }
    }

    @Override
    public void close() {
        List<KvmVcpu> open = new ArrayList<>(vcpus);
        open.forEach(KvmVcpu::close);
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            ioEvents.close();
            irqChip.close();
            memory.close();
            LibC.close(fd);
            system.close();
        }
    }
}
