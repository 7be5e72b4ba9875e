package org.benchtop.block;

import java.nio.file.Path;
import java.util.Locale;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockExtent;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;

/**
 * A raw file or block device: the bytes of the disk are the bytes of the file.
 *
 * <p>Guest buffers go to the host's calls in place. Only where O_DIRECT refuses a request (a buffer or a range that is
 * not aligned) its data takes the way over a bounce buffer, and where such a write covers a part of the host's block,
 * over a read-modify-write that excludes other writes to that block.
 *
 * <p>What a cache mode means here:
 *
 * <table>
 * <caption>Durability</caption>
 * <tr><th>mode</th><th>open flags</th><th>write completes</th><th>flush</th><th>durable write (FUA)</th></tr>
 * <tr><td>writeback</td><td></td><td>in the page cache</td><td>fdatasync</td><td>write, fdatasync</td></tr>
 * <tr><td>none</td><td>O_DIRECT</td><td>on the device</td><td>fdatasync</td><td>write, fdatasync</td></tr>
 * <tr><td>writethrough</td><td>O_DSYNC</td><td>durable</td><td>fdatasync</td><td>write</td></tr>
 * <tr><td>directsync</td><td>O_DIRECT, O_DSYNC</td><td>durable</td><td>fdatasync</td><td>write</td></tr>
 * <tr><td>unsafe</td><td></td><td>in the page cache</td><td>nothing</td><td>write</td></tr>
 * </table>
 *
 * <p>Once an fdatasync has failed on the page cache, the host may have dropped data that it can no longer name, so
 * every later flush fails too.
 */
final class FileBackend implements BlockBackend {
    private static final int MAX_SEGMENTS = 1024;

    /** An image format adds some of its own to what it is given. */
    private static final int MAX_FORMAT_SEGMENTS = 1024 + 32;

    private static final long MAX_TRANSFER_BYTES = 1 << 30;

    /** The capacity of a file that grows with what is written to it. */
    private static final long GROWING_BYTES = 1L << 62;

    private final Path path;
    private final HostFile file;
    private final FileOptions options;
    private final BlockCapabilities capabilities;
    private final Counter bounces;
    private final RangeLock rangeLock = new RangeLock();
    private final long fileBytes;
    private final int offsetAlignment;
    private final int memoryAlignment;
    private final boolean blockDevice;
    private final boolean grows;
    private volatile boolean zeroRangeWorks = true;
    private volatile boolean punchHoleWorks = true;
    private volatile boolean syncFailed;
    private volatile boolean dirty;
    private boolean closed;

    FileBackend(Path path, HostFile file, long fileBytes, FileOptions options, Stats stats) {
        this(path, file, fileBytes, options, stats, false);
    }

    /** With {@code grows}, writes may go beyond the end of the file, and what is there reads as zeroes. */
    FileBackend(Path path, HostFile file, long fileBytes, FileOptions options, Stats stats, boolean grows) {
        this.path = path;
        this.file = file;
        this.options = options;
        this.fileBytes = fileBytes;
        this.offsetAlignment = file.offsetAlignmentBytes();
        this.memoryAlignment = file.memoryAlignmentBytes();
        this.blockDevice = file.blockDevice();
        this.grows = grows && !blockDevice;
        this.bounces = stats.counter("bounced");
        stats.gauge("registered-transfers", "", file::registeredTransfers);
        int logical = options.logicalBlockSize();
        this.capabilities = new BlockCapabilities(
                this.grows ? GROWING_BYTES : BlockSizes.roundUp(fileBytes, logical),
                logical,
                options.physicalBlockSize().orElse(Math.max(logical, offsetAlignment)),
                options.readOnly(),
                options.discard() == FileOptions.DiscardMode.UNMAP && !options.readOnly(),
                true,
                options.cache(),
                grows ? MAX_FORMAT_SEGMENTS : MAX_SEGMENTS,
                MAX_TRANSFER_BYTES);
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new FileQueue(this, file.openQueue(loop), loop);
    }

