package org.benchtop.softcpu;

/**
 * The stack of an inner privilege level while a gate pushes to it. Nothing of the processor changes before {@link #commit};
 * pushes are made with the inner level's privilege, which the caller sets.
 */
final class NewStack {
    private final Cpu c;
    private final int dpl;
    private final boolean longMode;
    private final int selector;
    private final long descriptor;
    private final long base;
    private final long limit;
    private final long mask;
    private long sp;

    /**
     * Reads the stack of a level from the TSS.
     *
     * @param ist an entry of the interrupt stack table, 1–7, or 0; only in long mode
     */
    NewStack(Cpu c, int dpl, int ist) {
        this.c = c;
        this.dpl = dpl;
        longMode = c.longMode();
        int tr = c.segAttr[Cpu.TR] & Segments.TYPE;
        long tss = c.segBase[Cpu.TR];
        int error = c.selector[Cpu.TR] & 0xfffc;
        if (longMode) {
            int at = ist != 0 ? 0x24 + (ist - 1) * 8 : 4 + dpl * 8;
            if (at + 7 > c.segLimit[Cpu.TR]) {
                throw c.fault(CpuFault.TS, error);
            }
            sp = Segments.systemLoad(c, tss + at);
            if (!ControlFlow.canonical(c, sp)) {
                throw c.fault(CpuFault.SS, 0);
            }
            selector = dpl;
            descriptor = 0;
            base = 0;
            limit = -1;
            mask = -1;
            return;
        }
        boolean wide = (tr & 8) != 0;
        int at = wide ? 4 + dpl * 8 : 2 + dpl * 4;
        if (at + (wide ? 7 : 3) > c.segLimit[Cpu.TR]) {
            throw c.fault(CpuFault.TS, error);
        }
        sp = Segments.systemLoad(c, tss + at, wide ? 4 : 2);
        selector = (int) Segments.systemLoad(c, tss + at + (wide ? 4 : 2), 2);
        int ssError = selector & 0xfffc;
        if (ssError == 0) {
            throw c.fault(CpuFault.TS, 0);
        }
        descriptor = Segments.descriptor(c, selector, CpuFault.TS);
        int attr = Segments.attributes(descriptor);
        if ((selector & 3) != dpl
                || Segments.dpl(attr) != dpl
                || (attr & (Segments.CODE_OR_DATA | Segments.CODE | Segments.WRITABLE))
                        != (Segments.CODE_OR_DATA | Segments.WRITABLE)) {
            throw c.fault(CpuFault.TS, ssError);
        }
        if ((attr & Segments.PRESENT) == 0) {
            throw c.fault(CpuFault.SS, ssError);
        }
        base = Segments.base(descriptor);
        limit = Segments.limit(descriptor);
        mask = (attr & Segments.BIG) != 0 ? 0xffff_ffffL : 0xffff;
    }

    void push(long value, int size) {
        long at = sp - size & mask;
        if (!longMode && at + size - 1 > limit) {
            throw c.fault(CpuFault.SS, selector & 0xfffc);
        }
        long linear = longMode ? at : at + base & 0xffff_ffffL;
        c.store(linear, size, value);
        sp = at;
    }

    /** Makes it the processor's stack; CPL is the inner one already. */
    void commit() {
        if (longMode) {
            Segments.set(c, Cpu.SS, selector, 0, 0, Segments.UNUSABLE | dpl << 5 | Segments.BIG);
            c.r[Cpu.RSP] = sp;
            return;
        }
        Segments.markAccessed(c, selector, descriptor);
        Segments.set(c, Cpu.SS, selector, descriptor);
        c.segAttr[Cpu.SS] |= Segments.ACCESSED;
        c.r[Cpu.RSP] = mask == 0xffff ? c.r[Cpu.RSP] & ~0xffffL | sp : sp;
    }
}
