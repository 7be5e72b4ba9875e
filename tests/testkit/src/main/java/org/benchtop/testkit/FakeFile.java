package org.benchtop.testkit;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostFileQueue;
import org.benchtop.spi.memory.IoVector;

/**
 * A file or block device in memory with a page cache of its own: written data is lost in a {@link #powerCut} unless it
 * was synced.
 *
 * <p>Behaves as Linux does where it matters: short reads at the end, EINVAL for unaligned O_DIRECT, ENOSPC above a
 * limit, locks between openers. The test chooses when operations complete ({@link #completion}), how many bytes one
 * transfers at most, and which ones fail.
 */
public final class FakeFile {
    /** Linux EIO. */
    public static final int EIO = 5;
    /** Linux EBADF. */
    public static final int EBADF = 9;
    /** Linux EINVAL. */
    public static final int EINVAL = 22;
    /** Linux ENOSPC. */
    public static final int ENOSPC = 28;
    /** Linux EOPNOTSUPP. */
    public static final int EOPNOTSUPP = 95;

    private static final int SECTOR_BYTES = 512;

    /** When operations complete. */
    public enum Completion {
        /** Before submit returns. */
        AT_ONCE,
        /** As a later task of the queue's loop. */
        LATER,
        /** When the test calls {@link FakeFile#completeHeld}. */
        HELD,
    }

    /** Decides about an operation before it is done: 0 lets it pass, else a positive errno. */
    @FunctionalInterface
    public interface Fault {
        /** The errno, or 0. */
        int errno(FileOperation.Kind kind, long offsetBytes, long lengthBytes);
    }

    /**
     * Something that was done to the file.
     *
     * @param kind WRITE, PUNCH_HOLE, ZERO_RANGE or SYNC
     * @param offsetBytes where
     * @param lengthBytes how much
     * @param data what was written, empty for other kinds
     */
    public record Change(FileOperation.Kind kind, long offsetBytes, long lengthBytes, byte[] data) {}

    private record Held(FileOperation operation, Handle handle, EventLoop loop) {}

    private final Path path;
    private final SparseBytes content = new SparseBytes();
    private final SparseBytes stable = new SparseBytes();
    private long stableSize;
    private long size;
    private boolean blockDevice;
    private int directAlignment = 512;
    private long maxBytesPerOperation = Long.MAX_VALUE;
    private long capacity = Long.MAX_VALUE;
    private Completion completion = Completion.AT_ONCE;
    private Fault fault = (kind, offset, length) -> 0;
    private boolean hollow;
    private final List<String> trace = new ArrayList<>();
    private final List<Change> journal = new ArrayList<>();
    private boolean keepsJournal;
    private final ArrayDeque<Held> held = new ArrayDeque<>();
    private final List<Handle> handles = new ArrayList<>();

    FakeFile(Path path, long sizeBytes) {
        this.path = path;
        this.size = sizeBytes;
        this.stableSize = sizeBytes;
    }

    /** Makes it a block device. */
    public synchronized FakeFile blockDevice(boolean value) {
        blockDevice = value;
        return this;
    }

    /** What O_DIRECT wants offsets, lengths and addresses aligned to; 512 unless changed. */
    public synchronized FakeFile directAlignment(int bytes) {
        directAlignment = bytes;
        return this;
    }

    /** Makes longer reads and writes short. */
    public synchronized FakeFile maxBytesPerOperation(long bytes) {
        maxBytesPerOperation = bytes;
        return this;
    }

    /** Writes that need more allocated space than this fail with ENOSPC. */
    public synchronized FakeFile capacity(long bytes) {
        capacity = bytes;
        return this;
    }

    /** Chooses when operations complete. */
    public synchronized FakeFile completion(Completion value) {
        completion = value;
        return this;
    }

    /** Chooses which operations fail. */
    public synchronized FakeFile fault(Fault value) {
        fault = value;
        return this;
    }

    /**
     * Makes operations succeed without moving data or being traced, and so without allocating: for allocation tests.
     */
    public synchronized FakeFile hollow(boolean value) {
        hollow = value;
        return this;
    }

