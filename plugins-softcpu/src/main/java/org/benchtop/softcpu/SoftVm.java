package org.benchtop.softcpu;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.cpu.AccessHook;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.cpu.ExecHook;
import org.benchtop.spi.cpu.InstructionCount;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.time.VirtualTime;
import org.jspecify.annotations.Nullable;

/** A VM of the software CPU: its memory, its decoded code, and what its processors agree on. */
final class SoftVm implements CpuVm {
    /** The time-stamp counter counts nanoseconds. */
    static final int TSC_HZ = 1_000_000_000;

    static final int MAX_CPUS = 255;

    private final SoftOptions options;
    private final CpuVmConfig config;
    private final CpuHost host;
    private final CpuFeatures features;
    private final PhysicalMemory memory = new PhysicalMemory();
    private final List<SoftVcpu> vcpus = new CopyOnWriteArrayList<>();
    private final ReentrantLock exclusive = new ReentrantLock();
    private final DebugHooks hooks = new DebugHooks();
    private final CodePages code = new CodePages(hooks);
    private volatile boolean stopped;
    private long pausedAt = -1;
    private volatile long pausedNanos;
    private boolean closed;
    private int hot = Translator.HOT;
    /** Deterministic mode; null without. */
    private final @Nullable Turns turns;
    /** State of RDRAND in deterministic mode. */
    private long random = 0x6a09_e667_f3bc_c908L;

    private boolean background = true;
    private @Nullable ExecutorService translator;

    SoftVm(SoftOptions options, CpuVmConfig config, CpuHost host) {
        if (config.cpus() < 1 || config.cpus() > MAX_CPUS) {
            throw BenchtopException.config("cpus: " + config.cpus() + " is outside 1–" + MAX_CPUS + " of accel soft");
        }
        this.options = options;
        this.config = config;
        this.host = host;
        this.features = CpuFeatures.of(config.model(), config.cpus());
        this.turns = options.icount() ? new Turns(this) : null;
    }

    CpuHost host() {
        return host;
    }

    String name() {
        return config.machineName();
    }

    PhysicalMemory memory() {
        return memory;
    }

    CodePages code() {
        return code;
    }

    CpuFeatures cpuFeatures() {
        return features;
    }

    DebugHooks hooks() {
        return hooks;
    }

    boolean gigabytePages() {
        return features.has(CpuFeatures.GIGABYTE_PAGES);
    }

    @Override
    public CpuVmFeatures features() {
        return new CpuVmFeatures(false, false, false, true, true);
    }

    @Override
    public Optional<IrqChip> irqChip() {
        return Optional.empty();
    }

