package org.benchtop.engine.kvm;

import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.ExitCounts;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.state.SavedState;
import org.jspecify.annotations.Nullable;

/**
 * A vCPU of KVM.
 *
 * <p>{@link #run} needs a platform thread (a virtual one would block its carrier); any one, and not always the same. It
 * sets up and takes down everything that its thread needs by itself.
 *
 * <p>To interrupt it, others set a bit in {@link #requests}; who sets the first bit also sets {@code immediate_exit} in
 * the shared page, so that the next KVM_RUN returns at once, and then sends a signal, so that a running one does. The vCPU
 * clears {@code immediate_exit} before it takes the bits: a request that comes between is taken or sets it anew.
 */
final class KvmVcpu implements Vcpu {
    private static final System.Logger LOG = System.getLogger(KvmVcpu.class.getName());

    private static final int REQUEST_KICK = 1;
    private static final int REQUEST_NMI = 2;
    private static final int REQUEST_HOLD = 4;

    private static final VarHandle REQUESTS;
    private static final VarHandle IN_GUEST;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final int SPINS = 1000;
    private static final long CR0_PE = 1;
    /** A single step has ended. */
    private static final long DR6_BS = 1 << 14;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            REQUESTS = lookup.findVarHandle(KvmVcpu.class, "requests", int.class);
            IN_GUEST = lookup.findVarHandle(KvmVcpu.class, "inGuest", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final KvmVm vm;
    private final CpuHost host;
    private final int index;
    private final String name;
    private final int fd;
    private final Arena arena = Arena.ofShared();
    /** The page shared with the kernel, the page of port data, and the page of coalesced writes. */
    private final MemorySegment run;

    private final MemorySegment coalesced;
    private final MemorySegment capture;
    private final VcpuRegisters registers;
    private final VcpuState powerOn;
    private final ExitCounters counters = new ExitCounters();
    private @Nullable ExitRecorder recorder;
    /** The facts of the exit that is being handled. */
    private KvmExit lastExit = KvmExit.OTHER;

    private long lastAddress;
    private int lastSize;

    @SuppressWarnings("unused") // through REQUESTS
    private volatile int requests;

    @SuppressWarnings("unused") // through IN_GUEST
    private volatile boolean inGuest;

    /** Guards the fields below, and the validity of the runner's thread id and of the mapping. */
    private final Object lock = new Object();

    private @Nullable Thread runner;
    private int runnerThreadId;
    private boolean closing;
    private boolean closed;
    private @Nullable Thread prepared;

    private boolean singleStep;
    private long[] breakpoints = {};
    private long stoppedAt = -1;

    /**
     * @param fd owned by this object from now on
     * @param mappingBytes the size of the shared mapping
     * @param coalescedPage the page of coalesced writes in the mapping; 0 if there is none
     */
    KvmVcpu(KvmVm vm, CpuHost host, int index, int fd, int mappingBytes, int coalescedPage) {
        this.vm = vm;
        this.host = host;
        this.index = index;
        this.fd = fd;
        name = vm.name() + " vCPU " + index;
        try {
            // SAFETY: a fresh mapping of the size that the kernel asks for; the arena unmaps it when nobody uses it any
            // more.
            long address = Errno.checked(
                    name + ": mmap",
                    LibC.mmap(0, mappingBytes, LibC.PROT_READ | LibC.PROT_WRITE, LibC.MAP_SHARED, fd, 0));
            run = MemorySegment.ofAddress(address)
                    .reinterpret(mappingBytes, arena, mapping -> LibC.munmap(mapping.address(), mappingBytes));
            coalesced = run.asSlice(coalescedPage * MemorySlots.PAGE_BYTES, MemorySlots.PAGE_BYTES);
            capture = LibC.newCapture(arena);
            registers = new VcpuRegisters(name, fd, vm.system(), vm.msrIndices());
            setCpuid();
            enableFastStrings();
            powerOn = registers.save();
        } catch (RuntimeException e) {
            arena.close();
            LibC.close(fd);
            throw e;
        }
    }

    private void setCpuid() {
        CpuidTable table = GuestCpuid.forVcpu(vm.cpuid(), index, vm.cpus(), registers.tscKhz());
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment leaves = table.write(temporary);
            // SAFETY: the table has as many entries as its head says.
            Errno.checked(name + ": KVM_SET_CPUID2", LibC.ioctl(fd, KvmIoctl.KVM_SET_CPUID2, leaves.address()));
        }
    }

