package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.jspecify.annotations.Nullable;

/** System time, timers and run states of vCPUs (vcpu.h). */
final class VcpuTimers implements AutoCloseable {
    /** struct vcpu_runstate_info: state, its start, and the time spent in each of four states. */
    static final int RUNSTATE_BYTES = 48;

    private static final int TIME_BYTES = 32;
    private static final int MSR_TSC = 0x10;
    private static final long DEFAULT_TSC_KILOHERTZ = 1_000_000;
    /** Shorter periods are refused. */
    private static final long MIN_PERIOD_NANOS = 1_000_000;

    private static final int SHARED_WALL_CLOCK = 3072;

    private final DeviceContext context;
    private final GuestMemory memory;
    private final VcpuInfos infos;
    private final EventChannels events;
    private final State[] vcpus;

    /** One vCPU. */
    private static final class State {
        @Nullable
        Timer timer;

        @Nullable
        MemorySegment time;

        long periodNanos;
        long nextNanos;
    }

    VcpuTimers(DeviceContext context, VcpuInfos infos, EventChannels events) {
        this.context = context;
        this.memory = context.memory();
        this.infos = infos;
        this.events = events;
        this.vcpus = new State[infos.count()];
        for (int i = 0; i < vcpus.length; i++) {
            int vcpu = i;
            vcpus[i] = new State();
            vcpus[i].timer = context.timer(() -> expired(vcpu));
        }
    }

    /** Nanoseconds of system time. */
    long now() {
        return context.clock().nanoTime();
    }

    synchronized void reset() {
        for (State state : vcpus) {
            cancel(state);
            state.periodNanos = 0;
            state.time = null;
        }
    }

    private static void cancel(State state) {
        Timer timer = state.timer;
        if (timer != null) {
            timer.cancel();
        }
    }

    private void expired(int vcpu) {
        synchronized (this) {
            State state = vcpus[vcpu];
            Timer timer = state.timer;
            if (state.periodNanos > 0 && timer != null) {
                state.nextNanos = Math.max(state.nextNanos, now() - state.periodNanos) + state.periodNanos;
                timer.armAt(state.nextNanos);
            }
        }
        events.signalVirq(EventChannels.VIRQ_TIMER, vcpu);
    }

    /** Sets the single timer of a vCPU to an absolute system time; 0 stops it. */
    synchronized long set(int vcpu, long deadlineNanos) {
        State state = vcpus[vcpu];
        Timer timer = state.timer;
        if (timer == null || deadlineNanos == 0) {
            cancel(state);
        } else {
            timer.armAt(Math.max(0, deadlineNanos));
        }
        return 0;
    }

    /** The same, refusing times that have passed if asked to. */
    long single(int vcpu, long deadlineNanos, boolean onlyFuture) {
        return onlyFuture && deadlineNanos < now() ? Xen.ETIME : set(vcpu, Math.max(1, deadlineNanos));
    }

    /** Starts a period, or stops it with 0. */
    synchronized long periodic(int vcpu, long periodNanos) {
        if (periodNanos != 0 && periodNanos < MIN_PERIOD_NANOS) {
            return Xen.EINVAL;
        }
        State state = vcpus[vcpu];
        boolean ran = state.periodNanos > 0;
        state.periodNanos = periodNanos;
        Timer timer = state.timer;
        if (periodNanos > 0 && timer != null) {
            state.nextNanos = now() + periodNanos;
            timer.armAt(state.nextNanos);
        } else if (ran) {
            cancel(state);
        }
        return 0;
    }

    /** Shows the time in a vCPU's information. On the vCPU's thread, or while it is not running. */
    void update(int vcpu) {
        Vcpu cpu = context.machine().vcpu(vcpu);
        OptionalLong tsc = cpu.msr(MSR_TSC);
        if (tsc.isEmpty()) {
            return;
        }
        long kilohertz = cpu.tscKilohertz().orElse(DEFAULT_TSC_KILOHERTZ);
        infos.time(vcpu, tsc.getAsLong(), now(), kilohertz);
        MemorySegment place;
        synchronized (this) {
            place = vcpus[vcpu].time;
        }
        if (place != null) {
            VcpuInfos.writeTimeAlone(place, tsc.getAsLong(), now(), kilohertz);
        }
    }

    /** Shows the wall clock at system time 0 in the shared information page. */
    void wallClock(MemorySegment shared) {
        java.time.Instant zero = context.clock().wallTime().minusNanos(now());
        int version = shared.get(Xen.INT, SHARED_WALL_CLOCK) | 1;
        Xen.INTS.setVolatile(shared, (long) SHARED_WALL_CLOCK, version);
        shared.set(Xen.INT, SHARED_WALL_CLOCK + 4, (int) zero.getEpochSecond());
        shared.set(Xen.INT, SHARED_WALL_CLOCK + 8, zero.getNano());
        shared.set(Xen.INT, SHARED_WALL_CLOCK + 12, (int) (zero.getEpochSecond() >>> 32));
        Xen.INTS.setVolatile(shared, (long) SHARED_WALL_CLOCK, version + 1);
    }

    /** Takes another place for the time of a vCPU, by virtual address. */
    long registerTime(int vcpu, long address) {
        Optional<MemorySegment> place = address == 0 ? Optional.empty() : place(vcpu, address, TIME_BYTES);
        if (address != 0 && place.isEmpty()) {
            return Xen.EINVAL;
        }
        synchronized (this) {
            vcpus[vcpu].time = place.orElse(null);
        }
        update(vcpu);
        return 0;
    }

    private Optional<MemorySegment> place(int vcpu, long address, int lengthBytes) {
        boolean inPage = (address & Xen.PAGE_SIZE - 1) <= Xen.PAGE_SIZE - lengthBytes;
        OptionalLong gpa = context.machine().vcpu(vcpu).translate(address);
        if (!inPage || gpa.isEmpty() || (address & 7) != 0) {
            return Optional.empty();
        }
        try {
            return Optional.of(memory.slice(gpa.getAsLong(), lengthBytes));
        } catch (GuestFault e) {
            return Optional.empty();
        }
    }

    /** The run state of a vCPU: always running, for it is never taken from its thread by us. */
    void runstate(int vcpu, CallMemory into) {
        into.clear();
        into.longAt(16, now());
    }

    /** Writes the run state where the guest wants to read it; an address that is not there is the guest's own loss. */
    void runstate(int vcpu, CallMemory scratch, long address) {
        runstate(vcpu, scratch);
        boolean unused = scratch.out(address, RUNSTATE_BYTES);
    }

    @Override
    public synchronized void close() {
        for (State state : vcpus) {
            Timer timer = state.timer;
            if (timer != null) {
                timer.close();
            }
            state.timer = null;
        }
    }
}
