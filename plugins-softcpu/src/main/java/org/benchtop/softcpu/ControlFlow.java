package org.benchtop.softcpu;

/** Control transfers (Intel SDM vol. 2; vol. 3, chapter 5). RIP already is that of the next instruction. */
final class ControlFlow {
    private ControlFlow() {}

    static boolean canonical(Cpu c, long address) {
        int shift = (c.cr4 & Cpu.CR4_LA57) != 0 ? 7 : 16;
        return address << shift >> shift == address;
    }

    /** Goes to an offset in the current code segment. */
    static void near(Cpu c, long target, int operandSize) {
        c.rip = checked(c, target, operandSize);
    }

    private static long checked(Cpu c, long target, int operandSize) {
        if (c.codeSize == 8) {
            if (!canonical(c, target)) {
                throw c.gp();
            }
            return target;
        }
        long wrapped = target & Cpu.mask(operandSize == 8 ? 4 : operandSize);
        if (wrapped > c.segLimit[Cpu.CS]) {
            throw c.gp();
        }
        return wrapped;
    }

    static void jmp(Cpu c, Insn in) {
        near(c, in.next() + in.imm, in.operandSize);
    }

    static void jcc(Cpu c, Insn in) {
        if (c.condition(in.opcode & 15)) {
            near(c, in.next() + in.imm, in.operandSize);
        }
    }

    static void loop(Cpu c, Insn in) {
        int size = in.addressSize;
        long count = c.get(Cpu.RCX, size) - 1 & Cpu.mask(size);
        boolean zero = Flags.zf(c.ccKind, c.ccRes);
        boolean taken = count != 0 && (in.opcode == 0xe2 || (in.opcode == 0xe1) == zero);
        if (taken) {
            near(c, in.next() + in.imm, in.operandSize);
        }
        c.set(Cpu.RCX, size, count);
    }

    static void jcxz(Cpu c, Insn in) {
        if (c.get(Cpu.RCX, in.addressSize) == 0) {
            near(c, in.next() + in.imm, in.operandSize);
        }
    }

    static void call(Cpu c, Insn in) {
        long target = checked(c, in.next() + in.imm, in.operandSize);
        c.push(in.next(), in.operandSize);
        c.rip = target;
    }

    static void ret(Cpu c, Insn in) {
        int size = in.operandSize;
        long target = checked(c, c.top(size), size);
        long extra = in.opcode == 0xc2 ? in.imm & 0xffff : 0;
        c.stackPointer(c.r[Cpu.RSP] + size + extra);
        c.rip = target;
    }

    /** FF: INC, DEC, CALL, CALL far, JMP, JMP far, PUSH. */
    static void group5(Cpu c, Insn in) {
        int size = in.operandSize;
        switch (in.extension()) {
            case 0, 1 -> Arithmetic.group4(c, in);
            case 2 -> {
                long target = checked(c, c.readRm(in, size), size);
                c.push(in.next(), size);
                c.rip = target;
            }
            case 4 -> near(c, c.readRm(in, size), size);
            case 3, 5 -> {
                if (!in.memory) {
                    throw c.ud();
                }
                int pointer = in.w ? 8 : in.operandSize == 8 ? 4 : in.operandSize;
                long address = c.address(in, pointer + 2, false);
                long offset = c.load(address, pointer);
                int selector = c.load16(address + pointer);
                if (in.extension() == 3) {
                    FarTransfers.call(c, selector, offset, pointer, in.next());
                } else {
                    FarTransfers.jump(c, selector, offset, pointer);
                }
            }
            case 6 -> c.push(c.readRm(in, size), size);
            default -> throw c.ud();
        }
    }

    static void jmpFar(Cpu c, Insn in) {
        FarTransfers.jump(c, in.imm2, in.imm, in.operandSize);
    }

    static void callFar(Cpu c, Insn in) {
        FarTransfers.call(c, in.imm2, in.imm, in.operandSize, in.next());
    }

    static void retFar(Cpu c, Insn in) {
        FarTransfers.ret(c, in.operandSize, in.opcode == 0xca ? in.imm & 0xffff : 0);
    }

    static void iret(Cpu c, Insn in) {
        FarTransfers.iret(c, in.operandSize);
    }

    static void int3(Cpu c, Insn in) {
        Interrupts.software(c, CpuFault.BP);
    }

    static void int1(Cpu c, Insn in) {
        Interrupts.deliver(c, CpuFault.DB, Interrupts.PRIVILEGED_SOFTWARE, false, 0);
    }

    static void into(Cpu c, Insn in) {
        if ((c.status() & Flags.OF) != 0) {
            Interrupts.software(c, CpuFault.OF);
        }
    }

    static void interrupt(Cpu c, Insn in) {
        if (c.virtual8086() && c.iopl() < 3) {
            throw c.gp();
        }
        Interrupts.software(c, (int) in.imm & 0xff);
    }

