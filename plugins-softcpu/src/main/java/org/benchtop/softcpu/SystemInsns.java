package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/** System instructions, port I/O and flags (Intel SDM vol. 2; vol. 3, chapter 2). */
final class SystemInsns {
    private static final long CR0_BITS = 0xe005_003fL;
    private static final int DR6_FIXED = 0xffff_0ff0;
    private static final int DR7_FIXED = 0x400;

    private SystemInsns() {}

    private static void privileged(Cpu c) {
        if (c.cpl != 0) {
            throw c.gp();
        }
    }

    static void ud(Cpu c, Insn in) {
        throw c.ud();
    }

    static void rsm(Cpu c, Insn in) {
        throw c.ud();
    }

    static void invd(Cpu c, Insn in) {
        privileged(c);
    }

    static void clts(Cpu c, Insn in) {
        privileged(c);
        c.cr0 &= ~Cpu.CR0_TS;
    }

    static void hlt(Cpu c, Insn in) {
        privileged(c);
        c.halted = true;
        c.vcpu.request(SoftVcpu.HALT);
    }

    static void cpuid(Cpu c, Insn in) {
        c.features.cpuid(c);
    }

    static void rdtsc(Cpu c, Insn in) {
        if ((c.cr4 & Cpu.CR4_TSD) != 0 && c.cpl != 0) {
            throw c.gp();
        }
        long tsc = c.vcpu.tsc();
        c.r[Cpu.RAX] = tsc & 0xffff_ffffL;
        c.r[Cpu.RDX] = tsc >>> 32;
    }

    static void rdpmc(Cpu c, Insn in) {
        throw c.gp();
    }

    static void rdmsr(Cpu c, Insn in) {
        privileged(c);
        long value = Msrs.read(c, (int) c.r[Cpu.RCX]);
        c.r[Cpu.RAX] = value & 0xffff_ffffL;
        c.r[Cpu.RDX] = value >>> 32;
    }

    static void wrmsr(Cpu c, Insn in) {
        privileged(c);
        Msrs.write(c, (int) c.r[Cpu.RCX], c.r[Cpu.RDX] << 32 | c.r[Cpu.RAX] & 0xffff_ffffL);
    }

    // ---- ports ----

    static void checkPort(Cpu c, int port, int size) {
        if (!c.protectedMode() || !c.virtual8086() && c.cpl <= c.iopl()) {
            return;
        }
        int type = c.segAttr[Cpu.TR] & Segments.TYPE;
        if ((c.segAttr[Cpu.TR] & Segments.PRESENT) == 0 || (type & 8) == 0 || c.segLimit[Cpu.TR] < 0x67) {
            throw c.gp();
        }
        long base = Segments.systemLoad(c, c.segBase[Cpu.TR] + 0x66, 2);
        long at = base + (port >> 3);
        if (at + 1 > c.segLimit[Cpu.TR]) {
            throw c.gp();
        }
        long bits = Segments.systemLoad(c, c.segBase[Cpu.TR] + at, 2);
        if ((bits >>> (port & 7) & (1 << size) - 1) != 0) {
            throw c.gp();
        }
    }

    private static void in(Cpu c, Insn in, int port) {
        int size = Math.min(in.size, 4);
        checkPort(c, port, size);
        c.set(Cpu.RAX, size, c.vm.portRead(c, port, size));
    }

    private static void out(Cpu c, Insn in, int port) {
        int size = Math.min(in.size, 4);
        checkPort(c, port, size);
        c.vm.portWrite(c, port, size, c.get(Cpu.RAX, size));
    }

    static void inImmediate(Cpu c, Insn in) {
        in(c, in, (int) in.imm & 0xff);
    }

    static void inDx(Cpu c, Insn in) {
        in(c, in, (int) c.r[Cpu.RDX] & 0xffff);
    }

    static void outImmediate(Cpu c, Insn in) {
        out(c, in, (int) in.imm & 0xff);
    }

