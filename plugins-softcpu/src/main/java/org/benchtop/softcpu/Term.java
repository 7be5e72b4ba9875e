package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/** The end of a block: decides what comes next. */
abstract class Term {
    /**
     * Goes on.
     *
     * @return the next block; null if it has to be looked for at RIP, which is then set
     */
    abstract @Nullable Block next(Cpu c);

    /** Remembers a successor that {@link #next} asked for through {@link Cpu#wantsLink}. */
    void link(int slot, Block block) {}

    /** A remembered successor by its address. */
    @Nullable
    Block successor(long rip) {
        return null;
    }

    private static @Nullable Block ifAt(@Nullable Block link, long rip) {
        return link != null && link.rip == rip && link.valid ? link : null;
    }

    static final Term STALE = new Term() {
        @Override
        @Nullable
        Block next(Cpu c) {
            throw Op.StaleBlock.INSTANCE;
        }
    };

    /** Any instruction that ends a block. */
    static final class Generic extends Term {
        private final InsnHandler handler;
        private final Insn insn;
        private final long next;

        Generic(InsnHandler handler, Insn insn) {
            this.handler = handler;
            this.insn = insn;
            this.next = insn.next();
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            c.rip = next;
            // This is the instruction behind STI; STI itself sets it again.
            c.inhibit = false;
            handler.execute(c, insn);
            return c.cached(c.rip);
        }
    }

    /** A terminator with a callback. */
    static final class Hooked extends Term {
        private final long rip;
        private final Term term;

        Hooked(long rip, Term term) {
            this.rip = rip;
            this.term = term;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            c.vm.hooks().executes(c, rip);
            return term.next(c);
        }
    }

    /** An undefined opcode. */
    static final class Undefined extends Term {
        private final Insn insn;

        Undefined(Insn insn) {
            this.insn = insn;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            c.vcpu.undefined(insn);
            throw c.ud();
        }
    }

    /** Whether a block on the same page as its successor needs no look at the TLB. */
    static boolean near(long from, Block to) {
        return ((from ^ to.rip) & Cpu.PAGE_MASK) == 0 && to.secondHost == 0;
    }

    /** The block ends because it is long enough, or because the next instruction is on another page. */
    static final class Fall extends Term {
        private final long from;
        private final long target;
        private @Nullable Block link;

        Fall(long from, long target) {
            this.from = from;
            this.target = target;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            Block n = link;
            if (n != null && n.valid && (near(from, n) || c.maps(n))) {
                return n;
            }
            return c.wantsLink(this, 0, target);
        }

        @Override
        void link(int slot, Block block) {
            link = block;
        }

        @Override
        @Nullable
        Block successor(long rip) {
            return ifAt(link, rip);
        }
    }

    /** JMP near, direct. */
    static final class Jump extends Term {
        private final long from;
        private final long target;
        private @Nullable Block link;

        Jump(Insn in) {
            this.from = in.rip;
            this.target = in.next() + in.imm;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            Block n = link;
            if (n != null && n.valid && (near(from, n) || c.maps(n))) {
                return n;
            }
            return c.wantsLink(this, 0, target);
        }

        @Override
        void link(int slot, Block block) {
            link = block;
        }

        @Override
        @Nullable
        Block successor(long rip) {
            return ifAt(link, rip);
        }
    }

    /** CALL near, direct, in 64-bit mode. */
    static final class Call extends Term {
        private final long from;
        private final long target;
        private final long back;
        private @Nullable Block link;

        Call(Insn in) {
            this.from = in.rip;
            this.back = in.next();
            this.target = back + in.imm;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            long sp = c.r[Cpu.RSP] - 8;
            c.store64(sp, back);
            c.r[Cpu.RSP] = sp;
            Block n = link;
            if (n != null && n.valid && (near(from, n) || c.maps(n))) {
                return n;
            }
            return c.wantsLink(this, 0, target);
        }

        @Override
        void link(int slot, Block block) {
            link = block;
        }

        @Override
        @Nullable
        Block successor(long rip) {
            return ifAt(link, rip);
        }
    }

    /** RET in 64-bit mode. */
    static final class Return extends Term {
        private final int extra;

        Return(Insn in) {
            this.extra = 8 + (in.opcode == 0xc2 ? (int) in.imm & 0xffff : 0);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            long sp = c.r[Cpu.RSP];
            long target = c.load64(sp);
            if (!ControlFlow.canonical(c, target)) {
                throw c.gp();
            }
            c.r[Cpu.RSP] = sp + extra;
            return c.cached(target);
        }
    }

