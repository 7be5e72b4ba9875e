package org.benchtop.guests.debian;

/**
 * A package as apt would download it.
 *
 * @param name such as {@code busybox-static}
 * @param version such as {@code 1:1.35.0-4}
 * @param fileName of the archive, with the version's colon escaped
 * @param sizeBytes of the archive
 */
record AptPackage(String name, String version, String fileName, long sizeBytes) {
    /** Parses a line of {@code apt-get --print-uris}: {@code 'URI' NAME_VERSION_ARCH.deb SIZE [HASH]}. */
    static AptPackage parse(String line) {
        int quote = line.indexOf("' ", 1);
        String[] words = line.substring(quote < 0 ? 0 : quote + 2).split(" ", -1);
        String[] parts = words[0].split("_", -1);
        if (!line.startsWith("'") || quote < 0 || words.length < 2 || parts.length != 3) {
            throw new IllegalArgumentException("not a line of apt-get --print-uris: " + line);
        }
        return new AptPackage(parts[0], parts[1].replace("%3a", ":"), words[0], Long.parseLong(words[1]));
    }

    /** A line that {@link #parse} reads. */
    String line() {
        return "'' " + fileName + " " + sizeBytes;
    }
}
