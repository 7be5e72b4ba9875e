package org.benchtop.engine.pci;

import java.util.Optional;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.stats.Counter;

/** A function's INTx pin: follows routing, the disable bit and the status bit. */
final class Intx implements IrqLine {
    private final PciBusCore bus;
    private final PciFunctionCore function;
    private final Counter interrupts;
    private volatile boolean level;
    private int gsi = -1;
    private Optional<IrqLine> line = Optional.empty();
    private boolean driven;

    Intx(PciBusCore bus, PciFunctionCore function, Counter interrupts) {
        this.interrupts = interrupts;
        this.bus = bus;
        this.function = function;
    }

    boolean level() {
        return level;
    }

    @Override
    public void set(boolean asserted) {
        if (level == asserted) {
            return;
        }
        synchronized (bus) {
            level = asserted;
            function.interruptStatus(asserted);
            update();
        }
    }

    /** Drives what the level, the disable bit and the routing ask for now. */
    void update() {
        int route = bus.route(function.address(), function.spec().interruptPin());
        if (route != gsi) {
            if (driven) {
                line.ifPresent(IrqLine::lower);
                driven = false;
            }
            gsi = route;
            line = Optional.empty();
        }
        boolean wanted = level && !function.intxDisabled() && gsi >= 0;
        if (wanted != driven) {
            if (line.isEmpty()) {
                line = Optional.of(bus.irqChip().line(gsi));
            }
            line.get().set(wanted);
            if (wanted) {
                interrupts.increment();
            }
            driven = wanted;
        }
    }
}
