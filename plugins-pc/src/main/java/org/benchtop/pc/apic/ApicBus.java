package org.benchtop.pc.apic;

import java.util.List;

/**
 * Carries interrupt messages to local APICs and their end-of-interrupt messages to the IOAPIC. Thread-safe; takes no
 * lock and allocates nothing.
 */
final class ApicBus {
    private final LocalApicCore[] apics;
    /** Where the search for the least busy processor starts: rotates, so that equals take turns. */
    private volatile int arbiter;

    private volatile EoiListener eoiListener = vector -> {};

    /** Told about the end of a level-triggered interrupt. */
    @FunctionalInterface
    interface EoiListener {
        void endOfInterrupt(int vector);
    }

    ApicBus(List<LocalApicCore> apics) {
        this.apics = apics.toArray(LocalApicCore[]::new);
    }

    void onEoi(EoiListener listener) {
        eoiListener = listener;
    }

    void endOfInterrupt(int vector) {
        eoiListener.endOfInterrupt(vector);
    }

    /**
     * Delivers a message.
     *
     * @param destination 32 bits, or {@link ApicMessage#BROADCAST}
     * @param logical whether the destination is logical
     * @param mode a delivery mode of {@link ApicMessage}
     * @param level whether the interrupt is level-triggered
     */
    void deliver(int destination, boolean logical, int mode, int vector, boolean level) {
        if (mode == ApicMessage.LOWEST_PRIORITY) {
            deliverToLeastBusy(destination, logical, vector, level);
            return;
        }
        if (!logical && destination >= 0 && destination < apics.length) {
            LocalApicCore direct = apics[destination];
            if (direct.matches(destination, false)) {
                direct.accept(mode, vector, level);
                return;
            }
        }
        for (LocalApicCore apic : apics) {
            if (apic.matches(destination, logical)) {
                apic.accept(mode, vector, level);
            }
        }
    }

    private void deliverToLeastBusy(int destination, boolean logical, int vector, boolean level) {
        int start = arbiter;
        LocalApicCore best = null;
        int bestAt = 0;
        int bestPriority = Integer.MAX_VALUE;
        for (int i = 0; i < apics.length; i++) {
            int at = (start + i) % apics.length;
            LocalApicCore apic = apics[at];
            if (apic.enabled() && apic.matches(destination, logical)) {
                int priority = apic.processorPriority();
                if (priority < bestPriority) {
                    best = apic;
                    bestAt = at;
                    bestPriority = priority;
                }
            }
        }
        if (best != null) {
            arbiter = (bestAt + 1) % apics.length;
            best.accept(ApicMessage.FIXED, vector, level);
        }
    }

    /** Delivers to all local APICs, or to all but the sender. */
    void deliverToAll(LocalApicCore sender, boolean withSender, int mode, int vector) {
        for (LocalApicCore apic : apics) {
            if ((apic != sender || withSender) && apic.matches(ApicMessage.BROADCAST, false)) {
                apic.accept(mode, vector, false);
            }
        }
    }

    /** The 8259s' output: LINT0 of every local APIC. */
    void lint0(boolean asserted) {
        for (LocalApicCore apic : apics) {
            apic.lint0(asserted);
        }
    }
}
