package org.benchtop.softcpu;

/** Integer arithmetic and logic (Intel SDM vol. 2). */
final class Arithmetic {
    private Arithmetic() {}

    /** {@code op r/m, reg}. */
    static InsnHandler rmReg(int op) {
        return (c, in) -> binary(c, in, op, c.get(in.reg, in.size));
    }

    private static void binary(Cpu c, Insn in, int op, long b) {
        int size = in.size;
        if (!in.memory) {
            long x = Alu.flags(c, op, size, c.get(in.rm, size), b);
            if (op != Alu.CMP) {
                c.set(in.rm, size, x);
            }
            return;
        }
        if (op == Alu.CMP) {
            Alu.flags(c, op, size, c.load(c.address(in, size, false), size), b);
            return;
        }
        long old = Alu.memory(c, op, size, c.address(in, size, true), b, in.lock);
        Alu.flags(c, op, size, old, b);
    }

    /** {@code op reg, r/m}. */
    static InsnHandler regRm(int op) {
        return (c, in) -> {
            int size = in.size;
            long b = c.readRm(in, size);
            long x = Alu.flags(c, op, size, c.get(in.reg, size), b);
            if (op != Alu.CMP) {
                c.set(in.reg, size, x);
            }
        };
    }

    /** {@code op accumulator, immediate}. */
    static InsnHandler accImm(int op) {
        return (c, in) -> {
            long x = Alu.flags(c, op, in.size, c.get(Cpu.RAX, in.size), in.imm);
            if (op != Alu.CMP) {
                c.set(Cpu.RAX, in.size, x);
            }
        };
    }

    static void group1(Cpu c, Insn in) {
        binary(c, in, in.extension(), in.imm);
    }

    static void test(Cpu c, Insn in) {
        c.logic(Cpu.signExtend(c.readRm(in, in.size) & c.get(in.reg, in.size), in.size));
    }

    static void testAccumulator(Cpu c, Insn in) {
        c.logic(Cpu.signExtend(c.get(Cpu.RAX, in.size) & in.imm, in.size));
    }

    private static void unary(Cpu c, Insn in, int op) {
        int size = in.size;
        if (in.memory) {
            long old = Alu.memory(c, op, size, c.address(in, size, true), 0, in.lock);
            Alu.flags(c, op, size, old, 0);
        } else {
            c.set(in.rm, size, Alu.flags(c, op, size, c.get(in.rm, size), 0));
        }
    }

    static void incRegister(Cpu c, Insn in) {
        c.set(in.rm, in.size, Alu.flags(c, Alu.INC, in.size, c.get(in.rm, in.size), 0));
    }

    static void decRegister(Cpu c, Insn in) {
        c.set(in.rm, in.size, Alu.flags(c, Alu.DEC, in.size, c.get(in.rm, in.size), 0));
    }

    static void group4(Cpu c, Insn in) {
        switch (in.extension()) {
            case 0 -> unary(c, in, Alu.INC);
            case 1 -> unary(c, in, Alu.DEC);
            default -> throw c.ud();
        }
    }

    static void group3(Cpu c, Insn in) {
        switch (in.extension()) {
            case 0, 1 -> c.logic(Cpu.signExtend(c.readRm(in, in.size) & in.imm, in.size));
            case 2 -> unary(c, in, Alu.NOT);
            case 3 -> unary(c, in, Alu.NEG);
            case 4 -> multiply(c, in.size, c.readRm(in, in.size), false);
            case 5 -> multiply(c, in.size, c.readRm(in, in.size), true);
            case 6 -> divide(c, in.size, c.readRm(in, in.size));
            default -> divideSigned(c, in.size, c.readRm(in, in.size));
        }
    }

    private static void multiplied(Cpu c, long low, boolean overflow, int size) {
        // SF, ZF, AF and PF are undefined: of the low half here.
        Alu.set(c, Flags.SHIFT, Cpu.signExtend(low, size), overflow ? 1 : 0, overflow ? 1 : 0);
    }

    private static void multiply(Cpu c, int size, long b, boolean signed) {
        if (size == 8) {
            long a = c.r[Cpu.RAX];
            long low = a * b;
            long high = signed ? Math.multiplyHigh(a, b) : Math.unsignedMultiplyHigh(a, b);
            c.r[Cpu.RAX] = low;
            c.r[Cpu.RDX] = high;
            multiplied(c, low, high != (signed ? low >> 63 : 0), 8);
            return;
        }
        long product = signed
                ? Cpu.signExtend(c.get(Cpu.RAX, size), size) * Cpu.signExtend(b, size)
                : c.get(Cpu.RAX, size) * b;
        boolean overflow = signed ? product != Cpu.signExtend(product, size) : product >>> 8 * size != 0;
        if (size == 1) {
            c.set(Cpu.RAX, 2, product);
        } else {
            c.set(Cpu.RAX, size, product);
            c.set(Cpu.RDX, size, product >>> 8 * size);
        }
        multiplied(c, product, overflow, size);
    }

