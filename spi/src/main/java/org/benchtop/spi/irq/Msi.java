package org.benchtop.spi.irq;

/**
 * One message-signalled interrupt whose target the guest sets. Any thread; {@link #signal} allocates nothing.
 */
public interface Msi extends AutoCloseable {
    /** Sets what is signalled from now on: the message address and data of the MSI or MSI-X entry. */
    void target(long address, int data);

    /** Sends the message. */
    void signal();

    /** Frees the route. */
    @Override
    void close();
}
