package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;

/**
 * Reads and writes the state of a vCPU that is not in guest mode. Serialised by the kernel; a call from another thread
 * than the vCPU's waits until KVM_RUN returns.
 */
final class VcpuRegisters {
    /** How many instruction breakpoints the hardware has. */
    static final int MAX_BREAKPOINTS = 4;

    private static final int KVM_GUESTDBG_ENABLE = 1;
    private static final int KVM_GUESTDBG_SINGLESTEP = 2;
    private static final int KVM_GUESTDBG_USE_HW_BP = 0x20000;
    private static final int KVM_GUESTDBG_BLOCKIRQ = 0x10_0000;
    /** Behind the four addresses. */
    private static final int DR6_INDEX = 4;

    private static final int DR7 = 7;
    private static final long DR7_FIXED = 0x400;
    private static final long DR7_GLOBAL_ENABLE = 2;

    private static final int MSR_IA32_TSC = 0x10;
    private static final int MSR_IA32_TSC_ADJUST = 0x3b;
    /** Time goes on when a machine is reset. */
    private static final Set<Integer> NOT_RESET = Set.of(MSR_IA32_TSC, MSR_IA32_TSC_ADJUST);

    private final String name;
    /** -1 once closed, so that a late call fails instead of reaching a stranger's file. */
    private volatile int fd;

    private final KvmSystem system;
    private final int[] msrIndices;

    /**
     * @param name for messages
     * @param msrIndices the MSRs that make up the state
     */
    VcpuRegisters(String name, int fd, KvmSystem system, int[] msrIndices) {
        this.name = name;
        this.fd = fd;
        this.system = system;
        this.msrIndices = msrIndices;
    }

    private void call(String what, long request, MemorySegment struct) {
        // SAFETY: every caller passes a struct of the size in the request number, or a list with its length in its
        // head.
        int result = LibC.ioctl(fd, request, struct.address());
        if (result < 0) {
            throw Errno.exception(name + ": " + what, result);
        }
    }

