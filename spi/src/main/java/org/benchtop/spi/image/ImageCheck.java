package org.benchtop.spi.image;

import java.util.List;

/**
 * What a check of an image found.
 *
 * @param corruptions faults that lose or mix data
 * @param corruptionsFixed how many of those were repaired
 * @param leaks clusters that are marked used and belong to nothing
 * @param leaksFixed how many of those were freed
 * @param errors what could not be checked
 * @param totalClusters clusters of the disk
 * @param allocatedClusters those that have data
 * @param fragmentedClusters those that do not follow the one before
 * @param compressedClusters those that are compressed
 * @param imageEndBytes where the used part of the file ends
 * @param messages one line for each finding; a very long list is cut
 */
public record ImageCheck(
        long corruptions,
        long corruptionsFixed,
        long leaks,
        long leaksFixed,
        long errors,
        long totalClusters,
        long allocatedClusters,
        long fragmentedClusters,
        long compressedClusters,
        long imageEndBytes,
        List<String> messages) {
    public ImageCheck {
        messages = List.copyOf(messages);
    }

    /** What a check may change. */
    public enum Repair {
        /** Nothing. */
        NONE,
        /** Frees leaked clusters. */
        LEAKS,
        /** Frees leaked clusters and repairs what else it can. */
        ALL,
    }
}
