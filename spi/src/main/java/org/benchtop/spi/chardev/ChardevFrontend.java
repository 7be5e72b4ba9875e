package org.benchtop.spi.chardev;

/** The guest side of a character backend; all methods are called on the loop given to {@link Chardev#connect}. */
public interface ChardevFrontend {
    /** How many bytes {@link #receive} would take now. */
    int receivable();

    /** Input for the guest, at most {@link #receivable} bytes. */
    void receive(byte[] buffer, int offset, int lengthBytes);

    /** The backend can take output again. */
    default void writable() {}

    /** Something else happened on the line. */
    default void event(ChardevEvent event) {}
}
