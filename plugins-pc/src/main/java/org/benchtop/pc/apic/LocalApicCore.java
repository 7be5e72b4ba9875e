package org.benchtop.pc.apic;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.time.Clock;

/**
 * One local APIC, in xAPIC or x2APIC mode (Intel SDM vol. 3, chapter 11).
 *
 * <p>Registers and interrupt acceptance belong to the vCPU's thread; {@link #accept}, {@link #matches}, {@link #lint0}
 * and the timer's expiry come on any. The request register is the meeting point: whoever sets a bit tells the vCPU
 * afterwards, and the vCPU looks at the bits after it was told. No lock but the timer's; allocates nothing.
 */
final class LocalApicCore implements LocalApic, RegisterMap.Handler<LocalApicRegister> {
    static final long DEFAULT_BASE = 0xfee0_0000L;
    static final int PAGE_BYTES = 0x1000;
    static final int MSR_TSC_DEADLINE = 0x6e0;

    private static final int MSR_TSC = 0x10;
    private static final long BASE_BSP = 1 << 8;
    private static final long BASE_X2APIC = 1 << 10;
    private static final long BASE_ENABLE = 1 << 11;
    private static final long BASE_ADDRESS = 0xf_ffff_ffff_f000L;
    private static final int MSR_FIRST = 0x800;
    private static final int MSR_LAST = 0x8ff;
    private static final int MSR_ICR = 0x830;
    private static final int MSR_SELF_IPI = 0x83f;

    private static final int SVR_ENABLE = 0x100;
    private static final int SVR_NO_EOI_BROADCAST = 0x1000;
    private static final int SVR_WRITABLE = 0x13ff;
    private static final int SVR_RESET = 0xff;
    private static final int DFR_FIXED = 0x0fff_ffff;
    private static final int LINT0_EXTINT = ApicMessage.EXTINT << 8;

    private static final int ESR_SEND_ILLEGAL_VECTOR = 0x20;
    private static final int ESR_RECEIVE_ILLEGAL_VECTOR = 0x40;
    private static final int LOWEST_LEGAL_VECTOR = 16;

    private static final int ICR_LOGICAL = 0x800;
    private static final int ICR_LEVEL_ASSERT = 0x4000;
    private static final int ICR_TRIGGER_LEVEL = 0x8000;
    private static final int ICR_WRITABLE = 0xccfff;
    private static final int ICR_DELIVERY_STATUS = 0x1000;

    /** Writable bits of the local vector table, by entry. */
    private static final int[] LVT_WRITABLE = {0x7_00ff, 0x1_07ff, 0x1_07ff, 0x1_a7ff, 0x1_a7ff, 0x1_00ff};

    private static final int TIMER = 0;
    private static final int LINT0 = 3;
    private static final int ERROR = 5;
    private static final LocalApicRegister[] BY_MSR = new LocalApicRegister[0x40];

    static {
        for (LocalApicRegister register : LocalApicRegister.values()) {
            BY_MSR[register.offset() >> 4] = register;
        }
    }

    private final int index;
    private final Vcpu vcpu;
    private final Clock clock;
    private final ApicTimer timer;
    private final Optional<LegacyInterrupts> legacy;
    private final Counter interrupts;
    private final Counter ipis;
    private final RegisterMap<LocalApicRegister> map;

    private final VectorBits requests = new VectorBits();
    private final VectorBits inService = new VectorBits();
    private final VectorBits triggerModes = new VectorBits();
    private final AtomicInteger newErrors = new AtomicInteger();
    private final int[] lvt = new int[LVT_WRITABLE.length];
    private ApicBus bus = new ApicBus(java.util.List.of());

    private volatile long base;
    private volatile int tpr;
    private volatile int ldr;
    private volatile int dfr;
    private volatile int svr;
    /** What other threads need of the vector table. */
    private volatile int lint0;

    private volatile boolean lint0Asserted;
    /** An ExtINT message: the next acknowledgement goes to the 8259s. */
    private volatile boolean extInt;
    /** INIT has arrived: the vCPU's thread clears the registers when it comes by; nothing is accepted until then. */
    private volatile boolean initPending;

