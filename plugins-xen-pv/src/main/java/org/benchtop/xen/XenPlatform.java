package org.benchtop.xen;

import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLongArray;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.Hypervisor;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryRegion;
import org.benchtop.spi.state.SavedState;
import org.benchtop.xen.store.StoreRing;
import org.benchtop.xen.store.XenStore;

/**
 * Makes a machine look like a Xen domain: CPUID leaves, hypercalls by VMCALL and by hypercall page, the platform PCI device,
 * and xenstore. Backends of the same machine find it as {@link XenDomain}.
 */
final class XenPlatform implements Device, Hypervisor, XenDomain {
    /** The MSR that places the hypercall page. */
    static final int HYPERCALL_PAGE_MSR = 0x4000_0000;

    private static final int PARAM_CALLBACK_IRQ = 0;
    private static final int PARAM_STORE_PFN = 1;
    private static final int PARAM_STORE_EVTCHN = 2;
    private static final int PARAM_CONSOLE_PFN = 17;
    private static final int PARAM_CONSOLE_EVTCHN = 18;
    private static final int PARAMS = 44;

    // CPUID base + 4, EAX.
    private static final int CPUID_VCPU_ID_PRESENT = 1 << 3;
    private static final int CPUID_DOMID_PRESENT = 1 << 4;
    private static final int CPUID_UPCALL_VECTOR = 1 << 6;
    private static final int LEAVES = 4;

    private static final int SHUTDOWN_POWEROFF = 0;
    private static final int SHUTDOWN_REBOOT = 1;
    private static final int SHUTDOWN_SUSPEND = 2;
    private static final int SHUTDOWN_CRASH = 3;
    private static final int SHUTDOWN_WATCHDOG = 4;
    private static final int SHUTDOWN_SOFT_RESET = 5;

    private static final int CALLS = Xen.PAGE_SIZE / 32;
    private static final int IRET = 23;
    private static final int MAX_CONSOLE_LINE = 512;

    private final String id;
    private final XenOptions options;
    private final XenStore store = new XenStore();
    private final List<Runnable> beforeRestart = new CopyOnWriteArrayList<>();
    private final List<Runnable> afterRestart = new CopyOnWriteArrayList<>();
    private final Set<Integer> disks = new HashSet<>();
    private final AtomicLongArray parameters = new AtomicLongArray(PARAMS);
    private final StringBuilder emergencyLine = new StringBuilder();
    private Optional<Attached> attached = Optional.empty();
    private volatile Runnable consoleHandler = () -> {};

    private record Attached(
            DeviceContext context,
            SharedPages pages,
            VcpuInfos infos,
            EventChannels events,
            Callback callback,
            VcpuTimers timers,
            Hypercalls calls,
            CallMemory[] arguments,
            PlatformPci pci,
            StoreRing storeRing,
            Doorbell storeDoorbell,
            EventChannel[] builders,
            UUID uuid) {}

    private static final int STORE_CHANNEL = 0;
    private static final int CONSOLE_CHANNEL = 1;

    XenPlatform(String id, XenOptions options) {
        this.id = id;
        this.options = options;
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    @Override
    public void attach(DeviceContext context) {
        if (!context.irqChip().supportsMsi()) {
            throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + " needs local APICs for the vectors of its events");
        }
        context.installHypervisor(this);
        int cpus = context.machine().cpus();
        SharedPages pages = new SharedPages(context.memoryMap());
        VcpuInfos infos = new VcpuInfos(pages.shared(), cpus);
        Callback callback = new Callback(context, infos, context.stats().counter("upcalls"));
        EventChannels events = new EventChannels(cpus, pages.shared(), infos, callback);
        VcpuTimers timers = new VcpuTimers(context, infos, events);
        Hypercalls calls = new Hypercalls(
                this,
                context.memory(),
                events,
                pages.grants(),
                context.logger(),
                context.stats().counter("hypercalls"),
                context.stats().counter("unknown-hypercalls"));
        CallMemory[] arguments = new CallMemory[cpus];
        for (int i = 0; i < cpus; i++) {
            arguments[i] = new CallMemory(context.memory(), context.machine().vcpu(i));
        }
        EventChannel[] builders = new EventChannel[2];
        Doorbell doorbell = context.eventLoop().doorbell("xenstore", this::storeTurn);
        StoreRing ring = new StoreRing(
                store,
                Xen.DOMID,
                DomainTree.HOME,
                pages.store(),
                doorbell::ring,
                () -> builders[STORE_CHANNEL].signal());
        UUID uuid = UUID.nameUUIDFromBytes(context.machine().name().getBytes(StandardCharsets.UTF_8));
        PlatformPci pci = new PlatformPci(id, options, context);
        attached = Optional.of(new Attached(
                context, pages, infos, events, callback, timers, calls, arguments, pci, ring, doorbell, builders,
                uuid));
        pages.mapRings();
        context.services().provide(XenDomain.class, this);
    }

    private void storeTurn() {
        attached.ifPresent(a -> a.storeRing.turn());
    }

    // Hypervisor.

