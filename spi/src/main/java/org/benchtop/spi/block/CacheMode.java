package org.benchtop.spi.block;

/** Where a completed write is, and what a flush does. Names and meaning as in QEMU. */
public enum CacheMode {
    /** In the host's page cache; a flush makes it durable. */
    WRITEBACK,
    /** On the device (O_DIRECT) but maybe in its cache; a flush makes it durable. */
    NONE,
    /** Durable at completion, through the page cache. */
    WRITETHROUGH,
    /** Durable at completion, past the page cache. */
    DIRECTSYNC,
    /** In the page cache; flushes are ignored. For throw-away data only. */
    UNSAFE;

    /** Whether the page cache is bypassed. */
    public boolean direct() {
        return this == NONE || this == DIRECTSYNC;
    }

    /** Whether a completed write may still be lost, so that the guest should flush. */
    public boolean writeCache() {
        return this == WRITEBACK || this == NONE || this == UNSAFE;
    }
}
