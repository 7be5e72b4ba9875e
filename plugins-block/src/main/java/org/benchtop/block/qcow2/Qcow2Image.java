package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.benchtop.block.BlockAccess;
import org.benchtop.block.CallerLoop;
import org.benchtop.block.ImageFile;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.spi.image.ImageExtent;
import org.benchtop.spi.image.ImageInfo;
import org.benchtop.spi.image.ImageSnapshot;
import org.jspecify.annotations.Nullable;

/**
 * An open qcow2 image: a disk, whose requests {@link Qcow2Queue} carries out over {@link Qcow2Tables}, and what can be asked
 * of and done to the image as a whole.
 */
final class Qcow2Image implements Image {
    private final Qcow2Tables tables;
    private final Qcow2Settings settings;
    private final ImageFile file;
    private final @Nullable ImageFile dataFile;
    private final @Nullable Image backing;
    private boolean closed;
    private volatile @Nullable ControlQueue walk;

    Qcow2Image(
            ImageFile file,
            @Nullable ImageFile dataFile,
            @Nullable Image backing,
            Qcow2Header header,
            Qcow2Settings settings) {
        this.file = file;
        this.dataFile = dataFile;
        this.backing = backing;
        this.settings = settings;
        this.tables = new Qcow2Tables(file, dataFile, backing, header, settings);
    }

    Qcow2Tables tables() {
        return tables;
    }

    /** See {@link Qcow2Tables#memoryBytes}. */
    long memoryBytes() {
        return tables.memoryBytes();
    }

    private Qcow2Header header() {
        return tables.header();
    }

    @Override
    public BlockCapabilities capabilities() {
        return tables.capabilities();
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return tables.openQueue(loop);
    }

    @Override
    public String describe() {
        return settings.describe();
    }

    @Override
    public Optional<Image> backing() {
        return Optional.ofNullable(backing);
    }

    /** Runs something on a queue of the calling thread. */
    private <T> T onCaller(Function<ControlQueue, T> action) {
        CallerLoop loop = new CallerLoop("qcow2");
        Qcow2Queue queue = tables.openQueue(loop);
        try {
            return action.apply(new ControlQueue(loop, queue));
        } finally {
            queue.close();
        }
    }

    private record ControlQueue(CallerLoop loop, Qcow2Queue queue) {
        BlockStatus submit(BlockRequest request) {
            BlockStatus[] result = new BlockStatus[1];
            queue.submit(request, (done, status) -> result[0] = status);
            queue.kick();
            loop.runUntil(() -> result[0] != null);
            return result[0];
        }
    }

