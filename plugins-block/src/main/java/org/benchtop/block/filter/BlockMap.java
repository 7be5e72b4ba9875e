package org.benchtop.block.filter;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** One bit for each block of a disk; regions without set bits take no memory. Thread-safe. */
final class BlockMap {
    private static final int REGION_BITS = 1 << 15;

    private final long blocks;
    private final AtomicReferenceArray<@Nullable AtomicLongArray> regions;

    BlockMap(long blocks) {
        this.blocks = blocks;
        this.regions = new AtomicReferenceArray<>((int) ((blocks + REGION_BITS - 1) / REGION_BITS));
    }

    boolean get(long block) {
        AtomicLongArray region = regions.get((int) (block / REGION_BITS));
        int bit = (int) (block % REGION_BITS);
        return region != null && (region.get(bit >>> 6) >>> bit & 1) != 0;
    }

    /** Sets the bits of {@code first} to {@code end} - 1. */
    void set(long first, long end) {
        long block = first;
        while (block < end) {
            AtomicLongArray region = region((int) (block / REGION_BITS));
            int bit = (int) (block % REGION_BITS);
            long bitsInWord = Math.min(64 - (bit & 63), end - block);
            long mask = bitsInWord == 64 ? -1L : (1L << bitsInWord) - 1 << (bit & 63);
            region.accumulateAndGet(bit >>> 6, mask, (a, b) -> a | b);
            block += bitsInWord;
        }
    }

    private AtomicLongArray region(int index) {
        AtomicLongArray region = regions.get(index);
        if (region != null) {
            return region;
        }
        AtomicLongArray created = new AtomicLongArray(REGION_BITS / 64);
        AtomicLongArray other = regions.compareAndExchange(index, null, created);
        return other == null ? created : other;
    }

    /** The first block in {@code first} to {@code end} - 1 whose bit is not {@code value}; {@code end} if there is none. */
    long endOfRun(long first, long end, boolean value) {
        long limit = Math.min(end, blocks);
        long block = first;
        while (block < limit) {
            AtomicLongArray region = regions.get((int) (block / REGION_BITS));
            int bit = (int) (block % REGION_BITS);
            if (region == null) {
                if (value) {
                    return block;
                }
                block += REGION_BITS - bit;
                continue;
            }
            long word = region.get(bit >>> 6);
            long different = (value ? ~word : word) >>> bit;
            if (different != 0) {
                return Math.min(limit, block + Long.numberOfTrailingZeros(different));
            }
            block += 64 - (bit & 63);
        }
        return limit;
    }
}
