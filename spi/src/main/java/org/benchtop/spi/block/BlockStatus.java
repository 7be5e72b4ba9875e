package org.benchtop.spi.block;

/** How a request ended. */
public enum BlockStatus {
    /** Done. */
    OK,
    /** The host reported an I/O error. */
    IO_ERROR,
    /** The host has no space left. */
    NO_SPACE,
    /** A write to a read-only backend. */
    READ_ONLY,
    /** Offset or length outside the backend, or not a multiple of the logical block size. */
    OUT_OF_RANGE,
    /** The backend does not do this kind of request. */
    UNSUPPORTED,
}
