package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A bounded cache of parts of tables, by their place in the file. Guarded by the image's lock.
 *
 * <p>A slot that is dirty, being loaded or being written is never evicted. Memory is taken as slots are first used.
 */
final class SliceCache implements AutoCloseable {
    static final int NONE = -1;

    private static final int CHUNK_BYTES = 1 << 20;
    /** Of the arrays below, for each slot, with a list of waiters. */
    private static final long BOOKKEEPING_BYTES = 8 + 4 + 4 + 3 * 4 + 4 + 24;

    private static final byte FREE = 0;
    private static final byte LOADING = 1;
    private static final byte READY = 2;

    private final Arena arena = Arena.ofShared();
    private final int sliceBytes;
    private final int capacity;
    private final int slotsPerChunk;
    private final MemorySegment[] chunks;
    private final long[] keys;
    private final byte[] states;
    private final boolean[] dirty;
    private final boolean[] committing;
    private final boolean[] referenced;
    private final Task.Fifo[] waiters;
    private final int[] buckets;
    private final int[] nextInBucket;
    private final int[] dirtySlots;
    private int chunksTaken;
    private int dirtyCount;
    private int used;
    private int hand;

    SliceCache(int sliceBytes, long capacityBytes) {
        this.sliceBytes = sliceBytes;
        this.capacity = Math.clamp(capacityBytes / sliceBytes, 64, 1 << 20);
        this.slotsPerChunk = Math.min(capacity, CHUNK_BYTES / sliceBytes);
        this.chunks = new MemorySegment[(capacity + slotsPerChunk - 1) / slotsPerChunk];
        this.keys = new long[capacity];
        this.states = new byte[capacity];
        this.dirty = new boolean[capacity];
        this.committing = new boolean[capacity];
        this.referenced = new boolean[capacity];
        this.waiters = new Task.Fifo[capacity];
        this.buckets = new int[Integer.highestOneBit(capacity) * 2];
        this.nextInBucket = new int[capacity];
        this.dirtySlots = new int[capacity];
        Arrays.fill(buckets, NONE);
    }

    int sliceBytes() {
        return sliceBytes;
    }

    int capacity() {
        return capacity;
    }

    /** Memory that is taken now, with what the cache needs to find its slices. */
    long memoryBytes() {
        return (long) chunksTaken * slotsPerChunk * sliceBytes + capacity * BOOKKEEPING_BYTES;
    }

    int dirtyCount() {
        return dirtyCount;
    }

    private int bucket(long key) {
        long mixed = key * 0x9e3779b97f4a7c15L;
        return (int) (mixed >>> 40) & buckets.length - 1;
    }

    /** The slot of a slice that is there or on its way; {@link #NONE} otherwise. */
    int find(long key) {
        int slot = buckets[bucket(key)];
        while (slot != NONE && keys[slot] != key) {
            slot = nextInBucket[slot];
        }
        if (slot != NONE) {
            referenced[slot] = true;
        }
        return slot;
    }

    boolean ready(int slot) {
        return states[slot] == READY;
    }

    /** Takes a slot for a slice that shall be loaded; {@link #NONE} if all are in use. */
    int claim(long key) {
        int slot = victim();
        if (slot == NONE) {
            return NONE;
        }
        int chunk = slot / slotsPerChunk;
        if (chunks[chunk] == null) {
            chunks[chunk] = arena.allocate((long) slotsPerChunk * sliceBytes, 4096);
            chunksTaken++;
        }
        keys[slot] = key;
        states[slot] = LOADING;
        referenced[slot] = true;
        int bucket = bucket(key);
        nextInBucket[slot] = buckets[bucket];
        buckets[bucket] = slot;
        return slot;
    }

    private int victim() {
        if (used < capacity) {
            return used++;
        }
        for (int i = 0; i < 2 * capacity; i++) {
            int slot = hand;
            hand = hand + 1 == capacity ? 0 : hand + 1;
            if (states[slot] == LOADING || dirty[slot] || committing[slot]) {
                continue;
            }
            if (states[slot] == READY && referenced[slot]) {
                referenced[slot] = false;
                continue;
            }
            drop(slot);
            return slot;
        }
        return NONE;
    }

    /** Forgets a slot that is not in use. */
    private void drop(int slot) {
        if (states[slot] == FREE) {
            return;
        }
        states[slot] = FREE;
        int bucket = bucket(keys[slot]);
        int at = buckets[bucket];
        if (at == slot) {
            buckets[bucket] = nextInBucket[slot];
            return;
        }
        while (nextInBucket[at] != slot) {
            at = nextInBucket[at];
        }
        nextInBucket[at] = nextInBucket[slot];
    }

    /** Those that wait for a slot that is being loaded. */
    Task.Fifo waiters(int slot) {
        Task.Fifo list = waiters[slot];
        if (list == null) {
            list = new Task.Fifo();
            waiters[slot] = list;
        }
        return list;
    }

    /** Forgets a slice that has become something else. */
    void forget(long key) {
        int slot = find(key);
        if (slot != NONE && states[slot] == READY && !dirty[slot] && !committing[slot]) {
            drop(slot);
        }
    }

    void loaded(int slot) {
        states[slot] = READY;
    }

    void loadFailed(int slot) {
        drop(slot);
    }

    /** The memory that holds a slot, together with {@link #base}. */
    MemorySegment memory(int slot) {
        return chunks[slot / slotsPerChunk];
    }

    /** Where a slot starts in its {@link #memory}. */
    long base(int slot) {
        return (long) (slot % slotsPerChunk) * sliceBytes;
    }

    long key(int slot) {
        return keys[slot];
    }

    void markDirty(int slot) {
        if (!dirty[slot]) {
            dirty[slot] = true;
            dirtySlots[dirtyCount++] = slot;
        }
    }

    /** Copies all dirty slices into a buffer and takes them for written, until {@link #committed}. */
    void beginCommit(CommitBuffer buffer) {
        for (int i = 0; i < dirtyCount; i++) {
            int slot = dirtySlots[i];
            dirty[slot] = false;
            committing[slot] = true;
            buffer.add(keys[slot], memory(slot), base(slot), sliceBytes, slot);
        }
        dirtyCount = 0;
    }

    /** A slice of {@link #beginCommit} is on the disk, or could not be written. */
    void committed(int slot, boolean ok) {
        committing[slot] = false;
        if (!ok) {
            markDirty(slot);
        }
    }

    /** Forgets everything; nothing is dirty or on its way. */
    void clear() {
        Arrays.fill(buckets, NONE);
        Arrays.fill(states, FREE);
        used = 0;
        hand = 0;
        dirtyCount = 0;
        Arrays.fill(dirty, false);
        Arrays.fill(committing, false);
    }

    @Override
    public void close() {
        arena.close();
    }
}
