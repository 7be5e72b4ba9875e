package org.benchtop.virtio.queue;

/** What {@link VirtQueue#pop} found. */
public enum PopResult {
    /** A chain. */
    CHAIN,
    /** Nothing available. */
    EMPTY,
    /** A driver error: see {@link VirtQueue#error}. The queue stays stuck until it is started again. */
    ERROR,
}