    private int errors;
    private int icrLow;
    private int icrHigh;

    /**
     * A local APIC in its power-on state.
     *
     * @param legacy the 8259s behind LINT0
     * @param timer fires on an event loop and then calls {@link #timerExpired}
     */
    LocalApicCore(
            Vcpu vcpu, Clock clock, Timer timer, Optional<LegacyInterrupts> legacy, Counter interrupts, Counter ipis) {
        this.index = vcpu.index();
        this.vcpu = vcpu;
        this.clock = clock;
        this.timer = new ApicTimer(timer);
        this.legacy = legacy;
        this.interrupts = interrupts;
        this.ipis = ipis;
        this.map = new RegisterMap<>("local APIC " + index, LocalApicRegister.class, this);
        reset();
    }

    void bus(ApicBus value) {
        bus = value;
    }

    RegisterMap<LocalApicRegister> registers() {
        return map;
    }

    /** Power-on state; the vCPU does not run. */
    void reset() {
        initPending = false;
        base = DEFAULT_BASE | BASE_ENABLE | (index == 0 ? BASE_BSP : 0);
        clearRegisters();
    }

    private void clearRegisters() {
        tpr = 0;
        ldr = x2apic() ? x2apicLdr() : 0;
        dfr = -1;
        svr = SVR_RESET;
        java.util.Arrays.fill(lvt, LocalApicRegister.MASKED);
        if (index == 0) {
            // As KVM and QEMU do: firmware and kernels expect the 8259s to reach the boot processor from the start.
            lvt[LINT0] = LINT0_EXTINT;
        }
        lint0 = lvt[LINT0];
        extInt = false;
        newErrors.set(0);
        errors = 0;
        icrLow = 0;
        icrHigh = 0;
        timer.reset();
        requests.clearAll();
        inService.clearAll();
        triggerModes.clearAll();
    }

    /** Carries out an INIT that has arrived. vCPU's thread. */
    private void catchInit() {
        if (initPending) {
            clearRegisters();
            initPending = false;
        }
    }

    private boolean hardwareEnabled() {
        return (base & BASE_ENABLE) != 0;
    }

    private boolean x2apic() {
        return (base & BASE_X2APIC) != 0;
    }

    private int x2apicLdr() {
        return index >> 4 << 16 | 1 << (index & 15);
    }

    /** Whether it takes fixed interrupts. Any thread. */
    boolean enabled() {
        return hardwareEnabled() && (svr & SVR_ENABLE) != 0 && !initPending;
    }

    /** Whether an access at an address is to this APIC's registers. */
    boolean decodes(long gpa) {
        long b = base;
        return (gpa & -PAGE_BYTES) == (b & BASE_ADDRESS) && (b & (BASE_ENABLE | BASE_X2APIC)) == BASE_ENABLE;
    }

    // Messages. Any thread.

    /** Whether a message's destination includes this APIC (SDM 11.6.2). */
    boolean matches(int destination, boolean logical) {
        if (!hardwareEnabled()) {
            return false;
        }
        if (destination == ApicMessage.BROADCAST) {
            return true;
        }
        if (!logical) {
            return destination == index;
        }
        int own = ldr;
        if (x2apic()) {
            return destination >>> 16 == own >>> 16 && (destination & own & 0xffff) != 0;
        }
        own >>>= 24;
        if (destination >>> 8 != 0) {
            return false;
        }
        if (dfr >>> 28 == 0xf) {
            return (destination & own) != 0;
        }
        return destination >> 4 == own >> 4 && (destination & own & 0xf) != 0;
    }

    /** Takes a message. */
    void accept(int mode, int vector, boolean level) {
        switch (mode) {
            case ApicMessage.FIXED, ApicMessage.LOWEST_PRIORITY -> acceptFixed(vector, level);
            case ApicMessage.NMI -> vcpu.injectNmi();
            case ApicMessage.INIT -> {
                initPending = true;
                vcpu.init();
            }
            case ApicMessage.STARTUP -> vcpu.startup(vector);
            case ApicMessage.EXTINT -> {
                extInt = true;
                vcpu.interruptChanged();
            }
            default -> {
                // There is no system management mode to enter, and the other encodings are reserved.
            }
        }
    }

