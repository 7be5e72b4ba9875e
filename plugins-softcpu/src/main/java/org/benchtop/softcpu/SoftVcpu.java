package org.benchtop.softcpu;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.locks.LockSupport;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.ExitCounts;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.state.SavedState;
import org.jspecify.annotations.Nullable;

/**
 * A vCPU of the software CPU. {@link #run} executes blocks until somebody asks for something: every request is a bit of
 * {@link Cpu#pending}, which is looked at between blocks.
 */
final class SoftVcpu implements Vcpu {
    static final int KICK = 1;
    static final int INTERRUPT = 1 << 1;
    static final int NMI = 1 << 2;
    static final int INIT = 1 << 3;
    static final int STARTUP = 1 << 4;
    static final int FLUSH = 1 << 5;
    static final int EXCLUSIVE = 1 << 6;
    /** HLT was executed. */
    static final int HALT = 1 << 7;
    /** One instruction at a time: RFLAGS.TF or a debugger. */
    static final int STEP = 1 << 8;
    /** A watchpoint was hit. */
    static final int WATCH = 1 << 9;
    /** There are breakpoints: one block at a time. */
    static final int BREAKPOINTS = 1 << 10;
    /** Code has changed under a processor that may be inside it. */
    static final int CODE = 1 << 11;

    /** The instruction hit a watchpoint of the guest. */
    static final int TRAP = 1 << 12;

    /** Requests that stay, and wake nobody. */
    private static final int MODES = STEP | BREAKPOINTS;

    private static final int BYTES_OF_THE_LARGEST_OPERAND = 4096;

