package org.benchtop.softcpu;

import java.util.OptionalLong;

/** Model-specific registers (Intel SDM vol. 4; AMD APM vol. 2, appendix A). */
final class Msrs {
    static final int TSC = 0x10;
    static final int APIC_BASE = 0x1b;
    static final int TSC_ADJUST = 0x3b;
    static final int SPEC_CTRL = 0x48;
    static final int PRED_CMD = 0x49;
    static final int MICROCODE = 0x8b;
    static final int MTRR_CAP = 0xfe;
    static final int ARCH_CAPABILITIES = 0x10a;
    static final int SYSENTER_CS = 0x174;
    static final int SYSENTER_ESP = 0x175;
    static final int SYSENTER_EIP = 0x176;
    static final int MCG_CAP = 0x179;
    static final int MCG_STATUS = 0x17a;
    static final int MISC_ENABLE = 0x1a0;
    static final int DEBUGCTL = 0x1d9;
    static final int PAT = 0x277;
    static final int MTRR_DEF_TYPE = 0x2ff;
    static final int TSC_DEADLINE = 0x6e0;
    static final int EFER = 0xc000_0080;
    static final int STAR = 0xc000_0081;
    static final int LSTAR = 0xc000_0082;
    static final int CSTAR = 0xc000_0083;
    static final int SFMASK = 0xc000_0084;
    static final int FS_BASE = 0xc000_0100;
    static final int GS_BASE = 0xc000_0101;
    static final int KERNEL_GS_BASE = 0xc000_0102;
    static final int TSC_AUX = 0xc000_0103;

    /**
     * Not vulnerable to what speculation leaks: RDCL_NO, IBRS_ALL, SKIP_L1DFL_VMENTRY, SSB_NO, MDS_NO, PSCHANGE_MC_NO, TAA_NO,
     * SBDR_SSDP_NO, FBSDP_NO, PSDP_NO, BHI_NO, PBRSB_NO, GDS_NO, RFDS_NO, ITS_NO.
     */
    private static final long NOT_VULNERABLE = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 13
            | 1 << 14 | 1 << 15 | 1 << 20 | 1 << 24 | 1 << 26 | 1 << 27;

    private static final long MTRR_COUNT = 8;
    private static final long MTRR_CAPABILITIES = MTRR_COUNT | 1 << 8 | 1 << 10;

    private Msrs() {}

    static long read(Cpu c, int index) {
        OptionalLong value = get(c, index);
        if (value.isPresent()) {
            return value.getAsLong();
        }
        OptionalLong other = c.vm.readMsr(c, index);
        if (other.isEmpty()) {
            throw c.gp();
        }
        return other.getAsLong();
    }

    static void write(Cpu c, int index, long value) {
        Boolean known = set(c, index, value);
        if (known == null ? !c.vm.writeMsr(c, index, value) : !known) {
            throw c.gp();
        }
    }

    /** An MSR of the processor or its local APIC; empty if it is neither. */
    static OptionalLong get(Cpu c, int index) {
        if (index >= 0x800 && index < 0x900) {
            return c.apic == null ? OptionalLong.empty() : c.apic.readMsr(index);
        }
        if (index >= 0x200 && index < 0x200 + 2 * MTRR_COUNT) {
            return OptionalLong.of(c.mtrr[index - 0x200]);
        }
        int fixed = fixedMtrr(index);
        if (fixed >= 0) {
            return OptionalLong.of(c.mtrr[fixed]);
        }
        return switch (index) {
            case TSC -> OptionalLong.of(c.vcpu.tsc());
            case TSC_ADJUST -> OptionalLong.of(c.tscOffset);
            case APIC_BASE -> OptionalLong.of(c.apic == null ? c.apicBase : c.apic.base());
            case SPEC_CTRL -> OptionalLong.of(c.specCtrl);
            case MICROCODE -> OptionalLong.of(1L << 32);
            case MTRR_CAP -> OptionalLong.of(MTRR_CAPABILITIES);
            case ARCH_CAPABILITIES -> OptionalLong.of(NOT_VULNERABLE);
            case SYSENTER_CS -> OptionalLong.of(c.sysenterCs);
            case SYSENTER_ESP -> OptionalLong.of(c.sysenterEsp);
            case SYSENTER_EIP -> OptionalLong.of(c.sysenterEip);
            case MCG_CAP, MCG_STATUS, DEBUGCTL -> OptionalLong.of(0);
            case MISC_ENABLE -> OptionalLong.of(c.miscEnable);
            case PAT -> OptionalLong.of(c.pat);
            case MTRR_DEF_TYPE -> OptionalLong.of(c.mtrrDefType);
            case TSC_DEADLINE -> c.apic == null ? OptionalLong.empty() : c.apic.readMsr(index);
            case EFER -> OptionalLong.of(c.efer);
            case STAR -> OptionalLong.of(c.star);
            case LSTAR -> OptionalLong.of(c.lstar);
            case CSTAR -> OptionalLong.of(c.cstar);
            case SFMASK -> OptionalLong.of(c.sfmask);
            case FS_BASE -> OptionalLong.of(c.segBase[Cpu.FS]);
            case GS_BASE -> OptionalLong.of(c.segBase[Cpu.GS]);
            case KERNEL_GS_BASE -> OptionalLong.of(c.kernelGsBase);
            case TSC_AUX -> OptionalLong.of(c.tscAux);
            default -> OptionalLong.empty();
        };
    }

