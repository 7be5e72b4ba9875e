package org.benchtop.pc.common;

import java.util.function.Consumer;

/**
 * The pair of 8259s as the rest of the board sees it; offered by {@code i8259}. Thread-safe.
 *
 * <p>The output is wired to LINT0 of every local APIC and to pin 0 of the IOAPIC.
 */
public interface LegacyInterrupts {
    /** The INTR output. */
    boolean output();

    /** The processor's two INTA cycles: takes the interrupt of highest priority and returns its vector. */
    int acknowledge();

    /** An interrupt input, 0 to 15; input 2 is the cascade and does nothing. */
    void input(int irq, boolean asserted);

    /** The edge/level register of the ISA bridge: a one makes an input level-triggered. */
    void edgeLevel(int elcr);

    /** Is told the level of the output whenever it may have changed, without any lock held. */
    void onOutput(Consumer<Boolean> listener);
}
