package org.benchtop.xen;

import org.jspecify.annotations.Nullable;

/** One event channel port of the guest. Changed under the lock of {@link EventChannels}; fields are read anywhere. */
final class EventPort {
    /** What a port is bound to. */
    enum Kind {
        /** Nothing. */
        FREE,
        /** Waits for the other domain, which is ours. */
        UNBOUND,
        /** The other end is one of our backends. */
        INTERDOMAIN,
        /** A virtual interrupt. */
        VIRQ,
        /** Another vCPU. */
        IPI,
    }

    final int number;
    volatile Kind kind = Kind.FREE;
    volatile int vcpu;
    volatile int virq;
    volatile int priority = FifoEvents.DEFAULT_PRIORITY;
    volatile @Nullable Runnable backend;
    /** The end that a backend holds; a new one for each use of the port. */
    volatile @Nullable EventChannel channel;

    EventPort(int number) {
        this.number = number;
    }
}
