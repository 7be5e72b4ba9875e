package org.benchtop.spi.device;

/** One register in a device's table; implemented by an enum that lists them all. */
public interface Register {
    /** The name as in the specification. */
    String name();

    /** Where it starts. */
    int offset();

    /** Its size: 1, 2, 4 or 8. */
    int size();

    /** Who may do what. */
    Access access();

    /** The value after reset. */
    long resetValue();

    /** Specification and section. */
    String spec();

    /** What a guest may do with a register. */
    enum Access {
        /** Reads. */
        READ_ONLY,
        /** Writes; reads give 0. */
        WRITE_ONLY,
        /** Both. */
        READ_WRITE,
    }
}