    private void acceptFixed(int vector, boolean level) {
        if (!enabled()) {
            return;
        }
        if (vector < LOWEST_LEGAL_VECTOR) {
            error(ESR_RECEIVE_ILLEGAL_VECTOR);
            return;
        }
        if (level) {
            triggerModes.set(vector);
        } else {
            triggerModes.clear(vector);
        }
        requests.set(vector);
        vcpu.interruptChanged();
    }

    private void error(int bit) {
        if (noteError(bit)) {
            deliverLocal(lvt[ERROR], ApicMessage.FIXED);
        }
    }

    /** Remembers an error until the guest writes the status register; false if it is known already. */
    private boolean noteError(int bit) {
        int old = newErrors.get();
        while ((old & bit) == 0) {
            int seen = newErrors.compareAndExchange(old, old | bit);
            if (seen == old) {
                return true;
            }
            old = seen;
        }
        return false;
    }

    /** Delivers an interrupt of the local vector table. */
    private void deliverLocal(int entry, int mode) {
        if ((entry & LocalApicRegister.MASKED) != 0) {
            return;
        }
        int vector = entry & 0xff;
        if (mode == ApicMessage.FIXED && vector < LOWEST_LEGAL_VECTOR) {
            // An error interrupt with an illegal vector must not cause the next one.
            noteError(ESR_RECEIVE_ILLEGAL_VECTOR);
            return;
        }
        accept(mode, vector, false);
    }

    /** The level of the 8259s' output. */
    void lint0(boolean asserted) {
        boolean rising = asserted && !lint0Asserted;
        lint0Asserted = asserted;
        if (!asserted) {
            return;
        }
        int entry = lint0;
        int mode = entry >> 8 & 7;
        if (mode == ApicMessage.EXTINT || !hardwareEnabled()) {
            vcpu.interruptChanged();
        } else if (rising && mode != ApicMessage.INIT) {
            deliverLocal(entry, mode);
        }
    }

    void timerExpired() {
        if (timer.expired(clock.nanoTime())) {
            deliverLocal(lvt[TIMER], ApicMessage.FIXED);
        }
    }

    // The vCPU's side. vCPU's thread.

    private boolean legacyPending() {
        if (extInt) {
            return true;
        }
        if (!lint0Asserted) {
            return false;
        }
        return !hardwareEnabled() || (lint0 & (LocalApicRegister.MASKED | 0x700)) == LINT0_EXTINT;
    }

    /** The processor priority. Any thread, for arbitration. */
    int processorPriority() {
        int service = Math.max(0, inService.highest());
        int task = tpr;
        return task >> 4 >= service >> 4 ? task : service & 0xf0;
    }

    @Override
    public boolean interruptPending() {
        catchInit();
        if (legacyPending()) {
            return true;
        }
        int vector = requests.highest();
        return vector >= 0 && hardwareEnabled() && vector >> 4 > processorPriority() >> 4;
    }

    @Override
    public int acknowledge() {
        catchInit();
        if (legacyPending() && legacy.isPresent()) {
            extInt = false;
            interrupts.increment();
            return legacy.get().acknowledge();
        }
        if (!hardwareEnabled()) {
            return -1;
        }
        int vector = requests.highest();
        if (vector < 0 || vector >> 4 <= processorPriority() >> 4) {
            return -1;
        }
        requests.clear(vector);
        inService.set(vector);
        interrupts.increment();
        return vector;
    }

    /** Something that held interrupts back has gone. */
    private void lookAgain() {
        if (interruptPending()) {
            vcpu.interruptChanged();
        }
    }

    private void endOfInterrupt() {
        int vector = inService.highest();
        if (vector < 0) {
            return;
        }
        inService.clear(vector);
        if (triggerModes.get(vector) && (svr & SVR_NO_EOI_BROADCAST) == 0) {
            bus.endOfInterrupt(vector);
        }
        lookAgain();
    }

    @Override
    public int cr8() {
        catchInit();
        return tpr >> 4;
    }

    @Override
    public void cr8(int value) {
        catchInit();
        tpr = (value & 0xf) << 4;
        lookAgain();
    }

