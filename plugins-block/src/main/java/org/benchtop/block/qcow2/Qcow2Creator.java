package org.benchtop.block.qcow2;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.spi.image.ImageOption;

/** Makes new images. */
final class Qcow2Creator {
    static final List<ImageOption> OPTIONS = List.of(
            new ImageOption("compat", "v2 (0.10) or v3 (1.1)", "1.1"),
            new ImageOption("cluster_size", "unit of allocation, 512 to 2M", "64k"),
            new ImageOption("refcount_bits", "width of a refcount: 1, 2, 4, 8, 16, 32, 64", "16"),
            new ImageOption("lazy_refcounts", "postpone refcount updates", "off"),
            new ImageOption("extended_l2", "subclusters of 1/32 cluster", "off"),
            new ImageOption("compression_type", "zlib or zstd", "zlib"),
            new ImageOption("preallocation", "off, metadata, falloc, full", "off"),
            new ImageOption("data_file", "file for the data clusters", ""),
            new ImageOption("data_file_raw", "keep the data file a valid raw image", "off"),
            new ImageOption("backing_file", "image below", ""),
            new ImageOption("backing_fmt", "format of the image below", ""),
            new ImageOption("size", "disk size", ""));

    private final Qcow2Format format;
    private final ImageCreation creation;
    private final BlockContext context;
    private final Map<String, String> options;

    Qcow2Creator(Qcow2Format format, ImageCreation creation, BlockContext context) {
        this.format = format;
        this.creation = creation;
        this.context = context;
        this.options = creation.options();
    }

