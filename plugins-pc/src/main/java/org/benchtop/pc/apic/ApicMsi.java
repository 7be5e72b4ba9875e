package org.benchtop.pc.apic;

import org.benchtop.spi.irq.Msi;

/** A message-signalled interrupt (Intel SDM vol. 3, 11.11). Any thread; {@link #signal} takes no lock. */
final class ApicMsi implements Msi {
    private static final long ADDRESS_MASK = ~0xf_ffffL;
    private static final long ADDRESS_BASE = 0xfee0_0000L;
    private static final int LOGICAL = 1 << 2;
    private static final int REDIRECTION_HINT = 1 << 3;
    private static final int DATA_LEVEL = 1 << 15;
    /** No message: what is not addressed to local APICs interrupts nobody. */
    private static final long NOWHERE = -1;

    private final ApicBus bus;
    /** The low half of the address and the data in one word, so that a signal never mixes two targets. */
    private volatile long target = NOWHERE;

    ApicMsi(ApicBus bus) {
        this.bus = bus;
    }

    @Override
    public void target(long address, int data) {
        target = (address & ADDRESS_MASK) == ADDRESS_BASE ? address << 32 | Integer.toUnsignedLong(data) : NOWHERE;
    }

    @Override
    public void signal() {
        long message = target;
        if (message == NOWHERE) {
            return;
        }
        int address = (int) (message >>> 32);
        int data = (int) message;
        int mode = data >> 8 & 7;
        if (mode == ApicMessage.FIXED && (address & REDIRECTION_HINT) != 0) {
            mode = ApicMessage.LOWEST_PRIORITY;
        }
        bus.deliver(
                ApicMessage.destination8(address >> 12 & 0xff),
                (address & LOGICAL) != 0,
                mode,
                data & 0xff,
                (data & DATA_LEVEL) != 0);
    }

    @Override
    public void close() {
        target = NOWHERE;
    }
}