    static void outDx(Cpu c, Insn in) {
        out(c, in, (int) c.r[Cpu.RDX] & 0xffff);
    }

    // ---- flags ----

    static void cmc(Cpu c, Insn in) {
        c.setStatus(c.status() ^ Flags.CF);
    }

    static void clc(Cpu c, Insn in) {
        c.setStatus(c.status() & ~Flags.CF);
    }

    static void stc(Cpu c, Insn in) {
        c.setStatus(c.status() | Flags.CF);
    }

    static void cld(Cpu c, Insn in) {
        c.systemFlags &= ~(long) Flags.DF;
    }

    static void std(Cpu c, Insn in) {
        c.systemFlags |= Flags.DF;
    }

    private static void checkInterruptFlag(Cpu c) {
        if (c.protectedMode() && (c.virtual8086() ? c.iopl() < 3 : c.cpl > c.iopl())) {
            throw c.gp();
        }
    }

    static void cli(Cpu c, Insn in) {
        checkInterruptFlag(c);
        c.systemFlags &= ~(long) Flags.IF;
    }

    static void sti(Cpu c, Insn in) {
        checkInterruptFlag(c);
        if ((c.systemFlags & Flags.IF) == 0) {
            c.systemFlags |= Flags.IF;
            c.inhibit = true;
            Interrupts.mayBeOpen(c);
        }
    }

    static void lahf(Cpu c, Insn in) {
        c.set8(Insn.HIGH_BYTE, c.rflags() & 0xff);
    }

    static void sahf(Cpu c, Insn in) {
        int changed = Flags.SF | Flags.ZF | Flags.AF | Flags.PF | Flags.CF;
        c.setStatus(c.status() & ~changed | c.get8(Insn.HIGH_BYTE) & changed);
    }

    static void pushf(Cpu c, Insn in) {
        if (c.virtual8086() && c.iopl() < 3) {
            throw c.gp();
        }
        c.push(c.rflags() & ~(long) (Flags.VM | Flags.RF), in.operandSize);
    }

    static void popf(Cpu c, Insn in) {
        if (c.virtual8086() && c.iopl() < 3) {
            throw c.gp();
        }
        int size = in.operandSize;
        long value = c.pop(size);
        long changed = Flags.STATUS | Flags.TF | Flags.DF | Flags.NT;
        if (size != 2) {
            changed |= Flags.AC | Flags.ID;
        }
        if (c.cpl == 0) {
            changed |= Flags.IOPL;
        }
        if (!c.protectedMode() || c.cpl <= c.iopl()) {
            changed |= Flags.IF;
        }
        c.rflags(c.rflags() & ~changed & ~(long) Flags.RF | value & changed);
        Interrupts.mayBeOpen(c);
    }

    // ---- control and debug registers ----

    private static int controlSize(Insn in) {
        return in.codeSize == 8 ? 8 : 4;
    }

    /** Registers that do not exist come before the privilege. */
    private static void checkControl(Cpu c, Insn in) {
        if (in.reg > 8 || in.reg == 1 || in.reg >= 5 && in.reg < 8) {
            throw c.ud();
        }
        privileged(c);
    }

    static void readControl(Cpu c, Insn in) {
        checkControl(c, in);
        long value = switch (in.reg) {
            case 0 -> c.cr0;
            case 2 -> c.cr2;
            case 3 -> c.cr3;
            case 4 -> c.cr4;
            case 8 -> c.apic == null ? 0 : c.apic.cr8();
            default -> throw c.ud();
        };
        c.set(in.rm, controlSize(in), value);
    }

    static void writeControl(Cpu c, Insn in) {
        checkControl(c, in);
        long value = c.get(in.rm, controlSize(in));
        switch (in.reg) {
            case 0 -> cr0(c, value);
            case 2 -> c.cr2 = value;
            case 3 -> cr3(c, value);
            case 4 -> cr4(c, value);
            case 8 -> {
                if ((value & ~15L) != 0) {
                    throw c.gp();
                }
                if (c.apic != null) {
                    c.apic.cr8((int) value);
                    c.vcpu.interruptChanged();
                }
            }
            default -> throw c.ud();
        }
    }

