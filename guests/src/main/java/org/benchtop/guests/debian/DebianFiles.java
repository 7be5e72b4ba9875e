package org.benchtop.guests.debian;

import java.nio.file.Path;

/**
 * A prepared guest.
 *
 * @param kernel vmlinuz, or the vmlinux for the PVH entry
 * @param initrd initial RAM disk
 * @param description such as {@code linux-image-6.1.0-57-cloud-amd64 6.1.192-3, 4 modules, 1 package}
 */
public record DebianFiles(Path kernel, Path initrd, String description) {}
