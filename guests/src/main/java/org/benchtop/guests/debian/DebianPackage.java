package org.benchtop.guests.debian;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.benchtop.spi.BenchtopException;

/** Files of a single Debian package: firmware, kernels and images that are guests by themselves. */
public final class DebianPackage {
    private DebianPackage() {}

    /**
     * Copies files out of a package, which is downloaded with apt unless the cache has it.
     *
     * @param targets where to put them, by their path in the package without a leading slash
     * @param decompress whether compressed files are decompressed (gzip, xz, zstd, LZ4 or LZMA, by their first bytes)
     * @param progress is told what takes long
     * @throws BenchtopException of kind CONFIG for a package or file that is not there, of kind HOST if apt, the network or
     *     the disk fails
     */
    public static void extract(String name, Map<String, Path> targets, boolean decompress, Consumer<String> progress) {
        extract(Cache.ofUser(), name, targets, decompress, progress);
    }

    static void extract(
            Cache cache, String name, Map<String, Path> targets, boolean decompress, Consumer<String> progress) {
        Apt apt = new Apt(cache, progress);
        List<Path> debs = List.copyOf(apt.download(apt.single(name)).values());
        Set<String> found = new HashSet<>();
        DebArchive.visit(debs.getFirst(), (path, entry, data) -> {
            Path target = targets.get(path);
            if (target != null && entry.isFile()) {
                Cache.write(target, out -> (decompress ? Decompression.of(data) : data).transferTo(out));
                found.add(path);
            }
        });
        Set<String> missing = new TreeSet<>(targets.keySet());
        missing.removeAll(found);
        if (!missing.isEmpty()) {
            throw BenchtopException.config("package \"" + name + "\" has no file " + String.join(", ", missing));
        }
    }
}