    /** What was done so far: {@code READ 0+512}, {@code WRITE …}, {@code SYNC}, {@code PUNCH_HOLE …}, and so on. */
    public synchronized List<String> trace() {
        return List.copyOf(trace);
    }

    /** Keeps a journal of all changes from now on. */
    public synchronized FakeFile keepJournal() {
        keepsJournal = true;
        return this;
    }

    /** The number of changes in the journal. */
    public synchronized int journalSize() {
        return journal.size();
    }

    /** All changes since {@link #keepJournal}, in the order in which they were done. */
    public synchronized List<Change> journal() {
        return List.copyOf(journal);
    }

    private void keep(FileOperation.Kind kind, long offset, long length, IoVector vector) {
        if (keepsJournal && kind != FileOperation.Kind.READ) {
            byte[] data = new byte[kind == FileOperation.Kind.WRITE ? (int) length : 0];
            vector.copyTo(0, MemorySegment.ofArray(data), 0, data.length);
            journal.add(new Change(kind, offset, length, data));
        }
    }

    /** Does a change of a journal to this file, in cache and on the medium. */
    public synchronized void redo(Change change) {
        switch (change.kind) {
            case WRITE -> poke(change.offsetBytes, change.data);
            case PUNCH_HOLE, ZERO_RANGE -> {
                content.zero(change.offsetBytes, change.lengthBytes);
                stable.zero(change.offsetBytes, change.lengthBytes);
            }
            case READ, SYNC -> {}
        }
    }

    /** Forgets the trace. */
    public synchronized void forgetTrace() {
        trace.clear();
    }

    /** The number of operations that wait for {@link #completeHeld}. */
    public synchronized int held() {
        return held.size();
    }

    /** Does and completes the oldest held operation on its loop. */
    public void completeHeld() {
        Held next;
        synchronized (this) {
            next = held.poll();
        }
        if (next == null) {
            throw new AssertionError("no operation is held");
        }
        finish(next);
    }

    /** Does and completes the newest held operation on its loop. */
    public void completeNewestHeld() {
        Held next;
        synchronized (this) {
            next = held.pollLast();
        }
        if (next == null) {
            throw new AssertionError("no operation is held");
        }
        finish(next);
    }

    private void finish(Held next) {
        next.loop.call(
                () -> next.operation.completion().completed(next.operation, next.handle.perform(next.operation)));
    }

    /** Loses everything that was not synced. */
    public synchronized void powerCut() {
        content.copyFrom(stable);
        size = stableSize;
    }

    /**
     * Loses what was not synced, except that each sector of 512 bytes may have reached the medium all the same, as chance
     * has it.
     */
    public synchronized void powerCut(Random random) {
        MemorySegment cached = MemorySegment.ofArray(new byte[SECTOR_BYTES]);
        MemorySegment synced = MemorySegment.ofArray(new byte[SECTOR_BYTES]);
        for (long at = 0; at < Math.min(size, stableSize); at += SECTOR_BYTES) {
            content.read(at, cached, 0, SECTOR_BYTES);
            stable.read(at, synced, 0, SECTOR_BYTES);
            if (cached.mismatch(synced) >= 0 && random.nextBoolean()) {
                stable.write(at, cached, 0, SECTOR_BYTES);
            }
        }
        powerCut();
    }

    /** The size now. */
    public synchronized long sizeBytes() {
        return size;
    }

    /** Changes the size behind the openers' back. */
    public synchronized void truncate(long sizeBytes) {
        if (sizeBytes < size) {
            content.zero(sizeBytes, size - sizeBytes);
        }
        size = sizeBytes;
    }

    /** The bytes that allocated pages take. */
    public synchronized long allocatedBytes() {
        return content.allocatedBytes();
    }

    /** A copy of a range, as the page cache has it. */
    public synchronized byte[] bytes(long offset, int length) {
        byte[] copy = new byte[length];
        content.read(offset, MemorySegment.ofArray(copy), 0, length);
        return copy;
    }