    static void cr0(Cpu c, long raw) {
        long value = raw & CR0_BITS | Cpu.CR0_ET;
        if (raw >>> 32 != 0
                || (value & Cpu.CR0_PG) != 0 && (value & Cpu.CR0_PE) == 0
                || (value & Cpu.CR0_NW) != 0 && (value & Cpu.CR0_CD) == 0) {
            throw c.gp();
        }
        long old = c.cr0;
        boolean paging = (value & Cpu.CR0_PG) != 0;
        if (paging && (old & Cpu.CR0_PG) == 0 && (c.efer & Cpu.EFER_LME) != 0) {
            if ((c.cr4 & Cpu.CR4_PAE) == 0 || (c.segAttr[Cpu.CS] & Segments.LONG) != 0) {
                throw c.gp();
            }
            c.efer |= Cpu.EFER_LMA;
        } else if (!paging && (old & Cpu.CR0_PG) != 0) {
            if (c.codeSize == 8 || (c.cr4 & Cpu.CR4_PCIDE) != 0) {
                throw c.gp();
            }
            c.efer &= ~Cpu.EFER_LMA;
        }
        c.cr0 = value;
        if (((old ^ value) & (Cpu.CR0_PG | Cpu.CR0_WP | Cpu.CR0_PE)) != 0) {
            c.mmu.flush();
        }
        c.modeChanged();
    }

    static void cr3(Cpu c, long raw) {
        long value = raw;
        if ((c.cr4 & Cpu.CR4_PCIDE) != 0) {
            value &= Long.MAX_VALUE;
        }
        if (c.longMode() && value >>> Mmu.PHYSICAL_BITS != 0) {
            throw c.gp();
        }
        c.cr3 = value;
        c.mmu.flush();
    }

    static void cr4(Cpu c, long value) {
        if ((value & ~c.features.cr4Bits()) != 0) {
            throw c.gp();
        }
        long changed = c.cr4 ^ value;
        if (c.longMode() && ((value & Cpu.CR4_PAE) == 0 || (changed & Cpu.CR4_LA57) != 0)) {
            throw c.gp();
        }
        if ((changed & value & Cpu.CR4_PCIDE) != 0 && (!c.longMode() || (c.cr3 & 0xfff) != 0)) {
            throw c.gp();
        }
        c.cr4 = value;
        long translation =
                Cpu.CR4_PSE | Cpu.CR4_PAE | Cpu.CR4_PGE | Cpu.CR4_PCIDE | Cpu.CR4_SMEP | Cpu.CR4_SMAP | Cpu.CR4_LA57;
        if ((changed & translation) != 0) {
            c.mmu.flush();
            c.mmu.selectSet();
        }
        if ((changed & Cpu.CR4_DE) != 0) {
            c.debug.changed();
        }
    }

    private static int debugRegister(Cpu c, Insn in) {
        int number = in.reg;
        if (number == 4 || number == 5) {
            if ((c.cr4 & Cpu.CR4_DE) != 0) {
                throw c.ud();
            }
            number += 2;
        }
        if (number > 7) {
            throw c.ud();
        }
        c.debug.detect();
        return number;
    }

    static void readDebug(Cpu c, Insn in) {
        privileged(c);
        c.set(in.rm, controlSize(in), c.dr[debugRegister(c, in)]);
    }

    static void writeDebug(Cpu c, Insn in) {
        privileged(c);
        int number = debugRegister(c, in);
        long value = c.get(in.rm, controlSize(in));
        if (number >= 6) {
            if (value >>> 32 != 0) {
                throw c.gp();
            }
            value = number == 6 ? value & 0xe00f | DR6_FIXED & 0xffff_ffffL : value & 0xffff_2bff | DR7_FIXED;
        }
        c.dr[number] = value;
        c.debug.changed();
    }