    /** Firmware does this on Intel CPUs; Linux takes string instructions for slow without it. */
    private void enableFastStrings() {
        int miscEnable = 0x1a0;
        registers.msr(miscEnable).ifPresent(value -> registers.msr(miscEnable, value | 1));
    }

    @Override
    public int index() {
        return index;
    }

    @Override
    public VcpuExit run() {
        enter();
        try {
            VcpuExit exit = atBreakpoint() ? stepOverBreakpoint() : null;
            if (exit != null) {
                return exit;
            }
            return singleStep && inProgram() && !debugging().steps() ? stepProgram() : guestLoop();
        } finally {
            leave();
        }
    }

    private void enter() {
        Thread current = Thread.currentThread();
        if (current.isVirtual()) {
            throw internal("needs a platform thread");
        }
        if (prepared != current) {
            KickSignal.unblock();
            prepared = current;
        }
        int threadId = LibC.gettid();
        synchronized (lock) {
            if (closing || runner != null) {
                throw internal(closing ? "is closed" : "runs already");
            }
            runner = current;
            runnerThreadId = threadId;
        }
    }

    private void leave() {
        synchronized (lock) {
            runner = null;
            lock.notifyAll();
        }
    }

    private BenchtopException internal(String message) {
        return BenchtopException.of(ErrorKind.INTERNAL, name + ' ' + message);
    }

    private VcpuExit guestLoop() {
        while (true) {
            IN_GUEST.setOpaque(this, true);
            // SAFETY: KVM_RUN takes no argument; the shared page is mapped while this runs, because close() waits.
            int result = LibC.ioctl(capture, fd, KvmIoctl.KVM_RUN, 0);
            IN_GUEST.setRelease(this, false);
            ExitRecorder recording = ExitRecorder.wanted() ? beginRecord() : null;
            vm.drainCoalesced(coalesced, index);
            VcpuExit exit = result < 0 ? interrupted(result) : handle();
            if (recording != null) {
                recording.end(lastExit, lastAddress, lastSize);
            }
            if (exit != null) {
                return exit;
            }
        }
    }

    private @Nullable ExitRecorder beginRecord() {
        if (recorder == null) {
            recorder = new ExitRecorder(vm.name(), index);
        }
        return recorder.begin() ? recorder : null;
    }

    /** KVM_RUN failed: the exit reason in the shared page is an old one. */
    private @Nullable VcpuExit interrupted(int result) {
        if (result == -Errno.EAGAIN) {
            count(KvmExit.STARTUP, 0, 0);
            return null;
        }
        if (result != -Errno.EINTR) {
            count(KvmExit.FAILED, 0, 0);
            String detail = KvmRun.exitReason(run) == KvmRun.EXIT_MEMORY_FAULT
                    ? " at gpa=0x" + Long.toHexString(KvmRun.memoryFaultAddress(run))
                    : "";
            return failed("KVM_RUN: " + Errno.describe(result) + detail);
        }
        KvmRun.immediateExit(run, false);
        int taken = (int) REQUESTS.getAndSet(this, 0);
        if ((taken & REQUEST_HOLD) != 0) {
            vm.awaitMemoryChange();
        }
        if ((taken & REQUEST_NMI) != 0) {
            registers.injectNmi();
        }
        if ((taken & REQUEST_KICK) != 0) {
            count(KvmExit.KICK, 0, 0);
            return VcpuExit.Kicked.INSTANCE;
        }
        count(KvmExit.SIGNAL, 0, 0);
        return null;
    }

