package org.benchtop.block.nbd;

import java.util.ArrayDeque;
import org.benchtop.block.RequestCheck;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;

/** Requests of one loop on a connection; completions come back through a doorbell. */
final class NbdQueue implements BlockQueue {
    private final NbdBackend backend;
    private final NbdConnection connection;
    private final Doorbell doorbell;
    private final Timer watch;
    private final ArrayDeque<NbdJob> free = new ArrayDeque<>();
    private int inFlight;
    private boolean watching;
    /** Guarded by itself; the other one is the loop's. */
    private final ArrayDeque<NbdJob> done = new ArrayDeque<>();

    private final ArrayDeque<NbdJob> taken = new ArrayDeque<>();

    NbdQueue(NbdBackend backend, NbdConnection connection, EventLoop loop) {
        this.backend = backend;
        this.connection = connection;
        this.doorbell = loop.doorbell("nbd", this::completeDone);
        this.watch = loop.timer(backend.clock(), this::look);
    }

    @Override
    public void submit(BlockRequest request, BlockCompletion completion) {
        BlockStatus status = RequestCheck.check(request, backend.capabilities());
        if (status != BlockStatus.OK || request.lengthBytes() == 0 && !(request instanceof BlockRequest.Flush)) {
            completion.completed(request, status);
            return;
        }
        NbdJob job = free.isEmpty() ? new NbdJob(this, backend) : free.pop();
        inFlight++;
        if (!watching && backend.timeoutNanos() > 0) {
            watching = true;
            watch.armAt(backend.clock().nanoTime() + backend.timeoutNanos());
        }
        job.start(request, completion);
    }

    private void look() {
        connection.checkStalled();
        watching = inFlight > 0;
        if (watching) {
            watch.armAt(backend.clock().nanoTime() + Math.max(1, backend.timeoutNanos() / 4));
        }
    }

    void send(NbdOp op) {
        connection.submit(op);
    }

    void recycle(NbdJob job) {
        inFlight--;
        free.push(job);
    }

    /** A job's operation is done. Any thread. */
    void done(NbdJob job) {
        boolean first;
        synchronized (done) {
            first = done.isEmpty();
            done.add(job);
        }
        if (first) {
            doorbell.ring();
        }
    }

    private void completeDone() {
        synchronized (done) {
            taken.addAll(done);
            done.clear();
        }
        for (NbdJob job = taken.poll(); job != null; job = taken.poll()) {
            job.stepDone();
        }
    }

    @Override
    public void close() {
        watch.close();
        doorbell.close();
    }
}
