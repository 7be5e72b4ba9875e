package org.benchtop.softcpu;

/** Data movement (Intel SDM vol. 2). */
final class Moves {
    private Moves() {}

    static void nop(Cpu c, Insn in) {
        // nothing to do
    }

    static void load(Cpu c, Insn in) {
        c.set(in.reg, in.size, c.readRm(in, in.size));
    }

    static void store(Cpu c, Insn in) {
        c.writeRm(in, in.size, c.get(in.reg, in.size));
    }

    static void storeImmediate(Cpu c, Insn in) {
        if (in.extension() != 0) {
            throw c.ud();
        }
        c.writeRm(in, in.size, in.imm);
    }

    static void registerImmediate(Cpu c, Insn in) {
        c.set(in.rm, in.size, in.imm);
    }

    static void loadAccumulator(Cpu c, Insn in) {
        c.set(Cpu.RAX, in.size, c.load(c.address(in, in.size, false), in.size));
    }

    static void storeAccumulator(Cpu c, Insn in) {
        c.store(c.address(in, in.size, true), in.size, c.get(Cpu.RAX, in.size));
    }

    static void lea(Cpu c, Insn in) {
        if (!in.memory) {
            throw c.ud();
        }
        c.set(in.reg, in.operandSize, c.offset(in));
    }

    static void movzx8(Cpu c, Insn in) {
        c.set(in.reg, in.operandSize, c.readRm(in, 1));
    }

    static void movzx16(Cpu c, Insn in) {
        c.set(in.reg, in.operandSize, c.readRm(in, 2));
    }

    static void movsx8(Cpu c, Insn in) {
        c.set(in.reg, in.operandSize, (byte) c.readRm(in, 1));
    }

    static void movsx16(Cpu c, Insn in) {
        c.set(in.reg, in.operandSize, (short) c.readRm(in, 2));
    }

    static void movsxdOrArpl(Cpu c, Insn in) {
        if (in.codeSize == 8) {
            if (in.operandSize == 2) {
                c.set(in.reg, 2, c.readRm(in, 2));
            } else {
                c.set(in.reg, in.operandSize, (int) c.readRm(in, 4));
            }
            return;
        }
        if (!c.segmentedProtection()) {
            throw c.ud();
        }
        long address = in.memory ? c.address(in, 2, true) : 0;
        int destination = (int) (in.memory ? c.loadForWrite(address, 2) : c.get(in.rm, 2));
        int rpl = (int) c.get(in.reg, 2) & 3;
        boolean adjust = (destination & 3) < rpl;
        if (adjust) {
            int adjusted = destination & ~3 | rpl;
            if (in.memory) {
                c.store16(address, adjusted);
            } else {
                c.set(in.rm, 2, adjusted);
            }
        }
        c.setStatus(c.status() & ~Flags.ZF | (adjust ? Flags.ZF : 0));
    }

    static void cmov(Cpu c, Insn in) {
        long value = c.readRm(in, in.operandSize);
        if (c.condition(in.opcode & 15)) {
            c.set(in.reg, in.operandSize, value);
        } else if (in.operandSize == 4) {
            c.r[in.reg] &= 0xffff_ffffL;
        }
    }

    static void xchg(Cpu c, Insn in) {
        int size = in.size;
        if (!in.memory) {
            long value = c.get(in.rm, size);
            c.set(in.rm, size, c.get(in.reg, size));
            c.set(in.reg, size, value);
            return;
        }
        long old = Alu.memory(c, Alu.XCHG, size, c.address(in, size, true), c.get(in.reg, size), true);
        c.set(in.reg, size, old);
    }

    static void xchgAccumulator(Cpu c, Insn in) {
        int size = in.size;
        long value = c.get(in.rm, size);
        c.set(in.rm, size, c.get(Cpu.RAX, size));
        c.set(Cpu.RAX, size, value);
    }

