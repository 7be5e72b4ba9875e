package org.benchtop.block.qcow2;

import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Compresses and decompresses clusters. Stateless, so any number of threads may use it. */
final class Codec {
    /**
     * Other readers decompress with a window of 4 KiB, and {@link Deflater} has no option for that. A full flush after
     * each 4 KiB keeps matches from reaching back further.
     */
    private static final int ZLIB_WINDOW_BYTES = 4096;

    private final Qcow2Header.Compression compression;

    Codec(Qcow2Header.Compression compression) {
        this.compression = compression;
    }

    /** Where the work is done: it takes too long for an event loop. Started on first use. */
    private static final class Workers {
        static final Executor POOL = start();

        private static Executor start() {
            int threads = Math.max(1, Runtime.getRuntime().availableProcessors());
            ThreadPoolExecutor pool = new ThreadPoolExecutor(
                    threads,
                    threads,
                    10,
                    TimeUnit.SECONDS,
                    new LinkedBlockingQueue<>(),
                    task -> Thread.ofPlatform()
                            .name("benchtop-codec")
                            .daemon(true)
                            .unstarted(task));
            pool.allowCoreThreadTimeOut(true);
            return pool;
        }
    }

    static Executor workers() {
        return Workers.POOL;
    }

    /**
     * Compresses a cluster.
     *
     * @return the number of bytes, or -1 if that would not save anything
     */
    int compress(MemorySegment cluster, MemorySegment into) {
        ByteBuffer source = cluster.asByteBuffer();
        // The last sector must not make it as long as the cluster itself.
        ByteBuffer target =
                into.asSlice(0, cluster.byteSize() - Qcow2Layout.SECTOR).asByteBuffer();
        return switch (compression) {
            case ZLIB -> deflate(source, target);
            case ZSTD -> zstd(source, target);
        };
    }

    private static int deflate(ByteBuffer source, ByteBuffer target) {
        Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true);
        try {
            int length = source.capacity();
            for (int at = 0; at < length; at += ZLIB_WINDOW_BYTES) {
                int end = Math.min(length, at + ZLIB_WINDOW_BYTES);
                deflater.setInput(source.limit(end).position(at));
                if (end == length) {
                    deflater.finish();
                }
                do {
                    if (!target.hasRemaining()) {
                        return -1;
                    }
                    deflater.deflate(target, end == length ? Deflater.NO_FLUSH : Deflater.FULL_FLUSH);
                } while (end == length ? !deflater.finished() : !target.hasRemaining() || !deflater.needsInput());
            }
            return target.position();
        } finally {
            deflater.end();
        }
    }

    private static int zstd(ByteBuffer source, ByteBuffer target) {
        try (ZstdCompressCtx context = new ZstdCompressCtx()) {
            return context.compressDirectByteBuffer(target, 0, target.capacity(), source, 0, source.capacity());
        } catch (ZstdException e) {
            return -1;
        }
    }

    /** Decompresses exactly one cluster; false if the data is damaged. What follows the data is ignored. */
    boolean decompress(MemorySegment packed, MemorySegment cluster) {
        ByteBuffer source = packed.asByteBuffer();
        ByteBuffer target = cluster.asByteBuffer();
        return switch (compression) {
            case ZLIB -> inflate(source, target);
            case ZSTD -> unzstd(source, target);
        };
    }

    private static boolean inflate(ByteBuffer source, ByteBuffer target) {
        Inflater inflater = new Inflater(true);
        try {
            inflater.setInput(source);
            while (target.hasRemaining()) {
                if (inflater.inflate(target) == 0
                        && (inflater.finished() || inflater.needsInput() || inflater.needsDictionary())) {
                    return false;
                }
            }
            return true;
        } catch (DataFormatException e) {
            return false;
        } finally {
            inflater.end();
        }
    }

    private static boolean unzstd(ByteBuffer source, ByteBuffer target) {
        try (ZstdDecompressCtx context = new ZstdDecompressCtx()) {
            while (target.hasRemaining()) {
                int sourceBefore = source.position();
                int targetBefore = target.position();
                boolean finished = context.decompressDirectByteBufferStream(target, source);
                if (target.hasRemaining()
                        && (finished || source.position() == sourceBefore && target.position() == targetBefore)) {
                    return false;
                }
            }
            return true;
        } catch (ZstdException e) {
            return false;
        }
    }
}
