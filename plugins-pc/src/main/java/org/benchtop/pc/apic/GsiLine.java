package org.benchtop.pc.apic;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.spi.irq.IrqLine;
import org.jspecify.annotations.Nullable;

/**
 * A global system interrupt: asserted while any of its sources asserts it. Thread-safe, lock-free, allocates nothing.
 *
 * <p>Whoever changes the level sets both controllers and looks again, so the last level wins whatever the order of the
 * threads.
 */
final class GsiLine {
    private final int gsi;
    private final @Nullable LegacyInterrupts legacy;
    private final @Nullable IoApicPin pin;
    private final AtomicInteger asserting = new AtomicInteger();

    /**
     * A line.
     *
     * @param legacy where the line also reaches the 8259s
     * @param pin the IOAPIC's input
     */
    GsiLine(int gsi, Optional<LegacyInterrupts> legacy, Optional<IoApicPin> pin) {
        this.gsi = gsi;
        this.legacy = legacy.orElse(null);
        this.pin = pin.orElse(null);
    }

    IrqLine newSource() {
        return new Source();
    }

    private void change(int delta) {
        int before = asserting.getAndAdd(delta);
        if (before == 0 || before + delta == 0) {
            publish();
        }
    }

    private void publish() {
        boolean level;
        do {
            level = asserting.get() > 0;
            if (legacy != null) {
                legacy.input(gsi, level);
            }
            if (pin != null) {
                pin.input(level);
            }
        } while (level != asserting.get() > 0);
    }

    private final class Source implements IrqLine {
        private volatile boolean level;

        @Override
        public void set(boolean asserted) {
            if (level == asserted) {
                return;
            }
            synchronized (this) {
                if (level == asserted) {
                    return;
                }
                level = asserted;
            }
            change(asserted ? 1 : -1);
        }
    }
}