    @Override
    public boolean cpuid(int vcpu, int leaf, int[] registers) {
        long index = leaf - options.cpuidBase();
        if (index < 0 || index > LEAVES) {
            return false;
        }
        java.util.Arrays.fill(registers, 0);
        switch ((int) index) {
            case 0 -> {
                registers[0] = (int) options.cpuidBase() + LEAVES;
                registers[1] = 0x566e_6558; // "XenV"
                registers[2] = 0x65_584d4d; // "MMXe"
                registers[3] = 0x4d4d_566e; // "nVMM"
            }
            case 1 -> registers[0] = options.versionWord();
            case 2 -> {
                registers[0] = 1;
                registers[1] = HYPERCALL_PAGE_MSR;
            }
            case 4 -> {
                registers[0] = CPUID_VCPU_ID_PRESENT | CPUID_DOMID_PRESENT | CPUID_UPCALL_VECTOR;
                registers[1] = vcpu;
                registers[2] = Xen.DOMID;
            }
            default -> {}
        }
        return true;
    }

    @Override
    public long hypercall(int vcpu, long[] registers, boolean longMode, int privilegeLevel) {
        if (privilegeLevel != 0) {
            return Xen.EPERM;
        }
        Attached a = attached();
        if (!longMode) {
            a.context.logger().log(Level.DEBUG, "hypercall from 32-bit code: -ENOSYS");
            return Xen.ENOSYS;
        }
        a.callback.recheck();
        return a.calls.call(vcpu, a.arguments[vcpu], registers[0], registers[7], registers[6], registers[2]);
    }

    @Override
    public OptionalLong readMsr(int vcpu, int msr) {
        return msr == HYPERCALL_PAGE_MSR ? OptionalLong.of(0) : OptionalLong.empty();
    }

    @Override
    public boolean writeMsr(int vcpu, int msr, long value) {
        if (msr != HYPERCALL_PAGE_MSR) {
            return false;
        }
        // The low bits choose a page; there is one.
        if ((value & Xen.PAGE_SIZE - 1) != 0) {
            return false;
        }
        try {
            attached().context.memory().write(value, hypercallPage(), 0, Xen.PAGE_SIZE);
            return true;
        } catch (GuestFault e) {
            return false;
        }
    }

    /** 32 bytes for each call: its number into EAX, VMCALL, and back. */
    private static byte[] hypercallPage() {
        byte[] page = new byte[Xen.PAGE_SIZE];
        for (int i = 0; i < CALLS; i++) {
            byte[] code = i == IRET
                    ? new byte[] {0x0f, 0x0b}
                    : new byte[] {(byte) 0xb8, (byte) i, 0, 0, 0, 0x0f, 0x01, (byte) 0xc1, (byte) 0xc3};
            System.arraycopy(code, 0, page, 32 * i, code.length);
        }
        return page;
    }

    // For hypercalls.

    XenOptions options() {
        return options;
    }

    SharedPages pages() {
        return attached().pages;
    }

    VcpuTimers timers() {
        return attached().timers;
    }

    int cpus() {
        return attached().context.machine().cpus();
    }

    byte[] uuid() {
        UUID uuid = attached().uuid;
        return ByteBuffer.allocate(16)
                .putLong(uuid.getMostSignificantBits())
                .putLong(uuid.getLeastSignificantBits())
                .array();
    }

    long maximumPage() {
        long end = 0;
        for (MemoryRegion region : memory().regions()) {
            end = Math.max(end, region.endGpa());
        }
        return (end >>> Xen.PAGE_SHIFT) - 1;
    }

    long registerInfo(int vcpu, MemorySegment place) {
        Attached a = attached();
        a.infos.register(vcpu, place);
        a.timers.update(vcpu);
        if (a.infos.selectAll(vcpu)) {
            a.callback.raise(vcpu);
        }
        return 0;
    }

    boolean hasParameter(int index) {
        return index >= 0 && index < PARAMS;
    }

    long parameter(int index) {
        return parameters.get(index);
    }

    long setParameter(int index, long value) {
        if (!hasParameter(index)) {
            return Xen.EINVAL;
        }
        if (index != PARAM_CALLBACK_IRQ) {
            return Xen.EPERM;
        }
        Attached a = attached();
        long result = a.callback.via(value, a.pci.function());
        if (result == 0) {
            parameters.set(index, value);
        }
        return result;
    }

    long upcallVector(int vcpu, int vector) {
        return attached().callback.vector(vcpu, vector);
    }

