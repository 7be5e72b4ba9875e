package org.benchtop.softcpu;

import java.util.List;
import java.util.Objects;

/** Turns decoded instructions into the steps of a block. */
final class Compiler {
    private Compiler() {}

    static Block block(Cpu c, long rip, int mode, long host, long second, List<Insn> list) {
        Insn[] insns = list.toArray(new Insn[0]);
        Insn last = insns[insns.length - 1];
        int straight = last.ends() ? insns.length - 1 : insns.length;
        Op[] ops = new Op[straight];
        for (int i = 0; i < straight; i++) {
            ops[i] = op(insns[i]);
        }
        Term term = last.ends() ? term(last) : new Term.Fall(last.rip, last.next());
        if (!c.vm.hooks().hooked(c.codeLinear(rip))) {
            return new Block(rip, mode, host, second, insns, ops, term);
        }
        if (ops.length > 0) {
            ops[0] = new Op.Hooked(rip, ops[0]);
        } else {
            term = new Term.Hooked(rip, term);
        }
        Block block = new Block(rip, mode, host, second, insns, ops, term);
        block.hooked = true;
        return block;
    }

    private static Op op(Insn in) {
        InsnHandler handler = Objects.requireNonNull(in.handler);
        Op fast = FastOps.of(in);
        return fast == null ? new Op.Generic(handler, in) : fast;
    }

    private static Term term(Insn in) {
        if (in.handler == null) {
            return new Term.Undefined(in);
        }
        if (in.codeSize == 8) {
            switch (in.map << 8 | in.opcode) {
                case 0xe9, 0xeb -> {
                    return new Term.Jump(in);
                }
                case 0xe8 -> {
                    return new Term.Call(in);
                }
                case 0xc2, 0xc3 -> {
                    return new Term.Return(in);
                }
                case 0xff -> {
                    if (in.extension() == 2 || in.extension() == 4) {
                        return new Term.Indirect(in);
                    }
                }
                default -> {
                    // below
                }
            }
            if (in.map == 0 && in.opcode >= 0x70 && in.opcode < 0x80
                    || in.map == 1 && in.opcode >= 0x80 && in.opcode < 0x90) {
                return branch(in);
            }
        }
        return new Term.Generic(in.handler, in);
    }

    private static Term branch(Insn in) {
        return switch ((in.opcode & 15) >> 1) {
            case 1 -> new Term.CarryBranch(in);
            case 2 -> new Term.ZeroBranch(in);
            case 3 -> new Term.BelowBranch(in);
            case 4 -> new Term.SignBranch(in);
            case 6 -> new Term.LessBranch(in);
            case 7 -> new Term.LessEqualBranch(in);
            default -> new Term.Branch(in);
        };
    }
}