    /** Sets bytes in cache and on the medium, growing the file. */
    public synchronized void poke(long offset, byte[] bytes) {
        MemorySegment source = MemorySegment.ofArray(bytes);
        content.write(offset, source, 0, bytes.length);
        stable.write(offset, source, 0, bytes.length);
        size = Math.max(size, offset + bytes.length);
        stableSize = Math.max(stableSize, size);
    }

    /** The number of openers. */
    public synchronized int openers() {
        return handles.size();
    }

    /** The number of open queues of all openers. */
    public synchronized int openQueues() {
        return handles.stream().mapToInt(handle -> handle.queues).sum();
    }

    synchronized HostFile open(HostFileOptions options) {
        for (Handle other : handles) {
            HostFileOptions.Lock a = other.options.lock();
            HostFileOptions.Lock b = options.lock();
            if (a != HostFileOptions.Lock.NONE
                    && b != HostFileOptions.Lock.NONE
                    && (a == HostFileOptions.Lock.EXCLUSIVE || b == HostFileOptions.Lock.EXCLUSIVE)) {
                throw BenchtopException.host("cannot lock " + path + ": it is in use");
            }
        }
        Handle handle = new Handle(options);
        handles.add(handle);
        return handle;
    }

    private final class Handle implements HostFile {
        private final HostFileOptions options;
        private int queues;
        private boolean closed;

        Handle(HostFileOptions options) {
            this.options = options;
        }

        @Override
        public long sizeBytes() {
            synchronized (FakeFile.this) {
                return size;
            }
        }

        @Override
        public void resize(long sizeBytes) {
            if (!options.writable()) {
                throw BenchtopException.host("cannot resize " + path + ": opened read-only");
            }
            synchronized (FakeFile.this) {
                trace.add("RESIZE " + sizeBytes);
                truncate(sizeBytes);
            }
        }

        @Override
        public boolean blockDevice() {
            return blockDevice;
        }

        @Override
        public int offsetAlignmentBytes() {
            return options.direct() ? directAlignment : 1;
        }

        @Override
        public int memoryAlignmentBytes() {
            return options.direct() ? directAlignment : 1;
        }

        @Override
        public HostFileOptions.Aio aio() {
            return options.aio() == HostFileOptions.Aio.AUTO ? HostFileOptions.Aio.THREADS : options.aio();
        }

        @Override
        public HostFileQueue openQueue(EventLoop loop) {
            synchronized (FakeFile.this) {
                queues++;
            }
            return new Queue(this, loop);
        }

        @Override
        public long read(long offsetBytes, MemorySegment buffer) {
            synchronized (FakeFile.this) {
                long length = Math.max(0, Math.min(buffer.byteSize(), size - offsetBytes));
                content.read(offsetBytes, buffer, 0, length);
                return length;
            }
        }

        @Override
        public void write(long offsetBytes, MemorySegment buffer) {
            synchronized (FakeFile.this) {
                record(FileOperation.Kind.WRITE, offsetBytes, buffer.byteSize());
                content.write(offsetBytes, buffer, 0, buffer.byteSize());
                size = Math.max(size, offsetBytes + buffer.byteSize());
                if (options.dataSync()) {
                    stabilise();
                }
            }
        }

        @Override
        public void sync() {
            synchronized (FakeFile.this) {
                record(FileOperation.Kind.SYNC, 0, 0);
                stabilise();
            }
        }

        private void stabilise() {
            stable.copyFrom(content);
            stableSize = size;
        }

        private void record(FileOperation.Kind kind, long offset, long length) {
            trace.add(kind == FileOperation.Kind.SYNC ? "SYNC" : kind + " " + offset + "+" + length);
        }