    @Override
    public long base() {
        return base;
    }

    @Override
    public boolean base(long value) {
        catchInit();
        long old = base;
        if ((value & ~(BASE_ADDRESS | BASE_ENABLE | BASE_X2APIC | BASE_BSP)) != 0) {
            return false;
        }
        boolean enable = (value & BASE_ENABLE) != 0;
        boolean extended = (value & BASE_X2APIC) != 0;
        boolean wasEnabled = (old & BASE_ENABLE) != 0;
        boolean wasExtended = (old & BASE_X2APIC) != 0;
        // SDM figure 11-27: x2APIC is entered from xAPIC and left to disabled only.
        if (extended && !enable || extended && !wasEnabled || wasExtended && enable && !extended) {
            return false;
        }
        base = value;
        if (wasEnabled && !enable) {
            clearRegisters();
        }
        if (extended && !wasExtended) {
            ldr = x2apicLdr();
            icrHigh = 0;
        }
        lookAgain();
        return true;
    }

    // Registers. vCPU's thread.

    long read(long offset, int size) {
        catchInit();
        return map.read(offset, size);
    }

    void write(long offset, int size, long value) {
        catchInit();
        map.write(offset, size, value);
    }

    @Override
    public OptionalLong readMsr(int msr) {
        catchInit();
        if (msr == MSR_TSC_DEADLINE) {
            return OptionalLong.of(timer.deadline(clock.nanoTime()));
        }
        if (!x2apic() || msr < MSR_FIRST || msr > MSR_LAST) {
            return OptionalLong.empty();
        }
        if (msr == MSR_ICR) {
            return OptionalLong.of(Integer.toUnsignedLong(icrHigh) << 32 | icrLow);
        }
        LocalApicRegister register = ofMsr(msr);
        if (register == null || register == LocalApicRegister.EOI) {
            return OptionalLong.empty();
        }
        return OptionalLong.of(map.read(register.offset(), 4));
    }

    /** The register behind an MSR, but for those that x2APIC does not have (SDM table 11-6). */
    private static @org.jspecify.annotations.Nullable LocalApicRegister ofMsr(int msr) {
        int at = msr - MSR_FIRST;
        if (at >= BY_MSR.length) {
            return null;
        }
        LocalApicRegister register = BY_MSR[at];
        boolean missing = register == LocalApicRegister.DFR
                || register == LocalApicRegister.APR
                || register == LocalApicRegister.RRD
                || register == LocalApicRegister.ICR_HIGH;
        return missing ? null : register;
    }

    @Override
    public boolean writeMsr(int msr, long value) {
        catchInit();
        if (msr == MSR_TSC_DEADLINE) {
            long tsc = vcpu.msr(MSR_TSC).orElse(0);
            long kilohertz = Math.max(1, vcpu.tscKilohertz().orElse(1_000_000));
            timer.deadline(value, tsc, kilohertz, clock.nanoTime());
            return true;
        }
        if (!x2apic() || msr < MSR_FIRST || msr > MSR_LAST) {
            return false;
        }
        if (msr == MSR_ICR) {
            if ((value & 0xffff_ffffL & ~ICR_WRITABLE) != 0) {
                return false;
            }
            icrHigh = (int) (value >>> 32);
            icrLow = (int) value;
            send(icrLow, icrHigh);
            return true;
        }
        if (msr == MSR_SELF_IPI) {
            if (value >>> 8 != 0) {
                return false;
            }
            ipis.increment();
            sendTo(ApicMessage.FIXED, (int) value, 1, 0, false);
            return true;
        }
        LocalApicRegister register = ofMsr(msr);
        if (register == null
                || register.access() == org.benchtop.spi.device.Register.Access.READ_ONLY
                || register == LocalApicRegister.LDR
                || (value & ~writable(register)) != 0) {
            return false;
        }
        map.write(register.offset(), 4, value);
        return true;
    }

