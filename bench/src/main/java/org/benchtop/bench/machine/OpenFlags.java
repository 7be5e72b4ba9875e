package org.benchtop.bench.machine;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.TreeSet;

/** How this process has a file open, as the kernel says it: the proof of what a cache mode promises. */
final class OpenFlags {
    /** {@code O_DSYNC} and {@code O_DIRECT} of asm-generic/fcntl.h, in octal as in {@code /proc/PID/fdinfo}. */
    private static final int O_DSYNC = 0_010000;

    private static final int O_DIRECT = 0_040000;
    private static final int O_SYNC = 0_4000000 | O_DSYNC;

    private OpenFlags() {}

    /** The flags of every descriptor of a file, such as {@code O_DIRECT}; empty if it is not open. */
    static Optional<String> of(Path file) {
        TreeSet<String> seen = new TreeSet<>();
        try {
            Path real = file.toRealPath();
            try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
                for (Path descriptor : descriptors) {
                    if (leadsTo(descriptor, real)) {
                        seen.add(flags(Path.of(
                                "/proc/self/fdinfo", descriptor.getFileName().toString())));
                    }
                }
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return seen.isEmpty() ? Optional.empty() : Optional.of(String.join(", ", seen));
    }

    private static boolean leadsTo(Path descriptor, Path file) {
        try {
            return Files.readSymbolicLink(descriptor).equals(file);
        } catch (IOException e) {
            // Closed while we looked.
            return false;
        }
    }

    private static String flags(Path info) throws IOException {
        for (String line : Files.readAllLines(info)) {
            if (line.startsWith("flags:")) {
                int flags = Integer.parseInt(line.substring("flags:".length()).strip(), 8);
                String direct = (flags & O_DIRECT) != 0 ? "O_DIRECT" : "through the page cache";
                String sync = (flags & O_SYNC) == O_SYNC ? " O_SYNC" : (flags & O_DSYNC) != 0 ? " O_DSYNC" : "";
                return direct + sync;
            }
        }
        return "unknown";
    }
}
