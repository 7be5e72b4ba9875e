package org.benchtop.engine.boot;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A part of an image and where it goes.
 *
 * @param gpa its address
 * @param data its bytes
 * @param memoryBytes its length in memory; what is behind the data is zeroed
 */
record ImageSegment(long gpa, byte[] data, long memoryBytes) {
    /** No guest physical address is wider (Intel SDM vol. 3, 4.1.4). */
    private static final long MAX_GPA = 1L << 52;

    long endGpa() {
        return gpa + memoryBytes;
    }

    boolean contains(long address) {
        return address >= gpa && address < endGpa();
    }

    private String range() {
        return ImageErrors.hex(gpa) + "..+" + ImageErrors.hex(memoryBytes);
    }

    /** Sorts segments by address and refuses overlaps with each other or with boot structures. */
    static List<ImageSegment> checked(String name, List<ImageSegment> segments, long reservedEnd) {
        List<ImageSegment> sorted = new ArrayList<>(segments);
        sorted.sort(Comparator.comparingLong(ImageSegment::gpa));
        for (int i = 0; i < sorted.size(); i++) {
            ImageSegment segment = sorted.get(i);
            if (segment.gpa < 0
                    || segment.memoryBytes < 0
                    || segment.gpa > MAX_GPA
                    || segment.memoryBytes > MAX_GPA - segment.gpa) {
                throw ImageErrors.error(name, "segment " + segment.range() + " is beyond any RAM");
            }
            if (segment.gpa < reservedEnd && segment.endGpa() > BootLayout.START) {
                throw ImageErrors.error(
                        name,
                        "segment " + segment.range() + " overlaps the boot structures at "
                                + ImageErrors.hex(BootLayout.START) + "..+"
                                + ImageErrors.hex(reservedEnd - BootLayout.START));
            }
            if (i > 0 && sorted.get(i - 1).endGpa() > segment.gpa) {
                throw ImageErrors.error(
                        name,
                        "segment " + segment.range() + " overlaps segment "
                                + sorted.get(i - 1).range());
            }
        }
        return List.copyOf(sorted);
    }
}
