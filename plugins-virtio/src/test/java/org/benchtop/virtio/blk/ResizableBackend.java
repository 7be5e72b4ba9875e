package org.benchtop.virtio.blk;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;

/** A drive without content that completes everything at once, allocates nothing, and can be resized. */
final class ResizableBackend implements BlockBackend {
    private volatile BlockCapabilities capabilities;
    private long submitted;
    private long kicks;

    ResizableBackend(long sizeBytes) {
        capabilities =
                new BlockCapabilities(sizeBytes, 512, 512, false, true, true, CacheMode.WRITEBACK, 1024, 1 << 30);
    }

    void resize(long sizeBytes) {
        capabilities =
                new BlockCapabilities(sizeBytes, 512, 512, false, true, true, CacheMode.WRITEBACK, 1024, 1 << 30);
    }

    long submitted() {
        return submitted;
    }

    long kicks() {
        return kicks;
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new BlockQueue() {
            @Override
            public void submit(BlockRequest request, BlockCompletion completion) {
                submitted++;
                completion.completed(request, BlockStatus.OK);
            }

            @Override
            public void kick() {
                kicks++;
            }

            @Override
            public void close() {}
        };
    }

    @Override
    public String describe() {
        return "nothing";
    }

    @Override
    public void close() {}
}