    private @Nullable VcpuExit handle() {
        switch (KvmRun.exitReason(run)) {
            case KvmRun.EXIT_IO -> {
                return pio();
            }
            case KvmRun.EXIT_MMIO -> {
                return mmio();
            }
            case KvmRun.EXIT_HLT -> {
                return counted(KvmExit.HLT, VcpuExit.Halted.INSTANCE);
            }
            case KvmRun.EXIT_SHUTDOWN -> {
                return counted(KvmExit.SHUTDOWN, VcpuExit.Shutdown.INSTANCE);
            }
            case KvmRun.EXIT_X86_RDMSR -> {
                return readMsr();
            }
            case KvmRun.EXIT_X86_WRMSR -> {
                return writeMsr();
            }
            case KvmRun.EXIT_HYPERCALL -> {
                return hypercall();
            }
            case KvmRun.EXIT_DEBUG -> {
                stoppedAt = registers.general().rip();
                return counted(KvmExit.DEBUG, new VcpuExit.Debug(stoppedAt));
            }
            case KvmRun.EXIT_IRQ_WINDOW_OPEN -> {
                return counted(KvmExit.IRQ_WINDOW, null);
            }
            case KvmRun.EXIT_SYSTEM_EVENT -> {
                return systemEvent();
            }
            case KvmRun.EXIT_INTR,
                    KvmRun.EXIT_NMI,
                    KvmRun.EXIT_SET_TPR,
                    KvmRun.EXIT_TPR_ACCESS,
                    KvmRun.EXIT_IOAPIC_EOI,
                    KvmRun.EXIT_X86_BUS_LOCK,
                    KvmRun.EXIT_NOTIFY -> {
                return counted(KvmExit.OTHER, null);
            }
            case KvmRun.EXIT_INTERNAL_ERROR -> {
                return internalError();
            }
            default -> {
                count(KvmExit.FAILED, 0, 0);
                return failed(reason());
            }
        }
    }

    private @Nullable VcpuExit counted(KvmExit exit, @Nullable VcpuExit result) {
        count(exit, 0, 0);
        return result;
    }

    private void count(KvmExit exit, long address, int size) {
        counters.count(exit);
        lastExit = exit;
        lastAddress = address;
        lastSize = size;
    }

    private @Nullable VcpuExit pio() {
        boolean out = KvmRun.ioIsOut(run);
        int size = KvmRun.ioSize(run);
        int port = KvmRun.ioPort(run);
        int count = KvmRun.ioCount(run);
        long data = KvmRun.ioDataOffset(run);
        count(out ? KvmExit.PIO_OUT : KvmExit.PIO_IN, port, size);
        for (int i = 0; i < count; i++) {
            long element = data + (long) i * size;
            if (out) {
                host.pioWrite(index, port, size, load(element, size));
            } else {
                store(element, size, host.pioRead(index, port, size));
            }
        }
        return null;
    }

    private long load(long offset, int size) {
        return switch (size) {
            case 1 -> Byte.toUnsignedLong(run.get(ValueLayout.JAVA_BYTE, offset));
            case 2 -> Short.toUnsignedLong(run.get(SHORT, offset));
            default -> Integer.toUnsignedLong(run.get(INT, offset));
        };
    }

    private void store(long offset, int size, long value) {
        switch (size) {
            case 1 -> run.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
            case 2 -> run.set(SHORT, offset, (short) value);
            default -> run.set(INT, offset, (int) value);
        }
    }

    private @Nullable VcpuExit mmio() {
        boolean write = KvmRun.mmioIsWrite(run);
        long gpa = KvmRun.mmioAddress(run);
        int size = KvmRun.mmioLength(run);
        count(write ? KvmExit.MMIO_WRITE : KvmExit.MMIO_READ, gpa, size);
        if (write) {
            Access.mmioWrite(host, index, gpa, size, KvmRun.mmioData(run));
        } else {
            KvmRun.mmioData(run, Access.mmioRead(host, index, gpa, size));
        }
        return null;
    }

    private @Nullable VcpuExit readMsr() {
        count(KvmExit.RDMSR, Integer.toUnsignedLong(KvmRun.msrIndex(run)), Long.BYTES);
        OptionalLong value = host.readMsr(index, KvmRun.msrIndex(run));
        KvmRun.msrError(run, value.isEmpty());
        KvmRun.msrData(run, value.orElse(0));
        return null;
    }

    private @Nullable VcpuExit writeMsr() {
        count(KvmExit.WRMSR, Integer.toUnsignedLong(KvmRun.msrIndex(run)), Long.BYTES);
        KvmRun.msrError(run, !host.writeMsr(index, KvmRun.msrIndex(run), KvmRun.msrData(run)));
        return null;
    }

