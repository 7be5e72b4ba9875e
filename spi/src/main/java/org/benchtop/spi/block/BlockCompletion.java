package org.benchtop.spi.block;

/** Told when a request is done. */
@FunctionalInterface
public interface BlockCompletion {
    /** The request is done; it belongs to its owner again. Called on the loop that submitted it. */
    void completed(BlockRequest request, BlockStatus status);
}