    /** Bits that may be ones in an x2APIC write; others fault. */
    private static long writable(LocalApicRegister register) {
        return switch (register) {
            case TPR -> 0xff;
            case EOI, ESR -> 0;
            case SVR -> SVR_WRITABLE;
            case DIVIDE -> 0xb;
            case INITIAL_COUNT -> 0xffff_ffffL;
            case LVT_TIMER, LVT_THERMAL, LVT_PERFORMANCE, LVT_LINT0, LVT_LINT1, LVT_ERROR ->
                LVT_WRITABLE[register.ordinal() - LocalApicRegister.LVT_TIMER.ordinal()] | ICR_DELIVERY_STATUS;
            default -> 0;
        };
    }

    @Override
    public long read(LocalApicRegister register) {
        return peek(register);
    }

    @Override
    public long peek(LocalApicRegister register) {
        return switch (register) {
            case ID -> x2apic() ? index : (long) index << 24;
            case VERSION -> LocalApicRegister.VERSION_VALUE;
            case TPR -> tpr;
            case APR, PPR -> processorPriority();
            case EOI, RRD -> 0;
            case LDR -> ldr;
            case DFR -> dfr;
            case SVR -> svr;
            case ISR0, ISR1, ISR2, ISR3, ISR4, ISR5, ISR6, ISR7 ->
                inService.register(register.ordinal() - LocalApicRegister.ISR0.ordinal());
            case TMR0, TMR1, TMR2, TMR3, TMR4, TMR5, TMR6, TMR7 ->
                triggerModes.register(register.ordinal() - LocalApicRegister.TMR0.ordinal());
            case IRR0, IRR1, IRR2, IRR3, IRR4, IRR5, IRR6, IRR7 ->
                requests.register(register.ordinal() - LocalApicRegister.IRR0.ordinal());
            case ESR -> errors;
            case ICR_LOW -> icrLow;
            case ICR_HIGH -> icrHigh;
            case LVT_TIMER, LVT_THERMAL, LVT_PERFORMANCE, LVT_LINT0, LVT_LINT1, LVT_ERROR ->
                lvt[register.ordinal() - LocalApicRegister.LVT_TIMER.ordinal()];
            case INITIAL_COUNT -> timer.initialCount();
            case CURRENT_COUNT -> timer.currentCount(clock.nanoTime());
            case DIVIDE -> timer.divide();
        };
    }

    @Override
    public void write(LocalApicRegister register, long value) {
        int bits = (int) value;
        switch (register) {
            case TPR -> {
                tpr = bits & 0xff;
                lookAgain();
            }
            case EOI -> endOfInterrupt();
            case LDR -> ldr = bits & 0xff00_0000;
            case DFR -> dfr = bits | DFR_FIXED;
            case SVR -> writeSvr(bits & SVR_WRITABLE);
            case ESR -> errors = newErrors.getAndSet(0);
            case ICR_LOW -> {
                icrLow = bits & ICR_WRITABLE;
                send(icrLow, x2apic() ? icrHigh : ApicMessage.destination8(icrHigh >>> 24));
            }
            case ICR_HIGH -> icrHigh = bits & 0xff00_0000;
            case LVT_TIMER, LVT_THERMAL, LVT_PERFORMANCE, LVT_LINT0, LVT_LINT1, LVT_ERROR ->
                writeLvt(register.ordinal() - LocalApicRegister.LVT_TIMER.ordinal(), bits);
            case INITIAL_COUNT -> timer.start(bits, clock.nanoTime());
            case DIVIDE -> {
                if (timer.divide(bits & 0xb, clock.nanoTime())) {
                    deliverLocal(lvt[TIMER], ApicMessage.FIXED);
                }
            }
            default -> {
                // Read-only.
            }
        }
    }

    private void writeSvr(int value) {
        svr = value;
        if ((value & SVR_ENABLE) == 0) {
            for (int entry = 0; entry < lvt.length; entry++) {
                writeLvt(entry, lvt[entry]);
            }
        }
    }