    /** Writes all tables and waits; throws if that is not possible. */
    private void writeBack() {
        onCaller(control -> {
            boolean clean = false;
            while (!clean) {
                BlockStatus status = control.submit(new BlockRequest.Flush());
                if (status != BlockStatus.OK) {
                    throw BenchtopException.host(file.path() + ": writing tables: " + status.words());
                }
                clean = !tables.dirty();
            }
            return clean;
        });
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        RuntimeException failure = null;
        if (settings.writable()) {
            try {
                tables.beginClosing();
                writeBack();
                if (tables.takeDirtyBit()) {
                    writeBack();
                }
                long end = tables.freshFrom();
                if (end != Long.MAX_VALUE) {
                    file.growTo(end);
                }
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        tables.closeMemory();
        failure = closeChild(file, failure);
        failure = closeChild(dataFile, failure);
        failure = closeChild(backing, failure);
        if (failure != null) {
            throw failure;
        }
    }

    /** Gives up what belongs to this object only; its files stay open. */
    void abandon() {
        closed = true;
        tables.closeMemory();
    }

    private static @Nullable RuntimeException closeChild(
            @Nullable AutoCloseable child, @Nullable RuntimeException failure) {
        if (child == null) {
            return failure;
        }
        try {
            child.close();
            return failure;
        } catch (RuntimeException e) {
            return failure == null ? e : failure;
        } catch (Exception e) {
            return failure == null ? BenchtopException.host("close: " + e.getMessage()) : failure;
        }
    }

    // The control plane.

    @Override
    public ImageInfo info() {
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("compat", header().version >= 3 ? "1.1" : "0.10");
        if (header().version >= 3) {
            details.put("compression-type", header().compression.name().toLowerCase(Locale.ROOT));
            details.put("lazy-refcounts", header().lazyRefcounts());
            details.put("refcount-bits", 1L << header().refcountOrder);
            details.put("corrupt", header().corrupt());
            details.put("extended-l2", header().extendedL2());
            header().dataFile.ifPresent(name -> {
                details.put("data-file", name);
                details.put("data-file-raw", header().rawDataFile());
            });
        } else {
            details.put("compression-type", "zlib");
            details.put("refcount-bits", 16L);
        }
        return new ImageInfo(
                file.path(),
                "qcow2",
                header().sizeBytes,
                OptionalLong.of(tables.layout().clusterBytes),
                header().backing(),
                header().dirty(),
                header().corrupt(),
                details,
                snapshots());
    }

    @Override
    public ImageExtent extent(long offsetBytes, long lengthBytes) {
        ControlQueue open = walk;
        return open != null && open.loop.inLoop()
                ? extent(open, offsetBytes, lengthBytes)
                : onCaller(control -> extent(control, offsetBytes, lengthBytes));
    }

    @Override
    public void extents(long offsetBytes, long lengthBytes, Consumer<ImageExtent> visitor) {
        beginWalk();
        try {
            Image.super.extents(offsetBytes, lengthBytes, visitor);
        } finally {
            endWalk();
        }
    }

    /** Opens a queue for many questions of one thread, here and in what is below. */
    private void beginWalk() {
        CallerLoop loop = new CallerLoop("qcow2");
        walk = new ControlQueue(loop, tables.openQueue(loop));
        if (backing instanceof Qcow2Image below) {
            below.beginWalk();
        }
    }

    private void endWalk() {
        ControlQueue ended = walk;
        walk = null;
        if (ended != null) {
            ended.queue.close();
        }
        if (backing instanceof Qcow2Image below) {
            below.endWalk();
        }
    }

    private ImageExtent extent(ControlQueue control, long offsetBytes, long lengthBytes) {
        Mapping map = new Mapping();
        long length = Math.min(lengthBytes, capabilities().sizeBytes() - offsetBytes);
        int[] result = {Qcow2Tables.WAIT};
        Task look = new Task(control.queue) {
            @Override
            void run() {
                if (wakeStatus != BlockStatus.OK) {
                    result[0] = Qcow2Tables.FAILED;
                    return;
                }
                synchronized (tables) {
                    result[0] = tables.map(offsetBytes, length, map, this);
                }
            }
        };
        control.queue.later(look);
        control.queue.finishHandler();
        control.loop.runUntil(() -> result[0] != Qcow2Tables.WAIT);
        if (result[0] != Qcow2Tables.READY) {
            throw Qcow2Header.image(file.path(), "tables cannot be read at offset " + offsetBytes);
        }
        boolean data = map.kind == Qcow2Layout.Kind.DATA;
        boolean zero = map.kind == Qcow2Layout.Kind.ZERO;
        boolean compressed = map.kind == Qcow2Layout.Kind.COMPRESSED;
        if (map.kind == Qcow2Layout.Kind.UNALLOCATED) {
            Image below = backing;
            if (below != null && offsetBytes < tables.backingBytes()) {
                return below.extent(offsetBytes, Math.min(map.length, tables.backingBytes() - offsetBytes))
                        .below();
            }
            return new ImageExtent(
                    offsetBytes, map.length, 0, false, true, false, false, Optional.empty(), OptionalLong.empty());
        }
        OptionalLong host = data ? OptionalLong.of(map.host) : OptionalLong.empty();
        Optional<Path> where = data ? Optional.of(settings.dataFilePath().orElse(file.path())) : Optional.empty();
        return new ImageExtent(offsetBytes, map.length, 0, true, zero, data || compressed, compressed, where, host);
    }

    /**
     * Changes the image as a whole: all tables are on the disk before, and are read again afterwards. No queue is open.
     */
    private <T> T exclusively(Function<Qcow2Structure, T> action) {
        synchronized (tables) {
            if (tables.openQueues() > 0) {
                throw BenchtopException.of(
                        ErrorKind.INTERNAL,
                        file.path() + ": the image is in use by " + tables.openQueues() + " queues");
            }
            if (settings.writable()) {
                writeEverything();
            }
            try (BlockAccess access = new BlockAccess(file.path().toString(), file.backend())) {
                Qcow2Structure structure = new Qcow2Structure(file, access, header(), settings.writable());
                try {
                    return action.apply(structure);
                } finally {
                    tables.reload(structure.header(), access);
                }
            }
        }
    }

    /** Writes also what lazy refcounts would keep in memory. */
    private void writeEverything() {
        boolean first = tables.beginClosing();
        try {
            writeBack();
        } finally {
            if (first) {
                tables.endClosing();
            }
        }
    }

    private void requireWritable() {
        if (!settings.writable()) {
            throw BenchtopException.config(file.path() + ": opened read-only");
        }
    }

    @Override
    public ImageCheck check(ImageCheck.Repair repair) {
        if (repair != ImageCheck.Repair.NONE) {
            requireWritable();
        }
        return exclusively(structure -> new Qcow2Check(structure, repair).run());
    }

    @Override
    public List<ImageSnapshot> snapshots() {
        try (BlockAccess access = new BlockAccess(file.path().toString(), file.backend())) {
            return Qcow2Snapshots.list(new Qcow2Structure(file, access, header(), false));
        }
    }

    @Override
    public void createSnapshot(String name) {
        requireWritable();
        exclusively(structure -> {
            Qcow2Snapshots.create(structure, name);
            return true;
        });
    }

    @Override
    public void applySnapshot(String idOrName) {
        requireWritable();
        exclusively(structure -> {
            Qcow2Snapshots.apply(structure, idOrName);
            return true;
        });
    }

    @Override
    public void viewSnapshot(String idOrName) {
        if (settings.writable()) {
            throw BenchtopException.config(file.path() + ": a snapshot can be looked at in a read-only image only");
        }
        exclusively(structure -> {
            Qcow2Snapshots.view(structure, idOrName);
            return true;
        });
    }

    @Override
    public void deleteSnapshot(String idOrName) {
        requireWritable();
        exclusively(structure -> {
            Qcow2Snapshots.delete(structure, idOrName);
            return true;
        });
    }

    @Override
    public void resize(long sizeBytes) {
        requireWritable();
        exclusively(structure -> {
            structure.resize(sizeBytes);
            return true;
        });
    }

    @Override
    public void changeBacking(Optional<ImageBacking> newBacking) {
        requireWritable();
        exclusively(structure -> {
            structure.changeBacking(newBacking);
            return true;
        });
    }

    @Override
    public void makeEmpty() {
        requireWritable();
        exclusively(structure -> {
            structure.makeEmpty();
            return true;
        });
    }

    @Override
    public void preallocate(String preallocation) {
        requireWritable();
        boolean full = preallocation.equals("full");
        boolean space = full || preallocation.equals("falloc");
        long size = capabilities().sizeBytes();
        onCaller(control -> {
            long step = 1L << 30;
            for (long at = 0; at < size; at += step) {
                BlockStatus[] result = new BlockStatus[1];
                control.queue.job().startPreallocation(at, Math.min(step, size - at), status -> result[0] = status);
                control.queue.finishHandler();
                control.loop.runUntil(() -> result[0] != null);
                if (result[0] != BlockStatus.OK) {
                    throw BenchtopException.host(file.path() + ": preallocation: " + result[0].words());
                }
            }
            return true;
        });
        long end = tables.freshFrom();
        ImageFile target = dataFile == null ? file : dataFile;
        if (dataFile != null) {
            end = tables.layout().roundUpToCluster(size);
        }
        target.growTo(end);
        if (space) {
            writeBack();
            try (BlockAccess access = new BlockAccess(target.path().toString(), target.backend())) {
                fillHoles(target, access, end, full);
            }
        }
    }

    /** Gives every hole of a file space of its own. */
    private static void fillHoles(ImageFile target, BlockAccess access, long end, boolean full) {
        MemorySegment zeroes = full ? Arena.ofAuto().allocate(1 << 20, 4096) : MemorySegment.NULL;
        long at = 0;
        while (at < end) {
            long hole = target.nextHole(at) & -512;
            if (hole >= end) {
                break;
            }
            long data = Math.min(end, target.nextData(Math.max(at, hole)));
            long stop = data <= hole ? end : data & -512;
            long from = Math.max(at, hole);
            while (from < stop) {
                long length = Math.min(1 << 20, stop - from);
                if (full) {
                    access.write(from, zeroes.asSlice(0, length));
                } else {
                    access.zero(from, length, false);
                }
                from += length;
            }
            at = Math.max(stop, hole + 512);
        }
    }

    @Override
    public String toString() {
        return "Qcow2Image[" + file.path() + "]";
    }
}
