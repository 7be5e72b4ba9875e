package org.benchtop.block;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;

/** {@code type: memory}: a disk in the memory of the process. */
public final class MemoryType implements BlockBackendType<MemoryOptions> {
    @Override
    public String name() {
        return "memory";
    }

    @Override
    public String summary() {
        return "A sparse disk in memory, gone when the machine is closed.";
    }

    @Override
    public Class<MemoryOptions> optionsType() {
        return MemoryOptions.class;
    }

    @Override
    public BlockBackend create(MemoryOptions options, BlockContext context) {
        if (options.file().isEmpty()) {
            return new MemoryBackend(options.size().orElseThrow(), options);
        }
        Path path = context.resolve(options.file().get());
        try (HostFile file = context.host()
                .openFile(new HostFileOptions(
                        path,
                        false,
                        false,
                        false,
                        false,
                        HostFileOptions.Lock.SHARED,
                        HostFileOptions.Aio.THREADS,
                        1))) {
            long fileBytes = file.sizeBytes();
            long size = options.size().orElse(BlockSizes.roundUp(fileBytes, options.logicalBlockSize()));
            if (size == 0 || size < fileBytes) {
                throw BenchtopException.config(
                        path + " has " + fileBytes + " bytes, which do not make a disk of " + size + " bytes");
            }
            MemoryBackend backend = new MemoryBackend(size, options);
            try {
                load(file, fileBytes, backend);
            } catch (RuntimeException | OutOfMemoryError e) {
                backend.close();
                throw e;
            }
            return backend;
        }
    }

    private static void load(HostFile file, long fileBytes, MemoryBackend backend) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(MemoryBackend.CHUNK_BYTES);
            MemorySegment zeroes = arena.allocate(MemoryBackend.CHUNK_BYTES);
            for (long at = 0; at < fileBytes; at += MemoryBackend.CHUNK_BYTES) {
                long length = Math.min(MemoryBackend.CHUNK_BYTES, fileBytes - at);
                long read = file.read(at, buffer.asSlice(0, length));
                if (read > 0 && MemorySegment.mismatch(buffer, 0, read, zeroes, 0, read) >= 0) {
                    backend.load(at, buffer, read);
                }
            }
        }
    }
}
