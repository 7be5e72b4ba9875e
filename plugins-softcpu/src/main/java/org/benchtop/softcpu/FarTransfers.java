package org.benchtop.softcpu;

/** Far jumps, calls and returns, call gates, IRET (Intel SDM vol. 3, 5.8 and 6.12; AMD APM vol. 2, 4.8 and 8). */
final class FarTransfers {
    private FarTransfers() {}

    private static void realTransfer(Cpu c, int selector, long offset) {
        if (offset > c.segLimit[Cpu.CS]) {
            throw c.gp();
        }
        Segments.setReal(c, Cpu.CS, selector);
        c.rip = offset;
    }

    private static void checkTarget(Cpu c, long descriptor, long offset) {
        int attr = Segments.attributes(descriptor);
        if (c.longMode() && (attr & Segments.LONG) != 0) {
            if (!ControlFlow.canonical(c, offset)) {
                throw c.gp();
            }
        } else if (offset > Segments.limit(descriptor)) {
            throw c.gp();
        }
    }

    private static void enter(Cpu c, int selector, long descriptor, int cpl, long offset) {
        Segments.markAccessed(c, selector, descriptor);
        Segments.set(c, Cpu.CS, selector & ~3 | cpl, descriptor);
        c.segAttr[Cpu.CS] |= Segments.ACCESSED;
        c.cpl = cpl;
        c.modeChanged();
        c.rip = offset;
    }

