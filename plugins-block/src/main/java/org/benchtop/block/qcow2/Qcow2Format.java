package org.benchtop.block.qcow2;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.benchtop.block.BlockAccess;
import org.benchtop.block.ImageFile;
import org.benchtop.block.ImageFormats;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.spi.image.ImageOption;
import org.jspecify.annotations.Nullable;

/** Format {@code qcow2}. */
public final class Qcow2Format implements ImageFormat {
    static final long DEFAULT_L2_CACHE_BYTES = 32L << 20;
    static final long DEFAULT_REFCOUNT_CACHE_BYTES = 4L << 20;

    private static final System.Logger LOG = System.getLogger("org.benchtop.block.qcow2");
    private static final int MAX_CHAIN = 200;

    /** The files of the chain above the one that is being opened on this thread. */
    private static final ThreadLocal<List<Path>> CHAIN = ThreadLocal.withInitial(ArrayList::new);

    @Override
    public String name() {
        return "qcow2";
    }

    @Override
    public String summary() {
        return "Copy-on-write images with snapshots, compression and backing files.";
    }

    @Override
    public boolean matches(MemorySegment head, MemorySegment tail) {
        return head.byteSize() >= 8 && Qcow2Header.intAt(head, 0) == Qcow2Header.MAGIC;
    }

    @Override
    public List<ImageOption> createOptions() {
        return Qcow2Creator.OPTIONS;
    }

    @Override
    public boolean creatable() {
        return true;
    }

    @Override
    public void create(ImageCreation creation, BlockContext context) {
        new Qcow2Creator(this, creation, context).create();
    }

    @Override
    public Image open(ImageOpen how, BlockContext context) {
        return open(how, context, DEFAULT_L2_CACHE_BYTES, DEFAULT_REFCOUNT_CACHE_BYTES);
    }

    Image open(ImageOpen how, BlockContext context, long l2CacheBytes, long refcountCacheBytes) {
        return open(ImageFile.open(how, context), how, context, l2CacheBytes, refcountCacheBytes);
    }

    /** Opens an image in a file that it takes over, also when it fails. */
    Image open(ImageFile file, ImageOpen how, BlockContext context, long l2CacheBytes, long refcountCacheBytes) {
        Opening opening = new Opening(file, how, context, l2CacheBytes, refcountCacheBytes);
        List<Path> chain = CHAIN.get();
        Path real = real(how.file());
        if (chain.contains(real)) {
            file.close();
            throw BenchtopException.of(
                    ErrorKind.IMAGE, "backing files refer to each other in a circle: " + join(chain) + " -> " + real);
        }
        if (chain.size() >= MAX_CHAIN) {
            file.close();
            throw BenchtopException.of(
                    ErrorKind.IMAGE, chain.getFirst() + ": more than " + MAX_CHAIN + " backing files below each other");
        }
        chain.add(real);
        try {
            return opening.open();
        } catch (RuntimeException | OutOfMemoryError e) {
            opening.close();
            throw e;
        } finally {
            chain.remove(real);
            if (chain.isEmpty()) {
                CHAIN.remove();
            }
        }
    }

    private static String join(List<Path> chain) {
        return String.join(" -> ", chain.stream().map(Path::toString).toList());
    }

    private static Path real(Path file) {
        try {
            return file.toRealPath();
        } catch (IOException e) {
            return file.toAbsolutePath().normalize();
        }
    }

    /** A name in an image is relative to the image's folder. */
    static Path beside(Path image, String name) {
        String plain = name.startsWith("file:") ? name.substring("file:".length()) : name;
        return image.resolveSibling(plain);
    }

    /** The steps of opening, and what must be closed when one fails. */
    private static final class Opening {
        private final ImageFile file;
        private final ImageOpen how;
        private final BlockContext context;
        private final long l2CacheBytes;
        private final long refcountCacheBytes;
        private @Nullable ImageFile dataFile;
        private @Nullable Image backing;

        Opening(ImageFile file, ImageOpen how, BlockContext context, long l2CacheBytes, long refcountCacheBytes) {
            this.file = file;
            this.how = how;
            this.context = context;
            this.l2CacheBytes = l2CacheBytes;
            this.refcountCacheBytes = refcountCacheBytes;
        }

