package org.benchtop.block;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;

/**
 * The bytes below an image format: a file that grows with what is written to it, or any backend of fixed capacity.
 *
 * <p>What lies beyond the end of a growing file reads as zeroes. Thread-safe.
 */
public final class ImageFile implements AutoCloseable {
    private final Path path;
    private final BlockBackend backend;
    private final @Nullable HostFile file;

    private ImageFile(Path path, BlockBackend backend, @Nullable HostFile file) {
        this.path = path;
        this.backend = backend;
        this.file = file;
    }

    /** Opens a file or block device; writes beyond the end make a file longer. */
    public static ImageFile open(ImageOpen how, BlockContext context) {
        return open(how, context, true);
    }

    /** Opens a file or block device whose capacity is what it has now. */
    public static ImageFile openFixed(ImageOpen how, BlockContext context) {
        return open(how, context, false);
    }

    private static ImageFile open(ImageOpen how, BlockContext context, boolean growing) {
        HostFileOptions.Lock lock = !how.lock()
                ? HostFileOptions.Lock.NONE
                : how.writable() ? HostFileOptions.Lock.EXCLUSIVE : HostFileOptions.Lock.SHARED;
        HostFile file = context.host()
                .openFile(new HostFileOptions(
                        how.file(),
                        how.writable(),
                        false,
                        how.cache().direct(),
                        !how.cache().writeCache(),
                        lock,
                        how.aio(),
                        how.threads()));
        try {
            FileOptions options = new FileOptions(
                    how.file(),
                    Optional.empty(),
                    false,
                    false,
                    !how.writable(),
                    how.cache(),
                    how.aio(),
                    how.threads(),
                    how.unmap() ? FileOptions.DiscardMode.UNMAP : FileOptions.DiscardMode.IGNORE,
                    how.lock(),
                    512,
                    Optional.empty());
            FileBackend backend =
                    new FileBackend(how.file(), file, file.sizeBytes(), options, context.stats(), growing);
            return new ImageFile(how.file(), backend, file);
        } catch (RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /** Takes a backend over; {@code path} is what it is called in messages. */
    public static ImageFile over(Path path, BlockBackend backend) {
        return new ImageFile(path, backend, null);
    }

    /** What it is called, and what relative names in it are relative to. */
    public Path path() {
        return path;
    }

    /** The bytes. */
    public BlockBackend backend() {
        return backend;
    }

    /** Where they end now: a file's size, a backend's capacity. */
    public long storedBytes() {
        return file == null ? backend.capabilities().sizeBytes() : file.sizeBytes();
    }

    /** Whether what was never written reads as zeroes and takes no space, because the file does not reach there. */
    public boolean grows() {
        return file != null && !file.blockDevice();
    }

    /** Makes a growing file at least this long. */
    public void growTo(long sizeBytes) {
        if (file != null && grows() && file.sizeBytes() < sizeBytes) {
            file.resize(sizeBytes);
        }
    }

    /** Cuts a growing file. */
    public void cutTo(long sizeBytes) {
        if (file != null && grows() && file.sizeBytes() > sizeBytes) {
            file.resize(sizeBytes);
        }
    }

    /** See {@link HostFile#nextData}. */
    public long nextData(long offsetBytes) {
        return file == null ? offsetBytes : file.nextData(offsetBytes);
    }

    /** See {@link HostFile#nextHole}. */
    public long nextHole(long offsetBytes) {
        return file == null ? storedBytes() : file.nextHole(offsetBytes);
    }

    @Override
    public void close() {
        backend.close();
    }
}
