package org.benchtop.block.image;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageExtent;
import org.benchtop.spi.image.ImageInfo;

/** A read-only disk whose bytes are found in files by a map. Data goes straight into the guest's buffers. */
final class MappedImage implements Image {
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_TRANSFER_BYTES = 1 << 30;

    private final Path path;
    private final List<HostFile> files;
    private final String format;
    private final DiskMap map;
    private final BlockCapabilities capabilities;

    MappedImage(String format, Path path, List<HostFile> files, DiskMap map, int logicalBlockBytes) {
        this.format = format;
        this.path = path;
        this.files = List.copyOf(files);
        this.map = map;
        this.capabilities = new BlockCapabilities(
                map.sizeBytes(),
                logicalBlockBytes,
                Math.max(4096, logicalBlockBytes),
                true,
                false,
                false,
                CacheMode.WRITEBACK,
                MAX_SEGMENTS,
                MAX_TRANSFER_BYTES);
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new MappedQueue(
                this, files.stream().map(file -> file.openQueue(loop)).toList());
    }

    DiskMap map() {
        return map;
    }

    @Override
    public String describe() {
        return path + " " + map.describe() + ", read-only";
    }

    @Override
    public ImageInfo info() {
        return new ImageInfo(
                path,
                format,
                map.sizeBytes(),
                OptionalLong.of(map.clusterBytes()),
                Optional.empty(),
                false,
                false,
                Map.of("variant", map.describe()),
                List.of());
    }

    @Override
    public ImageExtent extent(long offsetBytes, long lengthBytes) {
        Place place = new Place();
        map.find(offsetBytes, Math.min(lengthBytes, map.sizeBytes() - offsetBytes), place);
        boolean zero = place.kind == Place.Kind.ZERO;
        // Of an image in several files only the first has a name here.
        boolean direct = place.kind == Place.Kind.DATA && files.size() == 1;
        return new ImageExtent(
                offsetBytes,
                place.lengthBytes,
                0,
                !zero,
                zero,
                !zero,
                place.kind == Place.Kind.COMPRESSED,
                direct ? Optional.of(path) : Optional.empty(),
                direct ? OptionalLong.of(place.fileOffset) : OptionalLong.empty());
    }

    @Override
    public void close() {
        files.forEach(HostFile::close);
    }
}
