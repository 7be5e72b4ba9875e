package org.benchtop.block.image;

/** Knows where the bytes of a disk are; immutable, so thread-safe. */
interface DiskMap {
    /** The disk's size. */
    long sizeBytes();

    /** The unit of allocation. */
    long clusterBytes();

    /**
     * Finds the bytes at a position.
     *
     * @param offset inside the disk
     * @param length at least 1; the place is as long or shorter
     */
    void find(long offset, long length, Place place);

    /** What kind of image this is, for people: {@code vhd dynamic}. */
    String describe();
}
