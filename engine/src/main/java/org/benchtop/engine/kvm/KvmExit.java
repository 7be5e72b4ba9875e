package org.benchtop.engine.kvm;

import java.util.Locale;

/** Why KVM_RUN returned, as counted and recorded. */
enum KvmExit {
    PIO_IN,
    PIO_OUT,
    MMIO_READ,
    MMIO_WRITE,
    HLT,
    KICK,
    SIGNAL,
    RDMSR,
    WRMSR,
    HYPERCALL,
    DEBUG,
    IRQ_WINDOW,
    SHUTDOWN,
    SYSTEM_EVENT,
    STARTUP,
    FAILED,
    OTHER;

    private final String label = name().toLowerCase(Locale.ROOT).replace('_', '-');

    /** The name in statistics and recordings: {@code pio-out}. */
    String label() {
        return label;
    }
}
