package org.benchtop.softcpu;

/** Delivery of interrupts and exceptions through the IDT (Intel SDM vol. 3, chapter 6). */
final class Interrupts {
    /** By hardware, or an exception: no privilege check of the gate, EXT set in error codes. */
    static final int EVENT = 0;
    /** INT n, INT3, INTO: the gate must be reachable. */
    static final int SOFTWARE = 1;
    /** INT1: like an event. */
    static final int PRIVILEGED_SOFTWARE = 2;

    private static final int GATE_TASK = 5;
    private static final int GATE_INTERRUPT16 = 6;
    private static final int GATE_TRAP16 = 7;
    private static final int GATE_INTERRUPT32 = 14;
    private static final int GATE_TRAP32 = 15;

    private Interrupts() {}

    /** Interrupts may have been enabled: look for waiting ones before the next block. */
    static void mayBeOpen(Cpu c) {
        if ((c.systemFlags & Flags.IF) != 0) {
            c.vcpu.interruptsOpened();
        }
    }

    static void software(Cpu c, int vector) {
        deliver(c, vector, SOFTWARE, false, 0);
    }

    static boolean hasErrorCode(int vector) {
        return switch (vector) {
            case CpuFault.DF, CpuFault.TS, CpuFault.NP, CpuFault.SS, CpuFault.GP, CpuFault.PF, CpuFault.AC -> true;
            default -> false;
        };
    }

    private static boolean contributory(int vector) {
        return vector == CpuFault.DE || vector >= CpuFault.TS && vector <= CpuFault.GP;
    }

    /**
     * Delivers the exception in {@link Cpu#fault}, with RIP at the instruction to restart. What goes wrong on the way makes a
     * double fault, and then a triple fault.
     *
     * @return false for a triple fault
     */
    static boolean raise(Cpu c) {
        int vector = c.fault.vector;
        int error = c.fault.errorCode;
        while (true) {
            try {
                boolean fault = vector != CpuFault.DB && vector != CpuFault.BP && vector != CpuFault.OF;
                long flags = c.systemFlags;
                if (fault) {
                    c.systemFlags |= Flags.RF;
                }
                try {
                    deliver(c, vector, EVENT, c.protectedMode() && hasErrorCode(vector), error);
                } catch (CpuFault second) {
                    c.systemFlags = flags;
                    throw second;
                }
                if (vector == CpuFault.DB) {
                    c.debug.handled();
                }
                return true;
            } catch (CpuFault second) {
                int next = second.vector;
                if (vector == CpuFault.DF) {
                    return false;
                }
                boolean doubled = contributory(vector) && contributory(next)
                        || vector == CpuFault.PF && (next == CpuFault.PF || contributory(next));
                if (doubled) {
                    vector = CpuFault.DF;
                    error = 0;
                } else {
                    vector = next;
                    error = second.errorCode;
                }
            }
        }
    }

    /** Goes to a handler; changes nothing if it throws {@link CpuFault}. */
    static void deliver(Cpu c, int vector, int kind, boolean hasError, int error) {
        c.vcpu.countInterrupt();
        if (!c.protectedMode()) {
            real(c, vector);
        } else if (c.longMode()) {
            longMode(c, vector, kind, hasError, error);
        } else {
            protectedMode(c, vector, kind, hasError, error);
        }
    }

    private static void real(Cpu c, int vector) {
        if (vector * 4 + 3 > c.idtLimit) {
            throw c.gp();
        }
        long entry = c.load32(c.idtBase + vector * 4L) & 0xffff_ffffL;
        long sp = c.r[Cpu.RSP];
        long flags = c.rflags();
        long[] values = {flags, c.selector[Cpu.CS], c.rip};
        for (int i = 0; i < 3; i++) {
            long at = sp - 2L * (i + 1) & c.stackMask;
            c.store16(c.linear(Cpu.SS, at, 2, true), (int) values[i]);
        }
        c.stackPointer(sp - 6);
        c.systemFlags &= ~(long) (Flags.IF | Flags.TF | Flags.AC | Flags.RF);
        Segments.setReal(c, Cpu.CS, (int) (entry >>> 16));
        c.rip = entry & 0xffff;
    }

    private static int error(Cpu c, int selectorOrVector, int kind) {
        return selectorOrVector | (kind == SOFTWARE ? 0 : 1);
    }

