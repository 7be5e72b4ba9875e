package org.benchtop.testkit;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.TreeMap;

/** A growable sparse array of bytes in 4 KiB pages; what was never written reads as 0. Not thread-safe. */
final class SparseBytes {
    private static final int PAGE = 4096;

    private final TreeMap<Long, byte[]> pages = new TreeMap<>();

    void read(long offset, MemorySegment to, long toOffset, long length) {
        long done = 0;
        while (done < length) {
            int inPage = (int) ((offset + done) % PAGE);
            long take = Math.min(length - done, PAGE - inPage);
            byte[] page = pages.get((offset + done) / PAGE);
            if (page == null) {
                to.asSlice(toOffset + done, take).fill((byte) 0);
            } else {
                MemorySegment.copy(page, inPage, to, ValueLayout.JAVA_BYTE, toOffset + done, (int) take);
            }
            done += take;
        }
    }

    void write(long offset, MemorySegment from, long fromOffset, long length) {
        long done = 0;
        while (done < length) {
            int inPage = (int) ((offset + done) % PAGE);
            long take = Math.min(length - done, PAGE - inPage);
            byte[] page = pages.computeIfAbsent((offset + done) / PAGE, key -> new byte[PAGE]);
            MemorySegment.copy(from, ValueLayout.JAVA_BYTE, fromOffset + done, page, inPage, (int) take);
            done += take;
        }
    }

    /** Sets a range to zeroes and frees whole pages. */
    void zero(long offset, long length) {
        long end = length > Long.MAX_VALUE - offset ? Long.MAX_VALUE : offset + length;
        long first = offset / PAGE;
        long last = (end - 1) / PAGE;
        if (length <= 0) {
            return;
        }
        for (Long number : pages.subMap(first, true, last, true).keySet().toArray(Long[]::new)) {
            long start = number * PAGE;
            int from = (int) (Math.max(start, offset) - start);
            int to = (int) (Math.min(start + PAGE, end) - start);
            if (to - from == PAGE) {
                pages.remove(number);
            } else {
                Arrays.fill(pages.get(number), from, to, (byte) 0);
            }
        }
    }

    /** The number of bytes in allocated pages. */
    long allocatedBytes() {
        return (long) pages.size() * PAGE;
    }

    void copyFrom(SparseBytes other) {
        pages.clear();
        other.pages.forEach((number, page) -> pages.put(number, page.clone()));
    }
}
