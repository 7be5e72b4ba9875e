package org.benchtop.block.image;

/** Where a run of a disk's bytes is. Reused: filled by {@link DiskMap#find}. */
final class Place {
    /** How bytes are kept. */
    enum Kind {
        /** Nowhere: they are zeroes. */
        ZERO,
        /** In a file, as they are. */
        DATA,
        /** In a file, as a grain that is compressed by itself. */
        COMPRESSED,
    }

    Kind kind = Kind.ZERO;
    /** How many bytes from the one that was asked for, at least 1. */
    long lengthBytes;
    /** Which of the image's files. */
    int file;
    /** Where in it. */
    long fileOffset;
    /** For a compressed grain: where its first byte is on the disk. */
    long grainStart;
    /** For a compressed grain: its size on the disk. */
    int grainBytes;

    void zero(long length) {
        kind = Kind.ZERO;
        lengthBytes = length;
    }

    void data(int newFile, long offset, long length) {
        kind = Kind.DATA;
        file = newFile;
        fileOffset = offset;
        lengthBytes = length;
    }

    void compressed(int newFile, long offset, long start, int bytes, long length) {
        kind = Kind.COMPRESSED;
        file = newFile;
        fileOffset = offset;
        grainStart = start;
        grainBytes = bytes;
        lengthBytes = length;
    }
}