    private static void checkGate(Cpu c, int vector, int kind, int attr) {
        if (kind == SOFTWARE && Segments.dpl(attr) < c.cpl) {
            throw c.gp(error(c, vector * 8 + 2, kind));
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, error(c, vector * 8 + 2, kind));
        }
    }

    private static long targetCode(Cpu c, int selector, int kind) {
        if ((selector & 0xfffc) == 0) {
            throw c.gp(error(c, 0, kind));
        }
        int error = error(c, selector & 0xfffc, kind);
        long address = Segments.descriptorAddress(c, selector, 8);
        if (address == Segments.NO_DESCRIPTOR) {
            throw c.gp(error);
        }
        long code = Segments.systemLoad(c, address);
        int attr = Segments.attributes(code);
        if ((attr & (Segments.CODE_OR_DATA | Segments.CODE)) != (Segments.CODE_OR_DATA | Segments.CODE)
                || Segments.dpl(attr) > c.cpl) {
            throw c.gp(error);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, error);
        }
        return code;
    }

    private static void longMode(Cpu c, int vector, int kind, boolean hasError, int error) {
        if (vector * 16 + 15 > c.idtLimit) {
            throw c.gp(error(c, vector * 8 + 2, kind));
        }
        long address = c.idtBase + vector * 16L;
        long low = Segments.systemLoad(c, address);
        long high = Segments.systemLoad(c, address + 8);
        int attr = Segments.attributes(low);
        int type = attr & (Segments.CODE_OR_DATA | Segments.TYPE);
        if (type != GATE_INTERRUPT32 && type != GATE_TRAP32) {
            throw c.gp(error(c, vector * 8 + 2, kind));
        }
        checkGate(c, vector, kind, attr);
        int selector = (int) (low >>> 16) & 0xffff;
        long offset = low & 0xffff | low >>> 32 & 0xffff_0000L | high << 32;
        int ist = (int) (low >>> 32) & 7;
        long code = targetCode(c, selector, kind);
        int codeAttr = Segments.attributes(code);
        if ((codeAttr & (Segments.LONG | Segments.BIG)) != Segments.LONG) {
            throw c.gp(error(c, selector & 0xfffc, kind));
        }
        if (!ControlFlow.canonical(c, offset)) {
            throw c.gp(kind == SOFTWARE ? 0 : 1);
        }
        int oldCpl = c.cpl;
        int newCpl = (codeAttr & Segments.CONFORMING) != 0 ? oldCpl : Segments.dpl(codeAttr);
        long sp;
        boolean switched = newCpl < oldCpl;
        if (ist != 0 || switched) {
            sp = tssStack(c, newCpl, ist);
        } else {
            sp = c.r[Cpu.RSP];
        }
        sp &= -16;
        long flags = c.rflags();
        c.cpl(newCpl);
        int savedCodeSize = c.codeSize;
        c.codeSize = 8;
        try {
            int bytes = hasError ? 48 : 40;
            c.checkWrite(sp - bytes, bytes);
            c.store64(sp - 8, c.selector[Cpu.SS]);
            c.store64(sp - 16, c.r[Cpu.RSP]);
            c.store64(sp - 24, flags);
            c.store64(sp - 32, c.selector[Cpu.CS]);
            c.store64(sp - 40, c.rip);
            sp -= 40;
            if (hasError) {
                sp -= 8;
                c.store64(sp, error);
            }
        } catch (CpuFault fault) {
            c.codeSize = savedCodeSize;
            c.cpl(oldCpl);
            throw fault;
        }
        if (switched) {
            Segments.set(c, Cpu.SS, newCpl, 0, 0, Segments.UNUSABLE | newCpl << 5 | Segments.BIG);
        }
        c.r[Cpu.RSP] = sp;
        finish(c, selector, code, newCpl, offset, type == GATE_INTERRUPT32);
    }

    private static long tssStack(Cpu c, int dpl, int ist) {
        int at = ist != 0 ? 0x24 + (ist - 1) * 8 : 4 + dpl * 8;
        if (at + 7 > c.segLimit[Cpu.TR]) {
            throw c.fault(CpuFault.TS, c.selector[Cpu.TR] & 0xfffc);
        }
        long sp = Segments.systemLoad(c, c.segBase[Cpu.TR] + at);
        if (!ControlFlow.canonical(c, sp)) {
            throw c.fault(CpuFault.SS, 0);
        }
        return sp;
    }

    private static void finish(Cpu c, int selector, long code, int cpl, long offset, boolean mask) {
        Segments.markAccessed(c, selector, code);
        Segments.set(c, Cpu.CS, selector & ~3 | cpl, code);
        c.segAttr[Cpu.CS] |= Segments.ACCESSED;
        c.cpl = cpl;
        c.systemFlags &= ~(long) (Flags.TF | Flags.NT | Flags.RF | Flags.VM);
        if (mask) {
            c.systemFlags &= ~(long) Flags.IF;
        }
        c.modeChanged();
        c.rip = offset;
    }

    private static void protectedMode(Cpu c, int vector, int kind, boolean hasError, int error) {
        if (vector * 8 + 7 > c.idtLimit) {
            throw c.gp(error(c, vector * 8 + 2, kind));
        }
        long gate = Segments.systemLoad(c, c.idtBase + vector * 8L);
        int attr = Segments.attributes(gate);
        int type = attr & (Segments.CODE_OR_DATA | Segments.TYPE);
        boolean known = type == GATE_TASK
                || type == GATE_INTERRUPT16
                || type == GATE_TRAP16
                || type == GATE_INTERRUPT32
                || type == GATE_TRAP32;
        if (!known) {
            throw c.gp(error(c, vector * 8 + 2, kind));
        }
        checkGate(c, vector, kind, attr);
        if (type == GATE_TASK) {
            TaskSwitch.interrupt(c, (int) (gate >>> 16) & 0xffff, hasError, error);
            return;
        }
        boolean wide = type >= GATE_INTERRUPT32;
        int size = wide ? 4 : 2;
        int selector = (int) (gate >>> 16) & 0xffff;
        long offset = gate & 0xffff | (wide ? gate >>> 32 & 0xffff_0000L : 0);
        long code = targetCode(c, selector, kind);
        int codeAttr = Segments.attributes(code);
        if (offset > Segments.limit(code)) {
            throw c.gp(kind == SOFTWARE ? 0 : 1);
        }
        boolean conforming = (codeAttr & Segments.CONFORMING) != 0;
        int newCpl = conforming ? c.cpl : Segments.dpl(codeAttr);
        boolean fromVirtual = c.virtual8086();
        if (fromVirtual && newCpl != 0) {
            throw c.gp(error(c, selector & 0xfffc, kind));
        }
        long flags = c.rflags();
        boolean maskInterrupts = type == GATE_INTERRUPT16 || type == GATE_INTERRUPT32;
        if (newCpl < c.cpl) {
            inner(c, size, newCpl, fromVirtual, flags, hasError, error);
        } else {
            same(c, size, flags, hasError, error);
        }
        if (fromVirtual) {
            for (int seg : new int[] {Cpu.DS, Cpu.ES, Cpu.FS, Cpu.GS}) {
                Segments.set(c, seg, 0, 0, 0, Segments.UNUSABLE);
            }
        }
        finish(c, selector, code, newCpl, offset, maskInterrupts);
    }

    private static void inner(
            Cpu c, int size, int newCpl, boolean fromVirtual, long flags, boolean hasError, int error) {
        NewStack stack = new NewStack(c, newCpl, 0);
        int oldCpl = c.cpl;
        c.cpl(newCpl);
        try {
            if (fromVirtual) {
                stack.push(c.selector[Cpu.GS], size);
                stack.push(c.selector[Cpu.FS], size);
                stack.push(c.selector[Cpu.DS], size);
                stack.push(c.selector[Cpu.ES], size);
            }
            stack.push(c.selector[Cpu.SS], size);
            stack.push(c.r[Cpu.RSP], size);
            stack.push(flags, size);
            stack.push(c.selector[Cpu.CS], size);
            stack.push(c.rip, size);
            if (hasError) {
                stack.push(error, size);
            }
        } catch (CpuFault fault) {
            c.cpl(oldCpl);
            throw fault;
        }
        stack.commit();
    }

    private static void same(Cpu c, int size, long flags, boolean hasError, int error) {
        long sp = c.r[Cpu.RSP];
        long[] values = {flags, c.selector[Cpu.CS], c.rip, error};
        int count = hasError ? 4 : 3;
        for (int i = 0; i < count; i++) {
            long at = sp - (long) size * (i + 1) & c.stackMask;
            c.store(c.linear(Cpu.SS, at, size, true), size, values[i]);
        }
        c.stackPointer(sp - (long) size * count);
    }
}
