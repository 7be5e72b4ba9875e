package org.benchtop.pc.apic;

import java.util.concurrent.atomic.AtomicLong;

/**
 * One input of the IOAPIC with its entry of the redirection table (82093AA 3.2.4). Thread-safe and lock-free: entry and
 * level of the input are one word, and every event is one compare-and-exchange that also decides whether a message goes
 * out.
 */
final class IoApicPin {
    static final long REMOTE_IRR = 1 << 14;
    static final long LEVEL = 1 << 15;
    static final long MASKED = 1 << 16;

    /** The level of the input; the register shows this bit as 0. */
    private static final long INPUT = 1 << 17;

    private static final long LOGICAL = 1 << 11;
    private static final long WRITABLE = 0xff00_0000_0000_0000L | 0x1_afff;
    private static final long VISIBLE = WRITABLE | REMOTE_IRR;

    private final AtomicLong state = new AtomicLong(MASKED);

    private final ApicBus bus;

    IoApicPin(ApicBus bus) {
        this.bus = bus;
    }

    /** Whether a level-triggered entry in this state sends a message. */
    private static boolean due(long state) {
        return (state & (MASKED | LEVEL | REMOTE_IRR | INPUT)) == (LEVEL | INPUT);
    }

    private static boolean tracksRemoteIrr(long state) {
        int mode = (int) (state >> 8) & 7;
        return mode == ApicMessage.FIXED || mode == ApicMessage.LOWEST_PRIORITY;
    }

    /** The state after a level-triggered entry has sent its message. */
    private static long sent(long state) {
        return tracksRemoteIrr(state) ? state | REMOTE_IRR : state;
    }

    private void send(long entry) {
        bus.deliver(
                ApicMessage.destination8((int) (entry >>> 56)),
                (entry & LOGICAL) != 0,
                (int) (entry >> 8) & 7,
                (int) entry & 0xff,
                (entry & LEVEL) != 0);
    }

    /** The level of the input. An edge that comes while the entry is masked is lost, as on the 82093AA. */
    void input(boolean asserted) {
        while (true) {
            long old = state.get();
            boolean was = (old & INPUT) != 0;
            if (was == asserted) {
                return;
            }
            long now = asserted ? old | INPUT : old & ~INPUT;
            boolean send = asserted && ((old & LEVEL) != 0 ? due(now) : (old & MASKED) == 0);
            if (state.compareAndSet(old, send && (old & LEVEL) != 0 ? sent(now) : now)) {
                if (send) {
                    send(now);
                }
                return;
            }
        }
    }

    /** A guest write of the whole entry. */
    void write(long value) {
        while (true) {
            long old = state.get();
            long now = value & WRITABLE | old & (INPUT | REMOTE_IRR);
            if ((now & LEVEL) == 0) {
                // Guests make an entry edge-triggered for a moment to clear the bit by hand.
                now &= ~REMOTE_IRR;
            }
            boolean send = due(now);
            if (state.compareAndSet(old, send ? sent(now) : now)) {
                if (send) {
                    send(now);
                }
                return;
            }
        }
    }

    /** The end of an interrupt of this vector; a line that is still asserted interrupts again. */
    void endOfInterrupt(int vector) {
        while (true) {
            long old = state.get();
            if ((old & (LEVEL | REMOTE_IRR)) != (LEVEL | REMOTE_IRR) || (old & 0xff) != vector) {
                return;
            }
            long now = old & ~REMOTE_IRR;
            boolean send = due(now);
            if (state.compareAndSet(old, send ? sent(now) : now)) {
                if (send) {
                    send(now);
                }
                return;
            }
        }
    }

    long entry() {
        return state.get() & VISIBLE;
    }

    /** The entry and, in a bit that the guest does not see, the level of the input. */
    long save() {
        return state.get();
    }

    /** Power-on state; the input keeps its level, which its device drives. */
    void reset() {
        state.updateAndGet(old -> MASKED | old & INPUT);
    }

    /** Sets what {@link #save} gave: the device behind the input sets its level again without an edge. */
    void restore(long saved) {
        state.set(saved & (VISIBLE | INPUT));
    }
}