    private @Nullable VcpuExit hypercall() {
        count(KvmExit.HYPERCALL, 0, 0);
        long result = host.hypercall(
                index,
                KvmRun.hypercallNumber(run),
                KvmRun.hypercallArgument(run, 0),
                KvmRun.hypercallArgument(run, 1),
                KvmRun.hypercallArgument(run, 2),
                KvmRun.hypercallArgument(run, 3),
                KvmRun.hypercallArgument(run, 4));
        KvmRun.hypercallResult(run, result);
        return null;
    }

    private VcpuExit systemEvent() {
        count(KvmExit.SYSTEM_EVENT, 0, 0);
        int type = KvmRun.systemEventType(run);
        return type == KvmRun.SYSTEM_EVENT_SHUTDOWN || type == KvmRun.SYSTEM_EVENT_RESET
                ? VcpuExit.Shutdown.INSTANCE
                : failed("KVM_EXIT_SYSTEM_EVENT: type " + type);
    }

    private VcpuExit internalError() {
        count(KvmExit.FAILED, 0, 0);
        int words = KvmRun.internalDataCount(run);
        boolean withBytes = KvmRun.internalSuberror(run) == KvmRun.INTERNAL_ERROR_EMULATION
                && words >= 3
                && (KvmRun.emulationFlags(run) & KvmRun.EMULATION_FLAG_INSTRUCTION_BYTES) != 0;
        if (!withBytes) {
            return failed(reason());
        }
        byte[] bytes = new byte[Math.min(KvmRun.emulationInstructionSize(run), KvmRun.EMULATION_MAX_INSTRUCTION_BYTES)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = KvmRun.emulationInstructionByte(run, i);
        }
        return bytes.length == 0 ? failed(reason()) : new VcpuExit.Failed(reason(), rip(), bytes);
    }

    /** One line for an exit that ends the run. */
    private String reason() {
        int reason = KvmRun.exitReason(run);
        return switch (reason) {
            case KvmRun.EXIT_UNKNOWN ->
                "KVM_EXIT_UNKNOWN: hardware exit reason 0x" + Long.toHexString(KvmRun.hardwareExitReason(run));
            case KvmRun.EXIT_EXCEPTION ->
                "KVM_EXIT_EXCEPTION: vector " + KvmRun.exception(run) + " error code 0x"
                        + Integer.toHexString(KvmRun.exceptionErrorCode(run));
            case KvmRun.EXIT_FAIL_ENTRY ->
                "KVM_EXIT_FAIL_ENTRY: the CPU refuses the guest state: hardware reason 0x"
                        + Long.toHexString(KvmRun.entryFailureReason(run));
            case KvmRun.EXIT_INTERNAL_ERROR -> internalReason();
            default -> "KVM exit reason " + reason + ", which Benchtop does not know";
        };
    }

    private String internalReason() {
        int suberror = KvmRun.internalSuberror(run);
        StringBuilder text = new StringBuilder("KVM_EXIT_INTERNAL_ERROR: ");
        text.append(
                switch (suberror) {
                    case KvmRun.INTERNAL_ERROR_EMULATION -> "KVM cannot emulate the instruction";
                    case 2 -> "several exceptions at once";
                    case 3 -> "an event could not be delivered";
                    case 4 -> "unexpected hardware exit";
                    default -> "unknown kind";
                });
        text.append(" (suberror ").append(suberror).append(')');
        int words = Math.min(KvmRun.internalDataCount(run), KvmRun.INTERNAL_ERROR_MAX_DATA);
        for (int i = 0; i < words; i++) {
            text.append(i == 0 ? " data " : ",").append(HexFormat.of().toHexDigits(KvmRun.internalData(run, i)));
        }
        return text.toString();
    }

    private VcpuExit failed(String reason) {
        long rip = rip();
        return new VcpuExit.Failed(reason, rip, bytesAt(rip));
    }

    private long rip() {
        try {
            return registers.general().rip();
        } catch (BenchtopException e) {
            return 0;
        }
    }