        private long perform(FileOperation operation) {
            synchronized (FakeFile.this) {
                if (closed) {
                    throw new AssertionError("operation on a closed file " + path);
                }
                long offset = operation.offsetBytes();
                FileOperation.Kind kind = operation.kind();
                boolean data = kind == FileOperation.Kind.READ || kind == FileOperation.Kind.WRITE;
                long length = data ? operation.vector().sizeBytes() : operation.lengthBytes();
                if (hollow) {
                    return data ? length : 0;
                }
                record(kind, offset, length);
                int errno = fault.errno(kind, offset, length);
                if (errno != 0) {
                    return -errno;
                }
                if (data && options.direct() && !aligned(offset, operation.vector())) {
                    return -EINVAL;
                }
                if (kind != FileOperation.Kind.READ && kind != FileOperation.Kind.SYNC && !options.writable()) {
                    return -EBADF;
                }
                return switch (kind) {
                    case READ -> transferIn(offset, operation.vector());
                    case WRITE -> {
                        long done = transferOut(offset, operation.vector());
                        keep(kind, offset, Math.max(0, done), operation.vector());
                        yield done;
                    }
                    case SYNC -> {
                        keep(kind, offset, 0, operation.vector());
                        stabilise();
                        yield 0;
                    }
                    case PUNCH_HOLE, ZERO_RANGE -> {
                        keep(kind, offset, length, operation.vector());
                        content.zero(offset, Math.min(length, Math.max(0, size - offset)));
                        yield 0;
                    }
                };
            }
        }

        private boolean aligned(long offset, IoVector vector) {
            if (offset % directAlignment != 0) {
                return false;
            }
            for (int i = 0; i < vector.count(); i++) {
                if (vector.address(i) % directAlignment != 0 || vector.length(i) % directAlignment != 0) {
                    return false;
                }
            }
            return true;
        }

        private long transferIn(long offset, IoVector vector) {
            long limit = Math.min(maxBytesPerOperation, Math.max(0, size - offset));
            long done = 0;
            for (int i = 0; i < vector.count() && done < limit; i++) {
                long take = Math.min(vector.length(i), limit - done);
                content.read(offset + done, vector.base(i), vector.offset(i), take);
                done += take;
            }
            return done;
        }

        private long transferOut(long offset, IoVector vector) {
            long limit = Math.min(maxBytesPerOperation, capacity - offset);
            if (limit <= 0 && vector.sizeBytes() > 0) {
                return -ENOSPC;
            }
            long done = 0;
            for (int i = 0; i < vector.count() && done < limit; i++) {
                long take = Math.min(vector.length(i), limit - done);
                content.write(offset + done, vector.base(i), vector.offset(i), take);
                done += take;
            }
            size = Math.max(size, offset + done);
            if (options.dataSync()) {
                stabilise();
            }
            return done;
        }

        @Override
        public void close() {
            synchronized (FakeFile.this) {
                if (queues > 0) {
                    throw new AssertionError("file " + path + " closed with " + queues + " open queues");
                }
                closed = true;
                handles.remove(this);
            }
        }
    }

    private final class Queue implements HostFileQueue {
        private final Handle handle;
        private final EventLoop loop;
        private int inFlight;
        private boolean closed;

        Queue(Handle handle, EventLoop loop) {
            this.handle = handle;
            this.loop = loop;
        }

        @Override
        public void submit(FileOperation operation) {
            if (!loop.inLoop()) {
                throw new AssertionError("file operation submitted outside loop " + loop.name());
            }
            if (closed) {
                throw new AssertionError("file operation on a closed queue");
            }
            switch (completion) {
                case AT_ONCE -> operation.completion().completed(operation, handle.perform(operation));
                case LATER -> {
                    inFlight++;
                    loop.execute(() -> {
                        inFlight--;
                        operation.completion().completed(operation, handle.perform(operation));
                    });
                }
                case HELD -> {
                    synchronized (FakeFile.this) {
                        held.add(new Held(operation, handle, loop));
                    }
                }
            }
        }

        @Override
        public void close() {
            synchronized (FakeFile.this) {
                if (closed) {
                    return;
                }
                boolean waiting = held.stream().anyMatch(one -> one.handle == handle && one.loop == loop);
                if (inFlight > 0 || waiting) {
                    throw new AssertionError("file queue closed with operations in flight");
                }
                closed = true;
                handle.queues--;
            }
        }
    }
}
