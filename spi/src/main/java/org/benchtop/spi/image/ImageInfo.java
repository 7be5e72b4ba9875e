package org.benchtop.spi.image;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What an image says about itself.
 *
 * @param file its file
 * @param format its format's name
 * @param virtualBytes the disk's size
 * @param clusterBytes the unit of allocation
 * @param backing the image below
 * @param dirty whether its allocation data must be repaired before it is written
 * @param corrupt whether it is marked corrupt
 * @param details what only this format has, in the names of {@code qemu-img info --output=json}
 * @param snapshots the states inside
 */
public record ImageInfo(
        Path file,
        String format,
        long virtualBytes,
        OptionalLong clusterBytes,
        Optional<ImageBacking> backing,
        boolean dirty,
        boolean corrupt,
        Map<String, Object> details,
        List<ImageSnapshot> snapshots) {
    public ImageInfo {
        details = Collections.unmodifiableMap(new LinkedHashMap<>(details));
        snapshots = List.copyOf(snapshots);
    }
}