    /** Up to 15 bytes at the instruction pointer; fewer where memory ends. */
    private byte[] bytesAt(long rip) {
        byte[] bytes = new byte[KvmRun.EMULATION_MAX_INSTRUCTION_BYTES];
        int found = 0;
        try {
            long linear = registers.special().cs().base() + rip;
            while (found < bytes.length) {
                OptionalLong gpa = registers.translate(linear + found);
                if (gpa.isEmpty()) {
                    break;
                }
                long page = MemorySlots.PAGE_BYTES - gpa.getAsLong() % MemorySlots.PAGE_BYTES;
                int part = (int) Math.min(bytes.length - found, page);
                if (!vm.readMemory(gpa.getAsLong(), bytes, found, part)) {
                    break;
                }
                found += part;
            }
        } catch (BenchtopException e) {
            return Arrays.copyOf(bytes, found);
        }
        return Arrays.copyOf(bytes, found);
    }

    @Override
    public void kick() {
        request(REQUEST_KICK);
    }

    private void request(int bit) {
        if ((int) REQUESTS.getAndBitwiseOr(this, bit) != 0) {
            return;
        }
        synchronized (lock) {
            if (closed) {
                return;
            }
            KvmRun.immediateExit(run, true);
            if (runner != null && runner != Thread.currentThread()) {
                KickSignal.send(runnerThreadId);
            }
        }
    }

    /** Makes the vCPU leave guest mode and then wait for {@link KvmVm#awaitMemoryChange}. */
    void hold() {
        request(REQUEST_HOLD);
    }

    /** After {@link #hold}: waits until the vCPU is not in guest mode. */
    void awaitHeld() {
        synchronized (lock) {
            if (runner == Thread.currentThread()) {
                return;
            }
        }
        for (int spins = 0; (boolean) IN_GUEST.getAcquire(this); spins++) {
            if (spins < SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }

    @Override
    public void injectNmi() {
        request(REQUEST_NMI);
    }

    @Override
    public void reset() {
        REQUESTS.getAndBitwiseAnd(this, ~REQUEST_NMI);
        stoppedAt = -1;
        registers.reset(powerOn);
    }

    @Override
    public Registers registers() {
        return registers.general();
    }

    @Override
    public void registers(Registers values) {
        registers.general(values);
    }

    @Override
    public SpecialRegisters specialRegisters() {
        return registers.special();
    }

    @Override
    public void specialRegisters(SpecialRegisters values) {
        registers.special(values);
    }

    @Override
    public OptionalLong msr(int number) {
        return registers.msr(number);
    }

    @Override
    public boolean msr(int number, long value) {
        return registers.msr(number, value);
    }

    @Override
    public OptionalLong tscKilohertz() {
        OptionalInt khz = registers.tscKhz();
        return khz.isPresent() ? OptionalLong.of(khz.getAsInt()) : OptionalLong.empty();
    }

    @Override
    public byte[] extendedState() {
        return registers.extendedState();
    }

    @Override
    public long[] debugRegisters() {
        return registers.debugRegisters();
    }

    @Override
    public OptionalLong translate(long virtualAddress) {
        return registers.translate(virtualAddress);
    }

    @Override
    public void singleStep(boolean enabled) {
        singleStep = enabled;
        debug();
    }

    private void debug() {
        registers.debug(singleStep, breakpoints);
    }

    @Override
    public void breakpoints(long[] virtualAddresses) {
        if (virtualAddresses.length > VcpuRegisters.MAX_BREAKPOINTS) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    name + ": KVM has " + VcpuRegisters.MAX_BREAKPOINTS + " breakpoints, not "
                            + virtualAddresses.length);
        }
        if (virtualAddresses.length > 0 && !debugging().breakpoints()) {
            String what = name + ": this host's KVM does not stop programs (ring 3) at breakpoints; accel: soft does";
            if (inProgram()) {
                throw BenchtopException.of(ErrorKind.UNSUPPORTED, what);
            }
            LOG.log(Level.WARNING, what);
        }
        hardwareBreakpoints(virtualAddresses);
    }

    private DebugCheck.Result debugging() {
        return DebugCheck.of(vm.system().device());
    }

    private boolean inProgram() {
        SpecialRegisters special = registers.special();
        return (special.cr0() & CR0_PE) != 0 && special.ss().dpl() == 3;
    }

