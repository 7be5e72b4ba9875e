package org.benchtop.softcpu;

/**
 * Read-modify-write operations: the eight of the basic ALU group by their encoding, and others that may be locked. {@link
 * #apply} computes the new value alone; {@link #flags} computes result and flags from the old value, so that a locked
 * operation is a compare-and-set loop around the former.
 */
final class Alu {
    static final int ADD = 0;
    static final int OR = 1;
    static final int ADC = 2;
    static final int SBB = 3;
    static final int AND = 4;
    static final int SUB = 5;
    static final int XOR = 6;
    static final int CMP = 7;
    static final int XCHG = 8;
    static final int NOT = 9;
    static final int NEG = 10;
    static final int INC = 11;
    static final int DEC = 12;
    /** AND with the complement. */
    static final int CLEAR = 13;

    private Alu() {}

    static long apply(int op, long a, long b, long carry) {
        return switch (op) {
            case ADD -> a + b;
            case OR -> a | b;
            case ADC -> a + b + carry;
            case SBB -> a - b - carry;
            case AND -> a & b;
            case SUB -> a - b;
            case XOR -> a ^ b;
            case XCHG -> b;
            case NOT -> ~a;
            case NEG -> -a;
            case INC -> a + 1;
            case DEC -> a - 1;
            case CLEAR -> a & ~b;
            default -> a;
        };
    }

    /** Sets flags and returns the result, sign-extended. */
    static long flags(Cpu c, int op, int size, long first, long second) {
        long a = Cpu.signExtend(first, size);
        long b = Cpu.signExtend(second, size);
        long x;
        switch (op) {
            case ADD -> {
                x = Cpu.signExtend(a + b, size);
                set(c, Flags.ADD, x, a, b);
            }
            case ADC -> {
                boolean carry = c.cf();
                x = Cpu.signExtend(a + b + (carry ? 1 : 0), size);
                set(c, carry ? Flags.ADD_CARRY : Flags.ADD, x, a, b);
            }
            case SBB -> {
                boolean carry = c.cf();
                x = Cpu.signExtend(a - b - (carry ? 1 : 0), size);
                set(c, carry ? Flags.SUB_BORROW : Flags.SUB, x, a, b);
            }
            case SUB, CMP -> {
                x = Cpu.signExtend(a - b, size);
                set(c, Flags.SUB, x, a, b);
            }
            case NEG -> {
                x = Cpu.signExtend(-a, size);
                set(c, Flags.SUB, x, 0, a);
            }
            case INC -> {
                long carry = c.cf() ? 1 : 0;
                x = Cpu.signExtend(a + 1, size);
                set(c, Flags.INC, x, a, carry);
            }
            case DEC -> {
                long carry = c.cf() ? 1 : 0;
                x = Cpu.signExtend(a - 1, size);
                set(c, Flags.DEC, x, a, carry);
            }
            case OR -> {
                x = a | b;
                c.logic(x);
            }
            case AND -> {
                x = a & b;
                c.logic(x);
            }
            case XOR -> {
                x = a ^ b;
                c.logic(x);
            }
            default -> x = apply(op, a, b, 0);
        }
        return x;
    }

    static void set(Cpu c, int kind, long result, long a, long b) {
        c.ccKind = kind;
        c.ccRes = result;
        c.ccA = a;
        c.ccB = b;
    }

    /**
     * Changes memory and returns the old value, zero-extended; atomically against all processors and devices when {@code
     * lock}.
     */
    static long memory(Cpu c, int op, int size, long address, long b, boolean lock) {
        long carry = op == ADC || op == SBB ? (c.cf() ? 1 : 0) : 0;
        if (!lock) {
            long old = c.loadForWrite(address, size);
            c.store(address, size, apply(op, old, b, carry));
            return old;
        }
        long host = c.mmu.hostForWrite(address, size);
        if (host == 0 || (host & 7) + size > 8) {
            return c.vm.exclusively(c, () -> {
                long old = c.loadForWrite(address, size);
                c.store(address, size, apply(op, old, b, carry));
                return old;
            });
        }
        while (true) {
            long old = HostMemory.get(host, size);
            if (HostMemory.compareAndSet(host, size, old, apply(op, old, b, carry))) {
                c.mmu.wrote(host, size);
                return old;
            }
        }
    }
}