    static void bound(Cpu c, Insn in) {
        if (!in.memory) {
            throw c.ud();
        }
        int size = in.operandSize;
        long address = c.address(in, 2 * size, false);
        long low = Cpu.signExtend(c.load(address, size), size);
        long high = Cpu.signExtend(c.load(address + size, size), size);
        long value = Cpu.signExtend(c.get(in.reg, size), size);
        if (value < low || value > high) {
            throw c.fault(CpuFault.BR);
        }
    }

    // ---- fast system calls ----

    private static void flat(Cpu c, int selector, int dpl, boolean longMode) {
        Segments.set(
                c, Cpu.CS, selector & 0xfffc | dpl, 0, 0xffff_ffffL, 0x809b | dpl << 5 | (longMode ? 0x2000 : 0x4000));
    }

    private static void flatStack(Cpu c, int selector, int dpl) {
        Segments.set(c, Cpu.SS, selector & 0xffff, 0, 0xffff_ffffL, 0xc093 | dpl << 5);
    }

    static void syscall(Cpu c, Insn in) {
        if ((c.efer & Cpu.EFER_SCE) == 0 || !c.protectedMode()) {
            throw c.ud();
        }
        int selector = (int) (c.star >>> 32) & 0xfffc;
        if (c.longMode()) {
            boolean from64 = c.codeSize == 8;
            long flags = c.rflags();
            c.r[Cpu.RCX] = in.next();
            c.r[11] = flags & ~(long) Flags.RF;
            c.cpl = 0;
            flat(c, selector, 0, true);
            flatStack(c, selector + 8, 0);
            c.rflags(flags & ~c.sfmask & ~(long) Flags.RF | 2);
            c.modeChanged();
            c.rip = from64 ? c.lstar : c.cstar;
        } else {
            c.r[Cpu.RCX] = in.next();
            c.cpl = 0;
            flat(c, selector, 0, false);
            flatStack(c, selector + 8, 0);
            c.rflags(c.rflags() & ~(long) (Flags.VM | Flags.IF | Flags.RF));
            c.modeChanged();
            c.rip = c.star & 0xffff_ffffL;
        }
    }

    static void sysret(Cpu c, Insn in) {
        if ((c.efer & Cpu.EFER_SCE) == 0 || !c.protectedMode()) {
            throw c.ud();
        }
        if (c.cpl != 0) {
            throw c.gp();
        }
        int selector = (int) (c.star >>> 48);
        if (c.longMode()) {
            boolean to64 = in.w;
            long target = to64 ? c.r[Cpu.RCX] : c.r[Cpu.RCX] & 0xffff_ffffL;
            if (!canonical(c, target)) {
                throw c.gp();
            }
            flat(c, (to64 ? selector + 16 : selector) | 3, 3, to64);
            flatStack(c, selector + 8 | 3, 3);
            c.cpl = 3;
            c.rflags(c.r[11] & 0x3c_7fd7L | 2);
            c.modeChanged();
            c.rip = target;
        } else {
            flat(c, selector | 3, 3, false);
            flatStack(c, selector + 8 | 3, 3);
            c.cpl = 3;
            c.rflags(c.rflags() | Flags.IF);
            c.modeChanged();
            c.rip = c.r[Cpu.RCX] & 0xffff_ffffL;
        }
        Interrupts.mayBeOpen(c);
    }

    static void sysenter(Cpu c, Insn in) {
        if (!c.protectedMode() || (c.sysenterCs & 0xfffc) == 0) {
            throw c.gp();
        }
        int selector = (int) c.sysenterCs & 0xfffc;
        boolean longMode = c.longMode();
        c.cpl = 0;
        flat(c, selector, 0, longMode);
        flatStack(c, selector + 8, 0);
        c.rflags(c.rflags() & ~(long) (Flags.VM | Flags.IF | Flags.RF));
        c.modeChanged();
        c.r[Cpu.RSP] = longMode ? c.sysenterEsp : c.sysenterEsp & 0xffff_ffffL;
        c.rip = longMode ? c.sysenterEip : c.sysenterEip & 0xffff_ffffL;
    }

    static void sysexit(Cpu c, Insn in) {
        if (!c.protectedMode() || (c.sysenterCs & 0xfffc) == 0 || c.cpl != 0) {
            throw c.gp();
        }
        int selector = (int) c.sysenterCs & 0xfffc;
        boolean to64 = in.w;
        long target = to64 ? c.r[Cpu.RDX] : c.r[Cpu.RDX] & 0xffff_ffffL;
        if (!canonical(c, target) || to64 && !canonical(c, c.r[Cpu.RCX])) {
            throw c.gp();
        }
        c.cpl = 3;
        flat(c, selector + (to64 ? 32 : 16) | 3, 3, to64);
        flatStack(c, selector + (to64 ? 40 : 24) | 3, 3);
        c.modeChanged();
        c.r[Cpu.RSP] = to64 ? c.r[Cpu.RCX] : c.r[Cpu.RCX] & 0xffff_ffffL;
        c.rip = target;
        Interrupts.mayBeOpen(c);
    }
}
