package org.benchtop.softcpu;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.memory.MemoryAccess;

/** One processor with RAM, no devices, and page tables that tests fill. */
final class TestMachine implements AutoCloseable {
    static final int RAM_BYTES = 16 << 20;
    /** Page tables grow from here. */
    static final long TABLES = 0x80_0000;

    static final long GDT = 0x1000;
    static final int CODE64 = 0x08;
    static final int CODE32 = 0x10;
    static final int DATA = 0x18;
    static final int CODE16 = 0x20;

    final Arena arena = Arena.ofShared();
    final MemorySegment ram = arena.allocate(RAM_BYTES, 4096);
    final Host host = new Host();
    final SoftVm vm;
    final SoftVcpu vcpu;
    final Cpu cpu;
    private long nextTable = TABLES;

    /** Records what leaves the processor. */
    static final class Host implements CpuHost {
        final List<String> log = new ArrayList<>();
        long answer;

        @Override
        public long pioRead(int vcpu, int port, int size) {
            log.add("in" + size + " " + Integer.toHexString(port));
            return answer;
        }

        @Override
        public void pioWrite(int vcpu, int port, int size, long value) {
            log.add("out" + size + " " + Integer.toHexString(port) + "=" + Long.toHexString(value));
        }

        @Override
        public long mmioRead(int vcpu, long gpa, int size) {
            log.add("read" + size + " " + Long.toHexString(gpa));
            return answer;
        }

        @Override
        public void mmioWrite(int vcpu, long gpa, int size, long value) {
            log.add("write" + size + " " + Long.toHexString(gpa) + "=" + Long.toHexString(value));
        }

        @Override
        public long hypercall(int vcpu, long number, long a0, long a1, long a2, long a3, long a4) {
            return -1000;
        }

        @Override
        public long hypercall(int vcpu, long[] registers, boolean longMode, int privilegeLevel) {
            return longMode && privilegeLevel == 0
                    ? registers[Cpu.RAX] + registers[Cpu.RDI]
                    : CpuHost.super.hypercall(vcpu, registers, longMode, privilegeLevel);
        }

        @Override
        public boolean cpuid(int vcpu, int leaf, int[] registers) {
            if (leaf != 0x4000_0100) {
                return false;
            }
            for (int i = 0; i < 4; i++) {
                registers[i] = i + 1;
            }
            return true;
        }

        @Override
        public OptionalLong readMsr(int vcpu, int msr) {
            return OptionalLong.empty();
        }

        @Override
        public boolean writeMsr(int vcpu, int msr, long value) {
            return false;
        }
    }

    TestMachine() {
        this(1);
    }

    TestMachine(int cpus) {
        this(cpus, new SoftOptions(true, false));
    }

    TestMachine(int cpus, SoftOptions options) {
        vm = new SoftVm(options, new CpuVmConfig("test", cpus, new CpuModel("max", Map.of())), host);
        vm.mapMemory(0, 0, ram, MemoryAccess.READ_WRITE);
        vcpu = vm.createVcpu(0);
        cpu = vcpu.cpu();
        vcpu.reset();
    }

    void write(long gpa, int... bytes) {
        for (int i = 0; i < bytes.length; i++) {
            ram.set(ValueLayout.JAVA_BYTE, gpa + i, (byte) bytes[i]);
        }
        vm.written(gpa, bytes.length);
    }

    void write(long gpa, byte[] bytes) {
        MemorySegment.copy(bytes, 0, ram, ValueLayout.JAVA_BYTE, gpa, bytes.length);
        vm.written(gpa, bytes.length);
    }

    long read64(long gpa) {
        return ram.get(ValueLayout.JAVA_LONG_UNALIGNED, gpa);
    }

    void write64(long gpa, long value) {
        ram.set(ValueLayout.JAVA_LONG_UNALIGNED, gpa, value);
    }

    /** A GDT with flat 64-, 32- and 16-bit code and data. */
    void flatDescriptors() {
        write64(GDT + CODE64, 0x00af_9b00_0000_ffffL);
        write64(GDT + CODE32, 0x00cf_9b00_0000_ffffL);
        write64(GDT + DATA, 0x00cf_9300_0000_ffffL);
        write64(GDT + CODE16, 0x008f_9b00_0000_ffffL);
        cpu.gdtBase = GDT;
        cpu.gdtLimit = 0xff;
    }

    private void flatSegments(int code, int attr) {
        flatDescriptors();
        for (int seg = 0; seg < 6; seg++) {
            Segments.set(cpu, seg, DATA, 0, 0xffff_ffffL, 0xc093);
        }
        Segments.set(cpu, Cpu.CS, code, 0, 0xffff_ffffL, attr);
        cpu.cpl = 0;
    }

    /** 64-bit mode, ring 0, with empty page tables. */
    void longMode() {
        flatSegments(CODE64, 0xa09b);
        cpu.cr3 = newTable();
        cpu.cr4 = Cpu.CR4_PAE;
        cpu.efer = Cpu.EFER_LME | Cpu.EFER_LMA | Cpu.EFER_NXE | Cpu.EFER_SCE;
        cpu.cr0 = Cpu.CR0_PE | Cpu.CR0_PG | Cpu.CR0_WP | Cpu.CR0_ET | Cpu.CR0_NE;
        cpu.mmu.flush();
        cpu.modeChanged();
    }

    /** Flat 32-bit protected mode without paging. */
    void protectedMode() {
        flatSegments(CODE32, 0xc09b);
        cpu.cr0 = Cpu.CR0_PE | Cpu.CR0_ET | Cpu.CR0_NE;
        cpu.mmu.flush();
        cpu.modeChanged();
    }

    /** Real mode with all segments at zero. */
    void realMode() {
        for (int seg = 0; seg < 6; seg++) {
            Segments.set(cpu, seg, 0, 0, 0xffff, 0x93);
        }
        Segments.set(cpu, Cpu.CS, 0, 0, 0xffff, 0x9b);
        cpu.idtBase = 0;
        cpu.idtLimit = 0x3ff;
        cpu.cr0 = Cpu.CR0_ET;
        cpu.mmu.flush();
        cpu.modeChanged();
    }

    private long newTable() {
        long table = nextTable;
        nextTable += 4096;
        return table;
    }

    /** Maps 4 KiB pages; flags as in a page table entry, present included. */
    void map(long linear, long gpa, long bytes, long flags) {
        for (long at = 0; at < bytes; at += 4096) {
            long table = cpu.cr3 & Cpu.PAGE_MASK;
            for (int level = 4; level > 1; level--) {
                long entry = table + ((linear + at >>> 12 + 9 * (level - 1) & 511) << 3);
                if (read64(entry) == 0) {
                    write64(entry, newTable() | 7);
                }
                table = read64(entry) & Cpu.PAGE_MASK;
            }
            write64(table + ((linear + at >>> 12 & 511) << 3), gpa + at | flags);
        }
    }

    /** The entry that maps a 4 KiB page. */
    long entry(long linear) {
        long table = cpu.cr3 & Cpu.PAGE_MASK;
        for (int level = 4; level > 1; level--) {
            table = read64(table + ((linear >>> 12 + 9 * (level - 1) & 511) << 3)) & Cpu.PAGE_MASK;
        }
        return read64(table + ((linear >>> 12 & 511) << 3));
    }

    VcpuExit run(long rip) {
        cpu.rip = rip;
        return vcpu.run();
    }

    @Override
    public void close() {
        vm.close();
        arena.close();
    }
}
