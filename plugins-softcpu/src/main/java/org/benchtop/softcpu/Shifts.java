package org.benchtop.softcpu;

/** Shifts and rotates (Intel SDM vol. 2). */
final class Shifts {
    private Shifts() {}

    static void byImmediate(Cpu c, Insn in) {
        shift(c, in, (int) in.imm);
    }

    static void byOne(Cpu c, Insn in) {
        shift(c, in, 1);
    }

    static void byCl(Cpu c, Insn in) {
        shift(c, in, (int) c.r[Cpu.RCX]);
    }

    private static void shift(Cpu c, Insn in, int rawCount) {
        int size = in.size;
        int count = rawCount & (size == 8 ? 63 : 31);
        long address = 0;
        long value;
        if (in.memory) {
            address = c.address(in, size, true);
            value = c.loadForWrite(address, size);
        } else {
            value = c.get(in.rm, size);
        }
        if (count == 0) {
            if (!in.memory && size == 4) {
                c.r[in.rm] = value;
            }
            return;
        }
        int width = 8 * size;
        long result = switch (in.extension()) {
            case 0 -> rotateLeft(c, value, count, width);
            case 1 -> rotateRight(c, value, count, width);
            case 2 -> rotateCarryLeft(c, value, count, width);
            case 3 -> rotateCarryRight(c, value, count, width);
            case 5 -> shiftRight(c, value, count, size);
            case 7 -> shiftArithmetic(c, value, count, size);
            default -> shiftLeft(c, value, count, size);
        };
        if (in.memory) {
            c.store(address, size, result);
        } else {
            c.set(in.rm, size, result);
        }
    }

    private static void carryAndOverflow(Cpu c, long carry, long overflow) {
        int keep = c.status() & ~(Flags.CF | Flags.OF);
        c.setStatus(keep | (carry != 0 ? Flags.CF : 0) | (overflow != 0 ? Flags.OF : 0));
    }

    private static long rotateLeft(Cpu c, long value, int count, int width) {
        int n = count & width - 1;
        long result = n == 0 ? value : (value << n | value >>> width - n) & Cpu.mask(width / 8);
        long carry = result & 1;
        carryAndOverflow(c, carry, result >>> width - 1 & 1 ^ carry);
        return result;
    }

    private static long rotateRight(Cpu c, long value, int count, int width) {
        int n = count & width - 1;
        long result = n == 0 ? value : (value >>> n | value << width - n) & Cpu.mask(width / 8);
        long top = result >>> width - 1 & 1;
        carryAndOverflow(c, top, top ^ result >>> width - 2 & 1);
        return result;
    }

    private static long rotateCarryLeft(Cpu c, long value, int count, int width) {
        int n = width < 32 ? count % (width + 1) : count;
        long carry = c.cf() ? 1 : 0;
        if (n == 0) {
            // OF of a count that is a multiple of the width plus one is undefined.
            carryAndOverflow(c, carry, value >>> width - 1 & 1 ^ carry);
            return value;
        }
        long result = n == width ? 0 : value << n;
        result |= carry << n - 1;
        if (n > 1) {
            result |= value >>> width + 1 - n;
        }
        long out = value >>> width - n & 1;
        result &= Cpu.mask(width / 8);
        carryAndOverflow(c, out, result >>> width - 1 & 1 ^ out);
        return result;
    }

    private static long rotateCarryRight(Cpu c, long value, int count, int width) {
        int n = width < 32 ? count % (width + 1) : count;
        long carry = c.cf() ? 1 : 0;
        if (n == 0) {
            carryAndOverflow(c, carry, (value >>> width - 1 ^ value >>> width - 2) & 1);
            return value;
        }
        long result = n == width ? 0 : value >>> n;
        result |= carry << width - n;
        if (n > 1) {
            result |= value << width + 1 - n;
        }
        long out = value >>> n - 1 & 1;
        result &= Cpu.mask(width / 8);
        carryAndOverflow(c, out, (result >>> width - 1 ^ result >>> width - 2) & 1);
        return result;
    }

    private static long shiftLeft(Cpu c, long value, int count, int size) {
        int width = 8 * size;
        long result = Cpu.signExtend(value << count, size);
        long carry = count <= width ? value >>> width - count & 1 : 0;
        Alu.set(c, Flags.SHIFT, result, (result >>> 63) ^ carry, carry);
        return result;
    }

    private static long shiftRight(Cpu c, long value, int count, int size) {
        long result = value >>> count;
        long carry = value >>> count - 1 & 1;
        // OF of a shift by one is the old top bit; of others undefined.
        Alu.set(c, Flags.SHIFT, Cpu.signExtend(result, size), value >>> 8 * size - 1 & 1, carry);
        return result;
    }

    private static long shiftArithmetic(Cpu c, long value, int count, int size) {
        long signed = Cpu.signExtend(value, size);
        long result = signed >> count;
        Alu.set(c, Flags.SHIFT, result, 0, signed >> count - 1 & 1);
        return result;
    }

    static void shld(Cpu c, Insn in) {
        doubleShift(c, in, true);
    }

    static void shrd(Cpu c, Insn in) {
        doubleShift(c, in, false);
    }

    private static void doubleShift(Cpu c, Insn in, boolean left) {
        int size = in.operandSize;
        int width = 8 * size;
        int count = (int) ((in.opcode & 1) == 0 ? in.imm : c.r[Cpu.RCX]) & (size == 8 ? 63 : 31);
        long address = 0;
        long value;
        if (in.memory) {
            address = c.address(in, size, true);
            value = c.loadForWrite(address, size);
        } else {
            value = c.get(in.rm, size);
        }
        if (count == 0) {
            if (!in.memory && size == 4) {
                c.r[in.rm] = value;
            }
            return;
        }
        long fill = c.get(in.reg, size);
        long result;
        long carry;
        if (size == 2) {
            // Counts above 16 are undefined; processors shift through the operand and the register again.
            long joined = left ? value << 32 | fill << 16 | value : value | fill << 16 | value << 32;
            if (left) {
                result = joined >>> 32 - count & 0xffff;
                carry = joined >>> 48 - count & 1;
            } else {
                result = joined >>> count & 0xffff;
                carry = joined >>> count - 1 & 1;
            }
        } else if (left) {
            result = value << count | fill >>> width - count;
            carry = value >>> width - count & 1;
        } else {
            result = value >>> count | fill << width - count;
            carry = value >>> count - 1 & 1;
        }
        result = Cpu.signExtend(result, size);
        long overflow = (result >>> 63) ^ (value >>> width - 1 & 1);
        Alu.set(c, Flags.SHIFT, result, overflow, carry);
        if (in.memory) {
            c.store(address, size, result);
        } else {
            c.set(in.rm, size, result);
        }
    }
}
