package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/** The I/O interrupt controller at its usual address (82093AA data sheet, chapter 3). */
public final class IoApic {
    private static final long SELECT = 0xfec0_0000L;
    private static final long WINDOW = SELECT + 0x10;
    private static final int REDIRECTION = 0x10;
    private static final int LEVEL_TRIGGERED = 0x8000;

    private IoApic() {}

    /** Sends an input to a vector of the calling CPU: an edge-triggered ISA interrupt, or a level-triggered PCI one. */
    public static void route(int input, int vector, boolean level) {
        Guest.store32(SELECT, REDIRECTION + 2 * input + 1);
        Guest.store32(WINDOW, LocalApic.id() << 24);
        Guest.store32(SELECT, REDIRECTION + 2 * input);
        Guest.store32(WINDOW, vector | (level ? LEVEL_TRIGGERED : 0));
    }
}
