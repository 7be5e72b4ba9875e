package org.benchtop.softcpu;

import java.util.Arrays;

/**
 * What a vCPU saves. Arrays are in the order of the architecture's numbers.
 *
 * @param scalars in the order of {@link #of}
 */
record CpuState(
        long[] general,
        long rip,
        long rflags,
        int[] selectors,
        long[] bases,
        long[] limits,
        int[] attributes,
        long[] scalars,
        long[] debug,
        long[] mtrr,
        byte[] fpu,
        boolean halted,
        boolean inhibit,
        boolean waiting,
        boolean nmiMasked) {
    static final int VERSION = 1;

    static CpuState of(Cpu c, boolean waiting, boolean nmiMasked) {
        long[] scalars = {
            c.gdtBase,
            c.gdtLimit,
            c.idtBase,
            c.idtLimit,
            c.cr0,
            c.cr2,
            c.cr3,
            c.cr4,
            c.efer,
            c.xcr0,
            c.cpl,
            c.star,
            c.lstar,
            c.cstar,
            c.sfmask,
            c.kernelGsBase,
            c.sysenterCs,
            c.sysenterEsp,
            c.sysenterEip,
            c.tscAux,
            c.vcpu.tsc(),
            c.pat,
            c.miscEnable,
            c.mtrrDefType,
            c.apicBase,
            c.specCtrl,
            c.instructions
        };
        return new CpuState(
                Arrays.copyOf(c.r, 16),
                c.rip,
                c.rflags(),
                c.selector.clone(),
                c.segBase.clone(),
                c.segLimit.clone(),
                c.segAttr.clone(),
                scalars,
                c.dr.clone(),
                c.mtrr.clone(),
                c.fpu.save(),
                c.halted,
                c.inhibit,
                waiting,
                nmiMasked);
    }

    void apply(Cpu c) {
        System.arraycopy(general, 0, c.r, 0, 16);
        c.rip = rip;
        System.arraycopy(selectors, 0, c.selector, 0, 8);
        System.arraycopy(bases, 0, c.segBase, 0, 8);
        System.arraycopy(limits, 0, c.segLimit, 0, 8);
        System.arraycopy(attributes, 0, c.segAttr, 0, 8);
        System.arraycopy(debug, 0, c.dr, 0, 8);
        System.arraycopy(mtrr, 0, c.mtrr, 0, c.mtrr.length);
        int i = 0;
        c.gdtBase = scalars[i++];
        c.gdtLimit = (int) scalars[i++];
        c.idtBase = scalars[i++];
        c.idtLimit = (int) scalars[i++];
        c.cr0 = scalars[i++];
        c.cr2 = scalars[i++];
        c.cr3 = scalars[i++];
        c.cr4 = scalars[i++];
        c.efer = scalars[i++];
        c.xcr0 = scalars[i++];
        c.cpl = (int) scalars[i++];
        c.star = scalars[i++];
        c.lstar = scalars[i++];
        c.cstar = scalars[i++];
        c.sfmask = scalars[i++];
        c.kernelGsBase = scalars[i++];
        c.sysenterCs = scalars[i++];
        c.sysenterEsp = scalars[i++];
        c.sysenterEip = scalars[i++];
        c.tscAux = scalars[i++];
        c.vcpu.tsc(scalars[i++]);
        c.pat = scalars[i++];
        c.miscEnable = scalars[i++];
        c.mtrrDefType = scalars[i++];
        c.apicBase = scalars[i++];
        c.specCtrl = scalars[i++];
        c.instructions = scalars[i];
        c.fpu.restore(fpu);
        c.halted = halted;
        c.inhibit = inhibit;
        c.linkFrom = null;
        c.rflags(rflags);
        c.mmu.flush();
        c.modeChanged();
        c.debug.changed();
    }
}
