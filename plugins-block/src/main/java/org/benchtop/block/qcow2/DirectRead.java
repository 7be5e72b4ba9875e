package org.benchtop.block.qcow2;

import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;

/** A read whose bytes lie in one piece in the file: most reads, so they go there without a {@link Qcow2Job}. Reused. */
final class DirectRead implements BlockCompletion {
    private static final BlockRequest IDLE = new BlockRequest.Flush();
    private static final BlockCompletion NOBODY = (request, status) -> {};

    private final Qcow2Queue queue;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private BlockRequest request = IDLE;
    private BlockCompletion completion = NOBODY;
    private long generation;

    DirectRead(Qcow2Queue queue) {
        this.queue = queue;
    }

    /** The request has entered a generation already, so that the cluster stays what it is. */
    void start(BlockRequest.Read newRequest, BlockCompletion newCompletion, long host, long enteredGeneration) {
        request = newRequest;
        completion = newCompletion;
        generation = enteredGeneration;
        IoVector buffer = read.buffer();
        buffer.clear();
        buffer.addFrom(newRequest.buffer(), 0, newRequest.lengthBytes());
        queue.submitData(read.at(host), this);
    }

    @Override
    public void completed(BlockRequest done, BlockStatus status) {
        BlockRequest told = request;
        BlockCompletion whom = completion;
        request = IDLE;
        completion = NOBODY;
        queue.leave(generation);
        queue.recycle(this);
        // Below an image everything is in range unless the file was cut under it.
        whom.completed(told, status == BlockStatus.OK ? status : BlockStatus.IO_ERROR);
    }
}
