package org.benchtop.block;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageExtent;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageInfo;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.spi.image.ImageOption;

/** Format {@code raw}: the bytes of the disk are the bytes of the file. */
final class RawFormat implements ImageFormat {
    @Override
    public String name() {
        return "raw";
    }

    @Override
    public String summary() {
        return "The bytes of the disk are the bytes of the file.";
    }

    @Override
    public boolean matches(MemorySegment head, MemorySegment tail) {
        return true;
    }

    @Override
    public List<ImageOption> createOptions() {
        return List.of(
                new ImageOption("preallocation", "off, falloc, full", "off"), new ImageOption("size", "disk size", ""));
    }

    @Override
    public boolean creatable() {
        return true;
    }

    @Override
    public void create(ImageCreation creation, BlockContext context) {
        Path file = creation.file();
        for (String name : creation.options().keySet()) {
            if (!name.equals("preallocation") && !name.equals("size")) {
                throw BenchtopException.config("raw has no option \"" + name + "\" (options: preallocation, size)");
            }
        }
        if (creation.backing().isPresent()) {
            throw BenchtopException.config(file + ": a raw image cannot have a backing file");
        }
        String preallocation = creation.options().getOrDefault("preallocation", "off");
        if (!List.of("off", "falloc", "full").contains(preallocation)) {
            throw BenchtopException.config("preallocation=" + preallocation + ": allowed: off, falloc, full");
        }
        Path unfinished = file.resolveSibling(file.getFileName() + ".benchtop-tmp");
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                throw BenchtopException.config(file + ": exists and is not a regular file");
            }
            Files.deleteIfExists(unfinished);
            try (RandomAccessFile made = new RandomAccessFile(unfinished.toFile(), "rw")) {
                made.setLength(creation.sizeBytes());
            }
            if (!preallocation.equals("off") && creation.sizeBytes() > 0) {
                try (Image image =
                        open(ImageOpen.readOnly(unfinished).writable(true).cache(CacheMode.WRITEBACK), context)) {
                    image.preallocate(preallocation);
                }
            }
            Files.move(
                    unfinished,
                    file,
                    java.nio.file.StandardCopyOption.REPLACE_EXISTING,
                    java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            remove(unfinished);
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be created: " + e.getMessage(), e);
        } catch (RuntimeException e) {
            remove(unfinished);
            throw e;
        }
    }

    private static void remove(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be removed: " + e.getMessage(), e);
        }
    }

    @Override
    public Image open(ImageOpen how, BlockContext context) {
        return new RawImage(ImageFile.openFixed(how, context));
    }

    /** An open raw image. */
    private static final class RawImage implements Image {
        private final ImageFile file;
        private volatile long sizeBytes;

        RawImage(ImageFile file) {
            this.file = file;
            this.sizeBytes = file.storedBytes();
        }

        private BlockBackend backend() {
            return file.backend();
        }

        @Override
        public BlockCapabilities capabilities() {
            return backend().capabilities();
        }

        @Override
        public BlockQueue openQueue(EventLoop loop) {
            return backend().openQueue(loop);
        }

        @Override
        public String describe() {
            return backend().describe();
        }

        @Override
        public ImageInfo info() {
            return new ImageInfo(
                    file.path(),
                    "raw",
                    sizeBytes,
                    OptionalLong.empty(),
                    Optional.empty(),
                    false,
                    false,
                    Map.of(),
                    List.of());
        }

        @Override
        public ImageExtent extent(long offsetBytes, long lengthBytes) {
            long end = Math.min(offsetBytes + lengthBytes, capabilities().sizeBytes());
            long data = file.nextData(offsetBytes);
            boolean hole = data > offsetBytes || data >= sizeBytes;
            long stop = hole ? (data >= sizeBytes ? end : data) : file.nextHole(offsetBytes);
            stop = Math.min(end, Math.max(offsetBytes + 512, stop & -512));
            return new ImageExtent(
                    offsetBytes,
                    stop - offsetBytes,
                    0,
                    true,
                    hole,
                    !hole,
                    false,
                    Optional.of(file.path()),
                    OptionalLong.of(offsetBytes));
        }

        @Override
        public void resize(long newSizeBytes) {
            if (file.storedBytes() > newSizeBytes) {
                file.cutTo(newSizeBytes);
            } else {
                file.growTo(newSizeBytes);
            }
            sizeBytes = newSizeBytes;
        }

        @Override
        public void preallocate(String preallocation) {
            boolean full = preallocation.equals("full");
            if (!full && !preallocation.equals("falloc")) {
                throw BenchtopException.config("preallocation=" + preallocation + ": allowed: falloc, full");
            }
            long step = 1 << 20;
            MemorySegment zeroes = java.lang.foreign.Arena.ofAuto().allocate(step, 4096);
            try (BlockAccess access = new BlockAccess(file.path().toString(), backend())) {
                for (long at = 0; at < sizeBytes; at += step) {
                    long length = Math.min(step, sizeBytes - at & -512);
                    if (length > 0 && file.nextData(at) >= at + length) {
                        if (full) {
                            access.write(at, zeroes.asSlice(0, length));
                        } else {
                            access.zero(at, length, false);
                        }
                    }
                }
                access.flush();
            }
        }

        @Override
        public void close() {
            file.close();
        }
    }
}