    /** Checks a code segment for a direct jump or call. */
    private static void checkDirect(Cpu c, int selector, int attr) {
        boolean conforming = (attr & Segments.CONFORMING) != 0;
        int dpl = Segments.dpl(attr);
        if (conforming ? dpl > c.cpl : (selector & 3) > c.cpl || dpl != c.cpl) {
            throw c.gp(selector & 0xfffc);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, selector & 0xfffc);
        }
        if (c.longMode() && (attr & (Segments.LONG | Segments.BIG)) == (Segments.LONG | Segments.BIG)) {
            throw c.gp(selector & 0xfffc);
        }
    }

    static void jump(Cpu c, int selector, long offset, int size) {
        if (!c.segmentedProtection()) {
            realTransfer(c, selector, offset & Cpu.mask(size));
            return;
        }
        if ((selector & 0xfffc) == 0) {
            throw c.gp();
        }
        long descriptor = Segments.descriptor(c, selector, CpuFault.GP);
        int attr = Segments.attributes(descriptor);
        if ((attr & Segments.CODE_OR_DATA) != 0) {
            if ((attr & Segments.CODE) == 0) {
                throw c.gp(selector & 0xfffc);
            }
            checkDirect(c, selector, attr);
            checkTarget(c, descriptor, offset);
            enter(c, selector, descriptor, c.cpl, offset);
            return;
        }
        if (TaskSwitch.transfer(c, selector, descriptor, TaskSwitch.Reason.JUMP)) {
            return;
        }
        Gate gate = gate(c, selector, descriptor, attr);
        long code = Segments.descriptor(c, gate.selector, CpuFault.GP);
        int codeAttr = checkGateTarget(c, gate, code);
        boolean conforming = (codeAttr & Segments.CONFORMING) != 0;
        if (!conforming && Segments.dpl(codeAttr) != c.cpl) {
            throw c.gp(gate.selector & 0xfffc);
        }
        checkTarget(c, code, gate.offset);
        enter(c, gate.selector, code, c.cpl, gate.offset);
    }

    private record Gate(int selector, long offset, int size, int parameters) {}

    private static Gate gate(Cpu c, int selector, long descriptor, int attr) {
        int type = attr & Segments.TYPE;
        boolean callGate = type == Segments.CALL_GATE32 || type == Segments.CALL_GATE16 && !c.longMode();
        if (!callGate) {
            throw c.gp(selector & 0xfffc);
        }
        int dpl = Segments.dpl(attr);
        if (dpl < c.cpl || dpl < (selector & 3)) {
            throw c.gp(selector & 0xfffc);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, selector & 0xfffc);
        }
        int target = (int) (descriptor >>> 16) & 0xffff;
        long offset = descriptor & 0xffff | descriptor >>> 32 & 0xffff_0000L;
        if (c.longMode()) {
            long address = Segments.descriptorAddress(c, selector, 16);
            if (address == Segments.NO_DESCRIPTOR) {
                throw c.gp(selector & 0xfffc);
            }
            long high = Segments.systemLoad(c, address + 8);
            if ((high >>> 40 & 0x1f) != 0) {
                throw c.gp(selector & 0xfffc);
            }
            return new Gate(target, offset | high << 32, 8, 0);
        }
        boolean wide = type == Segments.CALL_GATE32;
        return new Gate(target, wide ? offset : offset & 0xffff, wide ? 4 : 2, (int) (descriptor >>> 32) & 31);
    }

    private static int checkGateTarget(Cpu c, Gate gate, long code) {
        int attr = Segments.attributes(code);
        int error = gate.selector & 0xfffc;
        if (error == 0) {
            throw c.gp();
        }
        if ((attr & (Segments.CODE_OR_DATA | Segments.CODE)) != (Segments.CODE_OR_DATA | Segments.CODE)
                || Segments.dpl(attr) > c.cpl
                || c.longMode() && (attr & (Segments.LONG | Segments.BIG)) != Segments.LONG) {
            throw c.gp(error);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, error);
        }
        return attr;
    }

    static void call(Cpu c, int selector, long offset, int size, long next) {
        if (!c.segmentedProtection()) {
            long target = offset & Cpu.mask(size);
            if (target > c.segLimit[Cpu.CS]) {
                throw c.gp();
            }
            pushTwo(c, c.selector[Cpu.CS], next, size);
            realTransfer(c, selector, target);
            return;
        }
        if ((selector & 0xfffc) == 0) {
            throw c.gp();
        }
        long descriptor = Segments.descriptor(c, selector, CpuFault.GP);
        int attr = Segments.attributes(descriptor);
        if ((attr & Segments.CODE_OR_DATA) != 0) {
            if ((attr & Segments.CODE) == 0) {
                throw c.gp(selector & 0xfffc);
            }
            checkDirect(c, selector, attr);
            checkTarget(c, descriptor, offset);
            pushTwo(c, c.selector[Cpu.CS], next, size);
            enter(c, selector, descriptor, c.cpl, offset);
            return;
        }
        if (!TaskSwitch.transfer(c, selector, descriptor, TaskSwitch.Reason.CALL)) {
            callGate(c, gate(c, selector, descriptor, attr), next);
        }
    }

    private static void pushTwo(Cpu c, long first, long second, int size) {
        long sp = c.r[Cpu.RSP];
        long one = sp - size & c.stackMask;
        long two = sp - 2L * size & c.stackMask;
        long firstAt = c.linear(Cpu.SS, one, size, true);
        long secondAt = c.linear(Cpu.SS, two, size, true);
        c.checkWrite(firstAt, size);
        c.checkWrite(secondAt, size);
        c.store(firstAt, size, first);
        c.store(secondAt, size, second);
        c.stackPointer(two);
    }

    private static void callGate(Cpu c, Gate gate, long next) {
        long code = Segments.descriptor(c, gate.selector, CpuFault.GP);
        int attr = checkGateTarget(c, gate, code);
        checkTarget(c, code, gate.offset);
        int size = gate.size;
        int dpl = Segments.dpl(attr);
        if ((attr & Segments.CONFORMING) != 0 || dpl == c.cpl) {
            pushTwo(c, c.selector[Cpu.CS], next, size);
            enter(c, gate.selector, code, c.cpl, gate.offset);
            return;
        }
        NewStack stack = new NewStack(c, dpl, 0);
        int parameters = gate.parameters;
        long[] copied = new long[parameters];
        for (int i = 0; i < parameters; i++) {
            long from = c.r[Cpu.RSP] + (long) (parameters - 1 - i) * size & c.stackMask;
            copied[i] = c.load(c.linear(Cpu.SS, from, size, false), size);
        }
        int cpl = c.cpl;
        c.cpl(dpl);
        try {
            stack.push(c.selector[Cpu.SS], size);
            stack.push(c.r[Cpu.RSP], size);
            for (long parameter : copied) {
                stack.push(parameter, size);
            }
            stack.push(c.selector[Cpu.CS], size);
            stack.push(next, size);
        } catch (CpuFault fault) {
            c.cpl(cpl);
            throw fault;
        }
        stack.commit();
        enter(c, gate.selector, code, dpl, gate.offset);
    }

    static void ret(Cpu c, int size, long extra) {
        if (!c.segmentedProtection()) {
            long offset = c.top(size);
            long sp = c.r[Cpu.RSP];
            int selector = (int) c.load(c.linear(Cpu.SS, sp + size & c.stackMask, size, false), size) & 0xffff;
            if (offset > c.segLimit[Cpu.CS]) {
                throw c.gp();
            }
            c.stackPointer(sp + 2L * size + extra);
            realTransfer(c, selector, offset);
            return;
        }
        long sp = c.r[Cpu.RSP];
        long offset = stackLoad(c, sp, size);
        int selector = (int) stackLoad(c, sp + size, size) & 0xffff;
        long code = returnCode(c, selector);
        checkTarget(c, code, offset);
        int rpl = selector & 3;
        if (rpl == c.cpl) {
            enter(c, selector, code, rpl, offset);
            c.stackPointer(sp + 2L * size + extra);
            return;
        }
        long outerSp = stackLoad(c, sp + 2L * size + extra, size);
        int outerSs = (int) stackLoad(c, sp + 3L * size + extra, size) & 0xffff;
        outer(c, selector, code, offset, outerSs, outerSp + extra, size);
    }

    private static long stackLoad(Cpu c, long sp, int size) {
        return c.load(c.linear(Cpu.SS, sp & c.stackMask, size, false), size);
    }

    /** The code segment of a return. */
    private static long returnCode(Cpu c, int selector) {
        if ((selector & 0xfffc) == 0) {
            throw c.gp();
        }
        long code = Segments.descriptor(c, selector, CpuFault.GP);
        int attr = Segments.attributes(code);
        int rpl = selector & 3;
        int error = selector & 0xfffc;
        boolean conforming = (attr & Segments.CONFORMING) != 0;
        if ((attr & (Segments.CODE_OR_DATA | Segments.CODE)) != (Segments.CODE_OR_DATA | Segments.CODE)
                || rpl < c.cpl
                || (conforming ? Segments.dpl(attr) > rpl : Segments.dpl(attr) != rpl)) {
            throw c.gp(error);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, error);
        }
        return code;
    }

    /** Completes a return to an outer level, or an IRET in 64-bit mode that loads SS. */
    private static void outer(Cpu c, int selector, long code, long offset, int ss, long sp, int size) {
        int rpl = selector & 3;
        boolean to64 = c.longMode() && (Segments.attributes(code) & Segments.LONG) != 0;
        long stack = 0;
        if ((ss & 0xfffc) == 0) {
            if (!to64 || rpl == 3 || (ss & 3) != rpl) {
                throw c.gp();
            }
        } else {
            stack = Segments.descriptor(c, ss, CpuFault.GP);
            int attr = Segments.attributes(stack);
            if ((ss & 3) != rpl
                    || Segments.dpl(attr) != rpl
                    || (attr & (Segments.CODE_OR_DATA | Segments.CODE | Segments.WRITABLE))
                            != (Segments.CODE_OR_DATA | Segments.WRITABLE)) {
                throw c.gp(ss & 0xfffc);
            }
            if ((attr & Segments.PRESENT) == 0) {
                throw c.fault(CpuFault.SS, ss & 0xfffc);
            }
            Segments.markAccessed(c, ss, stack);
        }
        boolean lowered = rpl > c.cpl;
        Segments.markAccessed(c, selector, code);
        c.cpl = rpl;
        if (stack == 0) {
            Segments.set(c, Cpu.SS, ss, 0, 0, Segments.UNUSABLE | rpl << 5 | Segments.BIG);
        } else {
            Segments.set(c, Cpu.SS, ss, stack);
            c.segAttr[Cpu.SS] |= Segments.ACCESSED;
        }
        enter(c, selector, code, rpl, offset);
        if (size == 2 && c.stackMask != 0xffff) {
            c.r[Cpu.RSP] = sp & 0xffff;
        } else if (c.codeSize == 8) {
            c.r[Cpu.RSP] = sp;
        } else {
            c.stackPointer(sp);
        }
        if (lowered) {
            dropInaccessible(c);
        }
    }

    /** Data segments that the outer level may not use become null. */
    private static void dropInaccessible(Cpu c) {
        for (int seg : new int[] {Cpu.ES, Cpu.DS, Cpu.FS, Cpu.GS}) {
            int attr = c.segAttr[seg];
            boolean dataOrNonconforming =
                    (attr & (Segments.CODE | Segments.CONFORMING)) != (Segments.CODE | Segments.CONFORMING);
            if ((attr & Segments.UNUSABLE) == 0 && dataOrNonconforming && Segments.dpl(attr) < c.cpl) {
                long base = c.segBase[seg];
                Segments.set(c, seg, 0, c.longMode() ? base : 0, 0, Segments.UNUSABLE);
            }
        }
    }

    static void iret(Cpu c, int size) {
        if (!c.protectedMode()) {
            realIret(c, size);
            return;
        }
        if (c.virtual8086()) {
            if (c.iopl() < 3) {
                throw c.gp();
            }
            realIret(c, size);
            return;
        }
        long sp = c.r[Cpu.RSP];
        if (!c.longMode() && (c.systemFlags & Flags.NT) != 0) {
            TaskSwitch.back(c);
            return;
        }
        if (c.longMode() && (c.systemFlags & Flags.NT) != 0) {
            throw c.gp();
        }
        long offset = stackLoad(c, sp, size);
        int selector = (int) stackLoad(c, sp + size, size) & 0xffff;
        long flags = stackLoad(c, sp + 2L * size, size);
        if (!c.longMode() && size == 4 && (flags & Flags.VM) != 0 && c.cpl == 0) {
            toVirtual8086(c, sp, offset, selector, flags);
            return;
        }
        long code = returnCode(c, selector);
        checkTarget(c, code, offset);
        int oldCpl = c.cpl;
        int oldIopl = c.iopl();
        if (c.codeSize == 8 || (selector & 3) != c.cpl) {
            long outerSp = stackLoad(c, sp + 3L * size, size);
            int outerSs = (int) stackLoad(c, sp + 4L * size, size) & 0xffff;
            outer(c, selector, code, offset, outerSs, outerSp, size);
        } else {
            enter(c, selector, code, c.cpl, offset);
            c.stackPointer(sp + 3L * size);
        }
        returnFlags(c, flags, size, oldCpl, oldIopl);
        c.mmu.selectSet();
    }

    private static void returnFlags(Cpu c, long flags, int size, int cpl, int iopl) {
        long changed = Flags.STATUS | Flags.TF | Flags.DF | Flags.NT;
        if (size != 2) {
            changed |= Flags.RF | Flags.AC | Flags.ID;
        }
        if (cpl == 0) {
            changed |= Flags.IOPL;
            if (size != 2) {
                changed |= Flags.VIF | Flags.VIP;
            }
        }
        if (cpl <= iopl) {
            changed |= Flags.IF;
        }
        c.rflags(c.rflags() & ~changed | flags & changed);
        c.vcpu.unmaskNmi();
        Interrupts.mayBeOpen(c);
    }

    private static void realIret(Cpu c, int size) {
        long sp = c.r[Cpu.RSP];
        long offset = stackLoad(c, sp, size);
        int selector = (int) stackLoad(c, sp + size, size) & 0xffff;
        long flags = stackLoad(c, sp + 2L * size, size);
        if (offset > 0xffff && offset > c.segLimit[Cpu.CS]) {
            throw c.gp();
        }
        c.stackPointer(sp + 3L * size);
        Segments.setReal(c, Cpu.CS, selector);
        c.rip = offset;
        long changed = Flags.STATUS | Flags.TF | Flags.IF | Flags.DF | Flags.NT;
        if (!c.virtual8086()) {
            changed |= Flags.IOPL;
        }
        if (size != 2) {
            changed |= Flags.RF | Flags.AC | Flags.ID;
        }
        c.rflags(c.rflags() & ~changed | flags & changed);
        c.vcpu.unmaskNmi();
        Interrupts.mayBeOpen(c);
    }

    private static void toVirtual8086(Cpu c, long sp, long offset, int selector, long flags) {
        long[] values = new long[6];
        for (int i = 0; i < 6; i++) {
            values[i] = stackLoad(c, sp + (3L + i) * 4, 4);
        }
        c.rflags(flags);
        c.cpl = 3;
        Segments.setReal(c, Cpu.CS, selector);
        Segments.setReal(c, Cpu.SS, (int) values[1]);
        Segments.setReal(c, Cpu.ES, (int) values[2]);
        Segments.setReal(c, Cpu.DS, (int) values[3]);
        Segments.setReal(c, Cpu.FS, (int) values[4]);
        Segments.setReal(c, Cpu.GS, (int) values[5]);
        c.r[Cpu.RSP] = values[0];
        c.rip = offset & 0xffff;
        c.modeChanged();
        Interrupts.mayBeOpen(c);
    }
}
