package org.benchtop.shell.lab;

import java.util.List;
import java.util.OptionalLong;

/**
 * How a virtual address is translated, table by table (Intel SDM vol. 3, chapter 5).
 *
 * @param virtualAddress what was looked up
 * @param paging the kind of paging, such as {@code 4-level}
 * @param steps the entries on the way
 * @param physical where it leads; empty if it is not mapped
 * @param outcome one line about the end of the walk
 */
public record PageWalk(long virtualAddress, String paging, List<Step> steps, OptionalLong physical, String outcome) {
    public PageWalk {
        steps = List.copyOf(steps);
    }

    /**
     * One entry.
     *
     * @param level its table: PML5, PML4, PDPT, PD or PT
     * @param index the entry's number in the table
     * @param entryAddress its guest physical address
     * @param entry its value
     * @param flags its bits in words, such as {@code P W U A D}
     */
    public record Step(String level, int index, long entryAddress, long entry, String flags) {}

    @Override
    public String toString() {
        TextColumns table = new TextColumns("lrlll");
        for (Step step : steps) {
            table.row(
                    step.level(),
                    "[" + step.index() + "]",
                    "at " + Hex.address(step.entryAddress()),
                    Hex.padded(step.entry(), 16),
                    step.flags());
        }
        return Hex.address(virtualAddress) + " (" + paging + " paging)\n" + table.render("  ") + "  " + outcome;
    }
}