    /** What kernels print before they have a console. */
    synchronized void emergencyConsole(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\n' || emergencyLine.length() >= MAX_CONSOLE_LINE) {
                attached().context.logger().log(Level.DEBUG, "guest: {0}", emergencyLine);
                emergencyLine.setLength(0);
            }
            if (c >= ' ' && c < 0x7f) {
                emergencyLine.append(c);
            }
        }
    }

    long shutdown(int reason) {
        Attached a = attached();
        switch (reason) {
            case SHUTDOWN_POWEROFF -> a.context.machine().requestPowerOff();
            case SHUTDOWN_REBOOT, SHUTDOWN_WATCHDOG -> a.context.machine().requestReset();
            case SHUTDOWN_CRASH -> a.context.machine().guestPanicked(id + ": the guest says that it has crashed");
            case SHUTDOWN_SOFT_RESET -> softReset();
            case SHUTDOWN_SUSPEND -> {
                return Xen.ENOSYS;
            }
            default -> {
                return Xen.EINVAL;
            }
        }
        return 0;
    }

    /** The guest starts another kernel in the same memory: everything is as at its start, but memory and vCPUs go on. */
    private void softReset() {
        Attached a = attached();
        beforeRestart.forEach(Runnable::run);
        a.context.eventLoop().call(() -> begin(a));
        afterRestart.forEach(Runnable::run);
    }

    /** Everything as the domain builder leaves it. */
    private void begin(Attached a) {
        a.timers.reset();
        a.callback.reset();
        a.events.reset();
        a.pages.reset();
        a.infos.reset();
        for (int i = 0; i < PARAMS; i++) {
            parameters.set(i, 0);
        }
        a.builders[STORE_CHANNEL] = a.events.connectNew(a.storeDoorbell::ring);
        a.builders[CONSOLE_CHANNEL] = a.events.connectNew(() -> consoleHandler.run());
        parameters.set(PARAM_STORE_PFN, SharedPages.STORE_FRAME);
        parameters.set(PARAM_STORE_EVTCHN, a.builders[STORE_CHANNEL].port());
        parameters.set(PARAM_CONSOLE_PFN, SharedPages.CONSOLE_FRAME);
        parameters.set(PARAM_CONSOLE_EVTCHN, a.builders[CONSOLE_CHANNEL].port());
        store.reset();
        DomainTree.build(
                store,
                a.context.machine().name(),
                a.uuid.toString(),
                cpus(),
                memory().sizeBytes(),
                a.builders[STORE_CHANNEL].port());
        a.storeRing.reset();
    }

    /** Shows the shared information page at a frame, with the time as it is now: counters of vCPUs begin after our reset. */
    long mapSharedInfo(long frame) {
        Attached a = attached();
        updateTime(a);
        return a.pages.map(SharedPages.SHARED_INFO, frame);
    }

    private void updateTime(Attached a) {
        for (int i = 0; i < cpus(); i++) {
            a.timers.update(i);
        }
        a.timers.wallClock(a.pages.shared());
    }

    // For backends.

    @Override
    public XenStore store() {
        return store;
    }

    @Override
    public EventChannels events() {
        return attached().events;
    }

    @Override
    public GrantTable grants() {
        return attached().pages.grants();
    }

    @Override
    public GuestMemory memory() {
        return attached().context.memory();
    }

    @Override
    public EventLoop loop() {
        return attached().context.eventLoop();
    }

    @Override
    public MemorySegment consolePage() {
        return attached().pages.console();
    }

    @Override
    public Runnable connectConsole(Runnable onNotify) {
        consoleHandler = onNotify;
        EventChannel[] builders = attached().builders;
        return () -> builders[CONSOLE_CHANNEL].signal();
    }

    @Override
    public void onRestart(Runnable before, Runnable after) {
        beforeRestart.add(before);
        afterRestart.add(after);
    }

    @Override
    public synchronized int claimDisk(String owner, String name) {
        if (name.isEmpty()) {
            int next = 0;
            while (!disks.add(next)) {
                next++;
            }
            return DiskName.number(next);
        }
        OptionalInt index = DiskName.index(name);
        if (index.isEmpty()) {
            throw BenchtopException.config(owner + ": \"" + name + "\" is not the name of a Xen disk: xvda to xvdz");
        }
        if (!disks.add(index.getAsInt())) {
            throw BenchtopException.config(owner + ": another disk is called " + name);
        }
        return DiskName.number(index.getAsInt());
    }

    // Life.

    @Override
    public void reset() {
        Attached a = attached();
        a.pci.reset();
        a.context.eventLoop().call(() -> begin(a));
    }

    @Override
    public void pause() {
        attached().context.eventLoop().call(() -> {});
    }

    @Override
    public void resume() {
        Attached a = attached();
        updateTime(a);
        a.storeDoorbell.ring();
    }

    @Override
    public SavedState saveState() {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + ": a Xen domain cannot be saved");
    }

    @Override
    public void restoreState(SavedState state) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + ": a Xen domain cannot be restored");
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        attached.ifPresent(a -> {
            map.put("version", options.version());
            map.put("pages", a.pages.describe());
            for (int i = 0; i < a.infos.count(); i++) {
                map.put("vcpu" + i, a.callback.describe(i));
            }
            map.put("grants-in-use", a.pages.grants().claimed());
            map.put("event-channels", a.events.describe());
            map.put("store-ring-broken", a.storeRing.broken());
            map.put("xenstore", store.tree());
        });
        return map;
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            a.timers.close();
            a.callback.close();
            a.storeDoorbell.close();
            a.pages.close();
            a.pci.close();
        });
        attached = Optional.empty();
    }
}