    void create() {
        for (String name : options.keySet()) {
            if (OPTIONS.stream().noneMatch(option -> option.name().equals(name))) {
                throw BenchtopException.config("qcow2 has no option \"" + name + "\" (options: "
                        + String.join(
                                ", ", OPTIONS.stream().map(ImageOption::name).toList()) + ")");
            }
        }
        Qcow2Header header = header();
        String preallocation = choice("preallocation", "off", List.of("off", "metadata", "falloc", "full"));
        if (!preallocation.equals("off") && creation.backing().isPresent()) {
            throw BenchtopException.config("preallocation and a backing file exclude each other");
        }
        Optional<Path> dataFile = header.dataFile.map(name -> Qcow2Format.beside(creation.file(), name));
        if (dataFile.isPresent() && dataFile.get().equals(creation.file())) {
            throw BenchtopException.config(creation.file() + ": the data file must be another file");
        }
        Path unfinished = unfinished(creation.file());
        boolean createdData = false;
        try {
            if (dataFile.isPresent() && !Files.exists(dataFile.get())) {
                write(dataFile.get(), new byte[0][], new long[0], header.sizeBytes);
                createdData = true;
            }
            writeEmpty(header, unfinished);
            if (!preallocation.equals("off")) {
                preallocate(preallocation, unfinished);
            }
            publish(unfinished, creation.file());
        } catch (RuntimeException e) {
            remove(unfinished);
            if (createdData) {
                remove(dataFile.get());
            }
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

    private Qcow2Header header() {
        Qcow2Header header = new Qcow2Header();
        String compat = option("compat", "1.1", text -> switch (text) {
            case "0.10", "v2" -> "0.10";
            case "1.1", "v3" -> "1.1";
            default -> throw bad("compat", text, "0.10, 1.1, v2, v3");
        });
        header.version = compat.equals("1.1") ? 3 : 2;
        boolean extended = onOff("extended_l2");
        header.clusterBits = clusterBits(extended);
        header.sizeBytes = creation.sizeBytes();
        if (header.sizeBytes < 0) {
            throw BenchtopException.config(creation.file() + ": a disk of " + header.sizeBytes + " bytes cannot be");
        }
        header.refcountOrder = refcountOrder();
        if (extended) {
            header.incompatible |= Qcow2Header.INCOMPATIBLE_EXTENDED_L2;
        }
        if (onOff("lazy_refcounts")) {
            header.compatible |= Qcow2Header.COMPATIBLE_LAZY_REFCOUNTS;
        }
        if (choice("compression_type", "zlib", List.of("zlib", "zstd")).equals("zstd")) {
            header.compression = Qcow2Header.Compression.ZSTD;
            header.incompatible |= Qcow2Header.INCOMPATIBLE_COMPRESSION;
        }
        header.dataFile = Optional.ofNullable(options.get("data_file")).filter(name -> !name.isEmpty());
        boolean raw = onOff("data_file_raw");
        if (header.dataFile.isPresent()) {
            header.incompatible |= Qcow2Header.INCOMPATIBLE_DATA_FILE;
            if (raw) {
                header.autoclear |= Qcow2Header.AUTOCLEAR_RAW_DATA_FILE;
            }
        } else if (raw) {
            throw BenchtopException.config("data_file_raw needs a data_file");
        }
        Optional<ImageBacking> backing = creation.backing();
        header.backingFile = backing.map(ImageBacking::file);
        header.backingFormat = backing.flatMap(ImageBacking::format);
        if (raw && backing.isPresent()) {
            throw BenchtopException.config("data_file_raw and a backing file exclude each other");
        }
        boolean needsV3 = extended
                || header.compatible != 0
                || header.incompatible != 0
                || header.refcountOrder != 4
                || header.dataFile.isPresent();
        if (header.version < 3 && needsV3) {
            throw BenchtopException.config("compat=0.10 has no lazy_refcounts, extended_l2, data_file,"
                    + " compression_type=zstd or refcount_bits other than 16: use compat=1.1");
        }
        long l1Entries = Math.max(1, header.l1EntriesFor(header.sizeBytes));
        if (l1Entries > Qcow2Header.MAX_L1_BYTES / 8) {
            throw BenchtopException.config("a disk of " + header.sizeBytes + " bytes is too large for clusters of "
                    + header.clusterBytes() + " bytes");
        }
        header.l1Entries = (int) l1Entries;
        return header;
    }

    private int clusterBits(boolean extended) {
        long bytes = option("cluster_size", "64k", text -> String.valueOf(parseSize("cluster_size", text)))
                .transform(Long::parseLong);
        int least = extended ? 1 << Qcow2Header.MIN_EXTENDED_L2_CLUSTER_BITS : 512;
        if (Long.bitCount(bytes) != 1 || bytes < least || bytes > 2 << 20) {
            throw bad(
                    "cluster_size",
                    options.getOrDefault("cluster_size", "64k"),
                    "powers of two from " + least + " to 2M" + (extended ? " with extended_l2" : ""));
        }
        return Long.numberOfTrailingZeros(bytes);
    }

    private int refcountOrder() {
        String text = options.getOrDefault("refcount_bits", "16");
        int order = List.of("1", "2", "4", "8", "16", "32", "64").indexOf(text);
        if (order < 0) {
            throw bad("refcount_bits", text, "1, 2, 4, 8, 16, 32, 64");
        }
        return order;
    }

    private String option(String name, String fallback, Function<String, String> check) {
        return check.apply(options.getOrDefault(name, fallback));
    }

    private boolean onOff(String name) {
        return switch (options.getOrDefault(name, "off")) {
            case "on", "true", "yes" -> true;
            case "off", "false", "no" -> false;
            case String other -> throw bad(name, other, "on, off");
        };
    }

    private String choice(String name, String fallback, List<String> allowed) {
        String text = options.getOrDefault(name, fallback);
        if (!allowed.contains(text)) {
            throw bad(name, text, String.join(", ", allowed));
        }
        return text;
    }

    private static BenchtopException bad(String name, String text, String allowed) {
        return BenchtopException.config(name + "=" + text + ": allowed: " + allowed);
    }

    /** A number of bytes with a suffix k, M, G or T. */
    static long parseSize(String name, String text) {
        String trimmed = text.trim().toUpperCase(Locale.ROOT);
        int suffix = trimmed.isEmpty() ? -1 : "KMGTPE".indexOf(trimmed.charAt(trimmed.length() - 1));
        String digits = suffix < 0 ? trimmed : trimmed.substring(0, trimmed.length() - 1);
        try {
            return Math.multiplyExact(Long.parseLong(digits), 1L << 10 * (suffix + 1));
        } catch (ArithmeticException | NumberFormatException e) {
            throw BenchtopException.config(name + "=" + text + ": expected a number of bytes such as 65536 or 64k");
        }
    }

    /** An image without data: header, refcount table, refcount blocks, L1 table. */
    private void writeEmpty(Qcow2Header header, Path unfinished) {
        long cluster = header.clusterBytes();
        long l1Clusters = Math.max(1, (header.l1Entries * 8L + cluster - 1) / cluster);
        Qcow2Layout layout = new Qcow2Layout(header);
        long perBlock = 1L << layout.refcountBlockBits;
        long tableClusters = 1;
        long blocks = 1;
        while (true) {
            long all = 1 + tableClusters + blocks + l1Clusters;
            long neededBlocks = (all + perBlock - 1) / perBlock;
            long neededTable = (neededBlocks * 8 + cluster - 1) / cluster;
            if (neededBlocks <= blocks && neededTable <= tableClusters) {
                break;
            }
            blocks = Math.max(blocks, neededBlocks);
            tableClusters = Math.max(tableClusters, neededTable);
        }
        header.refcountTableOffset = cluster;
        header.refcountTableClusters = (int) tableClusters;
        long firstBlock = 1 + tableClusters;
        header.l1Offset = firstBlock + blocks << header.clusterBits;
        long used = firstBlock + blocks + l1Clusters;
        byte[] table = new byte[(int) (tableClusters * cluster)];
        byte[] counts = new byte[(int) (blocks * cluster)];
        for (int i = 0; i < blocks; i++) {
            MemorySegment.ofArray(table).set(Qcow2Layout.LONG, i * 8L, firstBlock + i << header.clusterBits);
        }
        for (long i = 0; i < used; i++) {
            // Blocks lie one behind the other, so together they are one array of refcounts.
            layout.refcount(MemorySegment.ofArray(counts), 0, i, 1);
        }
        fill(
                creation.file(),
                unfinished,
                new byte[][] {header.toBytes(creation.file()), table, counts},
                new long[] {0, cluster, firstBlock << header.clusterBits},
                used << header.clusterBits);
    }

    private static Path unfinished(Path file) {
        return file.resolveSibling(file.getFileName() + ".benchtop-tmp");
    }

    /** Writes a file under another name and moves it to its own when it is complete. */
    static void write(Path file, byte[][] parts, long[] offsets, long sizeBytes) {
        Path unfinished = unfinished(file);
        try {
            fill(file, unfinished, parts, offsets, sizeBytes);
            publish(unfinished, file);
        } catch (RuntimeException e) {
            remove(unfinished);
            throw e;
        }
    }

    /** Writes what shall become {@code file}. */
    private static void fill(Path file, Path unfinished, byte[][] parts, long[] offsets, long sizeBytes) {
        try (FileChannel channel = FileChannel.open(
                unfinished,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE)) {
            for (int i = 0; i < parts.length; i++) {
                ByteBuffer buffer = ByteBuffer.wrap(parts[i]);
                while (buffer.hasRemaining()) {
                    channel.write(buffer, offsets[i] + buffer.position());
                }
            }
            if (sizeBytes > channel.size()) {
                channel.write(ByteBuffer.allocate(1), sizeBytes - 1);
            }
            channel.force(true);
        } catch (IOException e) {
            throw failure(file, e);
        }
    }

    private static void publish(Path unfinished, Path file) {
        try {
            Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw failure(file, e);
        }
    }

    private static BenchtopException failure(Path file, IOException e) {
        return BenchtopException.of(ErrorKind.HOST, file + ": cannot be created: " + reason(e), e);
    }

    private static String reason(IOException e) {
        return e instanceof java.nio.file.NoSuchFileException
                ? "no such folder"
                : e instanceof java.nio.file.AccessDeniedException
                        ? "permission denied"
                        : String.valueOf(e.getMessage());
    }

    private void preallocate(String preallocation, Path unfinished) {
        ImageOpen how = ImageOpen.readOnly(unfinished)
                .writable(true)
                .cache(CacheMode.UNSAFE)
                .backing(false);
        try (Image image = format.open(how, context)) {
            image.preallocate(preallocation);
        }
    }
}
