package org.benchtop.softcpu;

/**
 * Status flags, computed only when something looks at them. An instruction leaves its kind, result and operands; operands and
 * result are sign-extended from the operand size, which keeps unsigned and signed order (Intel SDM vol. 1, 3.4.3.1).
 */
final class Flags {
    static final int CF = 1;
    static final int PF = 1 << 2;
    static final int AF = 1 << 4;
    static final int ZF = 1 << 6;
    static final int SF = 1 << 7;
    static final int TF = 1 << 8;
    static final int IF = 1 << 9;
    static final int DF = 1 << 10;
    static final int OF = 1 << 11;
    static final int IOPL = 3 << 12;
    static final int NT = 1 << 14;
    static final int RF = 1 << 16;
    static final int VM = 1 << 17;
    static final int AC = 1 << 18;
    static final int VIF = 1 << 19;
    static final int VIP = 1 << 20;
    static final int ID = 1 << 21;
    static final int STATUS = CF | PF | AF | ZF | SF | OF;

    /** All six flags are in the result as RFLAGS has them. */
    static final int EXPLICIT = 0;
    /** CF = OF = 0. */
    static final int LOGIC = 1;
    /** a + b. */
    static final int ADD = 2;
    /** a - b. */
    static final int SUB = 3;
    /** a + 1; CF is in b. */
    static final int INC = 4;
    /** a - 1; CF is in b. */
    static final int DEC = 5;
    /** CF in b, OF in a (0 or 1 each). */
    static final int SHIFT = 6;
    /** a + b + 1. */
    static final int ADD_CARRY = 7;
    /** a - b - 1. */
    static final int SUB_BORROW = 8;

    private Flags() {}

    static boolean cf(int kind, long res, long a, long b) {
        return switch (kind) {
            case EXPLICIT -> (res & CF) != 0;
            case LOGIC -> false;
            case ADD -> Long.compareUnsigned(res, b) < 0;
            case SUB -> Long.compareUnsigned(a, b) < 0;
            case ADD_CARRY -> Long.compareUnsigned(res, b) <= 0;
            case SUB_BORROW -> Long.compareUnsigned(a, b) <= 0;
            default -> b != 0;
        };
    }

    static boolean of(int kind, long res, long a, long b) {
        return switch (kind) {
            case EXPLICIT -> (res & OF) != 0;
            case LOGIC -> false;
            case ADD, ADD_CARRY -> ((a ^ res) & (b ^ res)) < 0;
            case SUB, SUB_BORROW -> ((a ^ b) & (a ^ res)) < 0;
            case INC -> a >= 0 && res < 0;
            case DEC -> a < 0 && res >= 0;
            default -> a != 0;
        };
    }

    static boolean zf(int kind, long res) {
        return kind == EXPLICIT ? (res & ZF) != 0 : res == 0;
    }

    static boolean sf(int kind, long res) {
        return kind == EXPLICIT ? (res & SF) != 0 : res < 0;
    }

    static boolean pf(int kind, long res) {
        return kind == EXPLICIT ? (res & PF) != 0 : (Integer.bitCount((int) res & 0xff) & 1) == 0;
    }

    /** All six flags. */
    static int status(int kind, long res, long a, long b) {
        if (kind == EXPLICIT) {
            return (int) res & STATUS;
        }
        int flags = 0;
        if (cf(kind, res, a, b)) {
            flags |= CF;
        }
        if ((Integer.bitCount((int) res & 0xff) & 1) == 0) {
            flags |= PF;
        }
        switch (kind) {
            case ADD, SUB, ADD_CARRY, SUB_BORROW -> flags |= (int) (a ^ b ^ res) & AF;
            case INC, DEC -> flags |= (int) (a ^ 1 ^ res) & AF;
            default -> {
                // undefined, and zero on the processors that were compared
            }
        }
        if (res == 0) {
            flags |= ZF;
        }
        if (res < 0) {
            flags |= SF;
        }
        if (of(kind, res, a, b)) {
            flags |= OF;
        }
        return flags;
    }

    /** A condition of Jcc, SETcc and CMOVcc (Intel SDM vol. 1, appendix B). */
    static boolean condition(int cc, int kind, long res, long a, long b) {
        boolean value = switch (cc >> 1) {
            case 0 -> of(kind, res, a, b);
            case 1 -> cf(kind, res, a, b);
            case 2 -> zf(kind, res);
            case 3 -> zf(kind, res) || cf(kind, res, a, b);
            case 4 -> sf(kind, res);
            case 5 -> pf(kind, res);
            case 6 -> kind == SUB ? a < b : sf(kind, res) != of(kind, res, a, b);
            default -> kind == SUB ? a <= b : zf(kind, res) || sf(kind, res) != of(kind, res, a, b);
        };
        return value ^ (cc & 1) != 0;
    }
}
