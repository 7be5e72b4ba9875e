package org.benchtop.block.image;

import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;

/** {@code type: vhd}, {@code vhdx} or {@code vmdk}: an image of another hypervisor, read-only. */
public final class ReadOnlyImageType implements BlockBackendType<ReadOnlyImageOptions> {
    private static final int SECTOR = 512;
    private static final int MAX_DESCRIPTOR_BYTES = 1 << 20;
    private static final int THREADS = 4;

    private final Format format;

    /** A format. */
    public enum Format {
        /** Virtual PC, Hyper-V (old), Xen. */
        VHD("A VHD image (fixed or dynamic), read-only."),
        /** Hyper-V. */
        VHDX("A VHDX image without a parent, read-only."),
        /** VMware. */
        VMDK("A VMDK image (sparse, flat, split or stream-optimised), read-only.");

        private final String summary;

        Format(String summary) {
            this.summary = summary;
        }
    }

    public ReadOnlyImageType(Format format) {
        this.format = format;
    }

    @Override
    public String name() {
        return format.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String summary() {
        return format.summary;
    }

    @Override
    public Class<ReadOnlyImageOptions> optionsType() {
        return ReadOnlyImageOptions.class;
    }

    @Override
    public BlockBackend create(ReadOnlyImageOptions options, BlockContext context) {
        return open(options, context);
    }

    MappedImage open(ReadOnlyImageOptions options, BlockContext context) {
        Path path = context.resolve(options.file());
        List<HostFile> files = new ArrayList<>();
        try {
            ImageReader reader = add(path, options, context, files);
            return switch (format) {
                case VHD -> new MappedImage(name(), path, files, VhdMap.open(reader), SECTOR);
                case VHDX -> {
                    VhdxMap map = VhdxMap.open(reader);
                    yield new MappedImage(name(), path, files, map, map.logicalSectorBytes());
                }
                case VMDK -> new MappedImage(name(), path, files, vmdk(reader, options, context, files), SECTOR);
            };
        } catch (RuntimeException e) {
            files.forEach(HostFile::close);
            throw e;
        }
    }

    private static ImageReader add(
            Path path, ReadOnlyImageOptions options, BlockContext context, List<HostFile> files) {
        HostFile file = context.host()
                .openFile(new HostFileOptions(
                        path,
                        false,
                        false,
                        false,
                        false,
                        options.lock() ? HostFileOptions.Lock.SHARED : HostFileOptions.Lock.NONE,
                        options.aio() == HostFileOptions.Aio.NATIVE ? HostFileOptions.Aio.THREADS : options.aio(),
                        THREADS));
        files.add(file);
        return new ImageReader(path, file);
    }

    private static DiskMap vmdk(
            ImageReader reader, ReadOnlyImageOptions options, BlockContext context, List<HostFile> files) {
        int head = (int) Math.min(reader.fileBytes(), SECTOR);
        byte[] start =
                reader.read("the start", 0, head, ByteOrder.LITTLE_ENDIAN).array();
        String text = new String(start, StandardCharsets.ISO_8859_1);
        if (text.startsWith("COWD")) {
            throw reader.unsupported("an ESX copy-on-write disk (COWD); allowed: hosted VMDK images");
        }
        if (text.startsWith("KDMV")) {
            embeddedDescriptor(reader);
            return VmdkSparse.open(reader, 0);
        }
        if (!text.stripLeading().startsWith(VmdkDescriptor.FIRST_LINE)) {
            throw reader.error("no VMDK image: neither a sparse extent nor a descriptor");
        }
        if (reader.fileBytes() > MAX_DESCRIPTOR_BYTES) {
            throw reader.error("a descriptor of " + reader.fileBytes() + " bytes");
        }
        byte[] all = reader.read("the descriptor", 0, (int) reader.fileBytes(), ByteOrder.LITTLE_ENDIAN)
                .array();
        VmdkDescriptor descriptor = VmdkDescriptor.parse(new String(all, StandardCharsets.UTF_8), reader);
        descriptor.requireNoParent(reader);
        if (descriptor.extents().isEmpty()) {
            throw reader.error("the descriptor names no extents");
        }
        List<DiskMap> parts = new ArrayList<>();
        for (VmdkDescriptor.Extent extent : descriptor.extents()) {
            parts.add(extent(extent, reader, options, context, files));
        }
        return new VmdkMap(parts, "vmdk " + descriptor.values().getOrDefault("createtype", "split"));
    }

    private static void embeddedDescriptor(ImageReader reader) {
        var header = reader.read("the header", 0, VmdkSparse.HEADER_BYTES, ByteOrder.LITTLE_ENDIAN);
        long at = header.getLong(28);
        long sectors = header.getLong(36);
        if (at > 0 && sectors > 0 && sectors <= MAX_DESCRIPTOR_BYTES / SECTOR && at < reader.fileBytes() / SECTOR) {
            byte[] text = reader.read("the descriptor", at * SECTOR, (int) sectors * SECTOR, ByteOrder.LITTLE_ENDIAN)
                    .array();
            VmdkDescriptor.parse(new String(text, StandardCharsets.UTF_8), reader)
                    .requireNoParent(reader);
        }
    }

    private static DiskMap extent(
            VmdkDescriptor.Extent extent,
            ImageReader reader,
            ReadOnlyImageOptions options,
            BlockContext context,
            List<HostFile> files) {
        long bytes = Math.multiplyExact(extent.sectors(), SECTOR);
        if (!extent.readable() || bytes == 0) {
            throw reader.unsupported("an extent without access or content");
        }
        if (extent.kind().equals("ZERO")) {
            return new VmdkMap.Zeroes(bytes);
        }
        if (extent.file().isEmpty()
                || extent.file().contains("/")
                || extent.file().equals("..")) {
            // An image from elsewhere must not read any file of this host.
            throw reader.unsupported("the extent \"" + extent.file() + "\" is not in the folder of the image");
        }
        Path file;
        try {
            file = reader.path().resolveSibling(extent.file());
        } catch (InvalidPathException e) {
            throw reader.error("the extent \"" + extent.file() + "\" has no name for a file");
        }
        ImageReader part = add(file, options, context, files);
        int index = files.size() - 1;
        switch (extent.kind()) {
            case "FLAT", "VMFS" -> {
                long offset = Math.multiplyExact(extent.offsetSectors(), SECTOR);
                if (offset > part.fileBytes() - bytes) {
                    throw part.error("has " + part.fileBytes() + " bytes; the extent needs " + (offset + bytes));
                }
                return new VmdkMap.Flat(index, offset, bytes);
            }
            case "SPARSE" -> {
                VmdkSparse sparse = VmdkSparse.open(part, index);
                if (sparse.sizeBytes() != bytes) {
                    throw part.error("is " + sparse.sizeBytes() + " bytes of the disk; the descriptor says " + bytes);
                }
                return sparse;
            }
            default ->
                throw reader.unsupported("an extent of kind " + extent.kind() + "; allowed: FLAT, SPARSE, VMFS, ZERO");
        }
    }
}
