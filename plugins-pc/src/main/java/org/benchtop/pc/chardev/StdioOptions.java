package org.benchtop.pc.chardev;

import java.time.Duration;
import org.benchtop.spi.Option;

/** Options of {@code stdio}. */
public record StdioOptions(
        @Option(doc = "Ctrl-C stops the machine instead of going to the guest.", value = "off")
        boolean signal,

        @Option(doc = "Whether Ctrl-A starts a command (Ctrl-A h shows them).", value = "auto")
        Escape escape,

        @Option(
                doc = "How long a reader that takes nothing stalls the guest before output is dropped; 0s for ever.",
                value = "10s")
        Duration patience) {

    /** When Ctrl-A is special. */
    public enum Escape {
        /** On a terminal. */
        AUTO,
        /** Also when standard input is a pipe. */
        ON,
        /** Never: all input goes to the guest. */
        OFF,
    }

    public StdioOptions {
        if (patience.isNegative()) {
            throw new IllegalArgumentException("patience must not be negative");
        }
    }
}
