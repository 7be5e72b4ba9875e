package org.benchtop.block;

import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;

/** {@code type: file}: a raw image file or a block device. */
public final class FileType implements BlockBackendType<FileOptions> {
    @Override
    public String name() {
        return "file";
    }

    @Override
    public String summary() {
        return "A raw image file or host block device.";
    }

    @Override
    public Class<FileOptions> optionsType() {
        return FileOptions.class;
    }

    @Override
    public BlockBackend create(FileOptions options, BlockContext context) {
        Path path = context.resolve(options.file());
        CacheMode cache = options.cache();
        HostFileOptions.Lock lock = !options.lock()
                ? HostFileOptions.Lock.NONE
                : options.readOnly() ? HostFileOptions.Lock.SHARED : HostFileOptions.Lock.EXCLUSIVE;
        HostFile file = context.host()
                .openFile(new HostFileOptions(
                        path,
                        !options.readOnly(),
                        options.create(),
                        cache.direct(),
                        !cache.writeCache(),
                        lock,
                        options.aio(),
                        options.threads()));
        try {
            long fileBytes = fitSize(path, file, options);
            return new FileBackend(path, file, fileBytes, options, context.stats());
        } catch (RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /** Brings the file to the wanted size and returns the file's size. */
    private static long fitSize(Path path, HostFile file, FileOptions options) {
        long now = file.sizeBytes();
        long wanted = options.size().orElse(now);
        if (wanted == 0) {
            throw BenchtopException.of(
                    org.benchtop.spi.ErrorKind.IMAGE, path + " is empty: give a size to make it a disk");
        }
        if (wanted != now) {
            String sizes = path + " has " + now + " bytes, size asks for " + wanted;
            if (file.blockDevice()) {
                throw BenchtopException.config(sizes + ": a block device cannot be resized");
            }
            if (options.readOnly()) {
                throw BenchtopException.config(sizes + ": a read-only file cannot be resized");
            }
            if (wanted < now && !options.shrink()) {
                throw BenchtopException.config(sizes + ": shrink: on would cut data off");
            }
            file.resize(wanted);
        }
        int alignment = file.offsetAlignmentBytes();
        if (!options.readOnly() && wanted % alignment != 0) {
            throw BenchtopException.config(path + " has " + wanted + " bytes, which is not a multiple of " + alignment
                    + " as cache=" + FileBackend.spelling(options.cache())
                    + " needs here: use cache=writeback or another size");
        }
        return wanted;
    }
}
