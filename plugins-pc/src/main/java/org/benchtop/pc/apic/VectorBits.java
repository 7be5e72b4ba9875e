package org.benchtop.pc.apic;

import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLongArray;

/** A bit for each of 256 vectors. Any thread; setting and clearing are atomic and full fences. Allocates nothing. */
final class VectorBits {
    private static final int WORDS = 4;

    private final AtomicLongArray words = new AtomicLongArray(WORDS);

    boolean get(int vector) {
        return (words.get(vector >>> 6) >>> vector & 1) != 0;
    }

    /** Sets a bit; false if it was set already. */
    boolean set(int vector) {
        long bit = 1L << vector;
        int word = vector >>> 6;
        long old = words.get(word);
        while ((old & bit) == 0) {
            long seen = words.compareAndExchange(word, old, old | bit);
            if (seen == old) {
                return true;
            }
            old = seen;
        }
        return false;
    }

    /** Clears a bit; false if it was clear already. */
    boolean clear(int vector) {
        long bit = 1L << vector;
        int word = vector >>> 6;
        long old = words.get(word);
        while ((old & bit) != 0) {
            long seen = words.compareAndExchange(word, old, old & ~bit);
            if (seen == old) {
                return true;
            }
            old = seen;
        }
        return false;
    }

    /** The highest vector whose bit is set, or -1. */
    int highest() {
        for (int word = WORDS - 1; word >= 0; word--) {
            long bits = words.get(word);
            if (bits != 0) {
                return word * 64 + 63 - Long.numberOfLeadingZeros(bits);
            }
        }
        return -1;
    }

    /** 32 bits as a register shows them. */
    int register(int index) {
        return (int) (words.get(index >>> 1) >>> 32 * (index & 1));
    }

    void clearAll() {
        for (int word = 0; word < WORDS; word++) {
            words.set(word, 0);
        }
    }

    /** The vectors as a list, for people. */
    @Override
    public String toString() {
        return BitSet.valueOf(save()).toString();
    }

    long[] save() {
        long[] out = new long[WORDS];
        for (int word = 0; word < WORDS; word++) {
            out[word] = words.get(word);
        }
        return out;
    }

    void restore(long[] saved) {
        for (int word = 0; word < WORDS; word++) {
            words.set(word, word < saved.length ? saved[word] : 0);
        }
    }
}