    /**
     * Steps where KVM would hand the debug exception to the guest: without an interrupt table the exception cannot be
     * delivered and shuts the vCPU down, right behind the instruction and with everything else as it was.
     */
    private VcpuExit stepProgram() {
        SpecialRegisters before = registers.special();
        long status = registers.dr6();
        registers.special(withIdt(before, new DescriptorTable(0, 0)));
        registers.dr6(status & ~DR6_BS);
        registers.stepWithoutInterrupts();
        try {
            VcpuExit exit = guestLoop();
            if (exit instanceof VcpuExit.Shutdown && (registers.dr6() & DR6_BS) != 0) {
                stoppedAt = registers.general().rip();
                return new VcpuExit.Debug(stoppedAt);
            }
            if (!(exit instanceof VcpuExit.Shutdown)) {
                return exit;
            }
        } finally {
            registers.special(withIdt(registers.special(), before.idt()));
            registers.dr6(status);
            debug();
        }
        // The instruction itself fails: the guest's own handler is next.
        return guestLoop();
    }

    private static SpecialRegisters withIdt(SpecialRegisters s, DescriptorTable idt) {
        return new SpecialRegisters(
                s.cs(),
                s.ds(),
                s.es(),
                s.fs(),
                s.gs(),
                s.ss(),
                s.tr(),
                s.ldt(),
                s.gdt(),
                idt,
                s.cr0(),
                s.cr2(),
                s.cr3(),
                s.cr4(),
                s.cr8(),
                s.efer(),
                s.apicBase());
    }

    /** Single steps as KVM makes them. */
    void plainSingleStep() {
        registers.debug(true, new long[0]);
    }

    /** Sets breakpoints, whether programs stop at them or not. */
    void hardwareBreakpoints(long... virtualAddresses) {
        breakpoints = virtualAddresses.clone();
        debug();
    }

    private boolean isBreakpoint(long rip) {
        return Arrays.stream(breakpoints).anyMatch(address -> address == rip);
    }

    /** Whether the last run stopped at a breakpoint and nobody has moved the vCPU since. */
    private boolean atBreakpoint() {
        return stoppedAt != -1 && isBreakpoint(stoppedAt) && registers.general().rip() == stoppedAt;
    }

    /**
     * Lets the instruction under a breakpoint run. The resume flag would hide the breakpoint from a real CPU, but not
     * from KVM's instruction emulator.
     */
    private @Nullable VcpuExit stepOverBreakpoint() {
        VcpuExit exit;
        registers.debug(true, new long[0]);
        try {
            exit = guestLoop();
        } finally {
            debug();
        }
        if (exit instanceof VcpuExit.Debug step && !singleStep && !isBreakpoint(step.rip())) {
            stoppedAt = -1;
            return null;
        }
        return exit;
    }

    @Override
    public void connect(LocalApic apic) {
        throw noEmulatedApic();
    }

    @Override
    public void interruptChanged() {
        throw noEmulatedApic();
    }

    @Override
    public void init() {
        throw noEmulatedApic();
    }

    @Override
    public void startup(int vector) {
        throw noEmulatedApic();
    }

    private BenchtopException noEmulatedApic() {
        return internal("has its local APIC in the kernel and takes no emulated one");
    }

    @Override
    public ExitCounts exits() {
        return counters.snapshot();
    }

    @Override
    public SavedState saveState() {
        if (((int) REQUESTS.getAndBitwiseAnd(this, ~REQUEST_NMI) & REQUEST_NMI) != 0) {
            registers.injectNmi();
        }
        return new SavedState(VcpuState.VERSION, registers.save());
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() > VcpuState.VERSION || !(state.content() instanceof VcpuState content)) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    name + ": saved state of version " + state.version() + " is not one of accel kvm up to version "
                            + VcpuState.VERSION);
        }
        stoppedAt = -1;
        registers.restore(content);
    }

    /** Tells the guest, if it uses the KVM clock, that it was stopped. */
    void notifyPaused() {
        registers.notifyPaused();
    }

    /** Stops the vCPU and waits for its thread to leave {@link #run}. */
    @Override
    public void close() {
        boolean interrupted = false;
        synchronized (lock) {
            if (closed) {
                return;
            }
            if (runner == Thread.currentThread()) {
                throw internal("cannot be closed by its own thread while it runs");
            }
            closing = true;
            kick();
            while (runner != null) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            closed = true;
            registers.close();
            arena.close();
            LibC.close(fd);
        }
        vm.forget(this);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