    static void pushRegister(Cpu c, Insn in) {
        c.push(c.get(in.rm, in.operandSize), in.operandSize);
    }

    static void popRegister(Cpu c, Insn in) {
        long value = c.pop(in.operandSize);
        c.set(in.rm, in.operandSize, value);
    }

    static void pushImmediate(Cpu c, Insn in) {
        c.push(in.imm, in.operandSize);
    }

    static void popRm(Cpu c, Insn in) {
        if (in.extension() != 0) {
            throw c.ud();
        }
        int size = in.operandSize;
        long value = c.top(size);
        if (!in.memory) {
            c.stackPointer(c.r[Cpu.RSP] + size);
            c.set(in.rm, size, value);
            return;
        }
        // The address is computed with the stack pointer after the pop.
        long sp = c.r[Cpu.RSP];
        c.stackPointer(sp + size);
        long popped = c.r[Cpu.RSP];
        try {
            c.writeRm(in, size, value);
        } catch (CpuFault fault) {
            c.r[Cpu.RSP] = sp;
            throw fault;
        }
        c.r[Cpu.RSP] = popped;
    }

    static void pusha(Cpu c, Insn in) {
        int size = in.operandSize;
        long sp = c.r[Cpu.RSP];
        c.checkWrite(c.linear(Cpu.SS, sp - 8L * size & c.stackMask, size, true), size);
        for (int i = 0; i < 8; i++) {
            long at = sp - (i + 1L) * size & c.stackMask;
            c.store(c.linear(Cpu.SS, at, size, true), size, i == Cpu.RSP ? sp : c.r[i]);
        }
        c.stackPointer(sp - 8L * size);
    }

    static void popa(Cpu c, Insn in) {
        int size = in.operandSize;
        long sp = c.r[Cpu.RSP];
        c.checkRead(c.linear(Cpu.SS, sp + 7L * size & c.stackMask, size, false), size);
        for (int i = 7; i >= 0; i--) {
            if (i != Cpu.RSP) {
                long at = sp + (7L - i) * size & c.stackMask;
                c.set(i, size, c.load(c.linear(Cpu.SS, at, size, false), size));
            }
        }
        c.stackPointer(sp + 8L * size);
    }

    static void enter(Cpu c, Insn in) {
        int size = in.operandSize;
        int level = in.imm2 & 31;
        long frame = c.r[Cpu.RSP] - size & c.stackMask;
        c.store(c.linear(Cpu.SS, frame, size, true), size, c.r[Cpu.RBP]);
        long sp = frame;
        if (level > 0) {
            long bp = c.r[Cpu.RBP];
            for (int i = 1; i < level; i++) {
                bp = bp - size & c.stackMask;
                long value = c.load(c.linear(Cpu.SS, bp, size, false), size);
                sp = sp - size & c.stackMask;
                c.store(c.linear(Cpu.SS, sp, size, true), size, value);
            }
            sp = sp - size & c.stackMask;
            c.store(c.linear(Cpu.SS, sp, size, true), size, frame);
        }
        sp = sp - (in.imm & 0xffff) & c.stackMask;
        c.checkWrite(c.linear(Cpu.SS, sp, size, true), size);
        c.set(Cpu.RBP, c.stackMask == 0xffff ? 2 : size, frame);
        c.stackPointer(sp);
    }

    static void leave(Cpu c, Insn in) {
        int size = in.operandSize;
        long frame = c.r[Cpu.RBP] & c.stackMask;
        long value = c.load(c.linear(Cpu.SS, frame, size, false), size);
        c.stackPointer(frame + size);
        c.set(Cpu.RBP, size, value);
    }

    static void xlat(Cpu c, Insn in) {
        long offset = c.r[Cpu.RBX] + (c.r[Cpu.RAX] & 0xff);
        offset &= Cpu.mask(in.addressSize);
        c.set8(Cpu.RAX, c.load8(c.linear(in.seg, offset, 1, false)));
    }
}
