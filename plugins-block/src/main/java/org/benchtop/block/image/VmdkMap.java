package org.benchtop.block.image;

import java.util.List;

/** The parts of a VMDK image one after the other. */
final class VmdkMap implements DiskMap {
    private final List<DiskMap> parts;
    /** Where each part ends on the disk. */
    private final long[] ends;

    private final String description;

    VmdkMap(List<DiskMap> parts, String description) {
        this.parts = List.copyOf(parts);
        this.description = description;
        this.ends = new long[parts.size()];
        long end = 0;
        for (int i = 0; i < ends.length; i++) {
            end += parts.get(i).sizeBytes();
            ends[i] = end;
        }
    }

    /** A part that is the bytes of a file. */
    record Flat(int file, long fileOffset, long sizeBytes) implements DiskMap {
        @Override
        public long clusterBytes() {
            return 512;
        }

        @Override
        public void find(long offset, long length, Place place) {
            place.data(file, fileOffset + offset, Math.min(length, sizeBytes - offset));
        }

        @Override
        public String describe() {
            return "vmdk flat";
        }
    }

    /** A part that is zeroes. */
    record Zeroes(long sizeBytes) implements DiskMap {
        @Override
        public long clusterBytes() {
            return 512;
        }

        @Override
        public void find(long offset, long length, Place place) {
            place.zero(Math.min(length, sizeBytes - offset));
        }

        @Override
        public String describe() {
            return "vmdk zero";
        }
    }

    @Override
    public long sizeBytes() {
        return ends[ends.length - 1];
    }

    @Override
    public long clusterBytes() {
        return parts.getFirst().clusterBytes();
    }

    @Override
    public void find(long offset, long length, Place place) {
        int part = 0;
        while (offset >= ends[part]) {
            part++;
        }
        long start = part == 0 ? 0 : ends[part - 1];
        parts.get(part).find(offset - start, Math.min(length, ends[part] - offset), place);
        place.grainStart += start;
    }

    @Override
    public String describe() {
        return description;
    }
}
