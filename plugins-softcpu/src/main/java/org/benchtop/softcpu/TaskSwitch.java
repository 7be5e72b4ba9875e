package org.benchtop.softcpu;

/** Hardware task switches between 32-bit tasks (Intel SDM vol. 3, 8.2–8.4): not in IA-32e mode. */
final class TaskSwitch {
    /** Why tasks are switched. */
    enum Reason {
        JUMP,
        /** CALL, and interrupts through a task gate: the new task is nested. */
        CALL,
        /** IRET with RFLAGS.NT. */
        RETURN,
    }

    private static final int CR3 = 28;
    private static final int EIP = 32;
    private static final int EFLAGS = 36;
    private static final int GENERAL = 40;
    private static final int SEGMENTS = 72;
    private static final int LDT = 96;
    private static final int TRAP = 100;
    private static final int LAST_BYTE = 103;
    private static final int[] SEGMENT_ORDER = {Cpu.ES, Cpu.CS, Cpu.SS, Cpu.DS, Cpu.FS, Cpu.GS};
    private static final long BUSY_BIT = 1L << 41;

    private TaskSwitch() {}

    private static long read(Cpu c, long tss, int offset, int size) {
        return Segments.systemLoad(c, tss + offset, size);
    }

    /** To the task of a TSS; RIP is where the current task goes on. Raises its faults before anything has changed. */
    static void to(Cpu c, int selector, Reason reason) {
        int error = selector & 0xfffc;
        int bad = reason == Reason.RETURN ? CpuFault.TS : CpuFault.GP;
        if (error == 0 || (selector & 4) != 0) {
            throw c.fault(bad, error);
        }
        long descriptor = Segments.descriptor(c, selector, bad);
        int attr = Segments.attributes(descriptor);
        int type = attr & (Segments.CODE_OR_DATA | Segments.TYPE);
        int wanted = reason == Reason.RETURN ? Segments.TSS32 | Segments.BUSY : Segments.TSS32;
        if ((type & ~8) == (wanted & ~8) && type != wanted) {
            throw new Unimplemented("a switch to the 16-bit task of selector 0x" + Integer.toHexString(selector));
        }
        if (type != wanted) {
            throw c.fault(bad, error);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, error);
        }
        long tss = Segments.base(descriptor);
        if (Segments.limit(descriptor) < LAST_BYTE) {
            throw c.fault(CpuFault.TS, error);
        }
        long[] state = new long[(LDT - CR3) / 4 + 1];
        for (int i = 0; i < state.length; i++) {
            state[i] = read(c, tss, CR3 + 4 * i, 4);
        }
        boolean trapped = (read(c, tss, TRAP, 1) & 1) != 0;
        save(c, reason);
        int oldSelector = c.selector[Cpu.TR];
        if (reason != Reason.CALL) {
            busy(c, oldSelector, false);
        }
        if (reason != Reason.RETURN) {
            busy(c, selector, true);
        }
        if (reason == Reason.CALL) {
            Segments.systemStore(c, tss, 2, oldSelector);
        }
        Segments.set(c, Cpu.TR, selector & ~3, descriptor | BUSY_BIT);
        c.cr0 |= Cpu.CR0_TS;
        c.debug.taskSwitched(trapped);
        enter(c, state, reason);
    }

    private static void busy(Cpu c, int selector, boolean busy) {
        long address = Segments.descriptorAddress(c, selector, 8) + 5;
        int access = (int) Segments.systemLoad(c, address, 1);
        Segments.systemStore(c, address, 1, busy ? access | Segments.BUSY : access & ~Segments.BUSY);
    }

    private static void save(Cpu c, Reason reason) {
        long tss = c.segBase[Cpu.TR];
        long flags = c.rflags();
        Segments.systemStore(c, tss + EIP, 4, c.rip);
        Segments.systemStore(c, tss + EFLAGS, 4, reason == Reason.RETURN ? flags & ~(long) Flags.NT : flags);
        for (int i = 0; i < 8; i++) {
            Segments.systemStore(c, tss + GENERAL + 4 * i, 4, c.r[i]);
        }
        for (int i = 0; i < SEGMENT_ORDER.length; i++) {
            Segments.systemStore(c, tss + SEGMENTS + 4 * i, 2, c.selector[SEGMENT_ORDER[i]]);
        }
    }

    private static long at(long[] state, int offset) {
        return state[(offset - CR3) / 4];
    }

    private static void enter(Cpu c, long[] state, Reason reason) {
        if ((c.cr0 & Cpu.CR0_PG) != 0) {
            c.cr3 = at(state, CR3);
            c.mmu.flush();
        }
        c.rip = at(state, EIP);
        c.rflags(at(state, EFLAGS) | (reason == Reason.CALL ? Flags.NT : 0));
        for (int i = 0; i < 8; i++) {
            c.r[i] = at(state, GENERAL + 4 * i);
        }
        // What follows belongs to the new task: its faults are delivered there.
        try {
            loadLdt(c, (int) at(state, LDT) & 0xffff);
            for (int seg : SEGMENT_ORDER) {
                Segments.set(c, seg, 0, 0, 0, Segments.UNUSABLE);
            }
            int code = (int) at(state, SEGMENTS + 4) & 0xffff;
            if (c.virtual8086()) {
                c.cpl = 3;
                for (int i = 0; i < SEGMENT_ORDER.length; i++) {
                    Segments.setReal(c, SEGMENT_ORDER[i], (int) at(state, SEGMENTS + 4 * i) & 0xffff);
                }
            } else {
                loadCode(c, code);
                Segments.load(c, Cpu.SS, (int) at(state, SEGMENTS + 8));
                for (int i = 0; i < SEGMENT_ORDER.length; i++) {
                    if (SEGMENT_ORDER[i] != Cpu.CS && SEGMENT_ORDER[i] != Cpu.SS) {
                        Segments.load(c, SEGMENT_ORDER[i], (int) at(state, SEGMENTS + 4 * i));
                    }
                }
            }
            c.modeChanged();
        } catch (CpuFault fault) {
            c.modeChanged();
            if (fault.vector == CpuFault.GP) {
                c.fault(CpuFault.TS, fault.errorCode);
            }
            if (!Interrupts.raise(c)) {
                throw fault;
            }
        }
        Interrupts.mayBeOpen(c);
    }

    private static void loadLdt(Cpu c, int selector) {
        if ((selector & 0xfffc) == 0) {
            Segments.set(c, Cpu.LDTR, selector, 0, 0, Segments.UNUSABLE);
            return;
        }
        long descriptor = (selector & 4) != 0 ? 0 : Segments.descriptor(c, selector, CpuFault.TS);
        int attr = Segments.attributes(descriptor);
        if ((attr & (Segments.CODE_OR_DATA | Segments.TYPE)) != Segments.LDT || (attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.TS, selector & 0xfffc);
        }
        Segments.set(c, Cpu.LDTR, selector, descriptor);
    }

    private static void loadCode(Cpu c, int selector) {
        long descriptor = Segments.descriptor(c, selector, CpuFault.TS);
        int attr = Segments.attributes(descriptor);
        int code = Segments.CODE_OR_DATA | Segments.CODE;
        boolean conforming = (attr & Segments.CONFORMING) != 0;
        int dpl = Segments.dpl(attr);
        if ((selector & 0xfffc) == 0
                || (attr & code) != code
                || (conforming ? dpl > (selector & 3) : dpl != (selector & 3))) {
            throw c.fault(CpuFault.TS, selector & 0xfffc);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, selector & 0xfffc);
        }
        Segments.markAccessed(c, selector, descriptor);
        Segments.set(c, Cpu.CS, selector, descriptor);
        c.cpl = selector & 3;
        c.modeChanged();
    }

    /** Through a descriptor that a far jump or call named: a TSS or a task gate; false if it is neither. */
    static boolean transfer(Cpu c, int selector, long descriptor, Reason reason) {
        int attr = Segments.attributes(descriptor);
        int type = attr & Segments.TYPE;
        boolean gate = type == Segments.TASK_GATE;
        if (c.longMode() || !gate && type != Segments.TSS32 && type != Segments.TSS16) {
            return false;
        }
        int dpl = Segments.dpl(attr);
        if (dpl < c.cpl || dpl < (selector & 3)) {
            throw c.gp(selector & 0xfffc);
        }
        if (gate && (attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.NP, selector & 0xfffc);
        }
        to(c, gate ? (int) (descriptor >>> 16) & 0xffff : selector, reason);
        return true;
    }

    /** Through a task gate of the IDT; the error code goes to the new task's stack. */
    static void interrupt(Cpu c, int selector, boolean hasError, int error) {
        to(c, selector, Reason.CALL);
        if (hasError) {
            c.push(error, 4);
        }
    }

    /** Back to the task that called. */
    static void back(Cpu c) {
        to(c, (int) read(c, c.segBase[Cpu.TR], 0, 2), Reason.RETURN);
    }
}
