package org.benchtop.softcpu.simd;

/**
 * An operation on 128-bit lanes of the register file: {@code d}, {@code a} and {@code b} are indices of lower words, which
 * may be the same.
 */
@FunctionalInterface
interface Lane {
    void apply(long[] v, int d, int a, int b, int imm);
}
