package org.benchtop.block;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFileQueue;

/** A queue on a {@link FileBackend}: a pool of jobs and a bounded pool of bounce buffers. */
final class FileQueue implements BlockQueue {
    /** The size of a bounce buffer; longer transfers go through it in pieces. */
    static final int BOUNCE_BYTES = 256 << 10;

    private static final int MAX_BOUNCES = 16;

    private final FileBackend backend;
    private final HostFileQueue hostQueue;
    private final EventLoop loop;
    private final Arena arena = Arena.ofShared();
    private final ArrayDeque<MemorySegment> freeBounces = new ArrayDeque<>(MAX_BOUNCES);
    private final ArrayDeque<FileJob> bounceWaiters = new ArrayDeque<>();
    private FileJob[] freeJobs = new FileJob[16];
    private int freeJobCount;
    private int bounceCount;
    private boolean closed;

    FileQueue(FileBackend backend, HostFileQueue hostQueue, EventLoop loop) {
        this.backend = backend;
        this.hostQueue = hostQueue;
        this.loop = loop;
    }

    @Override
    public void submit(BlockRequest request, BlockCompletion completion) {
        BlockStatus status = RequestCheck.check(request, backend.capabilities());
        if (status != BlockStatus.OK || request.lengthBytes() == 0 && !(request instanceof BlockRequest.Flush)) {
            completion.completed(request, status);
            return;
        }
        FileJob job = freeJobCount == 0 ? new FileJob(backend, this) : freeJobs[--freeJobCount];
        job.start(request, completion);
    }

    @Override
    public void kick() {
        hostQueue.kick();
    }

    void submitToHost(FileOperation operation) {
        hostQueue.submit(operation);
    }

    EventLoop loop() {
        return loop;
    }

    void recycle(FileJob job) {
        if (freeJobCount == freeJobs.length) {
            freeJobs = Arrays.copyOf(freeJobs, freeJobs.length * 2);
        }
        freeJobs[freeJobCount++] = job;
    }

    /** Gives the job a bounce buffer, now or when one is free. */
    void borrowBounce(FileJob job) {
        MemorySegment bounce = freeBounces.poll();
        if (bounce == null && bounceCount < MAX_BOUNCES) {
            bounce = arena.allocate(BOUNCE_BYTES, backend.bounceAlignment());
            bounceCount++;
        }
        if (bounce == null) {
            bounceWaiters.add(job);
        } else {
            job.bounceBorrowed(bounce);
        }
    }

    void returnBounce(MemorySegment bounce) {
        FileJob next = bounceWaiters.poll();
        if (next == null) {
            freeBounces.push(bounce);
        } else {
            next.bounceBorrowed(bounce);
            hostQueue.kick();
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        hostQueue.close();
        arena.close();
    }
}