    /** While the APIC is disabled by software, every entry stays masked (SDM 11.4.7.2). */
    private void writeLvt(int entry, int value) {
        int old = lvt[entry];
        int now = value & LVT_WRITABLE[entry] | ((svr & SVR_ENABLE) == 0 ? LocalApicRegister.MASKED : 0);
        lvt[entry] = now;
        if (entry == TIMER) {
            int mode = Math.min(now >> 17 & 3, ApicTimer.TSC_DEADLINE);
            if (timer.configure(mode, (now & LocalApicRegister.MASKED) != 0, clock.nanoTime())) {
                deliverLocal(old, ApicMessage.FIXED);
            }
        } else if (entry == LINT0) {
            lint0 = now;
            lookAgain();
        }
    }

    /** Sends an interprocessor interrupt (SDM 11.6.1). */
    private void send(int low, int destination) {
        int mode = low >> 8 & 7;
        ipis.increment();
        if (mode == ApicMessage.INIT && (low & (ICR_LEVEL_ASSERT | ICR_TRIGGER_LEVEL)) == ICR_TRIGGER_LEVEL) {
            // INIT level de-assert: only told old processors to take their arbitration IDs.
            return;
        }
        sendTo(mode, low & 0xff, low >> 18 & 3, destination, (low & ICR_LOGICAL) != 0);
    }

    private void sendTo(int mode, int vector, int shorthand, int destination, boolean logical) {
        boolean fixed = mode == ApicMessage.FIXED || mode == ApicMessage.LOWEST_PRIORITY;
        if (fixed && vector < LOWEST_LEGAL_VECTOR) {
            error(ESR_SEND_ILLEGAL_VECTOR);
            return;
        }
        switch (shorthand) {
            case 0 -> bus.deliver(destination, logical, mode, vector, false);
            case 1 -> accept(fixed ? ApicMessage.FIXED : mode, vector, false);
            case 2 -> bus.deliverToAll(this, true, mode, vector);
            default -> bus.deliverToAll(this, false, mode, vector);
        }
    }

    // State.

    /** Saved state of one local APIC, register by register. */
    record State(
            long base,
            int tpr,
            int ldr,
            int dfr,
            int svr,
            int[] lvt,
            long[] requests,
            long[] inService,
            long[] triggerModes,
            int newErrors,
            int errors,
            int icrLow,
            int icrHigh,
            boolean lint0Asserted,
            boolean extInt,
            boolean initPending,
            ApicTimer.State timer) {}

    State save() {
        return new State(
                base,
                tpr,
                ldr,
                dfr,
                svr,
                lvt.clone(),
                requests.save(),
                inService.save(),
                triggerModes.save(),
                newErrors.get(),
                errors,
                icrLow,
                icrHigh,
                lint0Asserted,
                extInt,
                initPending,
                timer.save(clock.nanoTime()));
    }

    void restore(State state) {
        base = state.base & (BASE_ADDRESS | BASE_ENABLE | BASE_X2APIC | BASE_BSP);
        tpr = state.tpr & 0xff;
        ldr = state.ldr;
        dfr = state.dfr;
        svr = state.svr & SVR_WRITABLE;
        for (int entry = 0; entry < lvt.length; entry++) {
            lvt[entry] = entry < state.lvt.length ? state.lvt[entry] & LVT_WRITABLE[entry] : LocalApicRegister.MASKED;
        }
        lint0 = lvt[LINT0];
        requests.restore(state.requests);
        inService.restore(state.inService);
        triggerModes.restore(state.triggerModes);
        newErrors.set(state.newErrors);
        errors = state.errors;
        icrLow = state.icrLow & ICR_WRITABLE;
        icrHigh = state.icrHigh;
        lint0Asserted = state.lint0Asserted;
        extInt = state.extInt;
        initPending = state.initPending;
        timer.restore(
                state.timer,
                Math.min(lvt[TIMER] >> 17 & 3, ApicTimer.TSC_DEADLINE),
                (lvt[TIMER] & LocalApicRegister.MASKED) != 0,
                clock.nanoTime());
        vcpu.interruptChanged();
    }

    /** The mode, and the vectors that are requested and in service, for people. */
    String inspect() {
        String mode = !hardwareEnabled() ? "disabled" : x2apic() ? "x2apic" : "xapic";
        return mode + " at 0x" + Long.toHexString(base & BASE_ADDRESS) + ", requested " + requests + ", in service "
                + inService;
    }

    void close() {
        timer.close();
    }
}
