package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFileQueue;
import org.jspecify.annotations.Nullable;

/**
 * Operations of one loop on one file, done by the file's {@link FileWorkers}. Reads that the page cache can answer are
 * done on the spot.
 */
final class ThreadQueue implements HostFileQueue, FileSlot.Owner {
    /** Completions of cached reads that run in a row before the loop gets its turn again. */
    private static final int MAX_INLINE_RUN = 64;
    /** After so many misses in a row, as many reads go to the workers without asking the page cache. */
    private static final int MISS_LIMIT = 16;

    private static final VarHandle DONE;

    static {
        try {
            DONE = MethodHandles.lookup().findVarHandle(ThreadQueue.class, "done", FileSlot.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final LinuxFile file;
    private final FileWorkers workers;
    private final Doorbell doorbell;
    private final MemorySegment capture = LibC.newCapture(Arena.ofAuto());
    /** Slots that workers have finished, the newest first. */
    private volatile @Nullable FileSlot done;

    private @Nullable FileSlot free;
    private final SlotList inline = new SlotList();
    private boolean completingInline;
    private int missesInRow;
    private int readsToSkip;
    private volatile boolean closed;

    ThreadQueue(LinuxFile file, FileWorkers workers, EventLoop loop) {
        this.file = file;
        this.workers = workers;
        this.doorbell = loop.doorbell("io " + file.name(), this::completeDone);
    }

    @Override
    public void submit(FileOperation operation) {
        FileSlot slot = free;
        if (slot == null) {
            slot = new FileSlot(file, this, -1);
        } else {
            free = slot.next;
        }
        slot.start(operation);
        if (operation.kind() == FileOperation.Kind.READ && readInline(slot)) {
            return;
        }
        workers.submit(slot);
    }

    private boolean readInline(FileSlot slot) {
        if (!file.readsWithoutWaiting()) {
            return false;
        }
        if (readsToSkip > 0) {
            readsToSkip--;
            return false;
        }
        if (!slot.readWithoutWaiting(capture)) {
            if (slot.result() == -Errno.EOPNOTSUPP || slot.result() == -Errno.ENOSYS) {
                file.stopReadingWithoutWaiting();
            }
            if (++missesInRow >= MISS_LIMIT) {
                readsToSkip = MISS_LIMIT;
            }
            return false;
        }
        missesInRow = 0;
        inline.add(slot);
        if (!completingInline) {
            completeInline();
        }
        return true;
    }

    /** Completes cached reads, also those that completions submit: in a loop, so a chain of them needs no stack. */
    private void completeInline() {
        completingInline = true;
        try {
            for (int i = 0; i < MAX_INLINE_RUN; i++) {
                FileSlot slot = inline.poll();
                if (slot == null) {
                    return;
                }
                complete(slot);
            }
            doorbell.ring();
        } finally {
            completingInline = false;
        }
    }

    @Override
    public void done(FileSlot slot) {
        FileSlot head;
        do {
            head = done;
            slot.next = head;
        } while (!DONE.compareAndSet(this, head, slot));
        if (head == null) {
            doorbell.ring();
        }
    }

    private void completeDone() {
        FileSlot newest = (FileSlot) DONE.getAndSet(this, null);
        FileSlot oldest = null;
        while (newest != null) {
            FileSlot before = newest.next;
            newest.next = oldest;
            oldest = newest;
            newest = before;
        }
        while (oldest != null) {
            FileSlot after = oldest.next;
            complete(oldest);
            oldest = after;
        }
        completeInline();
    }

    private void complete(FileSlot slot) {
        FileOperation operation = slot.take();
        long result = slot.result();
        slot.next = free;
        free = slot;
        if (!closed) {
            FileSlot.complete(file, operation, result);
        }
    }

    @Override
    public void close() {
        closed = true;
        doorbell.close();
        file.forget(this);
    }
}