    private static final VarHandle PENDING;
    private static final VarHandle IN_GUEST;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            PENDING = lookup.findVarHandle(Cpu.class, "pending", int.class);
            IN_GUEST = lookup.findVarHandle(SoftVcpu.class, "inGuest", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private enum Activity {
        RUNNING,
        /** After power-on or INIT, until a start-up IPI. */
        WAITING,
    }

    private final SoftVm vm;
    private final int index;
    private final Cpu cpu;
    private final BlockBuilder builder;
    private final SoftExits exits = new SoftExits();
    private Activity activity = Activity.RUNNING;
    private volatile @Nullable Thread runner;
    private volatile boolean parked;
    private volatile int startupVector;
    private volatile int flushes;

    @SuppressWarnings("unused") // through IN_GUEST
    private volatile boolean inGuest;

    private volatile boolean closed;
    /** Interrupts wait for RFLAGS.IF. */
    private boolean interruptsWaiting;

    private boolean nmiMasked;
    private boolean nmiWaiting;
    private boolean singleStep;
    private long[] breakpoints = {};
    private long[] debugBreakpoints = {};
    private long stoppedAt = -1;
    /** Deterministic mode: the count of instructions at which {@link #run} returns. */
    private volatile long stopAfter = Long.MAX_VALUE;
    /** Deterministic mode: found nothing to do in its last turn. */
    private volatile boolean idle;

    private @Nullable Insn lastUndefined;

    SoftVcpu(SoftVm vm, int index) {
        this.vm = vm;
        this.index = index;
        this.cpu = new Cpu(vm, this, index, vm.cpuFeatures());
        this.builder = new BlockBuilder(cpu, vm.code());
        powerOn();
    }

    Cpu cpu() {
        return cpu;
    }

    // ---- requests ----

    /** What is asked for now. */
    static int pending(Cpu c) {
        return (int) PENDING.getAcquire(c);
    }

    /** Asks for something before the next block. Any thread. */
    void request(int bit) {
        int old = (int) PENDING.getAndBitwiseOr(cpu, bit);
        if ((old & bit) == 0 && parked) {
            LockSupport.unpark(runner);
        }
        Turns turns = vm.turns();
        if (turns != null) {
            turns.wake();
        }
    }

    private void clear(int bit) {
        PENDING.getAndBitwiseAnd(cpu, ~bit);
    }

    @Override
    public void kick() {
        request(KICK);
    }

    @Override
    public void injectNmi() {
        request(NMI);
    }

    @Override
    public void interruptChanged() {
        request(INTERRUPT);
    }

    @Override
    public void init() {
        request(INIT);
    }

    @Override
    public void startup(int vector) {
        startupVector = vector;
        request(STARTUP);
    }

    @Override
    public void connect(LocalApic apic) {
        cpu.apic = apic;
    }

    /** RFLAGS.IF or the task priority may let interrupts through now. */
    void interruptsOpened() {
        if (interruptsWaiting) {
            interruptsWaiting = false;
            request(INTERRUPT);
        }
    }

    void unmaskNmi() {
        nmiMasked = false;
        if (nmiWaiting) {
            nmiWaiting = false;
            request(NMI);
        }
    }

    void countInterrupt() {
        exits.count(SoftExits.INTERRUPT);
    }

    SoftExits counters() {
        return exits;
    }

    // ---- being stopped by others ----

    void enterGuest() {
        while (true) {
            IN_GUEST.setVolatile(this, true);
            if (!vm.stopped()) {
                return;
            }
            IN_GUEST.setVolatile(this, false);
            vm.awaitExclusive();
        }
    }

    void leaveGuest() {
        IN_GUEST.setVolatile(this, false);
    }

    /** Devices may wait for each other, and for a change of the memory map: see {@link #awaitFlush}. */
    void returnFromDevice() {
        enterGuest();
        if ((pending(cpu) & FLUSH) != 0) {
            clear(FLUSH);
            cpu.mmu.flush();
            flushes++;
        }
    }

    /** How often all translations were forgotten because the memory map or its use has changed. */
    int flushes() {
        return flushes;
    }

    void awaitOutside() {
        while ((boolean) IN_GUEST.getVolatile(this)) {
            Thread.yield();
        }
    }

    /** After a request to flush: waits until no stale translation can be used. */
    void awaitFlush() {
        if (Thread.currentThread() == runner) {
            cpu.mmu.flush();
            return;
        }
        int seen = flushes;
        while ((boolean) IN_GUEST.getVolatile(this)
                && flushes == seen
                && ((int) PENDING.getVolatile(cpu) & FLUSH) != 0) {
            Thread.yield();
        }
    }

    // ---- the run loop ----

    @Override
    public VcpuExit run() {
        runner = Thread.currentThread();
        enterGuest();
        try {
            Turns turns = vm.turns();
            return closed ? VcpuExit.Kicked.INSTANCE : turns == null ? loop() : loopInTurns(turns);
        } catch (Unimplemented e) {
            return failed(e.getMessage() + " is not implemented (" + Disassembly.mode(cpu)
                    + "); no CPUID bit announces it, so the guest has to be set up without it");
        } catch (Decoder.UnbackedCode e) {
            return failed(
                    "code is executed where there is none: " + e.getMessage() + " (" + Disassembly.mode(cpu) + ")");
        } catch (RuntimeException e) {
            System.getLogger("org.benchtop.softcpu")
                    .log(
                            System.Logger.Level.ERROR,
                            vm.name() + " vCPU " + index + " at rip=0x" + Long.toHexString(cpu.rip),
                            e);
            return failed("internal error of the software CPU: " + e);
        } finally {
            leaveGuest();
            runner = null;
        }
    }

    private VcpuExit loop() {
        while (true) {
            int pending = (int) PENDING.getVolatile(cpu);
            if (pending != 0 || activity != Activity.RUNNING || cpu.halted) {
                VcpuExit exit = serve(pending);
                if (exit != null) {
                    return exit;
                }
                if (activity != Activity.RUNNING || cpu.halted) {
                    park();
                    continue;
                }
                // A shadow of STI or MOV SS is one instruction long, not a block; without anything pending it does not
                // matter.
                boolean shadow = cpu.inhibit && (cpu.pending & BREAKPOINTS) == 0;
                if (shadow || (cpu.pending & STEP) != 0) {
                    exit = step();
                    if (exit != null) {
                        return exit;
                    }
                    continue;
                }
            }
            // Callbacks of accesses tell the instruction, which only the counting loop knows.
            VcpuExit exit = vm.hooks().active() ? executeCounted() : execute();
            if (exit != null) {
                return exit;
            }
        }
    }

    // ---- deterministic mode ----

    private VcpuExit loopInTurns(Turns turns) {
        while (true) {
            leaveGuest();
            boolean mine = turns.await(this);
            enterGuest();
            if (!mine) {
                clear(KICK);
                exits.count(SoftExits.KICK);
                return VcpuExit.Kicked.INSTANCE;
            }
            idle = false;
            int pending = (int) PENDING.getVolatile(cpu);
            if (pending != 0 || activity != Activity.RUNNING || cpu.halted) {
                VcpuExit exit = serve(pending);
                if (exit != null) {
                    return exit;
                }
                if (activity != Activity.RUNNING || cpu.halted) {
                    idle = true;
                    leaveGuest();
                    turns.pass(this, true);
                    enterGuest();
                    continue;
                }
            }
            if (cpu.instructions >= stopAfter) {
                stopAfter = Long.MAX_VALUE;
                exits.count(SoftExits.DEBUG);
                return new VcpuExit.Debug(cpu.rip);
            }
            turns.plan(cpu);
            long before = cpu.instructions;
            // The shadow of STI and MOV SS: only where something waits, which is the same in every run.
            boolean shadow = cpu.inhibit && (cpu.pending & (INTERRUPT | NMI)) != 0;
            boolean single = shadow || (cpu.pending & STEP) != 0;
            VcpuExit exit = null;
            if (!single) {
                exit = executeCounted();
            } else if (before < cpu.limit) {
                exit = step();
            }
            cpu.partial = 0;
            turns.executed(this, cpu.instructions - before);
            if (exit != null) {
                return exit;
            }
        }
    }

    /** Whether something is asked of a processor that has nothing to do. */
    boolean called() {
        return (pending(cpu) & ~(MODES | KICK)) != 0;
    }

    /** Whether another processor may give its turn to this one. */
    boolean wantsTurn() {
        return !idle && activity == Activity.RUNNING && !cpu.halted || called();
    }

    long stopAfter() {
        return stopAfter;
    }

    @Override
    public void stopAfter(long instructions) {
        if (vm.turns() == null) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    vm.name() + ": only accel {type: soft, icount: true} stops after a number of instructions");
        }
        stopAfter = instructions;
    }

    /**
     * {@link #execute} that stops after exactly {@link Cpu#limit} instructions, and looks at requests at the ends of blocks
     * only, which are at the same addresses with and without translation.
     */
    private @Nullable VcpuExit executeCounted() {
        Cpu c = cpu;
        Block b;
        c.partial = 0;
        if (c.instructions >= c.limit) {
            return null;
        }
        try {
            b = c.cached(c.rip);
            if (b == null) {
                b = builder.at(c.rip);
            }
        } catch (CpuFault fault) {
            c.linkFrom = null;
            return raise();
        }
        c.found(b);
        if (breakpoints.length + debugBreakpoints.length != 0) {
            VcpuExit exit = stopAtBreakpoint();
            if (exit != null) {
                return exit;
            }
            if (c.rip != b.rip) {
                return null;
            }
        }
        int hot = vm.hot() < 0 ? Integer.MAX_VALUE : vm.hot();
        int i = 0;
        try {
            while (true) {
                Block n;
                // Once more than the instruction behind STI has been executed.
                c.inhibit = false;
                Region region = b.region;
                if (region != null
                        && !c.leaveToSteps
                        && c.pending == 0
                        && c.instructions + region.insns <= c.limit
                        && region.mapped(c)) {
                    i = 0;
                    region.run(c);
                    n = c.cached(c.rip);
                } else {
                    Op[] ops = b.ops;
                    c.leaveToSteps = false;
                    c.current = b;
                    int end = (int) Math.min(ops.length, c.limit - c.instructions);
                    for (i = 0; i < end; i++) {
                        c.partial = i;
                        ops[i].run(c);
                    }
                    if (c.instructions + b.count > c.limit && end < b.count) {
                        c.instructions += end;
                        c.rip = b.ripAt(end);
                        return null;
                    }
                    c.partial = i;
                    n = b.term.next(c);
                    c.instructions += b.count;
                    c.partial = 0;
                    if (++b.heat >= hot && worthATry(b.heat, hot)) {
                        translate(b);
                    }
                }
                if (n == null) {
                    return null;
                }
                if (pending(c) != 0 || c.instructions >= c.limit) {
                    c.rip = n.rip;
                    return null;
                }
                b = n;
            }
        } catch (CpuFault fault) {
            if (!faultedInRegion()) {
                c.rip = b.ripAt(i);
                c.instructions += i;
            }
            c.partial = 0;
            return raise();
        } catch (Op.StaleBlock stale) {
            c.rip = b.ripAt(i);
            c.instructions += i;
            return null;
        } catch (RuntimeException | Error e) {
            if (!faultedInRegion()) {
                c.rip = b.ripAt(i);
            }
            throw e;
        }
    }

    /** Runs blocks until something is pending or a block has to be looked for. */
    private @Nullable VcpuExit execute() {
        Cpu c = cpu;
        Block b;
        try {
            b = c.cached(c.rip);
            if (b == null) {
                b = builder.at(c.rip);
            }
        } catch (CpuFault fault) {
            c.linkFrom = null;
            return raise();
        }
        c.found(b);
        if (breakpoints.length + debugBreakpoints.length != 0) {
            VcpuExit exit = stopAtBreakpoint();
            if (exit != null) {
                return exit;
            }
            if (c.rip != b.rip) {
                return null;
            }
        }
        c.inhibit = false;
        int hot = vm.hot() < 0 ? Integer.MAX_VALUE : vm.hot();
        int i = 0;
        try {
            while (true) {
                Block n;
                Region region = b.region;
                if (region != null && !c.leaveToSteps && region.mapped(c)) {
                    i = 0;
                    region.run(c);
                    n = c.cached(c.rip);
                    if (n == null) {
                        return null;
                    }
                } else {
                    Op[] ops = b.ops;
                    c.leaveToSteps = false;
                    c.current = b;
                    for (i = 0; i < ops.length; i++) {
                        ops[i].run(c);
                    }
                    n = b.term.next(c);
                    c.instructions += b.count;
                    if (++b.heat >= hot && worthATry(b.heat, hot)) {
                        translate(b);
                    }
                    if (n == null) {
                        return null;
                    }
                }
                if (pending(c) != 0) {
                    c.rip = n.rip;
                    return null;
                }
                b = n;
            }
        } catch (CpuFault fault) {
            if (!faultedInRegion()) {
                if (fault.notCanonical) {
                    throughStack(b.insns[Math.min(i, b.insns.length - 1)]);
                }
                c.rip = b.ripAt(i);
                c.instructions += i;
            }
            return raise();
        } catch (Op.StaleBlock stale) {
            c.rip = b.ripAt(i);
            c.instructions += i;
            return null;
        } catch (RuntimeException | Error e) {
            if (!faultedInRegion()) {
                c.rip = b.ripAt(i);
            }
            throw e;
        }
    }

    /** Whether what was thrown comes from an instruction inside a region, which wrote back all other state; sets RIP. */
    private boolean faultedInRegion() {
        Insn in = cpu.calledOut;
        if (in == null) {
            return false;
        }
        cpu.calledOut = null;
        if (cpu.fault.notCanonical) {
            throughStack(in);
        }
        cpu.rip = in.rip;
        return true;
    }

    /** Later, when more code around it is known, a block may be worth what it was not before. */
    private static boolean worthATry(int heat, int hot) {
        return heat == hot || (heat & heat - 1) == 0;
    }

    private void translate(Block block) {
        if (vm.options().jit()
                && block.region == null
                && block.mode == Cpu.MODE_64
                && breakpoints.length + debugBreakpoints.length == 0
                && !vm.hooks().active()
                && !vm.hooks().counting()) {
            vm.translate(block);
        }
    }

    /** An address that is not canonical gives #GP, but #SS where it was formed with the stack segment. */
    private void throughStack(Insn in) {
        CpuFault fault = cpu.fault;
        long distance = fault.linear - cpu.offset(in);
        boolean operand = in.memory
                && (in.seg >= Cpu.FS || Long.compareUnsigned(distance + 64, 128 + BYTES_OF_THE_LARGEST_OPERAND) < 0);
        boolean stack = operand ? in.seg == Cpu.SS : !Opcodes.accessesOnlyData(in);
        if (stack) {
            fault.vector = CpuFault.SS;
        }
        fault.notCanonical = false;
    }

    private @Nullable VcpuExit raise() {
        Insn undefined = lastUndefined;
        lastUndefined = null;
        if (undefined != null && cpu.fault.vector == CpuFault.UD) {
            Disassembly.noteUndefined(vm.name(), index, undefined, cpu);
        }
        // An instruction that faults has not been executed.
        cpu.debug.takeHits();
        int vector = cpu.fault.vector;
        int error = cpu.fault.errorCode;
        cpu.noteException(vector);
        if (Interrupts.raise(cpu)) {
            return null;
        }
        exits.count(SoftExits.SHUTDOWN);
        System.getLogger("org.benchtop.softcpu")
                .log(
                        System.Logger.Level.WARNING,
                        "{0} vCPU {1}: triple fault after vector {2}, error code 0x{3}\n{4}",
                        vm.name(),
                        index,
                        vector,
                        Integer.toHexString(error),
                        Disassembly.dump(cpu));
        return VcpuExit.Shutdown.INSTANCE;
    }

    /** Handles what is pending; an exit makes {@link #run} return. */
    private @Nullable VcpuExit serve(int pending) {
        if ((pending & EXCLUSIVE) != 0) {
            clear(EXCLUSIVE);
            leaveGuest();
            vm.awaitExclusive();
            enterGuest();
        }
        if ((pending & FLUSH) != 0) {
            clear(FLUSH);
            cpu.mmu.flush();
            flushes++;
        }
        if ((pending & CODE) != 0) {
            clear(CODE);
        }
        if ((pending & HALT) != 0) {
            clear(HALT);
            exits.count(SoftExits.HLT);
            if (cpu.apic == null) {
                cpu.halted = false;
                return VcpuExit.Halted.INSTANCE;
            }
        }
        if ((pending & KICK) != 0) {
            clear(KICK);
            exits.count(SoftExits.KICK);
            return VcpuExit.Kicked.INSTANCE;
        }
        if ((pending & WATCH) != 0) {
            clear(WATCH);
            exits.count(SoftExits.DEBUG);
            return new VcpuExit.Debug(cpu.rip);
        }
        if ((pending & TRAP) != 0 && !cpu.inhibit) {
            VcpuExit exit = trap(0);
            if (exit != null) {
                return exit;
            }
        }
        if ((pending & (INIT | STARTUP)) != 0) {
            startupSequence(pending);
        }
        if (activity == Activity.WAITING) {
            // The local APIC keeps them; they are looked at again once the processor runs.
            clear(INTERRUPT | NMI);
        } else if (!cpu.inhibit) {
            interrupts(pending);
        }
        if (tripleFault) {
            tripleFault = false;
            exits.count(SoftExits.SHUTDOWN);
            return VcpuExit.Shutdown.INSTANCE;
        }
        return null;
    }

    /** Behind an instruction: raises the #DB that it or a single step asks for. */
    private @Nullable VcpuExit trap(int reasons) {
        clear(TRAP);
        int all = reasons | cpu.debug.takeHits();
        if (all == 0) {
            return null;
        }
        cpu.debug.trap(all);
        return raise();
    }

    private void startupSequence(int pending) {
        if ((pending & INIT) != 0) {
            clear(INIT);
            long instructions = cpu.instructions;
            powerOn();
            cpu.instructions = instructions;
            activity = index == 0 ? Activity.RUNNING : Activity.WAITING;
        }
        if ((pending & STARTUP) != 0) {
            clear(STARTUP);
            if (activity == Activity.WAITING) {
                int vector = startupVector;
                Segments.set(cpu, Cpu.CS, vector << 8, (long) vector << 12, 0xffff, 0x9b);
                cpu.rip = 0;
                cpu.modeChanged();
                activity = Activity.RUNNING;
            }
        }
    }

    private void interrupts(int pending) {
        if ((pending & NMI) != 0) {
            clear(NMI);
            if (nmiMasked) {
                nmiWaiting = true;
            } else {
                nmiMasked = true;
                cpu.halted = false;
                deliver(2);
                return;
            }
        }
        if ((pending & INTERRUPT) == 0) {
            return;
        }
        clear(INTERRUPT);
        LocalApic apic = cpu.apic;
        if (apic == null) {
            return;
        }
        if ((cpu.systemFlags & Flags.IF) == 0) {
            interruptsWaiting = true;
            return;
        }
        if (!apic.interruptPending()) {
            return;
        }
        int vector = apic.acknowledge();
        if (vector >= 0) {
            cpu.halted = false;
            interruptsWaiting = true;
            deliver(vector);
            interruptsOpenedIfEnabled();
        }
    }

    private void interruptsOpenedIfEnabled() {
        if ((cpu.systemFlags & Flags.IF) != 0) {
            interruptsOpened();
        }
    }

    private void deliver(int vector) {
        try {
            Interrupts.deliver(cpu, vector, Interrupts.EVENT, false, 0);
        } catch (CpuFault fault) {
            tripleFault = !Interrupts.raise(cpu);
        }
    }

    private boolean tripleFault;

    private void park() {
        parked = true;
        leaveGuest();
        try {
            while (((int) PENDING.getVolatile(cpu) & ~MODES) == 0) {
                LockSupport.park(this);
            }
        } finally {
            parked = false;
            enterGuest();
        }
    }

    // ---- debugging ----

    /** Executes one instruction. */
    private @Nullable VcpuExit step() {
        Cpu c = cpu;
        boolean trap = (c.systemFlags & Flags.TF) != 0;
        boolean tracing = vm.hooks().tracing();
        if (!trap && !singleStep && !tracing) {
            clear(STEP);
        }
        c.inhibit = false;
        long rip = c.rip;
        Insn stepped = null;
        try {
            Insn in = builder.single();
            stepped = in;
            if (tracing) {
                vm.hooks().trace(c, in);
            }
            if (vm.hooks().hooked(c.codeLinear(rip))) {
                vm.hooks().executes(c, rip);
            }
            c.rip = in.next();
            InsnHandler handler = in.handler;
            if (handler == null) {
                undefined(in);
                throw c.ud();
            }
            handler.execute(c, in);
            c.instructions++;
            VcpuExit exit = trap(trap && (c.systemFlags & Flags.TF) != 0 ? DebugRegisters.BS : 0);
            if (exit != null) {
                return exit;
            }
        } catch (CpuFault fault) {
            c.rip = rip;
            if (fault.notCanonical && stepped != null) {
                throughStack(stepped);
            }
            VcpuExit exit = raise();
            if (exit != null) {
                return exit;
            }
        }
        if (singleStep) {
            exits.count(SoftExits.DEBUG);
            return new VcpuExit.Debug(c.rip);
        }
        return null;
    }

    /** Tracing goes instruction by instruction. */
    void tracingChanged() {
        if (vm.hooks().tracing()) {
            request(STEP);
        }
    }

    boolean isBreakpoint(long linear) {
        for (long address : breakpoints) {
            if (address == linear) {
                return true;
            }
        }
        for (long address : debugBreakpoints) {
            if (address == linear) {
                return true;
            }
        }
        return false;
    }

    private @Nullable VcpuExit stopAtBreakpoint() {
        long linear = cpu.codeLinear(cpu.rip);
        for (long address : breakpoints) {
            if (address == linear) {
                if (stoppedAt == linear) {
                    stoppedAt = -1;
                    return null;
                }
                stoppedAt = linear;
                exits.count(SoftExits.DEBUG);
                return new VcpuExit.Debug(cpu.rip);
            }
        }
        if ((cpu.systemFlags & Flags.RF) != 0) {
            cpu.systemFlags &= ~(long) Flags.RF;
            return null;
        }
        int hits = cpu.debug.breakpointsAt(linear);
        if (hits == 0) {
            return null;
        }
        cpu.debug.trap(hits);
        cpu.systemFlags |= Flags.RF;
        return raise();
    }

    void debugRegistersChanged() {
        long[] next = cpu.debug.breakpoints();
        if (!Arrays.equals(next, debugBreakpoints)) {
            debugBreakpoints = next;
            breakpointsChanged();
        }
    }

    /** Stops the vCPU behind the instruction. */
    void watchHit() {
        request(WATCH);
        endBehindInstruction();
    }

    /** #DB comes behind the instruction. */
    void trapBehindInstruction() {
        request(TRAP);
        endBehindInstruction();
    }

    /** What follows the instruction in its block is decoded anew. */
    private void endBehindInstruction() {
        Block block = cpu.current;
        if (block != null) {
            vm.code().invalidate(block.host, 1);
        }
    }

    @Override
    public void watchpoints(long[] ranges, boolean reads) {
        if (ranges.length % 2 != 0) {
            throw BenchtopException.config(
                    "watchpoints are pairs of address and length, not " + ranges.length + " numbers");
        }
        vm.watch(ranges, reads);
    }

    @Override
    public void singleStep(boolean enabled) {
        singleStep = enabled;
        if (enabled) {
            request(STEP);
        }
    }

    @Override
    public void breakpoints(long[] virtualAddresses) {
        breakpoints = virtualAddresses.clone();
        stoppedAt = -1;
        breakpointsChanged();
    }

    private void breakpointsChanged() {
        if (breakpoints.length + debugBreakpoints.length == 0) {
            clear(BREAKPOINTS);
        } else {
            request(BREAKPOINTS);
        }
        vm.code().clear();
    }

    /** An undefined opcode is about to raise #UD. */
    void undefined(Insn in) {
        lastUndefined = in;
    }

    private VcpuExit failed(String reason) {
        exits.count(SoftExits.FAILED);
        return new VcpuExit.Failed(reason, cpu.rip, Disassembly.bytesAt(cpu, cpu.rip));
    }

    // ---- time ----

    long tsc() {
        return vm.clockNanos() + cpu.tscOffset;
    }

    void tsc(long value) {
        cpu.tscOffset = value - vm.clockNanos();
    }

    @Override
    public OptionalLong tscKilohertz() {
        return OptionalLong.of(SoftVm.TSC_HZ / 1000);
    }

    // ---- state ----

    private void powerOn() {
        Cpu c = cpu;
        Arrays.fill(c.r, 0);
        c.r[Cpu.RDX] = 0x600;
        c.rip = 0xfff0;
        c.setStatus(0);
        c.systemFlags = 0;
        for (int seg = 0; seg < 6; seg++) {
            Segments.set(c, seg, 0, 0, 0xffff, 0x93);
        }
        Segments.set(c, Cpu.CS, 0xf000, 0xffff_0000L, 0xffff, 0x9b);
        Segments.set(c, Cpu.TR, 0, 0, 0xffff, 0x8b);
        Segments.set(c, Cpu.LDTR, 0, 0, 0xffff, 0x82);
        c.gdtBase = 0;
        c.gdtLimit = 0xffff;
        c.idtBase = 0;
        c.idtLimit = 0xffff;
        c.cr0 = 0x6000_0010L;
        c.cr2 = 0;
        c.cr3 = 0;
        c.cr4 = 0;
        c.efer = 0;
        c.xcr0 = 1;
        c.cpl = 0;
        Arrays.fill(c.dr, 0);
        c.dr[6] = 0xffff_0ff0L;
        c.dr[7] = 0x400;
        c.debug.takeHits();
        c.debug.changed();
        c.star = 0;
        c.lstar = 0;
        c.cstar = 0;
        c.sfmask = 0;
        c.kernelGsBase = 0;
        c.sysenterCs = 0;
        c.sysenterEsp = 0;
        c.sysenterEip = 0;
        c.tscAux = 0;
        c.specCtrl = 0;
        c.pat = 0x0007_0406_0007_0406L;
        c.miscEnable = 1;
        c.mtrrDefType = 0;
        Arrays.fill(c.mtrr, 0);
        c.apicBase = 0xfee0_0800L | (index == 0 ? 0x100 : 0);
        c.fpu.reset();
        c.halted = false;
        c.inhibit = false;
        c.linkFrom = null;
        nmiMasked = false;
        nmiWaiting = false;
        interruptsWaiting = true;
        c.mmu.flush();
        c.modeChanged();
    }

    @Override
    public void reset() {
        clear(NMI | INIT | STARTUP | INTERRUPT | HALT);
        powerOn();
        cpu.tscOffset = 0;
        stoppedAt = -1;
        activity = index == 0 ? Activity.RUNNING : Activity.WAITING;
        breakpointsChanged();
    }

    @Override
    public int index() {
        return index;
    }

    @Override
    public Registers registers() {
        long[] r = cpu.r;
        return new Registers(
                r[0],
                r[3],
                r[1],
                r[2],
                r[6],
                r[7],
                r[4],
                r[5],
                r[8],
                r[9],
                r[10],
                r[11],
                r[12],
                r[13],
                r[14],
                r[15],
                cpu.rip,
                cpu.rflags());
    }

    @Override
    public void registers(Registers v) {
        long[] values = {
            v.rax(), v.rcx(), v.rdx(), v.rbx(), v.rsp(), v.rbp(), v.rsi(), v.rdi(), v.r8(), v.r9(), v.r10(), v.r11(),
            v.r12(), v.r13(), v.r14(), v.r15()
        };
        System.arraycopy(values, 0, cpu.r, 0, values.length);
        cpu.rip = v.rip();
        cpu.rflags(v.rflags());
        cpu.linkFrom = null;
        stoppedAt = -1;
        cpu.modeChanged();
    }

    private SegmentRegister segment(int seg) {
        int attr = cpu.segAttr[seg];
        return new SegmentRegister(
                cpu.selector[seg],
                cpu.segBase[seg],
                (int) cpu.segLimit[seg],
                attr & 15,
                (attr & Segments.PRESENT) != 0,
                Segments.dpl(attr),
                (attr & Segments.BIG) != 0,
                (attr & Segments.CODE_OR_DATA) == 0,
                (attr & Segments.LONG) != 0,
                (attr & Segments.GRANULARITY) != 0,
                (attr & 1 << 12) != 0,
                (attr & Segments.UNUSABLE) != 0);
    }

    private void segment(int seg, SegmentRegister v) {
        int attr = v.type()
                | (v.system() ? 0 : Segments.CODE_OR_DATA)
                | v.dpl() << 5
                | (v.present() ? Segments.PRESENT : 0)
                | (v.available() ? 1 << 12 : 0)
                | (v.longMode() ? Segments.LONG : 0)
                | (v.db() ? Segments.BIG : 0)
                | (v.granularity() ? Segments.GRANULARITY : 0)
                | (v.unusable() ? Segments.UNUSABLE : 0);
        Segments.set(cpu, seg, v.selector(), v.base(), v.limit() & 0xffff_ffffL, attr);
    }

    @Override
    public SpecialRegisters specialRegisters() {
        LocalApic apic = cpu.apic;
        return new SpecialRegisters(
                segment(Cpu.CS),
                segment(Cpu.DS),
                segment(Cpu.ES),
                segment(Cpu.FS),
                segment(Cpu.GS),
                segment(Cpu.SS),
                segment(Cpu.TR),
                segment(Cpu.LDTR),
                new DescriptorTable(cpu.gdtBase, cpu.gdtLimit),
                new DescriptorTable(cpu.idtBase, cpu.idtLimit),
                cpu.cr0,
                cpu.cr2,
                cpu.cr3,
                cpu.cr4,
                apic == null ? 0 : apic.cr8(),
                cpu.efer,
                apic == null ? cpu.apicBase : apic.base());
    }

    @Override
    public void specialRegisters(SpecialRegisters v) {
        segment(Cpu.CS, v.cs());
        segment(Cpu.DS, v.ds());
        segment(Cpu.ES, v.es());
        segment(Cpu.FS, v.fs());
        segment(Cpu.GS, v.gs());
        segment(Cpu.SS, v.ss());
        segment(Cpu.TR, v.tr());
        segment(Cpu.LDTR, v.ldt());
        cpu.gdtBase = v.gdt().base();
        cpu.gdtLimit = v.gdt().limit();
        cpu.idtBase = v.idt().base();
        cpu.idtLimit = v.idt().limit();
        cpu.cr0 = v.cr0() | Cpu.CR0_ET;
        cpu.cr2 = v.cr2();
        cpu.cr3 = v.cr3();
        cpu.cr4 = v.cr4();
        cpu.efer = v.efer();
        LocalApic apic = cpu.apic;
        if (apic == null) {
            cpu.apicBase = v.apicBase();
        } else {
            apic.cr8((int) v.cr8());
            if (v.apicBase() != 0) {
                apic.base(v.apicBase());
            }
        }
        cpu.cpl = (cpu.cr0 & Cpu.CR0_PE) == 0 ? 0 : v.cs().selector() & 3;
        cpu.mmu.flush();
        cpu.modeChanged();
    }

    @Override
    public OptionalLong msr(int number) {
        return Msrs.get(cpu, number);
    }

    @Override
    public boolean msr(int number, long value) {
        return Boolean.TRUE.equals(Msrs.set(cpu, number, value));
    }

    @Override
    public OptionalLong translate(long virtualAddress) {
        long physical = cpu.mmu.peek(virtualAddress);
        return physical < 0 ? OptionalLong.empty() : OptionalLong.of(physical);
    }

    @Override
    public OptionalLong instructions() {
        return OptionalLong.of(cpu.instructions);
    }

    @Override
    public ExitCounts exits() {
        return exits.snapshot();
    }

    @Override
    public SavedState saveState() {
        return new SavedState(CpuState.VERSION, CpuState.of(cpu, activity == Activity.WAITING, nmiMasked));
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() > CpuState.VERSION || !(state.content() instanceof CpuState content)) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    vm.name() + " vCPU " + index + ": saved state of version " + state.version()
                            + " is not one of accel soft up to version " + CpuState.VERSION);
        }
        Turns turns = vm.turns();
        long nanos = turns == null ? 0 : turns.nanoTime();
        content.apply(cpu);
        if (turns != null) {
            // Virtual time is the VM's, not the count of one processor.
            turns.nanoTime(nanos);
        }
        nmiMasked = content.nmiMasked();
        activity = content.waiting() ? Activity.WAITING : Activity.RUNNING;
        interruptsWaiting = false;
        request(INTERRUPT);
        vm.code().clear();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        if (runner == Thread.currentThread()) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL, vm.name() + " vCPU " + index + " cannot be closed by its own thread");
        }
        closed = true;
        kick();
        while (runner != null) {
            Thread.yield();
        }
        vm.forget(this);
    }
}
