package org.benchtop.block.qcow2;

import java.util.Arrays;

/**
 * Clusters that lost a reference which the disk may still have: their refcounts go down after the tables without that
 * reference are durable and every request that may have seen it has ended. Guarded by the image's lock.
 */
final class PendingFrees {
    private long[] clusters = new long[16];
    private int[] counts = new int[16];
    private long[] generations = new long[16];
    private int size;
    private int durable;
    private long total;

    boolean isEmpty() {
        return size == 0;
    }

    /** The number of clusters. */
    long total() {
        return total;
    }

    void add(long cluster, int count, long generation) {
        total += count;
        if (size > durable
                && clusters[size - 1] + counts[size - 1] == cluster
                && generations[size - 1] == generation
                && counts[size - 1] < 1 << 20) {
            counts[size - 1] += count;
            return;
        }
        if (size == clusters.length) {
            clusters = Arrays.copyOf(clusters, size * 2);
            counts = Arrays.copyOf(counts, size * 2);
            generations = Arrays.copyOf(generations, size * 2);
        }
        clusters[size] = cluster;
        counts[size] = count;
        generations[size] = generation;
        size++;
    }

    /** The number of entries that the tables which are written now do not refer to any more. */
    int mark() {
        return size;
    }

    /** The entries up to a {@link #mark} are not referred to by the disk. */
    void durable(int mark) {
        durable = Math.max(durable, mark);
    }

    /** The first entry that may be freed now, or -1. */
    int next(long safeGeneration) {
        for (int i = 0; i < durable; i++) {
            if (generations[i] <= safeGeneration) {
                return i;
            }
        }
        return -1;
    }

    long cluster(int index) {
        return clusters[index];
    }

    int count(int index) {
        return counts[index];
    }

    /** The first clusters of an entry are dealt with. */
    void done(int index, int count) {
        total -= count;
        clusters[index] += count;
        counts[index] -= count;
        if (counts[index] > 0) {
            return;
        }
        size--;
        durable--;
        System.arraycopy(clusters, index + 1, clusters, index, size - index);
        System.arraycopy(counts, index + 1, counts, index, size - index);
        System.arraycopy(generations, index + 1, generations, index, size - index);
    }

    void clear() {
        size = 0;
        durable = 0;
        total = 0;
    }
}