    /** 0x250, 0x258, 0x259, 0x268–0x26f as indices behind the variable ranges; else -1. */
    private static int fixedMtrr(int index) {
        return switch (index) {
            case 0x250 -> 16;
            case 0x258 -> 17;
            case 0x259 -> 18;
            default -> index >= 0x268 && index <= 0x26f ? 19 + index - 0x268 : -1;
        };
    }

    /** Whether the write is allowed; null if the processor has no such MSR. */
    static @org.jspecify.annotations.Nullable Boolean set(Cpu c, int index, long value) {
        if (index >= 0x800 && index < 0x900) {
            return c.apic != null && c.apic.writeMsr(index, value);
        }
        if (index >= 0x200 && index < 0x200 + 2 * MTRR_COUNT) {
            c.mtrr[index - 0x200] = value;
            return true;
        }
        int fixed = fixedMtrr(index);
        if (fixed >= 0) {
            c.mtrr[fixed] = value;
            return true;
        }
        switch (index) {
            case TSC -> c.vcpu.tsc(value);
            case TSC_ADJUST -> c.tscOffset = value;
            case APIC_BASE -> {
                if (c.apic != null) {
                    return c.apic.base(value);
                }
                c.apicBase = value;
            }
            case SPEC_CTRL -> c.specCtrl = value;
            case PRED_CMD, MICROCODE, MCG_STATUS, DEBUGCTL -> {
                // accepted without effect
            }
            case SYSENTER_CS -> c.sysenterCs = value;
            case SYSENTER_ESP -> {
                if (!ControlFlow.canonical(c, value)) {
                    return false;
                }
                c.sysenterEsp = value;
            }
            case SYSENTER_EIP -> {
                if (!ControlFlow.canonical(c, value)) {
                    return false;
                }
                c.sysenterEip = value;
            }
            case MISC_ENABLE -> c.miscEnable = value;
            case PAT -> {
                if (!validPat(value)) {
                    return false;
                }
                c.pat = value;
            }
            case MTRR_DEF_TYPE -> c.mtrrDefType = value;
            case TSC_DEADLINE -> {
                return c.apic == null ? null : c.apic.writeMsr(index, value);
            }
            case EFER -> {
                return efer(c, value);
            }
            case STAR -> c.star = value;
            case LSTAR -> {
                if (!ControlFlow.canonical(c, value)) {
                    return false;
                }
                c.lstar = value;
            }
            case CSTAR -> {
                if (!ControlFlow.canonical(c, value)) {
                    return false;
                }
                c.cstar = value;
            }
            case SFMASK -> c.sfmask = value & 0xffff_ffffL;
            case FS_BASE, GS_BASE, KERNEL_GS_BASE -> {
                if (!ControlFlow.canonical(c, value)) {
                    return false;
                }
                if (index == KERNEL_GS_BASE) {
                    c.kernelGsBase = value;
                } else {
                    c.segBase[index == FS_BASE ? Cpu.FS : Cpu.GS] = value;
                }
            }
            case TSC_AUX -> c.tscAux = value & 0xffff_ffffL;
            default -> {
                return null;
            }
        }
        return true;
    }

    private static boolean validPat(long value) {
        for (int i = 0; i < 8; i++) {
            int type = (int) (value >>> 8 * i) & 0xff;
            if (type > 7 || type == 2 || type == 3) {
                return false;
            }
        }
        return true;
    }

    private static boolean efer(Cpu c, long value) {
        long allowed = c.features.eferBits();
        boolean lmeChanges = ((value ^ c.efer) & Cpu.EFER_LME) != 0;
        if ((value & ~(allowed | Cpu.EFER_LMA)) != 0 || lmeChanges && (c.cr0 & Cpu.CR0_PG) != 0) {
            return false;
        }
        long old = c.efer;
        c.efer = value & ~Cpu.EFER_LMA | old & Cpu.EFER_LMA;
        if (((old ^ c.efer) & Cpu.EFER_NXE) != 0) {
            c.mmu.flush();
        }
        return true;
    }
}