    // ---- groups ----

    /** 0F 00: SLDT, STR, LLDT, LTR, VERR, VERW. */
    static void group6(Cpu c, Insn in) {
        Segments.requireProtection(c);
        switch (in.extension()) {
            case 0 -> storeSystem(c, in, c.selector[Cpu.LDTR]);
            case 1 -> storeSystem(c, in, c.selector[Cpu.TR]);
            case 2 -> {
                privileged(c);
                Segments.loadLdt(c, (int) c.readRm(in, 2));
            }
            case 3 -> {
                privileged(c);
                Segments.loadTask(c, (int) c.readRm(in, 2));
            }
            case 4 -> Segments.verify(c, (int) c.readRm(in, 2), false);
            case 5 -> Segments.verify(c, (int) c.readRm(in, 2), true);
            default -> throw c.ud();
        }
    }

    private static void checkUmip(Cpu c) {
        if ((c.cr4 & Cpu.CR4_UMIP) != 0 && c.cpl != 0) {
            throw c.gp();
        }
    }

    private static void storeSystem(Cpu c, Insn in, long value) {
        checkUmip(c);
        if (in.memory) {
            c.writeRm(in, 2, value);
        } else {
            c.set(in.rm, in.operandSize, value);
        }
    }

    /** 0F 01. */
    static void group7(Cpu c, Insn in) {
        if (!in.memory) {
            registerGroup7(c, in);
            return;
        }
        switch (in.extension()) {
            case 0 -> storeTable(c, in, c.gdtBase, c.gdtLimit);
            case 1 -> storeTable(c, in, c.idtBase, c.idtLimit);
            case 2, 3 -> loadTable(c, in);
            case 4 -> storeSystem(c, in, c.cr0);
            case 6 -> lmsw(c, in);
            case 7 -> {
                privileged(c);
                long offset = c.offset(in);
                long address = c.codeSize == 8
                        ? in.seg >= Cpu.FS ? offset + c.segBase[in.seg] : offset
                        : offset + c.segBase[in.seg] & 0xffff_ffffL;
                c.mmu.flushPage(address);
            }
            default -> throw c.ud();
        }
    }

    private static void storeTable(Cpu c, Insn in, long base, int limit) {
        checkUmip(c);
        int size = c.codeSize == 8 ? 8 : 4;
        long address = c.address(in, size + 2, true);
        c.checkWrite(address, size + 2);
        c.store16(address, limit);
        c.store(address + 2, size, base);
    }

    private static void loadTable(Cpu c, Insn in) {
        privileged(c);
        int size = c.codeSize == 8 ? 8 : 4;
        long address = c.address(in, size + 2, false);
        int limit = c.load16(address);
        long base = c.load(address + 2, size);
        if (size == 8 && !ControlFlow.canonical(c, base)) {
            throw c.gp();
        }
        if (size == 4 && in.operandSize == 2) {
            base &= 0xff_ffff;
        }
        if (in.extension() == 2) {
            c.gdtBase = base;
            c.gdtLimit = limit;
        } else {
            c.idtBase = base;
            c.idtLimit = limit;
        }
    }

    private static void lmsw(Cpu c, Insn in) {
        privileged(c);
        long value = c.readRm(in, 2);
        // PE can be set but not cleared.
        cr0(c, c.cr0 & ~0xeL | value & 0xf);
    }

