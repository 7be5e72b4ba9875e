package org.benchtop.shell.lab;

import java.util.List;

/**
 * What a vCPU's page tables map: neighbouring pages with the same rights are one range.
 *
 * @param paging the kind of paging
 * @param ranges by virtual address
 * @param complete false if there are more ranges than were collected
 */
public record PageMap(String paging, List<Range> ranges, boolean complete) {
    private static final int SHOWN = 200;

    public PageMap {
        ranges = List.copyOf(ranges);
    }

    /**
     * A run of pages.
     *
     * @param virtualAddress the first one
     * @param physicalAddress where it leads; the run is contiguous there too
     * @param sizeBytes of the run
     * @param pageBytes 4 KiB, 2 MiB, 4 MiB or 1 GiB
     */
    public record Range(
            long virtualAddress,
            long physicalAddress,
            long sizeBytes,
            long pageBytes,
            boolean writable,
            boolean user,
            boolean executable,
            boolean global) {
        /** Rights as in {@code urwx}. */
        public String rights() {
            return (user ? "u" : "-") + "r" + (writable ? "w" : "-") + (executable ? "x" : "-") + (global ? "g" : "-");
        }
    }

    @Override
    public String toString() {
        TextColumns table = new TextColumns("llrll");
        ranges.stream()
                .limit(SHOWN)
                .forEach(range -> table.row(
                        Hex.address(range.virtualAddress()) + "-"
                                + Hex.address(range.virtualAddress() + range.sizeBytes() - 1),
                        "-> " + Hex.address(range.physicalAddress()),
                        org.benchtop.engine.config.Units.formatSize(range.sizeBytes()),
                        range.rights(),
                        "pages of " + org.benchtop.engine.config.Units.formatSize(range.pageBytes())));
        String more = ranges.size() > SHOWN ? "… and " + (ranges.size() - SHOWN) + " more\n" : "";
        return paging + " paging, " + ranges.size() + (complete ? "" : "+") + " ranges\n" + table.render("  ")
                + more.stripTrailing();
    }
}
