package org.benchtop.pc.apic;

/** Delivery modes of interrupt messages (Intel SDM vol. 3, 11.6.1). */
final class ApicMessage {
    static final int FIXED = 0;
    static final int LOWEST_PRIORITY = 1;
    static final int SMI = 2;
    static final int NMI = 4;
    static final int INIT = 5;
    static final int STARTUP = 6;
    static final int EXTINT = 7;

    /** A destination that reaches every local APIC. */
    static final int BROADCAST = -1;

    private static final int XAPIC_BROADCAST = 0xff;

    private ApicMessage() {}

    /** An 8-bit destination, of which 0xFF means all. */
    static int destination8(int destination) {
        return destination == XAPIC_BROADCAST ? BROADCAST : destination;
    }
}