        Image open() {
            Qcow2Header header = readHeader();
            if (how.writable() && header.corrupt() && !how.flawed()) {
                throw Qcow2Header.image(
                        how.file(),
                        "is marked corrupt, so it is not opened for writing: repair it with \"benchtop image check"
                                + " --repair=all\", or open it read-only");
            }
            if (header.hasDataFile()) {
                String name = header.dataFile.orElse("");
                dataFile = ImageFile.open(how.file(beside(how.file(), name)), context);
            }
            if (how.backing() && header.backingFile.isPresent()) {
                backing = openBacking(header, header.backingFile.get());
            }
            Qcow2Settings settings = new Qcow2Settings(
                    how.writable(),
                    how.unmap(),
                    how.compress() && dataFile == null,
                    l2CacheBytes,
                    refcountCacheBytes,
                    header.dataFile.map(name -> beside(how.file(), name)),
                    Optional.ofNullable(backing).map(image -> image.info().file()),
                    describe(header));
            Qcow2Image image = new Qcow2Image(file, dataFile, backing, header, settings);
            try {
                prepare(image, header);
                context.stats().gauge("table-memory", "B", image::memoryBytes);
                return image;
            } catch (RuntimeException e) {
                // The caller closes the files.
                image.abandon();
                throw e;
            }
        }

        private void prepare(Qcow2Image image, Qcow2Header header) {
            if (!how.writable() || how.flawed()) {
                return;
            }
            if (header.dirty()) {
                LOG.log(Level.INFO, "{0}: was not closed properly, repairing its refcounts", how.file());
                ImageCheck check = image.check(ImageCheck.Repair.ALL);
                if (check.corruptions() > check.corruptionsFixed() || check.errors() > 0) {
                    throw Qcow2Header.image(
                            how.file(),
                            "was not closed properly and cannot be repaired: "
                                    + check.messages().getFirst());
                }
            }
            if (image.tables().overlappingTables()) {
                throw Qcow2Header.image(
                        how.file(), "two tables are in the same place: run \"benchtop image check\" on it");
            }
            image.tables().startWriting();
        }

        private Qcow2Header readHeader() {
            try (BlockAccess access = new BlockAccess(how.file().toString(), file.backend());
                    Arena arena = Arena.ofConfined()) {
                if (file.storedBytes() < Qcow2Header.V2_BYTES) {
                    throw Qcow2Header.image(
                            how.file(),
                            "has " + file.storedBytes() + " bytes, which is less than the header of a qcow2 image");
                }
                MemorySegment head = arena.allocate(Qcow2Layout.SECTOR, 4096);
                access.read(0, head);
                MemorySegment cluster = arena.allocate(1L << Qcow2Header.clusterBitsOf(how.file(), head), 4096);
                access.read(0, cluster);
                return Qcow2Header.parse(how.file(), cluster);
            }
        }

        private Image openBacking(Qcow2Header header, String name) {
            String format = how.backingFormat()
                    .or(() -> header.backingFormat)
                    .orElseThrow(
                            () -> Qcow2Header.image(
                                    how.file(),
                                    "does not say which format its backing file " + name
                                            + " has: give backing-format (raw, qcow2), or set it with \"benchtop image rebase -u -F\""));
            if (name.contains(":") && !name.startsWith("file:") && !name.startsWith("/")) {
                String scheme = name.substring(0, name.indexOf(':'));
                if (scheme.matches("[a-z][a-z0-9+.-]*")) {
                    throw BenchtopException.of(
                            ErrorKind.UNSUPPORTED,
                            how.file() + ": backing file " + name + ": \"" + scheme
                                    + ":\" is not supported; allowed: a path, file:path");
                }
            }
            Path path = beside(how.file(), name);
            ImageOpen below = how.file(path)
                    .writable(false)
                    .backingFormat(Optional.empty())
                    .flawed(false)
                    .compress(false);
            try {
                return ImageFormats.byName(format.toLowerCase(Locale.ROOT), how.file() + ": backing file")
                        .open(below, context);
            } catch (BenchtopException e) {
                if (e.getMessage().startsWith("backing files refer")) {
                    throw e;
                }
                throw BenchtopException.of(e.kind(), how.file() + ": backing file: " + e.getMessage(), e.context(), e);
            }
        }

        private String describe(Qcow2Header header) {
            return how.file() + " qcow2"
                    + (header.version < 3 ? " v2" : "")
                    + ", " + header.clusterBytes() / 1024.0 + " KiB clusters, over "
                    + file.backend().describe()
                    + (backing == null ? "" : ", backing " + backing.describe());
        }

        void close() {
            for (AutoCloseable opened : new AutoCloseable[] {file, dataFile, backing}) {
                if (opened != null) {
                    try {
                        opened.close();
                    } catch (Exception e) {
                        LOG.log(Level.WARNING, how.file() + ": closing failed", e);
                    }
                }
            }
        }
    }
}