    @Override
    public Optional<AutoCloseable> addIoEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        // The bus rings it: there is no guest mode to stay in.
        return Optional.empty();
    }

    // ---- memory ----

    @Override
    public void mapMemory(int slot, long gpa, MemorySegment segment, MemoryAccess access) {
        memory.map(slot, gpa, segment, access);
        memoryChanged();
    }

    @Override
    public void unmapMemory(int slot) {
        memory.unmap(slot);
        memoryChanged();
    }

    private void memoryChanged() {
        for (SoftVcpu vcpu : vcpus) {
            vcpu.request(SoftVcpu.FLUSH);
        }
        for (SoftVcpu vcpu : vcpus) {
            vcpu.awaitFlush();
        }
        code.clear();
    }

    @Override
    public void logDirty(boolean enabled) {
        memory.logDirty(enabled);
        vcpus.forEach(vcpu -> vcpu.request(SoftVcpu.FLUSH));
    }

    @Override
    public void collectDirty(int slot, long[] bitmap) {
        // Flushed first: a write that follows is seen as a new one, or marks the page before it is collected.
        for (SoftVcpu vcpu : vcpus) {
            vcpu.request(SoftVcpu.FLUSH);
        }
        for (SoftVcpu vcpu : vcpus) {
            vcpu.awaitFlush();
        }
        memory.collectDirty(slot, bitmap);
    }

    @Override
    public void written(long gpa, long lengthBytes) {
        // Written before the claims of code are looked at, see BlockBuilder.
        VarHandle.fullFence();
        long at = gpa;
        long left = lengthBytes;
        while (left > 0) {
            int part = (int) Math.min(left, 4096 - (at & 4095));
            PhysicalMemory.Slot slot = memory.at(at);
            if (slot != null) {
                long host = slot.host + (at - slot.gpa);
                if (code.overlaps(host, part)) {
                    dropCode(host, part);
                }
            }
            at += part;
            left -= part;
        }
    }

    /** Drops the code of a range inside one page that was written, and gets processors out of it. Any thread. */
    void dropCode(long host, int length) {
        code.invalidate(host, length);
        for (SoftVcpu vcpu : vcpus) {
            vcpu.request(SoftVcpu.CODE);
        }
    }

    /** A page got its first code: no processor may write it unseen any more. Called by a running processor. */
    void protect(Cpu c, long hostPage) {
        exclusively(c, () -> {
            for (SoftVcpu vcpu : vcpus) {
                vcpu.cpu().mmu.protect(hostPage);
            }
            code.isProtected(hostPage);
            return 0;
        });
    }

    // ---- all processors ----

    /** Runs something while no other processor is inside an instruction. Called by a running processor. */
    long exclusively(Cpu c, LongSupplier action) {
        if (vcpus.size() == 1) {
            return action.getAsLong();
        }
        c.vcpu.leaveGuest();
        exclusive.lock();
        try {
            stopped = true;
            for (SoftVcpu vcpu : vcpus) {
                if (vcpu.cpu() != c) {
                    vcpu.request(SoftVcpu.EXCLUSIVE);
                }
            }
            for (SoftVcpu vcpu : vcpus) {
                if (vcpu.cpu() != c) {
                    vcpu.awaitOutside();
                }
            }
            // The memory map may have changed meanwhile, but does not from here on.
            c.vcpu.returnFromDevice();
            return action.getAsLong();
        } finally {
            stopped = false;
            exclusive.unlock();
        }
    }

    /** Whether a processor must wait in {@link #awaitExclusive} before it goes on. */
    boolean stopped() {
        return stopped && !exclusive.isHeldByCurrentThread();
    }

    void awaitExclusive() {
        exclusive.lock();
        exclusive.unlock();
    }

    // ---- vCPUs ----

    @Override
    public synchronized SoftVcpu createVcpu(int index) {
        if (closed || index < 0 || index >= config.cpus() || vcpus.stream().anyMatch(v -> v.index() == index)) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL,
                    name() + " vCPU " + index + " exists already, or the VM is closed, or has only " + config.cpus()
                            + " vCPUs");
        }
        SoftVcpu vcpu = new SoftVcpu(this, index);
        vcpus.add(vcpu);
        return vcpu;
    }

    void forget(SoftVcpu vcpu) {
        vcpus.remove(vcpu);
    }

    List<SoftVcpu> vcpus() {
        return vcpus;
    }

    // ---- devices ----

    long portRead(Cpu c, int port, int size) {
        c.debug.port(port, size);
        c.vcpu.counters().count(SoftExits.PIO_IN);
        c.vcpu.leaveGuest();
        try {
            return host.pioRead(c.index, port, size) & Cpu.mask(size);
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    void portWrite(Cpu c, int port, int size, long value) {
        c.debug.port(port, size);
        c.vcpu.counters().count(SoftExits.PIO_OUT);
        c.vcpu.leaveGuest();
        try {
            host.pioWrite(c.index, port, size, value & Cpu.mask(size));
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    long deviceRead(Cpu c, long gpa, int size) {
        c.vcpu.counters().count(SoftExits.MMIO_READ);
        c.vcpu.leaveGuest();
        try {
            return host.mmioRead(c.index, gpa, size) & Cpu.mask(size);
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    void deviceWrite(Cpu c, long gpa, int size, long value) {
        c.vcpu.counters().count(SoftExits.MMIO_WRITE);
        c.vcpu.leaveGuest();
        try {
            host.mmioWrite(c.index, gpa, size, value & Cpu.mask(size));
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    long hypercall(Cpu c) {
        c.vcpu.counters().count(SoftExits.HYPERCALL);
        c.vcpu.leaveGuest();
        try {
            return host.hypercall(c.index, c.r, c.codeSize == 8, c.cpl);
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    OptionalLong readMsr(Cpu c, int msr) {
        c.vcpu.leaveGuest();
        try {
            return host.readMsr(c.index, msr);
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    boolean writeMsr(Cpu c, int msr, long value) {
        c.vcpu.leaveGuest();
        try {
            return host.writeMsr(c.index, msr, value);
        } finally {
            c.vcpu.returnFromDevice();
        }
    }

    boolean multiprocessor() {
        return config.cpus() > 1;
    }

    long random() {
        if (turns == null) {
            return BitOps.hostRandom();
        }
        // SplitMix64: every run gets the same numbers.
        random += 0x9e37_79b9_7f4a_7c15L;
        long z = (random ^ random >>> 30) * 0xbf58_476d_1ce4_e5b9L;
        z = (z ^ z >>> 27) * 0x94d0_49bb_1331_11ebL;
        return z ^ z >>> 31;
    }

    /** Deterministic mode; null without. */
    @Nullable
    Turns turns() {
        return turns;
    }

    int cpus() {
        return config.cpus();
    }

    @Override
    public Optional<VirtualTime> virtualTime() {
        return Optional.ofNullable(turns);
    }

    @Override
    public void reset() {
        if (turns != null) {
            turns.reset();
        }
    }

    /**
     * Deterministic mode, between turns.
     *
     * @param nanos virtual time
     * @param turn the processor whose turn it is
     * @param left instructions of its turn
     * @param random state of RDRAND
     */
    record CountedState(long nanos, int turn, long left, long random) {
        static final int VERSION = 1;
    }

    @Override
    public SavedState saveState() {
        return turns == null ? SavedState.EMPTY : new SavedState(CountedState.VERSION, turns.save(random));
    }

    @Override
    public void restoreState(SavedState state) {
        if (turns == null) {
            return;
        }
        if (state.version() > CountedState.VERSION || !(state.content() instanceof CountedState content)) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    name() + ": saved state of version " + state.version()
                            + " is not one of accel soft with icount up to version " + CountedState.VERSION);
        }
        turns.restore(content);
        random = content.random();
    }

    // ---- watchpoints ----

    /** Whether a processor may not access a linear page through its TLB. */
    boolean watched(Cpu c, long linearPage) {
        return hooks.watches(linearPage) || c.debug.watches(linearPage);
    }

    /** Sets the watchpoints of all processors. */
    void watch(long[] ranges, boolean reads) {
        hooks.set(ranges, reads);
        for (SoftVcpu vcpu : vcpus) {
            vcpu.request(SoftVcpu.FLUSH);
        }
    }

    private AutoCloseable added(Object hook) {
        hooksChanged();
        return () -> {
            hooks.remove(hook);
            hooksChanged();
        };
    }

    private void hooksChanged() {
        code.clear();
        for (SoftVcpu vcpu : vcpus) {
            vcpu.request(SoftVcpu.FLUSH);
            vcpu.request(SoftVcpu.CODE);
            vcpu.tracingChanged();
        }
    }

    @Override
    public AutoCloseable onExec(long virtualAddress, ExecHook hook) {
        return added(hooks.add(virtualAddress, hook));
    }

    @Override
    public AutoCloseable onAccess(
            long virtualAddress, long lengthBytes, boolean reads, boolean writes, AccessHook hook) {
        if (lengthBytes < 1) {
            throw BenchtopException.config("a watched range of " + lengthBytes + " bytes");
        }
        return added(hooks.add(virtualAddress, lengthBytes, reads, writes, hook));
    }

    @Override
    public AutoCloseable trace(ExecHook hook) {
        return added(hooks.addTrace(hook));
    }

    @Override
    public List<InstructionCount> countInstructions(boolean enabled) {
        // Blocks are counted when they go.
        code.clear();
        List<InstructionCount> counts = hooks.counts();
        hooks.counting(enabled);
        hooksChanged();
        return counts;
    }

    void watchRead(Cpu c, long linear, int size) {
        c.debug.access(linear, size, false);
        if (hooks.active()) {
            hooks.access(c, linear, size, false);
        }
    }

    void watchWrite(Cpu c, long linear, int size) {
        c.debug.access(linear, size, true);
        if (hooks.active()) {
            hooks.access(c, linear, size, true);
        }
    }

    // ---- time ----

    /** Nanoseconds that the VM has run. */
    long clockNanos() {
        if (turns != null) {
            return turns.nanoTime();
        }
        return (pausedAt >= 0 ? pausedAt : System.nanoTime()) - pausedNanos;
    }

    @Override
    public synchronized void paused(boolean paused) {
        if (paused && pausedAt < 0) {
            pausedAt = System.nanoTime();
        } else if (!paused && pausedAt >= 0) {
            pausedNanos += System.nanoTime() - pausedAt;
            pausedAt = -1;
        }
    }

    /** How often a block is executed before it is translated. */
    int hot() {
        return hot;
    }

    /** For tests: also translates at once. */
    void hot(int executions) {
        hot = executions;
        background = false;
    }

    /** Translates hot code, on a thread of its own. */
    void translate(Block block) {
        if (!background) {
            Translator.install(this, block);
            return;
        }
        synchronized (this) {
            if (closed) {
                return;
            }
            if (translator == null) {
                translator = Executors.newSingleThreadExecutor(task -> Thread.ofPlatform()
                        .daemon(true)
                        .name("benchtop-translator-" + name())
                        .unstarted(task));
            }
            translator.execute(() -> Translator.install(this, block));
        }
    }

    SoftOptions options() {
        return options;
    }

    @Override
    public void close() {
        vcpus.forEach(SoftVcpu::close);
        synchronized (this) {
            closed = true;
            if (translator != null) {
                translator.shutdownNow();
            }
        }
    }

    @Override
    public String toString() {
        return "SoftVm[" + name() + "]";
    }

    /** The vCPU of an index; null if it is closed. */
    @Nullable
    SoftVcpu vcpu(int index) {
        for (SoftVcpu vcpu : vcpus) {
            if (vcpu.index() == index) {
                return vcpu;
            }
        }
        return null;
    }
}