    @Override
    public BlockExtent blockStatus(long offsetBytes, long lengthBytes) {
        long end = Math.min(offsetBytes + lengthBytes, fileBytes);
        long data = offsetBytes < fileBytes ? file.nextData(offsetBytes) : offsetBytes + lengthBytes;
        if (data > offsetBytes) {
            // A hole, or what the last block has beyond the end of the file.
            long length = data >= end ? lengthBytes : data - offsetBytes;
            return new BlockExtent(offsetBytes, length, false, true);
        }
        long stop = Math.clamp(file.nextHole(offsetBytes), offsetBytes + 1, end);
        return new BlockExtent(offsetBytes, stop - offsetBytes, true, false);
    }

    @Override
    public String describe() {
        HostFileOptions.Aio aio = file.aio();
        return path + " raw, cache=" + spelling(options.cache()) + ", aio="
                + aio.name().toLowerCase(Locale.ROOT)
                + (aio == HostFileOptions.Aio.THREADS ? ":" + options.threads() : "")
                + (options.readOnly() ? ", read-only" : "");
    }

    static String spelling(CacheMode mode) {
        return mode.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            if (dirty && options.cache() != CacheMode.UNSAFE) {
                file.sync();
            }
        } finally {
            file.close();
        }
    }

    Counter bounces() {
        return bounces;
    }

    RangeLock rangeLock() {
        return rangeLock;
    }

    int offsetAlignment() {
        return offsetAlignment;
    }

    /** The alignment of a bounce buffer. */
    int bounceAlignment() {
        return Math.max(4096, Math.max(offsetAlignment, memoryAlignment));
    }

    /** Whether a request can be smaller than what the host's file takes, so that writes must exclude each other. */
    boolean needsReadModifyWrite() {
        return offsetAlignment > capabilities.logicalBlockSizeBytes();
    }

    /** Whether a transfer can go to the host in place. */
    boolean aligned(BlockRequest request, IoVector buffer) {
        if (offsetAlignment == 1 && memoryAlignment == 1) {
            return true;
        }
        if ((request.offsetBytes() | request.lengthBytes()) % offsetAlignment != 0) {
            return false;
        }
        for (int i = 0; i < buffer.count(); i++) {
            if (buffer.address(i) % memoryAlignment != 0 || buffer.length(i) % offsetAlignment != 0) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether the file may end at a position: the disk's last block may reach beyond the end of the file, which then
     * reads as zeroes. An earlier end means that somebody has cut the file.
     */
    boolean mayEndAt(long position) {
        return grows || position >= fileBytes;
    }

    /** Whether a write needs an fdatasync of its own to be durable. */
    boolean syncAfterDurableWrite() {
        return options.cache() == CacheMode.WRITEBACK || options.cache() == CacheMode.NONE;
    }

    /** Whether every change must be durable when it completes; O_DSYNC covers writes but not fallocate. */
    boolean syncAfterAllocationChange() {
        return !options.cache().writeCache();
    }

    /** Whether flushes reach the host. */
    boolean flushes() {
        return options.cache() != CacheMode.UNSAFE;
    }

    boolean discards() {
        return capabilities.discard() && punchHoleWorks;
    }

    /** Whether a hole in the file, which reads as zeroes, may stand for zeroes. */
    boolean punchesZeroes(boolean mayUnmap) {
        return mayUnmap && discards() && !blockDevice;
    }

    boolean zeroRangeWorks() {
        return zeroRangeWorks;
    }

    void zeroRangeFails() {
        zeroRangeWorks = false;
    }

    void punchHoleFails() {
        punchHoleWorks = false;
    }

    boolean syncFailed() {
        return syncFailed;
    }

    void syncFails() {
        if (!options.cache().direct()) {
            syncFailed = true;
        }
    }

    void changed() {
        if (!dirty) {
            dirty = true;
        }
    }
}
