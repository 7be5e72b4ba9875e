package org.benchtop.shell.lab;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.benchtop.engine.MachineState;
import org.benchtop.spi.BenchtopException;

/**
 * Looks at a machine at regular intervals. A front end that can update in place shows each {@link Frame}; {@link #run}
 * does so by hand. Printed, it shows one frame.
 */
public final class VmWatch {
    /** The time between two frames. */
    public static final Duration DEFAULT_PERIOD = Duration.ofSeconds(1);

    private static final int CONSOLE_LINES = 8;

    private final Vm vm;
    private final Duration period;

    VmWatch(Vm vm, Duration period) {
        this.vm = vm;
        this.period = period;
    }

    /**
     * A machine at one moment.
     *
     * @param stats counters with rates since the frame before
     * @param exits exits since the frame before
     * @param console the last lines of the first console; empty if there is none
     */
    public record Frame(VmSummary summary, StatsView stats, ExitHistogram exits, String console) {
        @Override
        public String toString() {
            return summary + "\n" + exits + "\n" + (console.isEmpty() ? "" : console + "\n") + stats;
        }
    }

    /** The machine. */
    public Vm vm() {
        return vm;
    }

    /** The time between two frames. */
    public Duration period() {
        return period;
    }

    /** With another time between frames, at least 10 ms. */
    public VmWatch every(Duration newPeriod) {
        if (newPeriod.compareTo(Duration.ofMillis(10)) < 0) {
            throw BenchtopException.config("watch: a period of " + newPeriod.toMillis() + " ms is less than 10 ms");
        }
        return new VmWatch(vm, newPeriod);
    }

    /** The machine now, with rates since the call before. */
    public Frame frame() {
        return new Frame(vm.summary(), vm.stats(), vm.exits(), console());
    }

    private String console() {
        try {
            return vm.console().tail(CONSOLE_LINES);
        } catch (BenchtopException e) {
            return "";
        }
    }

    /** Shows a frame each period until the machine has stopped or was closed, or the thread is interrupted. */
    public void run(Consumer<? super Frame> display) throws InterruptedException {
        ExitHistogram before = vm.exits();
        while (true) {
            MachineState state = vm.state();
            Frame now;
            try {
                now = frame();
            } catch (BenchtopException e) {
                if (state == MachineState.CLOSED) {
                    throw e;
                }
                // It is being closed; what it was when it is closed can always be shown.
                TimeUnit.MILLISECONDS.sleep(1);
                continue;
            }
            display.accept(new Frame(now.summary(), now.stats(), now.exits().since(before), now.console()));
            before = now.exits();
            if (state == MachineState.STOPPED || state == MachineState.CLOSED) {
                return;
            }
            vm.machine().awaitExit(period);
        }
    }

    @Override
    public String toString() {
        return frame().toString();
    }
}
