package org.benchtop.block.qcow2;

import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;

/** A part of a request that goes to a file below as it is. Reused. */
final class DataPiece implements BlockCompletion {
    private final Qcow2Queue queue;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes();
    private Qcow2Job job;

    DataPiece(Qcow2Queue queue) {
        this.queue = queue;
        this.job = Qcow2Job.NONE;
    }

    void readData(Qcow2Job forJob, IoVector buffer, long skip, long length, long host) {
        job = forJob;
        read.buffer().clear();
        read.buffer().addFrom(buffer, skip, length);
        queue.submitData(read.at(host), this);
    }

    void readBacking(Qcow2Job forJob, IoVector buffer, long skip, long length, long offset) {
        job = forJob;
        read.buffer().clear();
        read.buffer().addFrom(buffer, skip, length);
        queue.submitBacking(read.at(offset), this);
    }

    void writeData(Qcow2Job forJob, IoVector buffer, long skip, long length, long host) {
        job = forJob;
        write.buffer().clear();
        write.buffer().addFrom(buffer, skip, length);
        queue.submitData(write.at(host), this);
    }

    void zeroData(Qcow2Job forJob, long length, long host, boolean mayUnmap) {
        job = forJob;
        queue.submitData(zeroes.at(host, length, mayUnmap), this);
    }

    @Override
    public void completed(BlockRequest request, BlockStatus status) {
        Qcow2Job told = job;
        job = Qcow2Job.NONE;
        queue.recycle(this);
        told.pieceDone(status);
        queue.finishHandler();
    }
}