    Registers general() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmRegs.LAYOUT);
            call("KVM_GET_REGS", KvmIoctl.KVM_GET_REGS, s);
            return new Registers(
                    KvmRegs.rax(s, 0),
                    KvmRegs.rbx(s, 0),
                    KvmRegs.rcx(s, 0),
                    KvmRegs.rdx(s, 0),
                    KvmRegs.rsi(s, 0),
                    KvmRegs.rdi(s, 0),
                    KvmRegs.rsp(s, 0),
                    KvmRegs.rbp(s, 0),
                    KvmRegs.r8(s, 0),
                    KvmRegs.r9(s, 0),
                    KvmRegs.r10(s, 0),
                    KvmRegs.r11(s, 0),
                    KvmRegs.r12(s, 0),
                    KvmRegs.r13(s, 0),
                    KvmRegs.r14(s, 0),
                    KvmRegs.r15(s, 0),
                    KvmRegs.rip(s, 0),
                    KvmRegs.rflags(s, 0));
        }
    }

    void general(Registers registers) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmRegs.LAYOUT);
            KvmRegs.rax(s, 0, registers.rax());
            KvmRegs.rbx(s, 0, registers.rbx());
            KvmRegs.rcx(s, 0, registers.rcx());
            KvmRegs.rdx(s, 0, registers.rdx());
            KvmRegs.rsi(s, 0, registers.rsi());
            KvmRegs.rdi(s, 0, registers.rdi());
            KvmRegs.rsp(s, 0, registers.rsp());
            KvmRegs.rbp(s, 0, registers.rbp());
            KvmRegs.r8(s, 0, registers.r8());
            KvmRegs.r9(s, 0, registers.r9());
            KvmRegs.r10(s, 0, registers.r10());
            KvmRegs.r11(s, 0, registers.r11());
            KvmRegs.r12(s, 0, registers.r12());
            KvmRegs.r13(s, 0, registers.r13());
            KvmRegs.r14(s, 0, registers.r14());
            KvmRegs.r15(s, 0, registers.r15());
            KvmRegs.rip(s, 0, registers.rip());
            KvmRegs.rflags(s, 0, registers.rflags());
            call("KVM_SET_REGS", KvmIoctl.KVM_SET_REGS, s);
        }
    }

    SpecialRegisters special() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmSregs.LAYOUT);
            call("KVM_GET_SREGS", KvmIoctl.KVM_GET_SREGS, s);
            return new SpecialRegisters(
                    segment(s, KvmSregs.CS_OFFSET),
                    segment(s, KvmSregs.DS_OFFSET),
                    segment(s, KvmSregs.ES_OFFSET),
                    segment(s, KvmSregs.FS_OFFSET),
                    segment(s, KvmSregs.GS_OFFSET),
                    segment(s, KvmSregs.SS_OFFSET),
                    segment(s, KvmSregs.TR_OFFSET),
                    segment(s, KvmSregs.LDT_OFFSET),
                    table(s, KvmSregs.GDT_OFFSET),
                    table(s, KvmSregs.IDT_OFFSET),
                    KvmSregs.cr0(s, 0),
                    KvmSregs.cr2(s, 0),
                    KvmSregs.cr3(s, 0),
                    KvmSregs.cr4(s, 0),
                    KvmSregs.cr8(s, 0),
                    KvmSregs.efer(s, 0),
                    KvmSregs.apicBase(s, 0));
        }
    }

    /** Leaves an interrupt that is being injected alone. */
    void special(SpecialRegisters registers) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmSregs.LAYOUT);
            call("KVM_GET_SREGS", KvmIoctl.KVM_GET_SREGS, s);
            write(s, registers);
            call("KVM_SET_SREGS", KvmIoctl.KVM_SET_SREGS, s);
        }
    }

    private static void write(MemorySegment s, SpecialRegisters registers) {
        segment(s, KvmSregs.CS_OFFSET, registers.cs());
        segment(s, KvmSregs.DS_OFFSET, registers.ds());
        segment(s, KvmSregs.ES_OFFSET, registers.es());
        segment(s, KvmSregs.FS_OFFSET, registers.fs());
        segment(s, KvmSregs.GS_OFFSET, registers.gs());
        segment(s, KvmSregs.SS_OFFSET, registers.ss());
        segment(s, KvmSregs.TR_OFFSET, registers.tr());
        segment(s, KvmSregs.LDT_OFFSET, registers.ldt());
        table(s, KvmSregs.GDT_OFFSET, registers.gdt());
        table(s, KvmSregs.IDT_OFFSET, registers.idt());
        KvmSregs.cr0(s, 0, registers.cr0());
        KvmSregs.cr2(s, 0, registers.cr2());
        KvmSregs.cr3(s, 0, registers.cr3());
        KvmSregs.cr4(s, 0, registers.cr4());
        KvmSregs.cr8(s, 0, registers.cr8());
        KvmSregs.efer(s, 0, registers.efer());
        KvmSregs.apicBase(s, 0, registers.apicBase());
    }

    private static SegmentRegister segment(MemorySegment s, long offset) {
        return new SegmentRegister(
                KvmSegment.selector(s, offset),
                KvmSegment.base(s, offset),
                KvmSegment.limit(s, offset),
                KvmSegment.type(s, offset),
                KvmSegment.present(s, offset) != 0,
                KvmSegment.dpl(s, offset),
                KvmSegment.db(s, offset) != 0,
                KvmSegment.s(s, offset) == 0,
                KvmSegment.l(s, offset) != 0,
                KvmSegment.g(s, offset) != 0,
                KvmSegment.avl(s, offset) != 0,
                KvmSegment.unusable(s, offset) != 0);
    }

    private static void segment(MemorySegment s, long offset, SegmentRegister segment) {
        KvmSegment.selector(s, offset, segment.selector());
        KvmSegment.base(s, offset, segment.base());
        KvmSegment.limit(s, offset, segment.limit());
        KvmSegment.type(s, offset, segment.type());
        KvmSegment.present(s, offset, bit(segment.present()));
        KvmSegment.dpl(s, offset, segment.dpl());
        KvmSegment.db(s, offset, bit(segment.db()));
        KvmSegment.s(s, offset, bit(!segment.system()));
        KvmSegment.l(s, offset, bit(segment.longMode()));
        KvmSegment.g(s, offset, bit(segment.granularity()));
        KvmSegment.avl(s, offset, bit(segment.available()));
        KvmSegment.unusable(s, offset, bit(segment.unusable()));
    }

    private static int bit(boolean value) {
        return value ? 1 : 0;
    }

    private static DescriptorTable table(MemorySegment s, long offset) {
        return new DescriptorTable(KvmDtable.base(s, offset), KvmDtable.limit(s, offset));
    }

    private static void table(MemorySegment s, long offset, DescriptorTable table) {
        KvmDtable.base(s, offset, table.base());
        KvmDtable.limit(s, offset, table.limit());
    }

    OptionalLong msr(int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment list = arena.allocate(KvmMsrs.SIZE + KvmMsrEntry.SIZE, Long.BYTES);
            KvmMsrs.nmsrs(list, 0, 1);
            KvmMsrEntry.index(list, KvmMsrs.SIZE, index);
            // SAFETY: the list has the one entry that its head says.
            int done = LibC.ioctl(fd, KvmIoctl.KVM_GET_MSRS, list.address());
            return done == 1 ? OptionalLong.of(KvmMsrEntry.data(list, KvmMsrs.SIZE)) : OptionalLong.empty();
        }
    }

    boolean msr(int index, long value) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment list = arena.allocate(KvmMsrs.SIZE + KvmMsrEntry.SIZE, Long.BYTES);
            KvmMsrs.nmsrs(list, 0, 1);
            KvmMsrEntry.index(list, KvmMsrs.SIZE, index);
            KvmMsrEntry.data(list, KvmMsrs.SIZE, value);
            // SAFETY: the list has the one entry that its head says.
            return LibC.ioctl(fd, KvmIoctl.KVM_SET_MSRS, list.address()) == 1;
        }
    }

    OptionalLong translate(long virtualAddress) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmTranslation.LAYOUT);
            KvmTranslation.linearAddress(s, 0, virtualAddress);
            call("KVM_TRANSLATE", KvmIoctl.KVM_TRANSLATE, s);
            return KvmTranslation.valid(s, 0) != 0
                    ? OptionalLong.of(KvmTranslation.physicalAddress(s, 0))
                    : OptionalLong.empty();
        }
    }

    private byte[] get(String what, long request, long sizeBytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = arena.allocate(sizeBytes, Long.BYTES);
            call(what, request, struct);
            return struct.toArray(ValueLayout.JAVA_BYTE);
        }
    }

    private byte[] getIf(KvmCap cap, String what, long request, long sizeBytes) {
        return system.has(cap) ? get(what, request, sizeBytes) : new byte[0];
    }

    private void set(String what, long request, byte[] content, long sizeBytes) {
        try (Arena arena = Arena.ofConfined()) {
            call(what, request, Blob.of(arena, content, sizeBytes, what));
        }
    }

    private void setIf(KvmCap cap, String what, long request, byte[] content, long sizeBytes) {
        if (system.has(cap)) {
            set(what, request, content, sizeBytes);
        }
    }

    private long xsaveBytes() {
        return Math.max(KvmXsave.MIN_SIZE, system.value(KvmCap.XSAVE2));
    }

    /** The XSAVE area; where KVM has none, the part of it that {@code kvm_fpu} does not spell differently: nothing. */
    byte[] extendedState() {
        return system.has(KvmCap.XSAVE) ? floatingPoint() : new byte[0];
    }

    /** DR0 to DR3, DR6 and DR7 ({@code kvm_debugregs}). */
    long[] debugRegisters() {
        byte[] struct = getIf(KvmCap.DEBUGREGS, "KVM_GET_DEBUGREGS", KvmIoctl.KVM_GET_DEBUGREGS, KvmDebugregs.SIZE);
        long[] values = new long[struct.length == 0 ? 0 : 6];
        for (int i = 0; i < values.length; i++) {
            values[i] = MemorySegment.ofArray(struct).get(ValueLayout.JAVA_LONG_UNALIGNED, 8L * i);
        }
        return values;
    }

    /** The debug status register. */
    long dr6() {
        long[] values = debugRegisters();
        return values.length == 0 ? 0 : values[DR6_INDEX];
    }

    /** Sets the debug status register, where KVM has it. */
    void dr6(long value) {
        byte[] struct = getIf(KvmCap.DEBUGREGS, "KVM_GET_DEBUGREGS", KvmIoctl.KVM_GET_DEBUGREGS, KvmDebugregs.SIZE);
        if (struct.length > 0) {
            MemorySegment.ofArray(struct).set(ValueLayout.JAVA_LONG_UNALIGNED, 8L * DR6_INDEX, value);
            set("KVM_SET_DEBUGREGS", KvmIoctl.KVM_SET_DEBUGREGS, struct, KvmDebugregs.SIZE);
        }
    }

    private byte[] floatingPoint() {
        if (system.has(KvmCap.XSAVE2)) {
            return get("KVM_GET_XSAVE2", KvmIoctl.KVM_GET_XSAVE2, xsaveBytes());
        }
        return system.has(KvmCap.XSAVE)
                ? get("KVM_GET_XSAVE", KvmIoctl.KVM_GET_XSAVE, KvmXsave.MIN_SIZE)
                : get("KVM_GET_FPU", KvmIoctl.KVM_GET_FPU, KvmFpu.SIZE);
    }

    private void floatingPoint(byte[] content) {
        if (system.has(KvmCap.XSAVE)) {
            set("KVM_SET_XSAVE", KvmIoctl.KVM_SET_XSAVE, content, xsaveBytes());
        } else {
            set("KVM_SET_FPU", KvmIoctl.KVM_SET_FPU, content, KvmFpu.SIZE);
        }
    }

    private int mpState() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmMpState.LAYOUT);
            call("KVM_GET_MP_STATE", KvmIoctl.KVM_GET_MP_STATE, s);
            return KvmMpState.mpState(s, 0);
        }
    }

    private void mpState(int value) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmMpState.LAYOUT);
            KvmMpState.mpState(s, 0, value);
            call("KVM_SET_MP_STATE", KvmIoctl.KVM_SET_MP_STATE, s);
        }
    }

    /** Reads all state. MP state comes first because reading it may take in an INIT or SIPI; events come last. */
    VcpuState save() {
        int mpState = mpState();
        Registers general = general();
        SpecialRegisters special = special();
        byte[] floatingPoint = floatingPoint();
        byte[] xcrs = getIf(KvmCap.XCRS, "KVM_GET_XCRS", KvmIoctl.KVM_GET_XCRS, KvmXcrs.SIZE);
        byte[] debug = getIf(KvmCap.DEBUGREGS, "KVM_GET_DEBUGREGS", KvmIoctl.KVM_GET_DEBUGREGS, KvmDebugregs.SIZE);
        byte[] apic = get("KVM_GET_LAPIC", KvmIoctl.KVM_GET_LAPIC, KvmLapicState.SIZE);
        List<Integer> indices = new ArrayList<>();
        List<Long> values = new ArrayList<>();
        readMsrs(indices, values);
        byte[] events = get("KVM_GET_VCPU_EVENTS", KvmIoctl.KVM_GET_VCPU_EVENTS, KvmVcpuEvents.SIZE);
        return new VcpuState(
                mpState,
                general,
                special,
                floatingPoint,
                xcrs,
                debug,
                apic,
                events,
                indices.stream().mapToInt(Integer::intValue).toArray(),
                values.stream().mapToLong(Long::longValue).toArray());
    }

    /** Reads what can be read: the kernel stops at the first MSR that this vCPU does not have. */
    private void readMsrs(List<Integer> indices, List<Long> values) {
        int next = 0;
        while (next < msrIndices.length) {
            int count = msrIndices.length - next;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment list = arena.allocate(KvmMsrs.SIZE + count * KvmMsrEntry.SIZE, Long.BYTES);
                KvmMsrs.nmsrs(list, 0, count);
                for (int i = 0; i < count; i++) {
                    KvmMsrEntry.index(list, KvmMsrs.SIZE + i * KvmMsrEntry.SIZE, msrIndices[next + i]);
                }
                // SAFETY: the list has as many entries as its head says.
                int done = Errno.checkedInt(
                        name + ": KVM_GET_MSRS", LibC.ioctl(fd, KvmIoctl.KVM_GET_MSRS, list.address()));
                for (int i = 0; i < done; i++) {
                    indices.add(msrIndices[next + i]);
                    values.add(KvmMsrEntry.data(list, KvmMsrs.SIZE + i * KvmMsrEntry.SIZE));
                }
                next += done < count ? done + 1 : done;
            }
        }
    }

    /**
     * Sets all state.
     *
     * @throws BenchtopException of kind HOST if this host's KVM refuses a part of it
     */
    void restore(VcpuState state) {
        List<String> refused = setAll(state, Set.of());
        if (!refused.isEmpty()) {
            throw BenchtopException.of(
                    ErrorKind.HOST, name + ": KVM refuses saved MSRs: " + String.join(", ", refused));
        }
    }

    /** Sets the power-on state; time goes on. */
    void reset(VcpuState powerOn) {
        setAll(powerOn, NOT_RESET);
    }

    /** The order matters: the APIC's mode comes with the special registers, its timer's deadline with the MSRs. */
    private List<String> setAll(VcpuState state, Set<Integer> skippedMsrs) {
        mpState(state.mpState());
        general(state.registers());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmSregs.LAYOUT);
            write(s, state.special());
            call("KVM_SET_SREGS", KvmIoctl.KVM_SET_SREGS, s);
        }
        floatingPoint(state.floatingPoint());
        setIf(KvmCap.XCRS, "KVM_SET_XCRS", KvmIoctl.KVM_SET_XCRS, state.xcrs(), KvmXcrs.SIZE);
        setIf(
                KvmCap.DEBUGREGS,
                "KVM_SET_DEBUGREGS",
                KvmIoctl.KVM_SET_DEBUGREGS,
                state.debugRegisters(),
                KvmDebugregs.SIZE);
        set("KVM_SET_LAPIC", KvmIoctl.KVM_SET_LAPIC, state.localApic(), KvmLapicState.SIZE);
        List<String> refused = new ArrayList<>();
        for (int i = 0; i < state.msrIndices().length; i++) {
            int index = state.msrIndices()[i];
            long value = state.msrValues()[i];
            if (!skippedMsrs.contains(index)
                    && !msr(index, value)
                    && !msr(index).equals(OptionalLong.of(value))) {
                refused.add("0x" + Integer.toHexString(index));
            }
        }
        set("KVM_SET_VCPU_EVENTS", KvmIoctl.KVM_SET_VCPU_EVENTS, state.events(), KvmVcpuEvents.SIZE);
        return refused;
    }

    /** Makes later calls fail; the descriptor belongs to the caller. */
    void close() {
        fd = -1;
    }

    /** Tells a guest that uses the KVM clock that it was stopped. */
    void notifyPaused() {
        // Fails for a guest that does not use the clock, which needs no telling.
        LibC.ioctl(fd, KvmIoctl.KVM_KVMCLOCK_CTRL, 0);
    }

    /** Injects a non-maskable interrupt. */
    void injectNmi() {
        LibC.ioctl(fd, KvmIoctl.KVM_NMI, 0);
    }

    /** The frequency of the guest's TSC, if known. */
    OptionalInt tscKhz() {
        if (!system.has(KvmCap.GET_TSC_KHZ)) {
            return OptionalInt.empty();
        }
        int khz = LibC.ioctl(fd, KvmIoctl.KVM_GET_TSC_KHZ, 0);
        return khz > 0 ? OptionalInt.of(khz) : OptionalInt.empty();
    }

    /**
     * Sets single-stepping and hardware breakpoints.
     *
     * @param breakpoints at most {@link #MAX_BREAKPOINTS} virtual addresses
     */
    void debug(boolean singleStep, long[] breakpoints) {
        debug(
                (singleStep ? KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP : 0)
                        | (breakpoints.length > 0 ? KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP : 0),
                breakpoints);
    }

    /** Sets single-stepping without interrupts, where KVM can hold them back. */
    void stepWithoutInterrupts() {
        int blocking = system.value(KvmCap.SET_GUEST_DEBUG2) & KVM_GUESTDBG_BLOCKIRQ;
        debug(KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP | blocking, new long[0]);
    }

    private void debug(int control, long[] breakpoints) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(KvmGuestDebug.LAYOUT);
            long dr7 = DR7_FIXED;
            for (int i = 0; i < breakpoints.length; i++) {
                KvmGuestDebug.debugreg(s, 0, i, breakpoints[i]);
                dr7 |= DR7_GLOBAL_ENABLE << (2 * i);
            }
            KvmGuestDebug.debugreg(s, 0, DR7, dr7);
            KvmGuestDebug.control(s, 0, control);
            call("KVM_SET_GUEST_DEBUG", KvmIoctl.KVM_SET_GUEST_DEBUG, s);
        }
    }
}
