package org.benchtop.spi.block;

/** How a request ended. */
public enum BlockStatus {
    /** Done. */
    OK("ok"),
    /** The host reported an I/O error. */
    IO_ERROR("input/output error"),
    /** The host has no space left. */
    NO_SPACE("no space left"),
    /** A write to a read-only backend. */
    READ_ONLY("read-only"),
    /** Offset or length outside the backend, or not a multiple of the logical block size. */
    OUT_OF_RANGE("beyond the end"),
    /** The backend does not do this kind of request. */
    UNSUPPORTED("not supported");

    private final String words;

    BlockStatus(String words) {
        this.words = words;
    }

    /** What a user is told: {@code no space left}. */
    public String words() {
        return words;
    }
}
