package org.benchtop.softcpu.fp;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The x87 register stack and its arithmetic (Intel SDM vol. 1, chapter 8): results in double-extended precision, correctly
 * rounded, with precision control, exact flags, masked and unmasked responses.
 *
 * <p>Knows nothing of encodings and memory: {@link X87} decodes, loads and stores. An instruction starts with
 * {@link #begin}; what raises an unmasked exception leaves its destination and the stack alone where the architecture says
 * so. An operation that stores to memory comes in two halves, so that a page fault between them leaves no trace: the value
 * is computed by a {@code …Value} method, which returns whether to store at all, and {@link #commit} takes over flags and
 * pops.
 *
 * <p>Not thread-safe; nothing allocates.
 */
public final class X87Unit {
    static final int IE = 1;
    static final int DE = 2;
    static final int ZE = 4;
    static final int OE = 8;
    static final int UE = 16;
    static final int PE = 32;
    static final int SF = 64;
    static final int ES = 128;
    static final int C0 = 0x100;
    static final int C1 = 0x200;
    static final int C2 = 0x400;
    static final int C3 = 0x4000;
    static final int BUSY = 0x8000;

    static final int ADD = 0;
    static final int MUL = 1;
    static final int SUB = 4;
    static final int SUBR = 5;
    static final int DIV = 6;
    static final int DIVR = 7;

    static final int EXPONENT = 0x7fff;
    static final int SIGN = 0x8000;
    static final int BIAS = 16383;
    static final int MIN_EXPONENT = 1 - BIAS;
    static final int MAX_EXPONENT = BIAS;
    static final long INTEGER_BIT = Long.MIN_VALUE;
    static final long QUIET_BIT = 1L << 62;
    static final int INDEFINITE_SE = 0xffff;
    static final long INDEFINITE = 0xc000_0000_0000_0000L;
    /** What the exponent of an unmasked overflow or underflow is moved by (SDM vol. 1, 8.5.4). */
    private static final int WRAP = 24576;

    /** Significands by physical register; MM0–7 are these. */
    final long[] significand = new long[8];
    /** Sign and exponent, 16 bits, by physical register. */
    final int[] signExponent = new int[8];

    /** The control word. */
    int control;
    /** The status word without TOP. */
    int status;
    /** The physical register that is ST(0). */
    int top;
    /** Bit n is set if physical register n is empty. */
    int empty;

    /** Opcode (11 bits), instruction and operand pointers of the last non-control instruction. */
    int lastOpcode;

    long lastInstruction;
    long lastOperand;

    /** Flags that the current instruction raises. */
    private int raised;
    /** C1 of the current instruction. */
    private boolean up;

    /** The value of the last load, conversion or {@code …Value} method. */
    int valueSe;

    long value;
    /** Whether {@link #value} came from a denormal of a shorter format. */
    private boolean valueDenormal;

    final SoftFloat soft = new SoftFloat();
    private final Transcendental transcendental = new Transcendental();

    X87Unit() {
        init();
    }

    /** FNINIT. */
    void init() {
        control = 0x37f;
        status = 0;
        top = 0;
        empty = 0xff;
        forgetPointers();
    }

    /** Clears opcode, instruction and operand pointers. */
    public void forgetPointers() {
        lastOpcode = 0;
        lastInstruction = 0;
        lastOperand = 0;
    }

    /** The power-on state; FNINIT does not clear the registers. */
    void reset() {
        init();
        Arrays.fill(significand, 0);
        Arrays.fill(signExponent, 0);
        control = 0x40;
        empty = 0;
    }

    /** The length of what {@link #save} writes. */
    static final int SAVED_BYTES = 8 * 10 + 4 * 2 + 2 * 8;

    void save(ByteBuffer buffer) {
        for (int i = 0; i < 8; i++) {
            buffer.putLong(significand[i]).putShort((short) signExponent[i]);
        }
        buffer.putShort((short) control).putShort((short) statusWord());
        buffer.putShort((short) empty).putShort((short) lastOpcode);
        buffer.putLong(lastInstruction).putLong(lastOperand);
    }

    void restore(ByteBuffer buffer) {
        for (int i = 0; i < 8; i++) {
            significand[i] = buffer.getLong();
            signExponent[i] = buffer.getShort() & 0xffff;
        }
        control = buffer.getShort() & 0xffff;
        statusWord(buffer.getShort() & 0xffff);
        empty = buffer.getShort() & 0xff;
        lastOpcode = buffer.getShort() & 0x7ff;
        lastInstruction = buffer.getLong();
        lastOperand = buffer.getLong();
    }

    // ---------------------------------------------------------------- words

    /** The status word as FNSTSW stores it. */
    public int statusWord() {
        return status | top << 11;
    }

    /** Sets the status word and TOP; ES and B follow from flags and masks. */
    public void statusWord(int word) {
        top = word >> 11 & 7;
        status = word & 0x477f;
        summarise();
    }

    /** The control word. */
    public int controlWord() {
        return control;
    }

    /** FLDCW: pending exceptions appear or vanish with their masks. */
    public void controlWord(int word) {
        control = word & 0x1f7f | 0x40;
        summarise();
    }

    private void summarise() {
        if ((status & ~control & 0x3f) != 0) {
            status |= ES | BUSY;
        } else {
            status &= ~(ES | BUSY);
        }
    }

    /** Whether the next waiting instruction raises #MF. */
    boolean pending() {
        return (status & ES) != 0;
    }

    /** FNCLEX. */
    void clearExceptions() {
        status &= C0 | C1 | C2 | C3;
    }

    /** The tag word as FNSTENV stores it, two bits a register. */
    public int tagWord() {
        int tags = 0;
        for (int i = 7; i >= 0; i--) {
            tags = tags << 2 | tag(i);
        }
        return tags;
    }

    private int tag(int physical) {
        if ((empty >> physical & 1) != 0) {
            return 3;
        }
        int e = signExponent[physical] & EXPONENT;
        long m = significand[physical];
        if (e == 0 && m == 0) {
            return 1;
        }
        return e == 0 || e == EXPONENT || m >= 0 ? 2 : 0;
    }

    /** Sets which registers are empty from a tag word of FLDENV. */
    public void tagWord(int tags) {
        empty = 0;
        for (int i = 0; i < 8; i++) {
            if ((tags >> 2 * i & 3) == 3) {
                empty |= 1 << i;
            }
        }
    }

    /** The abridged tag word of FXSAVE: bit n is set if physical register n is not empty. */
    public int abridgedTags() {
        return ~empty & 0xff;
    }

    /** Sets {@link #abridgedTags}. */
    public void abridgedTags(int tags) {
        empty = ~tags & 0xff;
    }

    /** The significand of a physical register. */
    public long significand(int physical) {
        return significand[physical];
    }

    /** Sign and exponent of a physical register, 16 bits. */
    public int signExponent(int physical) {
        return signExponent[physical];
    }

    /** Sets a physical register; its tag stays. */
    public void register(int physical, int se, long m) {
        signExponent[physical] = se & 0xffff;
        significand[physical] = m;
    }

    // ---------------------------------------------------------------- life of an instruction

    /** Starts an instruction. */
    void begin() {
        raised = 0;
        up = false;
        valueDenormal = false;
    }

    /** Takes over the flags of the instruction, with C1 and the given conditions. */
    private void settle() {
        status = status & ~C1 | raised | (up ? C1 : 0);
        if ((raised & ~control & 0x3f) != 0) {
            status |= ES | BUSY;
        }
    }

    /** Whether an exception that forbids the result is raised and unmasked. */
    private boolean stopped() {
        return (raised & ~control & (IE | DE | ZE)) != 0;
    }

    private int physical(int i) {
        return top + i & 7;
    }

    boolean isEmpty(int i) {
        return (empty >> (top + i & 7) & 1) != 0;
    }

    private void put(int i, int se, long m) {
        int p = physical(i);
        signExponent[p] = se;
        significand[p] = m;
        empty &= ~(1 << p);
    }

    private void pop() {
        empty |= 1 << top;
        top = top + 1 & 7;
    }

    private void underflow() {
        raised |= IE | SF;
        up = false;
    }

    // ---------------------------------------------------------------- values from memory

    /** Makes {@link #value} of a binary32. */
    void value32(int v) {
        int e = v >>> 23 & 0xff;
        long fraction = (v & 0x7f_ffffL) << 40;
        valueFrom(v < 0 ? SIGN : 0, e, fraction, 0xff, 127);
    }

    /** Makes {@link #value} of a binary64. */
    void value64(long v) {
        int e = (int) (v >>> 52) & 0x7ff;
        long fraction = (v & 0xf_ffff_ffff_ffffL) << 11;
        valueFrom(v < 0 ? SIGN : 0, e, fraction, 0x7ff, 1023);
    }

    private void valueFrom(int sign, int e, long fraction, int maxField, int bias) {
        if (e == maxField) {
            valueSe = sign | EXPONENT;
            value = fraction | INTEGER_BIT;
        } else if (e != 0) {
            valueSe = sign | e - bias + BIAS;
            value = fraction | INTEGER_BIT;
        } else if (fraction == 0) {
            valueSe = sign;
            value = 0;
        } else {
            valueDenormal = true;
            int n = Long.numberOfLeadingZeros(fraction);
            valueSe = sign | 1 - bias - n + BIAS;
            value = fraction << n;
        }
    }

    /** Makes {@link #value} of an integer. */
    void valueInteger(long v) {
        if (v == 0) {
            valueSe = 0;
            value = 0;
            return;
        }
        long magnitude = Math.abs(v);
        int n = Long.numberOfLeadingZeros(magnitude);
        valueSe = (v < 0 ? SIGN : 0) | 63 - n + BIAS;
        value = magnitude << n;
    }

    /** Makes {@link #value} of a packed BCD number: 18 digits in 72 bits and a sign. */
    void valueBcd(long low, int high) {
        long magnitude = 0;
        for (int i = 1; i >= 0; i--) {
            magnitude = magnitude * 10 + (high >> 4 * i & 15);
        }
        for (int i = 15; i >= 0; i--) {
            magnitude = magnitude * 10 + (low >>> 4 * i & 15);
        }
        valueInteger(magnitude);
        if ((high & 0x8000) != 0) {
            valueSe |= SIGN;
        }
    }

    // ---------------------------------------------------------------- classes

    private static boolean isNan(int se, long m) {
        return (se & EXPONENT) == EXPONENT && m < 0 && m != INTEGER_BIT;
    }

    private static boolean isSignaling(int se, long m) {
        return isNan(se, m) && (m & QUIET_BIT) == 0;
    }

    private static boolean isInfinite(int se, long m) {
        return (se & EXPONENT) == EXPONENT && m == INTEGER_BIT;
    }

    private static boolean isZero(int se, long m) {
        return m == 0 && (se & EXPONENT) == 0;
    }

    private static boolean isDenormal(int se, long m) {
        return (se & EXPONENT) == 0 && m != 0;
    }

    /** Pseudo-NaN, pseudo-infinity or unnormal. */
    private static boolean isUnsupported(int se, long m) {
        return (se & EXPONENT) != 0 && m >= 0;
    }

    private static int exponent(int se, long m) {
        int e = se & EXPONENT;
        return e != 0 ? e - BIAS : MIN_EXPONENT - Long.numberOfLeadingZeros(m);
    }

    private static long normal(long m) {
        return m << Long.numberOfLeadingZeros(m);
    }

    /** Sets {@link #value} to an indefinite NaN and raises IE. */
    private void invalid() {
        raised |= IE;
        valueSe = INDEFINITE_SE;
        value = INDEFINITE;
    }

    /** If an operand is unsupported or a NaN, sets {@link #value} to the result. */
    private boolean special(int aSe, long a, int bSe, long b) {
        if (isUnsupported(aSe, a) || isUnsupported(bSe, b)) {
            invalid();
            return true;
        }
        boolean aNan = isNan(aSe, a);
        boolean bNan = isNan(bSe, b);
        if (!aNan && !bNan) {
            return false;
        }
        boolean aSignaling = isSignaling(aSe, a);
        boolean bSignaling = isSignaling(bSe, b);
        if (aSignaling || bSignaling) {
            raised |= IE;
        }
        boolean takeA;
        if (!bNan) {
            takeA = true;
        } else if (!aNan) {
            takeA = false;
        } else if (aSignaling != bSignaling) {
            takeA = bSignaling;
        } else {
            // The larger significand wins, then the positive one (SDM vol. 1, table 4-7).
            int c = Long.compareUnsigned(a, b);
            takeA = c != 0 ? c > 0 : (aSe & SIGN) == 0;
        }
        valueSe = takeA ? aSe : bSe;
        value = (takeA ? a : b) | QUIET_BIT;
        return true;
    }

    private void denormals(int aSe, long a, int bSe, long b) {
        if (valueDenormal || isDenormal(aSe, a) || isDenormal(bSe, b)) {
            raised |= DE;
        }
    }

    // ---------------------------------------------------------------- rounding

    private int rounding() {
        return control >> 10 & 3;
    }

    private int precision() {
        return switch (control >> 8 & 3) {
            case 0 -> 24;
            case 2 -> 53;
            default -> 64;
        };
    }

    /** Rounds {@link #soft} to a register format and packs it into {@link #value}. */
    private void pack(int precision) {
        SoftFloat s = soft;
        int sign = s.negative ? SIGN : 0;
        if (s.hi == 0) {
            valueSe = sign;
            value = 0;
            return;
        }
        boolean underflowMasked = (control & UE) != 0;
        s.round(precision, underflowMasked ? MIN_EXPONENT : Integer.MIN_VALUE / 2, rounding());
        up = s.roundedUp;
        if (s.inexact) {
            raised |= PE;
        }
        int e = s.exponent;
        if (e > MAX_EXPONENT) {
            raised |= OE;
            if ((control & OE) != 0) {
                overflow(sign, precision);
                return;
            }
            e -= WRAP;
            if (e > MAX_EXPONENT) {
                // FSCALE can overflow twice as far.
                raised |= PE;
                up = true;
                valueSe = sign | EXPONENT;
                value = INTEGER_BIT;
                return;
            }
        } else if (!underflowMasked && e < MIN_EXPONENT) {
            raised |= UE;
            e += WRAP;
            if (e < MIN_EXPONENT) {
                valueSe = sign;
                value = 0;
                raised |= PE;
                up = false;
                return;
            }
        } else if (s.tiny && s.inexact) {
            raised |= UE;
        }
        value = s.hi;
        valueSe = sign | (s.hi < 0 ? e + BIAS : 0);
    }

    private void overflow(int sign, int precision) {
        raised |= PE;
        boolean toInfinity = switch (rounding()) {
            case SoftFloat.NEAREST -> true;
            case SoftFloat.DOWN -> sign != 0;
            case SoftFloat.UP -> sign == 0;
            default -> false;
        };
        up = toInfinity;
        valueSe = sign | (toInfinity ? EXPONENT : EXPONENT - 1);
        value = toInfinity ? INTEGER_BIT : -1L << (64 - precision);
    }

    // ---------------------------------------------------------------- arithmetic

    /** Computes {@code a op b} into {@link #value}. */
    private void compute(int operation, int aSe, long a, int bSe, long b) {
        switch (operation) {
            case ADD -> add(aSe, a, bSe, b, 0);
            case MUL -> multiply(aSe, a, bSe, b);
            case SUB -> add(aSe, a, bSe, b, SIGN);
            case SUBR -> add(bSe, b, aSe, a, SIGN);
            case DIV -> divide(aSe, a, bSe, b);
            default -> divide(bSe, b, aSe, a);
        }
    }

    private void add(int aSe, long a, int bSe, long b, int negateB) {
        if (special(aSe, a, bSe, b)) {
            return;
        }
        int bSign = (bSe ^ negateB) & SIGN;
        int aSign = aSe & SIGN;
        boolean aInfinite = isInfinite(aSe, a);
        boolean bInfinite = isInfinite(bSe, b);
        if (aInfinite && bInfinite && aSign != bSign) {
            invalid();
            return;
        }
        denormals(aSe, a, bSe, b);
        if (stopped()) {
            return;
        }
        if (aInfinite || bInfinite) {
            valueSe = (aInfinite ? aSign : bSign) | EXPONENT;
            value = INTEGER_BIT;
            return;
        }
        if (a == 0 && b == 0) {
            valueSe = aSign == bSign ? aSign : rounding() == SoftFloat.DOWN ? SIGN : 0;
            value = 0;
            return;
        }
        if (a == 0) {
            soft.set(bSign != 0, exponent(bSe, b), normal(b));
        } else {
            soft.set(aSign != 0, exponent(aSe, a), normal(a));
            if (b != 0) {
                soft.add(bSign != 0, exponent(bSe, b), normal(b), 0, rounding());
            }
        }
        pack(precision());
    }

    private void multiply(int aSe, long a, int bSe, long b) {
        if (special(aSe, a, bSe, b)) {
            return;
        }
        int sign = (aSe ^ bSe) & SIGN;
        boolean infinite = isInfinite(aSe, a) || isInfinite(bSe, b);
        boolean zero = a == 0 || b == 0;
        if (infinite && zero) {
            invalid();
            return;
        }
        denormals(aSe, a, bSe, b);
        if (stopped()) {
            return;
        }
        if (infinite || zero) {
            valueSe = sign | (zero ? 0 : EXPONENT);
            value = zero ? 0 : INTEGER_BIT;
            return;
        }
        soft.multiply(sign != 0, exponent(aSe, a), normal(a), exponent(bSe, b), normal(b));
        pack(precision());
    }

    private void divide(int aSe, long a, int bSe, long b) {
        if (special(aSe, a, bSe, b)) {
            return;
        }
        int sign = (aSe ^ bSe) & SIGN;
        boolean aInfinite = isInfinite(aSe, a);
        boolean bInfinite = isInfinite(bSe, b);
        if ((aInfinite && bInfinite) || (a == 0 && b == 0)) {
            invalid();
            return;
        }
        if (b == 0 && !aInfinite) {
            raised |= ZE;
            valueSe = sign | EXPONENT;
            value = INTEGER_BIT;
            return;
        }
        denormals(aSe, a, bSe, b);
        if (stopped()) {
            return;
        }
        if (aInfinite) {
            valueSe = sign | EXPONENT;
            value = INTEGER_BIT;
            return;
        }
        if (bInfinite || a == 0) {
            valueSe = sign;
            value = 0;
            return;
        }
        soft.divide(sign != 0, exponent(aSe, a), normal(a), exponent(bSe, b), normal(b));
        pack(precision());
    }

    /** {@code ST(0) = ST(0) op value}, for an operand from memory. */
    void arithmeticValue(int operation) {
        if (isEmpty(0)) {
            stackFault(0, false);
            return;
        }
        int p = top;
        int vSe = valueSe;
        long v = value;
        compute(operation, signExponent[p], significand[p], vSe, v);
        store(0, false);
    }

    /** {@code ST(target) = ST(target) op ST(source)}. */
    void arithmetic(int operation, int target, int source, boolean pop) {
        if (isEmpty(target) || isEmpty(source)) {
            stackFault(target, pop);
            return;
        }
        int t = physical(target);
        int s = physical(source);
        compute(operation, signExponent[t], significand[t], signExponent[s], significand[s]);
        store(target, pop);
    }

    /** Finishes an instruction whose result in {@link #value} goes to a register. */
    private void store(int target, boolean pop) {
        if (!stopped()) {
            put(target, valueSe, value);
            if (pop) {
                pop();
            }
        }
        settle();
    }

    /** An empty source: the masked response stores an indefinite NaN. */
    private void stackFault(int target, boolean pop) {
        underflow();
        valueSe = INDEFINITE_SE;
        value = INDEFINITE;
        store(target, pop);
    }

    /** FSQRT. */
    void squareRoot() {
        if (isEmpty(0)) {
            stackFault(0, false);
            return;
        }
        int se = signExponent[top];
        long m = significand[top];
        if (!special(se, m, se, m)) {
            if (m == 0) {
                valueSe = se;
                value = 0;
            } else if ((se & SIGN) != 0) {
                invalid();
            } else if (isInfinite(se, m)) {
                valueSe = se;
                value = m;
            } else {
                denormals(se, m, se, m);
                if (!stopped()) {
                    soft.squareRoot(exponent(se, m), normal(m));
                    pack(precision());
                }
            }
        }
        store(0, false);
    }

    /** FRNDINT. */
    void roundToInteger() {
        if (isEmpty(0)) {
            stackFault(0, false);
            return;
        }
        int se = signExponent[top];
        long m = significand[top];
        if (!special(se, m, se, m)) {
            denormals(se, m, se, m);
            if (m == 0 || (se & EXPONENT) >= BIAS + 63) {
                valueSe = se;
                value = m;
            } else if (!stopped()) {
                soft.set((se & SIGN) != 0, exponent(se, m), normal(m));
                long whole = soft.roundToInteger(rounding());
                if (soft.inexact) {
                    raised |= PE;
                    up = soft.roundedUp;
                }
                int n = Long.numberOfLeadingZeros(whole);
                valueSe = se & SIGN | (whole == 0 ? 0 : 63 - n + BIAS);
                value = whole == 0 ? 0 : whole << n;
            }
        }
        store(0, false);
    }

    /** FSCALE. */
    void scale() {
        if (isEmpty(0) || isEmpty(1)) {
            stackFault(0, false);
            return;
        }
        int aSe = signExponent[top];
        long a = significand[top];
        int p = physical(1);
        int bSe = signExponent[p];
        long b = significand[p];
        if (!special(aSe, a, bSe, b)) {
            scale(aSe, a, bSe, b);
        }
        store(0, false);
    }

    private void scale(int aSe, long a, int bSe, long b) {
        int sign = aSe & SIGN;
        boolean bNegative = (bSe & SIGN) != 0;
        valueSe = aSe;
        value = a;
        if (isInfinite(bSe, b)) {
            if (bNegative ? isInfinite(aSe, a) : a == 0) {
                invalid();
                return;
            }
            denormals(aSe, a, bSe, b);
            valueSe = sign | (bNegative ? 0 : EXPONENT);
            value = bNegative ? 0 : INTEGER_BIT;
            return;
        }
        denormals(aSe, a, bSe, b);
        if (stopped() || isInfinite(aSe, a) || a == 0) {
            return;
        }
        int shift = 0;
        if (b != 0) {
            int e = exponent(bSe, b);
            if (e >= 0) {
                shift = e > 16 ? 0x20000 : (int) (normal(b) >>> (63 - e));
            }
        }
        soft.set(sign != 0, exponent(aSe, a) + (bNegative ? -shift : shift), normal(a));
        pack(64);
    }

    /** FXTRACT. */
    void extract() {
        if (isEmpty(0) || !isEmpty(7)) {
            boolean full = !isEmpty(0);
            raised |= IE | SF;
            up = full;
            if (!stopped()) {
                put(0, INDEFINITE_SE, INDEFINITE);
                top = top - 1 & 7;
                put(0, INDEFINITE_SE, INDEFINITE);
            }
            settle();
            return;
        }
        int se = signExponent[top];
        long m = significand[top];
        int secondSe = se;
        long second = m;
        if (special(se, m, se, m)) {
            secondSe = valueSe;
            second = value;
        } else if (m == 0) {
            raised |= ZE;
            valueSe = SIGN | EXPONENT;
            value = INTEGER_BIT;
        } else if (isInfinite(se, m)) {
            valueSe = EXPONENT;
            value = m;
        } else {
            denormals(se, m, se, m);
            int e = exponent(se, m);
            valueInteger(e);
            secondSe = se & SIGN | BIAS;
            second = normal(m);
        }
        if (!stopped()) {
            put(0, valueSe, value);
            top = top - 1 & 7;
            put(0, secondSe, second);
        }
        settle();
    }

    /** FPREM ({@code nearest} false) and FPREM1. */
    void remainder(boolean nearest) {
        if (isEmpty(0) || isEmpty(1)) {
            status &= ~C2;
            stackFault(0, false);
            return;
        }
        int aSe = signExponent[top];
        long a = significand[top];
        int p = physical(1);
        int bSe = signExponent[p];
        long b = significand[p];
        long quotient = 0;
        boolean partial = false;
        boolean complete = false;
        if (!special(aSe, a, bSe, b)) {
            if (isInfinite(aSe, a) || b == 0) {
                invalid();
            } else {
                denormals(aSe, a, bSe, b);
                valueSe = aSe;
                value = a;
                complete = true;
                if (!stopped() && a < 0 && (aSe & EXPONENT) == 0) {
                    // A pseudo-denormal becomes the normal number that it stands for.
                    valueSe = aSe | 1;
                }
                if (!stopped() && a != 0 && !isInfinite(bSe, b)) {
                    int ea = exponent(aSe, a);
                    int eb = exponent(bSe, b);
                    int d = ea - eb;
                    boolean negative = (aSe & SIGN) != 0;
                    long x = normal(a);
                    long y = normal(b);
                    if (d >= 64) {
                        // N of the SDM: between 32 and 63, the same as real processors take.
                        int n = d & 31 | 32;
                        long r = reduce(x, y, n);
                        partial = true;
                        packExact(negative, r, ea - n);
                    } else if (d < -1) {
                        soft.set(negative, ea, x);
                        packExact(negative, x, ea);
                    } else {
                        // With d == -1 the quotient is 0, but FPREM1 may still round it to 1.
                        long r;
                        int scale;
                        if (d < 0) {
                            r = x;
                            scale = ea;
                        } else {
                            r = reduce(x, y, d);
                            quotient = reducedQuotient;
                            scale = eb;
                        }
                        if (nearest && r != 0) {
                            int c;
                            if (d < 0) {
                                // r is in units of half of y's last place.
                                c = Long.compareUnsigned(r, y);
                            } else {
                                c = r < 0 ? 1 : Long.compareUnsigned(r << 1, y);
                            }
                            if (c > 0 || (c == 0 && (quotient & 1) != 0)) {
                                // y - r, of the other sign.
                                negative = !negative;
                                quotient++;
                                if (d < 0) {
                                    // 2y - r with r > y: fits in 64 bits.
                                    r = (y << 1) - r;
                                } else {
                                    r = y - r;
                                }
                            }
                        }
                        if (r == 0) {
                            valueSe = aSe & SIGN;
                            value = 0;
                        } else {
                            packExact(negative, r, scale);
                        }
                    }
                }
            }
        }
        status &= ~C2;
        if (!stopped()) {
            put(0, valueSe, value);
            if (partial) {
                status = status & ~(C0 | C3) | C2;
            } else if (complete) {
                up = (quotient & 1) != 0;
                status = status & ~(C0 | C3) | ((quotient & 4) != 0 ? C0 : 0) | ((quotient & 2) != 0 ? C3 : 0);
            }
        }
        settle();
    }

    private long reducedQuotient;

    /** The remainder of {@code x × 2^d / y}, for normalised x and y; the quotient's low bits in {@link #reducedQuotient}. */
    private long reduce(long x, long y, int d) {
        long q = 0;
        long r = x;
        boolean carry = false;
        for (int i = d; ; i--) {
            q <<= 1;
            if (carry || Long.compareUnsigned(r, y) >= 0) {
                r -= y;
                q |= 1;
            }
            if (i == 0) {
                break;
            }
            carry = r < 0;
            r <<= 1;
        }
        reducedQuotient = q;
        return r;
    }

    /** Packs {@code m × 2^(scale - 63)}, which is exact. */
    private void packExact(boolean negative, long m, int scale) {
        if (m == 0) {
            valueSe = negative ? SIGN : 0;
            value = 0;
            return;
        }
        int n = Long.numberOfLeadingZeros(m);
        soft.set(negative, scale - n, m << n);
        pack(64);
        up = false;
    }

    // ---------------------------------------------------------------- comparison

    /** FCOM and FUCOM with a register. */
    void compare(int i, boolean quiet, int pops) {
        boolean fault = isEmpty(0) || isEmpty(i);
        int p = physical(i);
        compare(signExponent[p], significand[p], quiet, pops, fault);
    }

    /** FCOM with {@link #value}. */
    void compareValue(int pops) {
        compare(valueSe, value, false, pops, isEmpty(0));
    }

    /** FTST. */
    void test() {
        compare(0, 0, false, 0, isEmpty(0));
    }

    private void compare(int bSe, long b, boolean quiet, int pops, boolean fault) {
        int c = relation(bSe, b, quiet, fault);
        // The condition codes tell the relation even if an unmasked exception keeps the stack as it is.
        int bits = c == UNORDERED ? C0 | C2 | C3 : c < 0 ? C0 : c == 0 ? C3 : 0;
        status = status & ~(C0 | C2 | C3) | bits;
        if (!stopped()) {
            for (int n = 0; n < pops; n++) {
                pop();
            }
        }
        settle();
    }

    /** FCOMI and FUCOMI: ZF, PF and CF as in RFLAGS. C1 changes only with a stack fault. */
    int compareFlags(int i, boolean quiet, boolean pop) {
        int p = physical(i);
        boolean fault = isEmpty(0) || isEmpty(i);
        int c = relation(signExponent[p], significand[p], quiet, fault);
        if (pop && !stopped()) {
            pop();
        }
        up = !fault && (status & C1) != 0;
        settle();
        return c == UNORDERED ? 0x45 : c < 0 ? 1 : c == 0 ? 0x40 : 0;
    }

    private static final int UNORDERED = 2;

    /** How ST(0) relates to a value. */
    private int relation(int bSe, long b, boolean quiet, boolean fault) {
        if (fault) {
            underflow();
            return UNORDERED;
        }
        int aSe = signExponent[top];
        long a = significand[top];
        if (isUnsupported(aSe, a) || isUnsupported(bSe, b)) {
            raised |= IE;
            return UNORDERED;
        }
        if (isNan(aSe, a) || isNan(bSe, b)) {
            if (!quiet || isSignaling(aSe, a) || isSignaling(bSe, b)) {
                raised |= IE;
            }
            return UNORDERED;
        }
        denormals(aSe, a, bSe, b);
        if (a == 0 && b == 0) {
            return 0;
        }
        boolean aNegative = (aSe & SIGN) != 0;
        boolean bNegative = (bSe & SIGN) != 0;
        if (a == 0) {
            return bNegative ? 1 : -1;
        }
        if (b == 0 || aNegative != bNegative) {
            return aNegative ? -1 : 1;
        }
        // Pseudo-denormals have the exponent of the smallest normal numbers.
        int ea = Math.max(aSe & EXPONENT, 1);
        int eb = Math.max(bSe & EXPONENT, 1);
        int c = ea != eb ? Integer.compare(ea, eb) : Long.compareUnsigned(a, b);
        return aNegative ? -c : c;
    }

    /** FXAM. */
    void examine() {
        int se = signExponent[top];
        long m = significand[top];
        int c;
        if (isEmpty(0)) {
            c = C3 | C0;
        } else if (isUnsupported(se, m)) {
            c = 0;
        } else if (isNan(se, m)) {
            c = C0;
        } else if (isInfinite(se, m)) {
            c = C2 | C0;
        } else if (m == 0) {
            c = C3;
        } else if (isDenormal(se, m)) {
            c = C3 | C2;
        } else {
            c = C2;
        }
        status = status & ~(C0 | C1 | C2 | C3) | c | ((se & SIGN) != 0 ? C1 : 0);
    }

    // ---------------------------------------------------------------- moves

    /** FLD of {@link #value} from a binary32 or binary64, which signals; other values do not. */
    void loadFloat() {
        if (!isEmpty(7)) {
            pushFault();
            return;
        }
        if (isSignaling(valueSe, value)) {
            raised |= IE;
            value |= QUIET_BIT;
        }
        boolean push = (raised & ~control) == 0;
        if (valueDenormal) {
            // Does not keep the value from being pushed, even unmasked.
            raised |= DE;
        }
        if (push) {
            top = top - 1 & 7;
            put(0, valueSe, value);
        }
        settle();
    }

    /** FLD m80, FILD, FBLD: pushes {@link #value}. */
    void push() {
        if (!isEmpty(7)) {
            pushFault();
            return;
        }
        top = top - 1 & 7;
        put(0, valueSe, value);
        settle();
    }

    private void pushFault() {
        raised |= IE | SF;
        up = true;
        if (!stopped()) {
            top = top - 1 & 7;
            put(0, INDEFINITE_SE, INDEFINITE);
        }
        settle();
    }

    /** FLD ST(i). */
    void loadRegister(int i) {
        if (isEmpty(i)) {
            underflow();
            if (!stopped()) {
                top = top - 1 & 7;
                put(0, INDEFINITE_SE, INDEFINITE);
            }
            settle();
            return;
        }
        if (!isEmpty(7)) {
            pushFault();
            return;
        }
        int p = physical(i);
        valueSe = signExponent[p];
        value = significand[p];
        push();
    }

    /** FLD1 and its kin: {@code more} is the sign of what is cut off below the significand rounded to nearest. */
    void loadConstant(int se, long nearest, int more) {
        valueSe = se;
        value = nearest;
        int rounding = rounding();
        if (more > 0 && rounding == SoftFloat.UP) {
            value++;
        } else if (more < 0 && (rounding == SoftFloat.DOWN || rounding == SoftFloat.ZERO)) {
            value--;
        }
        push();
    }

    /** FST ST(i) and FSTP ST(i). */
    void storeRegister(int i, boolean pop) {
        if (isEmpty(0)) {
            stackFault(i, pop);
            return;
        }
        valueSe = signExponent[top];
        value = significand[top];
        store(i, pop);
    }

    /** The undocumented FSTP of D9 D8 to DF, which does not look at tags of an empty ST(0). */
    void storeRegisterQuietly(int i) {
        if (isEmpty(0)) {
            status &= ~C1;
            pop();
            return;
        }
        storeRegister(i, true);
    }

    /** FXCH. */
    void exchange(int i) {
        if (isEmpty(0) || isEmpty(i)) {
            underflow();
            if (!stopped()) {
                if (isEmpty(0)) {
                    put(0, INDEFINITE_SE, INDEFINITE);
                }
                if (isEmpty(i)) {
                    put(i, INDEFINITE_SE, INDEFINITE);
                }
                swap(i);
            }
        } else {
            swap(i);
        }
        settle();
    }

    private void swap(int i) {
        int p = physical(i);
        int se = signExponent[p];
        long m = significand[p];
        signExponent[p] = signExponent[top];
        significand[p] = significand[top];
        signExponent[top] = se;
        significand[top] = m;
    }

    /** FCMOVcc. */
    void conditionalMove(int i, boolean condition) {
        if (isEmpty(0) || isEmpty(i)) {
            stackFault(0, false);
            return;
        }
        if (condition) {
            int p = physical(i);
            signExponent[top] = signExponent[p];
            significand[top] = significand[p];
        }
    }

    /** FCHS and FABS. */
    void sign(boolean absolute) {
        if (isEmpty(0)) {
            stackFault(0, false);
            return;
        }
        signExponent[top] = absolute ? signExponent[top] & ~SIGN : signExponent[top] ^ SIGN;
        settle();
    }

    /** FFREE and the pop of FFREEP. */
    void free(int i, boolean pop) {
        empty |= 1 << physical(i);
        status &= ~C1;
        if (pop) {
            pop();
        }
    }

    /** FINCSTP and FDECSTP. */
    void rotate(int by) {
        top = top + by & 7;
        status &= ~C1;
    }

    // ---------------------------------------------------------------- stores to memory

    /** Takes over the flags of a {@code …Value} method and pops if the value was stored. */
    void commit(boolean stored, boolean pop) {
        settle();
        if (stored && pop) {
            pop();
        }
    }

    /** FST m32 or m64: the bits are in {@link #value}; false if nothing is to be stored. */
    boolean floatValue(boolean binary64) {
        int fractionBits = binary64 ? 52 : 23;
        int bias = binary64 ? 1023 : 127;
        long sign = 1L << (binary64 ? 63 : 31);
        long infinity = (long) (2 * bias + 1) << fractionBits;
        if (isEmpty(0)) {
            underflow();
            value = sign | infinity | 1L << (fractionBits - 1);
            return !stopped();
        }
        int se = signExponent[top];
        long m = significand[top];
        long s = (se & SIGN) != 0 ? sign : 0;
        if (isUnsupported(se, m)) {
            raised |= IE;
            value = sign | infinity | 1L << (fractionBits - 1);
            return !stopped();
        }
        if (isNan(se, m)) {
            if (isSignaling(se, m)) {
                raised |= IE;
            }
            value = s | infinity | (m | QUIET_BIT) << 1 >>> (64 - fractionBits);
            return !stopped();
        }
        if (isInfinite(se, m)) {
            value = s | infinity;
            return true;
        }
        if (m == 0) {
            value = s;
            return true;
        }
        soft.set(s != 0, exponent(se, m), normal(m));
        soft.round(fractionBits + 1, 1 - bias, rounding());
        if (soft.inexact) {
            raised |= PE;
        }
        up = soft.roundedUp;
        if (soft.exponent > bias) {
            if ((control & OE) == 0) {
                raised = raised & ~PE | OE;
                up = false;
                return false;
            }
            raised |= OE | PE;
            up = switch (rounding()) {
                case SoftFloat.NEAREST -> true;
                case SoftFloat.DOWN -> s != 0;
                case SoftFloat.UP -> s == 0;
                default -> false;
            };
            value = s | (up ? infinity : infinity - 1);
            return true;
        }
        if (soft.tiny) {
            if ((control & UE) == 0) {
                raised = raised & ~PE | UE;
                up = false;
                return false;
            }
            if (soft.inexact) {
                raised |= UE;
            }
        }
        long field = soft.hi < 0 ? soft.exponent + bias : 0;
        value = s | field << fractionBits | soft.hi << 1 >>> (64 - fractionBits);
        return true;
    }

    /** FSTP m80: {@link #value} and {@link #valueSe}; false if nothing is to be stored. */
    boolean extendedValue() {
        if (isEmpty(0)) {
            underflow();
            valueSe = INDEFINITE_SE;
            value = INDEFINITE;
            return !stopped();
        }
        valueSe = signExponent[top];
        value = significand[top];
        return true;
    }

    /** FIST and FISTTP: {@link #value} as a signed integer of so many bytes; false if nothing is to be stored. */
    boolean integerValue(int size, boolean truncate) {
        int bits = 8 * size - 1;
        long indefinite = -1L << bits;
        if (isEmpty(0)) {
            underflow();
            value = indefinite;
            return !stopped();
        }
        int se = signExponent[top];
        long m = significand[top];
        boolean negative = (se & SIGN) != 0;
        if ((se & EXPONENT) == EXPONENT || isUnsupported(se, m)) {
            raised |= IE;
            value = indefinite;
            return !stopped();
        }
        if (m == 0) {
            value = 0;
            return true;
        }
        soft.set(negative, exponent(se, m), normal(m));
        long whole = soft.roundToInteger(truncate ? SoftFloat.ZERO : rounding());
        long limit = negative ? 1L << bits : (1L << bits) - 1;
        if (soft.exponent > 63 || Long.compareUnsigned(whole, limit) > 0) {
            raised |= IE;
            value = indefinite;
            return !stopped();
        }
        if (soft.inexact) {
            raised |= PE;
            up = soft.roundedUp;
        }
        value = negative ? -whole : whole;
        return true;
    }

    /** FBSTP: the low 64 bits in {@link #value}, the upper 16 in {@link #valueSe}; false if nothing is to be stored. */
    boolean bcdValue() {
        valueSe = 0xffff;
        value = 0xc000_0000_0000_0000L;
        if (isEmpty(0)) {
            underflow();
            return !stopped();
        }
        int se = signExponent[top];
        long m = significand[top];
        boolean negative = (se & SIGN) != 0;
        if ((se & EXPONENT) == EXPONENT || isUnsupported(se, m)) {
            raised |= IE;
            return !stopped();
        }
        long whole = 0;
        if (m != 0) {
            soft.set(negative, exponent(se, m), normal(m));
            whole = soft.roundToInteger(rounding());
            if (soft.exponent > 63 || Long.compareUnsigned(whole, 999_999_999_999_999_999L) > 0) {
                raised |= IE;
                return !stopped();
            }
            if (soft.inexact) {
                raised |= PE;
                up = soft.roundedUp;
            }
        }
        long low = 0;
        for (int i = 0; i < 16; i++) {
            low |= whole % 10 << 4 * i;
            whole /= 10;
        }
        value = low;
        valueSe = (int) (whole / 10 << 4 | whole % 10) | (negative ? 0x8000 : 0);
        return true;
    }

    // ---------------------------------------------------------------- transcendental instructions

    /** F2XM1. */
    void exponential() {
        if (isEmpty(0)) {
            stackFault(0, false);
            return;
        }
        int se = signExponent[top];
        long m = significand[top];
        if (!special(se, m, se, m)) {
            if (m == 0) {
                valueSe = se;
                value = m;
            } else if (isInfinite(se, m)) {
                valueSe = (se & SIGN) != 0 ? SIGN | BIAS : se;
                value = m;
            } else {
                denormals(se, m, se, m);
                if (!stopped()) {
                    transcendental.exp2m1(soft, (se & SIGN) != 0, exponent(se, m), normal(m));
                    pack(64);
                    raised |= PE;
                }
            }
        }
        store(0, false);
    }

    /** FYL2X ({@code plusOne} false) and FYL2XP1: pops. */
    void logarithm(boolean plusOne) {
        if (isEmpty(0) || isEmpty(1)) {
            stackFault(1, true);
            return;
        }
        int xSe = signExponent[top];
        long x = significand[top];
        int p = physical(1);
        int ySe = signExponent[p];
        long y = significand[p];
        if (!special(xSe, x, ySe, y)) {
            if (plusOne) {
                logarithmPlusOne(xSe, x, ySe, y);
            } else {
                logarithm(xSe, x, ySe, y);
            }
        }
        store(1, true);
    }

    private void logarithm(int xSe, long x, int ySe, long y) {
        boolean xNegative = (xSe & SIGN) != 0;
        int ySign = ySe & SIGN;
        boolean yInfinite = isInfinite(ySe, y);
        if (x == 0) {
            if (y == 0) {
                invalid();
            } else if (yInfinite) {
                infinity(ySign ^ SIGN);
            } else {
                raised |= ZE;
                infinity(ySign ^ SIGN);
            }
            return;
        }
        if (xNegative) {
            invalid();
            return;
        }
        boolean one = xSe == BIAS && x == INTEGER_BIT;
        boolean less = (xSe & EXPONENT) < BIAS;
        if (isInfinite(xSe, x)) {
            if (y == 0) {
                invalid();
            } else {
                denormals(ySe, y, ySe, y);
                infinity(ySign);
            }
            return;
        }
        if (yInfinite) {
            if (one) {
                invalid();
            } else {
                denormals(xSe, x, xSe, x);
                infinity(less ? ySign ^ SIGN : ySign);
            }
            return;
        }
        denormals(xSe, x, ySe, y);
        if (stopped()) {
            return;
        }
        if (y == 0 || one) {
            valueSe = less ? ySign ^ SIGN : ySign;
            value = 0;
            return;
        }
        transcendental.log2(soft, exponent(xSe, x), normal(x), ySign != 0, exponent(ySe, y), normal(y));
        pack(64);
        raised |= PE;
    }

    private void infinity(int sign) {
        valueSe = sign | EXPONENT;
        value = INTEGER_BIT;
    }

    private void logarithmPlusOne(int xSe, long x, int ySe, long y) {
        int xSign = xSe & SIGN;
        int ySign = ySe & SIGN;
        boolean yInfinite = isInfinite(ySe, y);
        if (isInfinite(xSe, x)) {
            if (xSign != 0 || y == 0) {
                invalid();
            } else {
                denormals(ySe, y, ySe, y);
                infinity(ySign);
            }
            return;
        }
        if (yInfinite) {
            if (x == 0) {
                invalid();
            } else {
                denormals(xSe, x, xSe, x);
                infinity(ySign ^ xSign);
            }
            return;
        }
        denormals(xSe, x, ySe, y);
        if (stopped()) {
            return;
        }
        if (x == 0 || y == 0) {
            valueSe = ySign ^ xSign;
            value = 0;
            return;
        }
        if (xSign != 0 && (xSe & EXPONENT) >= BIAS) {
            // Outside the documented range; 1 + x is not positive. Real processors return the operand.
            valueSe = xSe;
            value = x;
            raised |= PE;
            return;
        }
        transcendental.log2p1(soft, xSign != 0, exponent(xSe, x), normal(x), ySign != 0, exponent(ySe, y), normal(y));
        pack(64);
        raised |= PE;
    }

    /** FPATAN: pops. */
    void arctangent() {
        if (isEmpty(0) || isEmpty(1)) {
            stackFault(1, true);
            return;
        }
        int xSe = signExponent[top];
        long x = significand[top];
        int p = physical(1);
        int ySe = signExponent[p];
        long y = significand[p];
        if (!special(xSe, x, ySe, y)) {
            denormals(xSe, x, ySe, y);
            if (!stopped()) {
                arctangent(xSe, x, ySe, y);
            }
        }
        store(1, true);
    }

    private void arctangent(int xSe, long x, int ySe, long y) {
        boolean xNegative = (xSe & SIGN) != 0;
        int ySign = ySe & SIGN;
        boolean xInfinite = isInfinite(xSe, x);
        boolean yInfinite = isInfinite(ySe, y);
        if (y == 0 && !xNegative || xInfinite && !yInfinite && !xNegative) {
            valueSe = ySign;
            value = 0;
            return;
        }
        if (yInfinite) {
            transcendental.pi(soft, ySign != 0, xInfinite ? (xNegative ? 3 : 1) : 2);
        } else if (xInfinite || y == 0) {
            transcendental.pi(soft, ySign != 0, 4);
        } else if (x == 0) {
            transcendental.pi(soft, ySign != 0, 2);
        } else {
            transcendental.atan2(soft, ySign != 0, exponent(ySe, y), normal(y), xNegative, exponent(xSe, x), normal(x));
        }
        pack(64);
        raised |= PE;
    }

    /** FSIN and FCOS. */
    void sine(boolean cosine) {
        if (isEmpty(0)) {
            status &= ~C2;
            stackFault(0, false);
            return;
        }
        int se = signExponent[top];
        long m = significand[top];
        boolean outOfRange = false;
        if (!special(se, m, se, m)) {
            if (isInfinite(se, m)) {
                invalid();
            } else if (m == 0) {
                valueSe = cosine ? BIAS : se;
                value = cosine ? INTEGER_BIT : 0;
            } else if ((se & EXPONENT) >= BIAS + 63) {
                outOfRange = true;
                valueSe = se;
                value = m;
            } else {
                denormals(se, m, se, m);
                if (!stopped()) {
                    sine(se, m, cosine);
                }
            }
        }
        status = status & ~C2 | (outOfRange ? C2 : 0);
        store(0, false);
    }

    private void sine(int se, long m, boolean cosine) {
        transcendental.reduce((se & SIGN) != 0, exponent(se, m), normal(m));
        if (cosine) {
            transcendental.cosine(soft);
        } else {
            transcendental.sine(soft);
        }
        pack(64);
        raised |= PE;
    }

    /** FPTAN and FSINCOS: push a second result. */
    void tangent(boolean sineAndCosine) {
        boolean full = !isEmpty(7);
        if (isEmpty(0) || full) {
            boolean overflow = full && !isEmpty(0);
            raised |= IE | SF;
            up = overflow;
            status &= ~C2;
            if (!stopped()) {
                put(0, INDEFINITE_SE, INDEFINITE);
                top = top - 1 & 7;
                put(0, INDEFINITE_SE, INDEFINITE);
            }
            settle();
            return;
        }
        int se = signExponent[top];
        long m = significand[top];
        int secondSe = BIAS;
        long second = INTEGER_BIT;
        if (special(se, m, se, m)) {
            secondSe = valueSe;
            second = value;
        } else if (isInfinite(se, m)) {
            invalid();
            secondSe = valueSe;
            second = value;
        } else if (m == 0) {
            valueSe = se;
            value = 0;
        } else if ((se & EXPONENT) >= BIAS + 63) {
            status |= C2;
            settle();
            return;
        } else {
            denormals(se, m, se, m);
            if (!stopped()) {
                if (sineAndCosine) {
                    sine(se, m, true);
                    secondSe = valueSe;
                    second = value;
                    sine(se, m, false);
                } else {
                    transcendental.reduce((se & SIGN) != 0, exponent(se, m), normal(m));
                    transcendental.tangent(soft);
                    pack(64);
                    raised |= PE;
                    up = false;
                }
            }
        }
        status &= ~C2;
        if (!stopped()) {
            put(0, valueSe, value);
            top = top - 1 & 7;
            put(0, secondSe, second);
        }
        settle();
    }

    // ---------------------------------------------------------------- MMX

    /** What every MMX instruction does besides its work: all registers valid, TOP 0. */
    public void enterMmx() {
        top = 0;
        empty = 0;
    }

    /** EMMS. */
    public void emms() {
        top = 0;
        empty = 0xff;
    }

    /** MMn. */
    public long mmx(int n) {
        return significand[n];
    }

    /** Sets MMn: the exponent becomes all ones. */
    public void mmx(int n, long v) {
        significand[n] = v;
        signExponent[n] = 0xffff;
    }
}
