package org.benchtop.block.image;

import java.nio.file.Path;
import java.util.List;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostFile;

/** A read-only disk whose bytes are found in files by a map. Data goes straight into the guest's buffers. */
final class MappedImage implements BlockBackend {
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_TRANSFER_BYTES = 1 << 30;

    private final Path path;
    private final List<HostFile> files;
    private final DiskMap map;
    private final BlockCapabilities capabilities;

    MappedImage(Path path, List<HostFile> files, DiskMap map, int logicalBlockBytes) {
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
    public void close() {
        files.forEach(HostFile::close);
    }
}