    private static void registerGroup7(Cpu c, Insn in) {
        switch (in.modrm) {
            case 0xc1, 0xd9 -> c.r[Cpu.RAX] = c.vm.hypercall(c);
            case 0xca, 0xcb -> {
                if (!c.features.has(CpuFeatures.SMAP) || c.cpl != 0) {
                    throw c.ud();
                }
                c.systemFlags = c.systemFlags & ~(long) Flags.AC | (in.modrm == 0xcb ? Flags.AC : 0);
                c.mmu.selectSet();
            }
            case 0xd0 -> {
                requireXsave(c);
                if (c.r[Cpu.RCX] << 32 != 0) {
                    throw c.gp();
                }
                c.r[Cpu.RAX] = c.xcr0 & 0xffff_ffffL;
                c.r[Cpu.RDX] = c.xcr0 >>> 32;
            }
            case 0xd1 -> {
                requireXsave(c);
                privileged(c);
                long value = c.r[Cpu.RDX] << 32 | c.r[Cpu.RAX] & 0xffff_ffffL;
                if (c.r[Cpu.RCX] << 32 != 0
                        || (value & 1) == 0
                        || (value & ~c.features.xcr0Bits()) != 0
                        || (value & 6) == 4) {
                    throw c.gp();
                }
                c.xcr0 = value;
            }
            case 0xf8 -> {
                if (c.codeSize != 8) {
                    throw c.ud();
                }
                privileged(c);
                long base = c.segBase[Cpu.GS];
                c.segBase[Cpu.GS] = c.kernelGsBase;
                c.kernelGsBase = base;
            }
            case 0xf9 -> {
                if (!c.features.has(CpuFeatures.RDTSCP)) {
                    throw c.ud();
                }
                rdtsc(c, in);
                c.r[Cpu.RCX] = c.tscAux;
            }
            default -> {
                if (in.extension() == 4) {
                    storeSystem(c, in, c.cr0);
                } else if (in.extension() == 6) {
                    lmsw(c, in);
                } else {
                    throw c.ud();
                }
            }
        }
    }

    private static void requireXsave(Cpu c) {
        if ((c.cr4 & Cpu.CR4_OSXSAVE) == 0) {
            throw c.ud();
        }
    }

    /** 0F AE without the state instructions of the vector unit. */
    static @Nullable InsnHandler group15(Insn in) {
        int ext = in.extension();
        if (in.memory) {
            boolean flush =
                    ext == 7 && (in.pp == Insn.PP_NONE || in.pp == Insn.PP_66) || ext == 6 && in.pp == Insn.PP_66;
            return flush ? SystemInsns::flushLine : null;
        }
        if (in.pp == Insn.PP_F3 && ext < 4) {
            return SystemInsns::segmentBase;
        }
        return in.pp == Insn.PP_NONE && ext >= 5 ? SystemInsns::fence : null;
    }

    private static void flushLine(Cpu c, Insn in) {
        c.load8(c.address(in, 1, false));
    }

    private static void fence(Cpu c, Insn in) {
        java.lang.invoke.VarHandle.fullFence();
    }

    private static void segmentBase(Cpu c, Insn in) {
        if (c.codeSize != 8 || (c.cr4 & Cpu.CR4_FSGSBASE) == 0) {
            throw c.ud();
        }
        int seg = (in.extension() & 1) == 0 ? Cpu.FS : Cpu.GS;
        if (in.extension() < 2) {
            c.set(in.rm, in.operandSize, c.segBase[seg]);
            return;
        }
        long value = c.get(in.rm, in.operandSize);
        if (!ControlFlow.canonical(c, value)) {
            throw c.gp();
        }
        c.segBase[seg] = value;
    }

    static void invpcid(Cpu c, Insn in) {
        privileged(c);
        int size = c.codeSize == 8 ? 8 : 4;
        long address = c.address(in, 16, false);
        long pcid = c.load64(address);
        long linear = c.load64(address + 8);
        long type = c.get(in.reg, size);
        if (type < 0 || type > 3 || type < 2 && pcid >>> 12 != 0 || type == 0 && !ControlFlow.canonical(c, linear)) {
            throw c.gp();
        }
        if (type == 0) {
            c.mmu.flushPage(linear);
        } else {
            c.mmu.flush();
        }
    }
}
