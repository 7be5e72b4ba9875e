package org.benchtop.softcpu.fp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Rounding and flags without a referee processor: against the JVM's arithmetic and exact decimals. */
class MxcsrArithmeticTest {
    private static final int MASKED = 0x1f80;
    private static final int CASES = 20_000;

    private final MxcsrArithmetic fast = new MxcsrArithmetic();
    private final MxcsrArithmetic slow = new MxcsrArithmetic();
    private final SplittableRandom random = new SplittableRandom(Long.getLong("benchtop.test.seed", 4L));

    private double operand() {
        int kind = random.nextInt(8);
        if (kind == 0) {
            return random.nextInt(64) - 32;
        }
        if (kind == 1) {
            return Double.longBitsToDouble(random.nextLong() & 0x800f_ffff_ffff_ffffL);
        }
        int exponent = kind == 2 ? random.nextInt(2046) : 1023 + random.nextInt(120) - 60;
        return Double.longBitsToDouble(random.nextLong() & 0x800f_ffff_ffff_ffffL | (long) exponent << 52);
    }

    private static long bits(double d) {
        return Double.doubleToRawLongBits(d);
    }

    /** The software path is taken while the inexact flag is clear, the JVM's arithmetic once it is set. */
    @Test
    void softwareAndJvmArithmeticAgree() {
        for (int i = 0; i < CASES; i++) {
            double a = operand();
            double b = operand();
            double c = operand();
            slow.mxcsr(MASKED);
            fast.mxcsr(MASKED | MxcsrArithmetic.PE);
            assertEquals(bits(a + b), slow.add64(bits(a), bits(b)), () -> a + " + " + b);
            assertEquals(bits(a + b), fast.add64(bits(a), bits(b)), () -> a + " + " + b);
            assertEquals(bits(a * b), slow.mul64(bits(a), bits(b)), () -> a + " * " + b);
            assertEquals(bits(a * b), fast.mul64(bits(a), bits(b)), () -> a + " * " + b);
            if (b != 0) {
                assertEquals(bits(a / b), slow.div64(bits(a), bits(b)), () -> a + " / " + b);
                assertEquals(bits(a / b), fast.div64(bits(a), bits(b)), () -> a + " / " + b);
            }
            double positive = Math.abs(a);
            assertEquals(bits(Math.sqrt(positive)), slow.sqrt64(bits(positive)), () -> "sqrt " + positive);
            assertEquals(
                    bits(Math.fma(a, b, c)),
                    slow.fma64(bits(a), bits(b), bits(c), false, false),
                    () -> a + " * " + b + " + " + c);
            float f = (float) a;
            float g = (float) b;
            assertEquals(
                    Float.floatToRawIntBits(f * g),
                    slow.mul32(Float.floatToRawIntBits(f), Float.floatToRawIntBits(g)),
                    () -> f + " * " + g);
            assertEquals(Float.floatToRawIntBits(f), slow.narrow(bits(a)), () -> "(float) " + a);
        }
    }

    @Test
    void directedRoundingEnclosesTheExactResult() {
        for (int i = 0; i < CASES / 4; i++) {
            double a = 1 + random.nextDouble();
            double b = (random.nextInt(2) * 2 - 1) * (1 + random.nextDouble());
            BigDecimal exactSum = new BigDecimal(a).add(new BigDecimal(b));
            BigDecimal exactProduct = new BigDecimal(a).multiply(new BigDecimal(b));
            enclose(exactSum, rounded(1, m -> m.add64(bits(a), bits(b))), rounded(2, m -> m.add64(bits(a), bits(b))));
            enclose(
                    exactProduct,
                    rounded(1, m -> m.mul64(bits(a), bits(b))),
                    rounded(2, m -> m.mul64(bits(a), bits(b))));
            double towardsZero = rounded(3, m -> m.mul64(bits(a), bits(b)));
            assertTrue(new BigDecimal(towardsZero).abs().compareTo(exactProduct.abs()) <= 0);
        }
    }

    /** An operation on an arithmetic unit. */
    @FunctionalInterface
    private interface Operation {
        long apply(MxcsrArithmetic m);
    }

    private double rounded(int mode, Operation operation) {
        slow.mxcsr(MASKED | mode << 13);
        return Double.longBitsToDouble(operation.apply(slow));
    }

    private static void enclose(BigDecimal exact, double down, double up) {
        assertTrue(new BigDecimal(down).compareTo(exact) <= 0, () -> down + " is above " + exact);
        assertTrue(new BigDecimal(up).compareTo(exact) >= 0, () -> up + " is below " + exact);
        assertTrue(
                down == up ? new BigDecimal(down).compareTo(exact) == 0 : Math.nextUp(down) == up,
                () -> down + " and " + up + " are not neighbours");
    }

    @Test
    void inexactFlagIsSetOnlyByInexactResults() {
        slow.mxcsr(MASKED);
        slow.begin();
        slow.add64(bits(1), bits(2));
        assertTrue(slow.finish());
        assertEquals(MASKED, slow.mxcsr());
        slow.begin();
        slow.div64(bits(1), bits(3));
        assertTrue(slow.finish());
        assertEquals(MASKED | MxcsrArithmetic.PE, slow.mxcsr());
    }

    @Test
    void unmaskedExceptionForbidsTheResult() {
        slow.mxcsr(MASKED & ~(MxcsrArithmetic.ZE << 7));
        slow.begin();
        slow.div64(bits(1), bits(0));
        assertEquals(false, slow.finish());
        assertEquals(MxcsrArithmetic.ZE, slow.mxcsr() & 0x3f);
    }
}
