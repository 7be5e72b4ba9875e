package org.benchtop.engine.config;

import org.benchtop.spi.Option;

/**
 * The guest's RAM.
 *
 * @param sizeBytes its amount
 * @param hugePages whether it is made of 2 MiB pages
 * @param shared whether other processes can map it
 */
public record MemorySpec(
        @Option(name = "size", doc = "amount of RAM", unit = Option.Unit.BYTES, min = 1 << 20)
        long sizeBytes,

        @Option(
                name = "huge-pages",
                doc = "back RAM with 2 MiB pages (reserved in /proc/sys/vm/nr_hugepages)",
                value = "off")
        boolean hugePages,

        @Option(doc = "map RAM shared, so that another process can map it too", value = "off")
        boolean shared) {
    private static final int PAGE_SIZE_BYTES = 4096;
    private static final int HUGE_PAGE_SIZE_BYTES = 2 << 20;

    public MemorySpec {
        int pageSizeBytes = hugePages ? HUGE_PAGE_SIZE_BYTES : PAGE_SIZE_BYTES;
        if (sizeBytes % pageSizeBytes != 0) {
            throw new IllegalArgumentException(
                    "size " + sizeBytes + " is not a multiple of " + (hugePages ? "2MiB (huge-pages is on)" : "4KiB"));
        }
    }

    /** Ordinary private memory. */
    public static MemorySpec of(long sizeBytes) {
        return new MemorySpec(sizeBytes, false, false);
    }
}
