package org.benchtop.block.qcow2;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.event.EventLoop;

/** A drive that the engine closes. */
record BorrowedBackend(BlockBackend backend) implements BlockBackend {
    @Override
    public BlockCapabilities capabilities() {
        return backend.capabilities();
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return backend.openQueue(loop);
    }

    @Override
    public String describe() {
        return backend.describe();
    }

    @Override
    public void close() {}
}
