package org.benchtop.engine.boot;

import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;

/** Initial states of vCPU 0 (Intel SDM vol. 3, 9.1.1 for reset). */
final class CpuStates {
    private static final long CR0_PE = 1;
    private static final long CR0_ET = 1 << 4;
    private static final long CR0_NE = 1 << 5;
    private static final long CR0_NW = 1L << 29;
    private static final long CR0_CD = 1L << 30;
    private static final long CR0_PG = 1L << 31;
    private static final long CR4_PAE = 1 << 5;
    private static final long EFER_LME = 1 << 8;
    private static final long EFER_LMA = 1 << 10;
    private static final long APIC_BASE = 0xfee0_0000L | 1 << 11 | 1 << 8;
    private static final long RESET_CS_BASE = 0xffff_0000L;
    private static final long RESET_RIP = 0xfff0;
    /** What the kernel's boot protocol calls __BOOT_CS and __BOOT_DS. */
    static final int BOOT_CS = 0x10;

    static final int BOOT_DS = 0x18;
    static final int BOOT_TSS = 0x20;
    private static final int TSS_LIMIT = 0x67;
    private static final int TYPE_LDT = 2;
    private static final int TYPE_BUSY_TSS = 0xb;

    private CpuStates() {}

    private static SegmentRegister system(int selector, int limit, int type) {
        return new SegmentRegister(selector, 0, limit, type, true, 0, false, true, false, false, false, false);
    }

    /** The state after reset, at the reset vector. */
    static BootState reset() {
        return new BootState(
                Registers.ZERO.withRip(RESET_RIP),
                realMode(SegmentRegister.real(0xf000, RESET_CS_BASE, true), CR0_NW | CR0_CD | CR0_ET));
    }

    /** Real mode at a linear address below 1 MiB, with zero data segments. */
    static BootState real(long entry, long stack) {
        int selector = (int) (entry >> 4 & 0xf000);
        long base = (long) selector << 4;
        return new BootState(
                Registers.ZERO.withRip(entry - base).withRsp(stack),
                realMode(SegmentRegister.real(selector, base, true), CR0_ET));
    }

    private static SpecialRegisters realMode(SegmentRegister code, long cr0) {
        SegmentRegister data = SegmentRegister.real(0, 0, false);
        return new SpecialRegisters(
                code,
                data,
                data,
                data,
                data,
                data,
                system(0, 0xffff, TYPE_BUSY_TSS),
                system(0, 0xffff, TYPE_LDT),
                new DescriptorTable(0, 0xffff),
                new DescriptorTable(0, 0x3ff),
                cr0,
                0,
                0,
                0,
                0,
                0,
                APIC_BASE);
    }

    /** General registers of a loader that passes one pointer. */
    static Registers registers(long entry, long rax, long rbx, long rsi) {
        return new Registers(
                rax,
                rbx,
                0,
                0,
                rsi,
                0,
                BootLayout.STACK_TOP,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                entry,
                Registers.ZERO.rflags());
    }

    /** 32-bit protected mode without paging, flat segments. */
    static SpecialRegisters protectedMode(DescriptorTable gdt) {
        return flat(gdt, false, CR0_PE | CR0_ET | CR0_NE, 0, 0, 0);
    }

    /** 64-bit mode, flat segments. */
    static SpecialRegisters longMode(DescriptorTable gdt, long cr3) {
        return flat(gdt, true, CR0_PE | CR0_ET | CR0_NE | CR0_PG, cr3, CR4_PAE, EFER_LME | EFER_LMA);
    }

    private static SpecialRegisters flat(
            DescriptorTable gdt, boolean longMode, long cr0, long cr3, long cr4, long efer) {
        SegmentRegister data = SegmentRegister.flatData(BOOT_DS);
        return new SpecialRegisters(
                SegmentRegister.flatCode(BOOT_CS, longMode),
                data,
                data,
                data,
                data,
                data,
                system(BOOT_TSS, TSS_LIMIT, TYPE_BUSY_TSS),
                system(0, 0, TYPE_LDT),
                gdt,
                new DescriptorTable(0, 0),
                cr0,
                0,
                cr3,
                cr4,
                0,
                efer,
                APIC_BASE);
    }
}
