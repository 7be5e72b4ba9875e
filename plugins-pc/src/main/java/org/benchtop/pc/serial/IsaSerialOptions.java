package org.benchtop.pc.serial;

import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code isa-serial}. */
public record IsaSerialOptions(
        @Option(doc = "Where the line leads; without it, output is dropped.", ref = Option.Ref.CHARDEV)
        Optional<String> chardev,

        @Option(doc = "Number of the port: COM1 to COM4; gives port and interrupt.", value = "1", min = 1, max = 4)
        int index,

        @Option(
                doc = "First I/O port; by default that of the index (0x3f8, 0x2f8, 0x3e8, 0x2e8).",
                min = 0x100,
                max = 0xfff8)
        Optional<Integer> iobase,

        @Option(doc = "ISA interrupt; by default that of the index (4, 3, 4, 3).", min = 3, max = 15)
        Optional<Integer> irq,

        @Option(doc = "When the guest sees a carrier (DCD).", value = "always")
        Carrier carrier) {

    private static final int[] PORTS = {0x3f8, 0x2f8, 0x3e8, 0x2e8};

    /** When DCD is asserted. */
    public enum Carrier {
        /** As over a null-modem cable that is always plugged in. */
        ALWAYS,
        /** While the other side of the chardev is there; a disconnect hangs up. */
        CONNECTED,
    }

    public IsaSerialOptions {
        if (iobase.isPresent() && (iobase.get() & 7) != 0) {
            throw new IllegalArgumentException(
                    "iobase must be a multiple of 8: 0x" + Integer.toHexString(iobase.get()));
        }
    }

    int port() {
        return iobase.orElse(PORTS[index - 1]);
    }

    int interrupt() {
        return irq.orElse((index & 1) == 1 ? 4 : 3);
    }
}
