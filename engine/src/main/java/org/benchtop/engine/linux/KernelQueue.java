package org.benchtop.engine.linux;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFileQueue;
import org.jspecify.annotations.Nullable;

/** Operations of one loop on one file, done by the loop's {@link SlotEngine}; what that cannot do goes to threads. */
final class KernelQueue implements HostFileQueue, FileSlot.Owner {
    private final LinuxFile file;
    private final LinuxEventLoop loop;
    private final SlotEngine engine;
    private final ThreadQueue threads;
    private @Nullable FileSlot free;
    private boolean opened;
    private int fileNumber = -1;
    private volatile boolean closed;

    KernelQueue(LinuxFile file, LinuxEventLoop loop, SlotEngine engine, ThreadQueue threads) {
        this.file = file;
        this.loop = loop;
        this.engine = engine;
        this.threads = threads;
    }

    @Override
    public void submit(FileOperation operation) {
        if (!engine.takes(file, operation.kind())) {
            threads.submit(operation);
            return;
        }
        FileSlot slot = free;
        if (slot == null) {
            slot = new FileSlot(file, this, fileNumber());
            engine.add(slot);
        } else {
            free = slot.next;
        }
        slot.start(operation);
        engine.push(slot);
    }

    private int fileNumber() {
        if (!opened) {
            opened = true;
            fileNumber = engine.open(file);
        }
        return fileNumber;
    }

    @Override
    public void done(FileSlot slot) {
        FileOperation operation = slot.take();
        long result = slot.result();
        if (closed) {
            engine.remove(slot);
            return;
        }
        slot.next = free;
        free = slot;
        FileSlot.complete(file, operation, result);
    }

    private void removeFree() {
        engine.close(fileNumber);
        fileNumber = -1;
        for (FileSlot slot = free; slot != null; slot = slot.next) {
            engine.remove(slot);
        }
        free = null;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        threads.close();
        file.forget(this);
        if (loop.inLoop()) {
            removeFree();
            return;
        }
        try {
            // Waited for, as the kernel keeps the file open for whom it has registered it.
            loop.call(this::removeFree);
        } catch (BenchtopException e) {
            // The loop is closed and with it the engine that knew the slots.
            free = null;
        }
    }
}
