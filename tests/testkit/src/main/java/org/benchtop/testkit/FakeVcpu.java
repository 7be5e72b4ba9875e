package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.ExitCounts;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.state.SavedState;
import org.jspecify.annotations.Nullable;

/** A vCPU that executes nothing and remembers what interrupt controllers ask of it. Thread-safe. */
public final class FakeVcpu implements Vcpu {
    private final int index;
    private final FakeClock clock;
    private final List<String> signals = new ArrayList<>();
    private final Map<Integer, Long> msrs = new HashMap<>();
    private volatile long interruptChanges;
    private volatile @Nullable LocalApic apic;

    /** A vCPU whose time-stamp counter counts the nanoseconds of a clock. */
    public FakeVcpu(int index, FakeClock clock) {
        this.index = index;
        this.clock = clock;
    }

    /** What arrived so far besides {@link #interruptChanged}: {@code nmi}, {@code init}, {@code startup 7}. */
    public synchronized List<String> signals() {
        return List.copyOf(signals);
    }

    /** How often {@link #interruptChanged} was called. */
    public synchronized long interruptChanges() {
        return interruptChanges;
    }

    /** The local APIC that was connected. */
    public LocalApic apic() {
        LocalApic connected = apic;
        if (connected == null) {
            throw new AssertionError("no local APIC is connected to vCPU " + index);
        }
        return connected;
    }

    @Override
    public int index() {
        return index;
    }

    @Override
    public VcpuExit run() {
        return VcpuExit.Kicked.INSTANCE;
    }

    @Override
    public void kick() {}

    @Override
    public void reset() {}

    @Override
    public Registers registers() {
        return Registers.ZERO;
    }

    @Override
    public void registers(Registers registers) {}

    @Override
    public SpecialRegisters specialRegisters() {
        throw new UnsupportedOperationException("a fake vCPU has no special registers");
    }

    @Override
    public void specialRegisters(SpecialRegisters registers) {}

    @Override
    public synchronized OptionalLong msr(int msr) {
        if (msr == 0x10) {
            return OptionalLong.of(clock.nanoTime());
        }
        Long value = msrs.get(msr);
        return value == null ? OptionalLong.empty() : OptionalLong.of(value);
    }

    @Override
    public synchronized boolean msr(int msr, long value) {
        msrs.put(msr, value);
        return true;
    }

    @Override
    public OptionalLong translate(long virtualAddress) {
        return OptionalLong.of(virtualAddress);
    }

    @Override
    public OptionalLong tscKilohertz() {
        return OptionalLong.of(1_000_000);
    }

    @Override
    public void singleStep(boolean enabled) {}

    @Override
    public void breakpoints(long[] virtualAddresses) {}

    @Override
    public synchronized void injectNmi() {
        signals.add("nmi");
    }

    @Override
    public void connect(LocalApic localApic) {
        apic = localApic;
    }

    @Override
    public synchronized void interruptChanged() {
        interruptChanges++;
    }

    @Override
    public synchronized void init() {
        signals.add("init");
    }

    @Override
    public synchronized void startup(int vector) {
        signals.add("startup " + vector);
    }

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
    public void close() {}
}
