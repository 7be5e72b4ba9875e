package org.benchtop.spi.pci;

/** MSI or MSI-X vectors of a function. Thread-safe; {@link #signal} allocates nothing. */
public interface MessageInterrupts {
    /** The number of vectors. */
    int vectors();

    /** Whether the guest has enabled them. */
    boolean enabled();

    /** Sends a vector, or remembers it as pending while it is masked. Out of range or not enabled: does nothing. */
    void signal(int vector);

    /** Whether a vector is masked or the whole function is. */
    boolean masked(int vector);
}
