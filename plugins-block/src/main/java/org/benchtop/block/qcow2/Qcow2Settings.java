package org.benchtop.block.qcow2;

import java.nio.file.Path;
import java.util.Optional;

/**
 * How an image is used; all of it is decided when it is opened.
 *
 * @param writable whether anything may be changed
 * @param unmap whether the host gets space back that is not needed any more
 * @param compress whether whole clusters are stored compressed
 * @param l2CacheBytes most memory for L2 tables
 * @param refcountCacheBytes most memory for refcounts
 * @param dataFilePath the external data file
 * @param backingPath the image below, if it is open
 * @param describe the image in one line
 */
record Qcow2Settings(
        boolean writable,
        boolean unmap,
        boolean compress,
        long l2CacheBytes,
        long refcountCacheBytes,
        Optional<Path> dataFilePath,
        Optional<Path> backingPath,
        String describe) {}