    private static void imul(Cpu c, Insn in, long a, long b) {
        int size = in.size;
        long x = Cpu.signExtend(a, size);
        long y = Cpu.signExtend(b, size);
        long product = x * y;
        boolean overflow =
                size == 8 ? Math.multiplyHigh(x, y) != product >> 63 : product != Cpu.signExtend(product, size);
        c.set(in.reg, size, product);
        multiplied(c, product, overflow, size);
    }

    static void imul2(Cpu c, Insn in) {
        long b = c.readRm(in, in.size);
        imul(c, in, c.get(in.reg, in.size), b);
    }

    static void imul3(Cpu c, Insn in) {
        imul(c, in, c.readRm(in, in.size), in.imm);
    }

    private static CpuFault divideError(Cpu c) {
        return c.fault(CpuFault.DE);
    }

    private static void divide(Cpu c, int size, long b) {
        if (b == 0) {
            throw divideError(c);
        }
        if (size == 8) {
            long high = c.r[Cpu.RDX];
            long low = c.r[Cpu.RAX];
            if (Long.compareUnsigned(high, b) >= 0) {
                throw divideError(c);
            }
            long quotient = high == 0 ? Long.divideUnsigned(low, b) : Wide.quotient(high, low, b);
            c.r[Cpu.RAX] = quotient;
            c.r[Cpu.RDX] = low - quotient * b;
            return;
        }
        if (size == 1) {
            int a = (int) c.get(Cpu.RAX, 2);
            int q = a / (int) b;
            if (q > 0xff) {
                throw divideError(c);
            }
            c.set(Cpu.RAX, 2, q | (long) (a % (int) b) << 8);
            return;
        }
        long a = c.get(Cpu.RDX, size) << 8 * size | c.get(Cpu.RAX, size);
        long q = Long.divideUnsigned(a, b);
        if (Long.compareUnsigned(q, Cpu.mask(size)) > 0) {
            throw divideError(c);
        }
        c.set(Cpu.RAX, size, q);
        c.set(Cpu.RDX, size, a - q * b);
    }

    private static void divideSigned(Cpu c, int size, long operand) {
        long b = Cpu.signExtend(operand, size);
        if (b == 0) {
            throw divideError(c);
        }
        if (size == 8) {
            divideSigned64(c, b);
            return;
        }
        if (size == 1) {
            int a = (short) c.r[Cpu.RAX];
            int q = a / (int) b;
            if (q != (byte) q) {
                throw divideError(c);
            }
            c.set(Cpu.RAX, 2, q & 0xff | (long) (a % (int) b & 0xff) << 8);
            return;
        }
        long a = size == 4
                ? c.r[Cpu.RDX] << 32 | c.r[Cpu.RAX] & 0xffff_ffffL
                : (int) ((c.r[Cpu.RDX] & 0xffff) << 16 | c.r[Cpu.RAX] & 0xffff);
        if (a == Long.MIN_VALUE && b == -1) {
            throw divideError(c);
        }
        long q = a / b;
        if (q != Cpu.signExtend(q, size)) {
            throw divideError(c);
        }
        c.set(Cpu.RAX, size, q);
        c.set(Cpu.RDX, size, a % b);
    }

    private static void divideSigned64(Cpu c, long b) {
        long high = c.r[Cpu.RDX];
        long low = c.r[Cpu.RAX];
        if (high == low >> 63) {
            if (low == Long.MIN_VALUE && b == -1) {
                throw divideError(c);
            }
            c.r[Cpu.RAX] = low / b;
            c.r[Cpu.RDX] = low % b;
            return;
        }
        boolean negative = high < 0;
        if (negative) {
            low = -low;
            high = ~high + (low == 0 ? 1 : 0);
        }
        long divisor = Math.abs(b);
        if (Long.compareUnsigned(high, divisor) >= 0) {
            throw divideError(c);
        }
        long q = Wide.quotient(high, low, divisor);
        long remainder = low - q * divisor;
        boolean negativeQuotient = negative != b < 0;
        if (negativeQuotient ? Long.compareUnsigned(q, Long.MIN_VALUE) > 0 : q < 0) {
            throw divideError(c);
        }
        c.r[Cpu.RAX] = negativeQuotient ? -q : q;
        c.r[Cpu.RDX] = negative ? -remainder : remainder;
    }

    /** CBW, CWDE, CDQE. */
    static void convert(Cpu c, Insn in) {
        int size = in.operandSize;
        c.set(Cpu.RAX, size, Cpu.signExtend(c.r[Cpu.RAX], size / 2));
    }

    /** CWD, CDQ, CQO. */
    static void convertDouble(Cpu c, Insn in) {
        int size = in.operandSize;
        c.set(Cpu.RDX, size, Cpu.signExtend(c.r[Cpu.RAX], size) >> 63);
    }
}
