package org.benchtop.engine.memory;

import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import org.benchtop.spi.memory.DirtyLog;
import org.benchtop.spi.memory.MemoryRegion;

/** One bit for each 4 KiB page of RAM. */
public final class PageDirtyLog implements DirtyLog {
    private static final int PAGE_SHIFT = 12;

    private final Ram ram;
    private final List<MemoryRegion> regions;
    private final AtomicLongArray[] bits;

    PageDirtyLog(Ram ram, List<MemoryRegion> regions) {
        this.ram = ram;
        this.regions = regions;
        this.bits = regions.stream()
                .map(r -> new AtomicLongArray((int) ((r.sizeBytes() >>> PAGE_SHIFT) + 63 >>> 6)))
                .toArray(AtomicLongArray[]::new);
    }

    /** Marks the pages of a range; what is not RAM is ignored. */
    public void mark(long gpa, long lengthBytes) {
        for (int r = 0; r < bits.length; r++) {
            MemoryRegion region = regions.get(r);
            long from = Math.max(gpa, region.gpa());
            long to = Math.min(gpa + lengthBytes, region.endGpa());
            for (long page = from - region.gpa() >>> PAGE_SHIFT;
                    from < to && page <= to - 1 - region.gpa() >>> PAGE_SHIFT;
                    page++) {
                long bit = 1L << page;
                bits[r].getAndAccumulate((int) (page >>> 6), bit, (a, b) -> a | b);
            }
        }
    }

    void merge(PageDirtyLog other) {
        for (int r = 0; r < bits.length; r++) {
            for (int i = 0; i < bits[r].length(); i++) {
                long more = other.bits[r].get(i);
                if (more != 0) {
                    bits[r].getAndAccumulate(i, more, (a, b) -> a | b);
                }
            }
        }
    }

    @Override
    public void drain(RangeVisitor visitor) {
        ram.collectVcpuWrites();
        for (int r = 0; r < bits.length; r++) {
            drainRegion(regions.get(r), bits[r], visitor);
        }
    }

    private static void drainRegion(MemoryRegion region, AtomicLongArray words, RangeVisitor visitor) {
        long start = -1;
        long pages = region.sizeBytes() >>> PAGE_SHIFT;
        long word = 0;
        for (long page = 0; page < pages; page++) {
            if ((page & 63) == 0) {
                word = words.getAndSet((int) (page >>> 6), 0);
                if (word == 0 && start < 0) {
                    page += 63;
                    continue;
                }
            }
            boolean dirty = (word >>> page & 1) != 0;
            if (dirty && start < 0) {
                start = page;
            } else if (!dirty && start >= 0) {
                visitor.range(region.gpa() + (start << PAGE_SHIFT), page - start << PAGE_SHIFT);
                start = -1;
            }
        }
        if (start >= 0) {
            visitor.range(region.gpa() + (start << PAGE_SHIFT), pages - start << PAGE_SHIFT);
        }
    }

    @Override
    public void close() {
        ram.remove(this);
    }
}
