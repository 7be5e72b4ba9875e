package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/** More steps like those of {@link FastOps}: instructions of registers that read flags, and multiplication. */
final class ConditionOps {
    private ConditionOps() {}

    /** ADC and SBB of a register with a register or an immediate, 32 and 64 bits. */
    private static final class Carry extends Op {
        private final boolean wide;
        private final boolean borrow;
        private final int to;
        /** The other register; {@link Insn#NO_REGISTER}, which is zero, with an immediate. */
        private final int from;

        private final long immediate;

        Carry(Insn in, int operation, int to, int from, long immediate) {
            this.wide = in.size == 8;
            this.borrow = operation == Alu.SBB;
            this.to = to;
            this.from = from;
            this.immediate = immediate;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = wide ? r[to] : (int) r[to];
            long b = wide ? r[from] + immediate : (int) (r[from] + immediate);
            boolean carry = Flags.cf(c.ccKind, c.ccRes, c.ccA, c.ccB);
            long x;
            if (borrow) {
                x = a - b - (carry ? 1 : 0);
                c.ccKind = carry ? Flags.SUB_BORROW : Flags.SUB;
            } else {
                x = a + b + (carry ? 1 : 0);
                c.ccKind = carry ? Flags.ADD_CARRY : Flags.ADD;
            }
            r[to] = wide ? x : x & 0xffff_ffffL;
            c.ccRes = wide ? x : (int) x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    /** SETcc of a low byte register. */
    private static final class Set extends Op {
        private final int cc;
        private final int to;

        Set(Insn in) {
            this.cc = in.opcode & 15;
            this.to = in.rm;
        }

        @Override
        void run(Cpu c) {
            boolean holds = Flags.condition(cc, c.ccKind, c.ccRes, c.ccA, c.ccB);
            c.r[to] = c.r[to] & ~0xffL | (holds ? 1 : 0);
        }
    }

    /** SETZ and SETNZ of a low byte register. */
    private static final class SetZero extends Op {
        private final boolean negated;
        private final int to;

        SetZero(Insn in) {
            this.negated = (in.opcode & 1) != 0;
            this.to = in.rm;
        }

        @Override
        void run(Cpu c) {
            boolean zero = c.ccKind == Flags.EXPLICIT ? (c.ccRes & Flags.ZF) != 0 : c.ccRes == 0;
            c.r[to] = c.r[to] & ~0xffL | (zero != negated ? 1 : 0);
        }
    }

    /** CMOVcc of registers, 32 and 64 bits. */
    private static final class Move extends Op {
        private final int cc;
        private final boolean wide;
        private final int to;
        private final int from;

        Move(Insn in) {
            this.cc = in.opcode & 15;
            this.wide = in.operandSize == 8;
            this.to = in.reg;
            this.from = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long value = r[Flags.condition(cc, c.ccKind, c.ccRes, c.ccA, c.ccB) ? from : to];
            r[to] = wide ? value : value & 0xffff_ffffL;
        }
    }

    /** IMUL of registers, 64 bits. */
    private static final class Multiply64 extends Op {
        private final int to;
        private final int from;

        Multiply64(Insn in) {
            this.to = in.reg;
            this.from = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a * b;
            int overflow = Math.multiplyHigh(a, b) == x >> 63 ? 0 : 1;
            r[to] = x;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = overflow;
            c.ccB = overflow;
        }
    }

    /** IMUL of registers, or of a register and an immediate, 32 bits. */
    private static final class Multiply32 extends Op {
        private final int to;
        private final int from;
        private final int other;
        private final int immediate;

        Multiply32(Insn in, boolean byImmediate) {
            this.to = in.reg;
            this.from = in.rm;
            this.other = byImmediate ? Insn.NO_REGISTER : in.reg;
            this.immediate = byImmediate ? (int) in.imm : 0;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long product = (long) (int) r[from] * ((int) r[other] + immediate);
            int x = (int) product;
            int overflow = product == x ? 0 : 1;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = overflow;
            c.ccB = overflow;
        }
    }

    /** A step for an instruction that {@link FastOps#of} has found suitable; null if there is none. */
    static @Nullable Op of(Insn in) {
        if (in.memory) {
            return null;
        }
        int opcode = in.opcode;
        if (in.map == 1) {
            if (opcode >= 0x40 && opcode < 0x50) {
                return new Move(in);
            }
            if (opcode >= 0x90 && opcode < 0xa0) {
                return opcode >> 1 == 0x94 >> 1 ? new SetZero(in) : new Set(in);
            }
            if (opcode == 0xaf) {
                return in.operandSize == 8 ? new Multiply64(in) : new Multiply32(in, false);
            }
            return null;
        }
        if ((opcode == 0x69 || opcode == 0x6b) && in.size == 4) {
            return new Multiply32(in, true);
        }
        return in.size >= 4 ? carry(in) : null;
    }

    private static @Nullable Op carry(Insn in) {
        int opcode = in.opcode;
        boolean group = opcode == 0x81 || opcode == 0x83;
        if (!group && opcode >= 0x40) {
            return null;
        }
        int operation = group ? in.extension() : opcode >> 3;
        if (operation != Alu.ADC && operation != Alu.SBB) {
            return null;
        }
        if (group) {
            return new Carry(in, operation, in.rm, Insn.NO_REGISTER, in.imm);
        }
        return switch (opcode & 7) {
            case 1 -> new Carry(in, operation, in.rm, in.reg, 0);
            case 3 -> new Carry(in, operation, in.reg, in.rm, 0);
            case 5 -> new Carry(in, operation, Cpu.RAX, Insn.NO_REGISTER, in.imm);
            default -> null;
        };
    }
}
