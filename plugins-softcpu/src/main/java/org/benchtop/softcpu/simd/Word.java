package org.benchtop.softcpu.simd;

/** An operation on 64-bit words; the same for every word of a register. */
@FunctionalInterface
interface Word {
    long apply(long a, long b);
}