    /** JMP and CALL through a register or memory in 64-bit mode. */
    static final class Indirect extends Term {
        private final Insn insn;
        private final boolean call;
        private final long back;

        Indirect(Insn in) {
            this.insn = in;
            this.call = in.extension() == 2;
            this.back = in.next();
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            long target = insn.memory ? c.load64(c.address(insn, 8, false)) : c.r[insn.rm];
            if (!ControlFlow.canonical(c, target)) {
                throw c.gp();
            }
            if (call) {
                long sp = c.r[Cpu.RSP] - 8;
                c.store64(sp, back);
                c.r[Cpu.RSP] = sp;
            }
            return c.cached(target);
        }
    }

    /** Jcc. */
    static class Branch extends Term {
        final int cc;
        private final long from;
        private final long target;
        private final long next;
        private @Nullable Block taken;
        private @Nullable Block fallen;

        Branch(Insn in) {
            this.cc = in.opcode & 15;
            this.from = in.rip;
            this.next = in.next();
            this.target = next + in.imm;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            return go(c, Flags.condition(cc, c.ccKind, c.ccRes, c.ccA, c.ccB));
        }

        final @Nullable Block go(Cpu c, boolean condition) {
            if (condition) {
                Block n = taken;
                if (n != null && n.valid && (near(from, n) || c.maps(n))) {
                    return n;
                }
                return c.wantsLink(this, 0, target);
            }
            Block n = fallen;
            if (n != null && n.valid && (near(from, n) || c.maps(n))) {
                return n;
            }
            return c.wantsLink(this, 1, next);
        }

        @Override
        void link(int slot, Block block) {
            if (slot == 0) {
                taken = block;
            } else {
                fallen = block;
            }
        }

        @Override
        @Nullable
        Block successor(long rip) {
            return ifAt(rip == target ? taken : fallen, rip);
        }
    }

    /** JZ and JNZ. */
    static final class ZeroBranch extends Branch {
        ZeroBranch(Insn in) {
            super(in);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            boolean zero = c.ccKind == Flags.EXPLICIT ? (c.ccRes & Flags.ZF) != 0 : c.ccRes == 0;
            return go(c, zero != ((cc & 1) != 0));
        }
    }

    /** JC and JNC. */
    static final class CarryBranch extends Branch {
        CarryBranch(Insn in) {
            super(in);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            boolean carry = c.ccKind == Flags.SUB
                    ? Long.compareUnsigned(c.ccA, c.ccB) < 0
                    : Flags.cf(c.ccKind, c.ccRes, c.ccA, c.ccB);
            return go(c, carry != ((cc & 1) != 0));
        }
    }

    /** JBE and JA. */
    static final class BelowBranch extends Branch {
        BelowBranch(Insn in) {
            super(in);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            boolean below = c.ccKind == Flags.SUB
                    ? Long.compareUnsigned(c.ccA, c.ccB) <= 0
                    : Flags.condition(6, c.ccKind, c.ccRes, c.ccA, c.ccB);
            return go(c, below != ((cc & 1) != 0));
        }
    }

    /** JS and JNS. */
    static final class SignBranch extends Branch {
        SignBranch(Insn in) {
            super(in);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            boolean sign = c.ccKind == Flags.EXPLICIT ? (c.ccRes & Flags.SF) != 0 : c.ccRes < 0;
            return go(c, sign != ((cc & 1) != 0));
        }
    }

    /** JL and JGE. */
    static final class LessBranch extends Branch {
        LessBranch(Insn in) {
            super(in);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            boolean less = c.ccKind == Flags.SUB ? c.ccA < c.ccB : Flags.condition(12, c.ccKind, c.ccRes, c.ccA, c.ccB);
            return go(c, less != ((cc & 1) != 0));
        }
    }

    /** JLE and JG. */
    static final class LessEqualBranch extends Branch {
        LessEqualBranch(Insn in) {
            super(in);
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            boolean less =
                    c.ccKind == Flags.SUB ? c.ccA <= c.ccB : Flags.condition(14, c.ccKind, c.ccRes, c.ccA, c.ccB);
            return go(c, less != ((cc & 1) != 0));
        }
    }
}
