package org.benchtop.guests.rt;

/** xorshift64* in a state that the caller keeps; the state is never 0. */
public final class Random {
    private Random() {}

    /** A first state from any seed. */
    public static long seed(long seed) {
        long mixed = (seed + 0x9e37_79b9_7f4a_7c15L) * 0xbf58_476d_1ce4_e5b9L;
        mixed ^= mixed >>> 29;
        return mixed == 0 ? 1 : mixed;
    }

    /** The state after {@code state}. */
    public static long next(long state) {
        long x = state;
        x ^= x >>> 12;
        x ^= x << 25;
        x ^= x >>> 27;
        return x;
    }

    /** The 64 random bits of a state. */
    public static long bits(long state) {
        return state * 0x2545_f491_4f6c_dd1dL;
    }

    /** A number from 0 to {@code bound - 1} from the bits of a state. */
    public static long below(long state, long bound) {
        return Math.unsignedMultiplyHigh(bits(state), bound);
    }
}
