package org.benchtop.softcpu.fp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** 80-bit arithmetic against exact integers, without a referee processor. */
class X87UnitTest {
    private final X87Unit unit = new X87Unit();
    private final SplittableRandom random = new SplittableRandom(Long.getLong("benchtop.test.seed", 5L));

    private void push(double d) {
        unit.begin();
        unit.value64(Double.doubleToRawLongBits(d));
        unit.loadFloat();
    }

    private void pushExtended(int se, long m) {
        unit.begin();
        unit.valueSe = se;
        unit.value = m;
        unit.push();
    }

    private static BigInteger unsigned(long v) {
        return new BigInteger(Long.toUnsignedString(v));
    }

    private BigDecimal top() {
        int se = unit.signExponent(unit.top);
        int exponent = (se & 0x7fff) - 16383 - 63;
        BigDecimal magnitude = new BigDecimal(unsigned(unit.significand(unit.top)));
        BigDecimal two = BigDecimal.valueOf(2);
        BigDecimal v = exponent >= 0
                ? magnitude.multiply(two.pow(exponent))
                : magnitude.divide(two.pow(-exponent), new MathContext(60));
        return (se & 0x8000) != 0 ? v.negate() : v;
    }

    @Test
    void quotientIsTheNearestOf64Bits() {
        for (int i = 0; i < 5_000; i++) {
            unit.init();
            long a = random.nextLong() | Long.MIN_VALUE;
            long b = random.nextLong() | Long.MIN_VALUE;
            pushExtended(16383, a);
            pushExtended(16383, b);
            unit.begin();
            unit.arithmetic(X87Unit.DIV, 1, 0, true);
            int shift = Long.compareUnsigned(a, b) >= 0 ? 63 : 64;
            BigInteger[] parts = unsigned(a).shiftLeft(shift).divideAndRemainder(unsigned(b));
            BigInteger rounded = parts[0];
            int half = parts[1].shiftLeft(1).compareTo(unsigned(b));
            if (half > 0 || (half == 0 && rounded.testBit(0))) {
                rounded = rounded.add(BigInteger.ONE);
            }
            assertEquals(
                    rounded.longValue(),
                    unit.significand(unit.top),
                    () -> Long.toHexString(a) + " / " + Long.toHexString(b));
        }
    }

    @Test
    void rootIsTheNearestOf64Bits() {
        for (int i = 0; i < 5_000; i++) {
            unit.init();
            long a = i < 64 ? Long.MIN_VALUE | 1L << i : random.nextLong() | Long.MIN_VALUE;
            pushExtended(16383 + (i & 1), a);
            unit.begin();
            unit.squareRoot();
            BigInteger n = unsigned(a).shiftLeft(63 + (i & 1));
            BigInteger[] parts = n.sqrtAndRemainder();
            BigInteger rounded = parts[1].compareTo(parts[0]) > 0 ? parts[0].add(BigInteger.ONE) : parts[0];
            assertEquals(rounded.longValue(), unit.significand(unit.top), () -> "sqrt " + Long.toHexString(a));
        }
    }

    @Test
    void constantsRoundAsTheControlWordSays() {
        unit.init();
        unit.controlWord(0x37f | 1 << 10);
        unit.begin();
        unit.loadConstant(0x4000, 0xc90f_daa2_2168_c235L, -1);
        assertEquals(0xc90f_daa2_2168_c234L, unit.significand(unit.top));
    }

    @Test
    void functionsMatchDoublePrecisionValues() {
        double[] arguments = {0.1, 0.5, -0.7, 1, 1.5, -2.25, 3.2, 10, -33, 700};
        for (double x : arguments) {
            unit.init();
            push(x);
            unit.begin();
            unit.sine(false);
            near(Math.sin(x), top(), "sin " + x);
            unit.init();
            push(x);
            unit.begin();
            unit.sine(true);
            near(Math.cos(x), top(), "cos " + x);
            unit.init();
            push(x);
            push(2);
            unit.begin();
            unit.arctangent();
            near(Math.atan2(x, 2), top(), "atan " + x);
            unit.init();
            push(3);
            push(Math.abs(x));
            unit.begin();
            unit.logarithm(false);
            near(3 * Math.log(Math.abs(x)) / Math.log(2), top(), "log2 " + x);
        }
        for (double x : new double[] {0.3, -0.9, 1e-10, 0.999}) {
            unit.init();
            push(x);
            unit.begin();
            unit.exponential();
            near(Math.expm1(x * Math.log(2)), top(), "2^x-1 " + x);
        }
    }

    private static void near(double expected, BigDecimal actual, String what) {
        double error = Math.abs(actual.subtract(new BigDecimal(expected)).doubleValue());
        assertTrue(error <= 4 * Math.ulp(expected), () -> what + ": " + actual + ", expected " + expected);
    }

    @Test
    void stateSurvivesSaveAndRestore() {
        FpuState state = new FpuState();
        state.x87.init();
        state.x87.begin();
        state.x87.valueInteger(-42);
        state.x87.push();
        state.ymm[5] = 7;
        state.mxcsr(0x3fa0);
        FpuState other = new FpuState();
        other.restore(state.save());
        assertEquals(0x3fa0, other.mxcsr());
        assertEquals(7, other.ymm[5]);
        assertEquals(state.x87.statusWord(), other.x87.statusWord());
        assertEquals(state.x87.tagWord(), other.x87.tagWord());
        assertEquals(state.x87.significand(7), other.x87.significand(7));
        assertEquals(state.x87.signExponent(7), other.x87.signExponent(7));
    }
}
