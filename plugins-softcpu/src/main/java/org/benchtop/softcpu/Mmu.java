package org.benchtop.softcpu;

import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Address translation of one processor: page tables, TLB, and the slow half of every memory access. Sources: Intel SDM vol.
 * 3, chapter 4.
 */
final class Mmu {
    static final int READ = 0;
    static final int WRITE = 1;
    static final int EXEC = 2;

    /** TLB of supervisor accesses under SMAP. */
    private static final int SUPERVISOR = 0;
    /** TLB of supervisor accesses that may touch user pages. */
    private static final int SUPERVISOR_ANY = 1;

    private static final int USER = 2;
    /** Under RFLAGS.AC: holds no data, so that each access of a program is looked at. */
    private static final int USER_ALIGNED = 3;

    private static final int SETS = 4;

    private static final long P = 1;
    private static final long RW = 1 << 1;
    private static final long US = 1 << 2;
    private static final long A = 1 << 5;
    private static final long D = 1 << 6;
    private static final long PS = 1 << 7;
    private static final long NX = 1L << 63;

    static final int PHYSICAL_BITS = 40;
    private static final long PHYSICAL_MASK = (1L << PHYSICAL_BITS) - 1;
    private static final long RESERVED_HIGH = 0x000f_ffff_ffff_f000L & ~PHYSICAL_MASK;

    /** In a write tag: writable, but decoded code is on the page. */
    private static final long CODE_PAGE = 2;

    private static final int JOURNAL_ENTRIES = 256;
    /** Of the operands whose alignment is checked, in bytes. */
    private static final int LARGEST_ALIGNED = 32;

    private static final int PF_P = 1;
    private static final int PF_W = 2;
    private static final int PF_U = 4;
    private static final int PF_RSVD = 8;
    private static final int PF_I = 16;

    private final Cpu cpu;
    private final SoftVm vm;
    private final PhysicalMemory memory;
    private final long[][] sets = new long[SETS][Cpu.TLB_ENTRIES << Cpu.ENTRY_SHIFT];
    private final boolean[] used = new boolean[SETS];
    private int current;
    /** Entries filled since all were empty, while they are few. */
    private final int[] journal = new int[JOURNAL_ENTRIES];

    private int journaled;

    /** The page of the last {@link #hostForWrite} may have decoded code. */
    private boolean mayHoldCode;

    /** Guest physical address of the last translation. */
    long gpa;

    /** Results of a walk. */
    private boolean walkWritable;

    private boolean walkExecutable;
    private boolean walkDirty;
    private int walkError;
    private long walkTable;

    Mmu(Cpu cpu, SoftVm vm) {
        this.cpu = cpu;
        this.vm = vm;
        this.memory = vm.memory();
        for (long[] set : sets) {
            clear(set);
        }
    }

    long[] set(int i) {
        return sets[i];
    }

    private static void clear(long[] set) {
        Arrays.fill(set, Cpu.NO_TAG);
    }

    /** Privilege, RFLAGS.AC, CR0.AM or CR4.SMAP have changed. */
    void selectSet() {
        int wanted = cpu.cpl == 3
                ? (cpu.cr0 & Cpu.CR0_AM) != 0 && (cpu.systemFlags & Flags.AC) != 0 ? USER_ALIGNED : USER
                : (cpu.cr4 & Cpu.CR4_SMAP) != 0 && (cpu.systemFlags & Flags.AC) == 0 ? SUPERVISOR : SUPERVISOR_ANY;
        select(wanted);
    }

    private void select(int wanted) {
        current = wanted;
        used[wanted] = true;
        cpu.tlb = sets[wanted];
    }

    /** Forgets all translations. */
    void flush() {
        if (journaled <= JOURNAL_ENTRIES) {
            for (int i = 0; i < journaled; i++) {
                int e = journal[i] & 0xff_ffff;
                long[] set = sets[journal[i] >>> 24];
                set[e] = Cpu.NO_TAG;
                set[e + Cpu.WRITE_TAG] = Cpu.NO_TAG;
                set[e + Cpu.EXEC_TAG] = Cpu.NO_TAG;
            }
            journaled = 0;
            return;
        }
        journaled = 0;
        for (int i = 0; i < SETS; i++) {
            if (used[i]) {
                clear(sets[i]);
                used[i] = i == current;
            }
        }
    }

    /** Forgets the translation of one page. */
    void flushPage(long linear) {
        int e = ((int) (linear >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        for (long[] set : sets) {
            Arrays.fill(set, e, e + 4, Cpu.NO_TAG);
        }
    }

    /** Makes the next write to a host page take the slow path, by whatever linear address. */
    void protect(long hostPage) {
        for (int i = 0; i < SETS; i++) {
            if (!used[i]) {
                continue;
            }
            long[] set = sets[i];
            for (int e = 0; e < set.length; e += 4) {
                long tag = set[e + Cpu.WRITE_TAG];
                if (tag != Cpu.NO_TAG && tag + set[e + Cpu.ADDEND] == hostPage) {
                    set[e + Cpu.WRITE_TAG] = tag | CODE_PAGE;
                }
            }
        }
    }

    // ---- slow accesses ----

    private static boolean crosses(long a, int size) {
        return (a & 4095) + size > 4096;
    }

    private long wrap(long a) {
        return cpu.codeSize == 8 ? a : a & 0xffff_ffffL;
    }

    long slowLoad(long address, int size) {
        if (crosses(address, size)) {
            int head = (int) (4096 - (address & 4095));
            long second = wrap(address + head);
            // Both halves must be readable before a device is touched.
            long firstHost = host(address, READ);
            long secondHost = host(second, READ);
            checkAlignment(address, size);
            if (firstHost != 0 && secondHost != 0 && !vm.hooks().active() && !cpu.debug.watchesData()) {
                long low = HostMemory.get(firstHost + head - 8, 8) >>> 64 - 8 * head;
                long high = HostMemory.get(secondHost, 8) << 8 * head;
                return (low | high) & Cpu.mask(size);
            }
            long value = 0;
            for (int i = 0; i < size; i++) {
                value |= slowLoad(wrap(address + i), 1) << 8 * i;
            }
            return value;
        }
        long host = host(address, READ);
        checkAlignment(address, size);
        long physical = gpa;
        cpu.vm.watchRead(cpu, address, size);
        return host != 0 ? HostMemory.get(host, size) : deviceRead(physical, size);
    }

    void slowStore(long address, int size, long value) {
        if (crosses(address, size)) {
            int head = (int) (4096 - (address & 4095));
            long second = wrap(address + head);
            host(address, WRITE);
            host(second, WRITE);
            checkAlignment(address, size);
            for (int i = 0; i < size; i++) {
                slowStore(wrap(address + i), 1, value >>> 8 * i & 0xff);
            }
            return;
        }
        int e = ((int) (address >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        if ((address & Cpu.PAGE_MASK | CODE_PAGE) == cpu.tlb[e + Cpu.WRITE_TAG]) {
            long known = address + cpu.tlb[e + Cpu.ADDEND];
            HostMemory.set(known, size, value);
            codeWritten(known, size);
            return;
        }
        long host = host(address, WRITE);
        checkAlignment(address, size);
        long physical = gpa;
        cpu.vm.watchWrite(cpu, address, size);
        if (host != 0) {
            HostMemory.set(host, size, value);
            codeWritten(host, size);
        } else {
            deviceWrite(physical, size, value);
        }
    }

    /** Raises the fault that an access of a range would raise. */
    void probe(long address, int size, boolean write) {
        int e = ((int) (address >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        if (write && !crosses(address, size) && (address & Cpu.PAGE_MASK | CODE_PAGE) == cpu.tlb[e + Cpu.WRITE_TAG]) {
            return;
        }
        int access = write ? WRITE : READ;
        host(address, access);
        if (crosses(address, size)) {
            // CR2 names the first byte that cannot be reached.
            host(wrap((address & Cpu.PAGE_MASK) + 4096), access);
        }
        checkAlignment(address, size);
    }

    /** #AC where the guest wants it: numbers of up to 8 bytes, and vectors and x87 values as made of those. */
    private void checkAlignment(long address, int size) {
        if (current == USER_ALIGNED
                && size <= LARGEST_ALIGNED
                && (address & (size >= 8 ? 7 : size >= 4 ? 3 : size - 1)) != 0) {
            throw cpu.fault(CpuFault.AC, 0);
        }
    }

    /** Whether what is accessed matters to the guest: then one access at a time, with all checks. */
    private boolean observed(long a) {
        return current == USER_ALIGNED || cpu.debug.watches(a & Cpu.PAGE_MASK);
    }

    /**
     * The host address for an atomic write inside one page, or 0 if it is a device's, crosses pages, or has to be made by
     * {@link Cpu#store}; faults like a write, except in the last case.
     * The caller writes there and then calls {@link #wrote}.
     */
    long hostForWrite(long a, int size) {
        mayHoldCode = false;
        int e = ((int) (a >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        if ((a + size - 1 & Cpu.PAGE_MASK) == cpu.tlb[e + Cpu.WRITE_TAG]) {
            return a + cpu.tlb[e + Cpu.ADDEND];
        }
        if (crosses(a, size)) {
            probe(a, size, true);
            return 0;
        }
        if (observed(a)) {
            return 0;
        }
        mayHoldCode = true;
        long host = host(a, WRITE);
        cpu.vm.watchWrite(cpu, a, size);
        return host;
    }

    /**
     * The host address of a range inside one page for reading, or 0 if it is a device's, or has to be read by {@link
     * Cpu#load}; faults like a read, except in the last case.
     */
    long hostForRead(long a, int size) {
        int e = ((int) (a >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        if ((a + size - 1 & Cpu.PAGE_MASK) == cpu.tlb[e]) {
            return a + cpu.tlb[e + Cpu.ADDEND];
        }
        if (observed(a)) {
            return 0;
        }
        long host = host(a, READ);
        cpu.vm.watchRead(cpu, a, size);
        return host;
    }

    /** After a write to what {@link #hostForWrite} gave. */
    void wrote(long host, int size) {
        if (mayHoldCode) {
            codeWritten(host, size);
        }
    }

    /**
     * Drops code that was overwritten. After the write, and the claim is looked for behind a fence: a processor that decodes
     * meanwhile claims first and then compares, so that one of the two notices the other.
     */
    private void codeWritten(long host, int size) {
        VarHandle.fullFence();
        CodePages code = vm.code();
        if (code.overlaps(host, size)) {
            vm.dropCode(host, size);
        }
    }

    private long deviceRead(long address, int size) {
        return vm.deviceRead(cpu, address, size);
    }

    private void deviceWrite(long address, int size, long value) {
        if (memory.at(address) == null) {
            vm.deviceWrite(cpu, address, size, value);
        }
    }

    // ---- translation ----

    /**
     * Translates inside one page and fills the TLB.
     *
     * @return the host address; 0 if the access goes to {@link #gpa} on the bus, or is a write to read-only memory
     */
    long host(long linear, int access) {
        long physical = translate(linear, access, current >= USER, current == SUPERVISOR);
        gpa = physical;
        PhysicalMemory.Slot slot = memory.at(physical);
        if (slot == null) {
            return 0;
        }
        if (access == WRITE && !slot.writable) {
            return 0;
        }
        long host = slot.host + (physical - slot.gpa);
        fill(linear, access, slot, physical, host);
        return host;
    }

    private void fill(long linear, int access, PhysicalMemory.Slot slot, long physical, long host) {
        long page = linear & Cpu.PAGE_MASK;
        long hostPage = host & Cpu.PAGE_MASK;
        boolean hidden = current == USER_ALIGNED || vm.watched(cpu, page);
        long[] set = cpu.tlb;
        int e = ((int) (linear >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        long writeTag = Cpu.NO_TAG;
        if (access == WRITE) {
            boolean logged = slot.dirty != null;
            if (logged) {
                slot.markDirty(physical);
            }
            CodePages.Page code = vm.code().at(hostPage);
            writeTag = code == null || code.granules == 0 ? page : page | CODE_PAGE;
        }
        boolean same = set[e + Cpu.ADDEND] == hostPage - page
                && (set[e] == page
                        || (set[e + Cpu.WRITE_TAG] & Cpu.PAGE_MASK) == page && set[e + Cpu.WRITE_TAG] != Cpu.NO_TAG
                        || set[e + Cpu.EXEC_TAG] == page);
        if (!same) {
            if (journaled < JOURNAL_ENTRIES) {
                journal[journaled] = current << 24 | e;
            }
            journaled++;
            set[e] = Cpu.NO_TAG;
            set[e + Cpu.WRITE_TAG] = Cpu.NO_TAG;
            set[e + Cpu.EXEC_TAG] = Cpu.NO_TAG;
            set[e + Cpu.ADDEND] = hostPage - page;
        }
        if (access != EXEC && !hidden) {
            set[e] = page;
            if (access == WRITE) {
                set[e + Cpu.WRITE_TAG] = writeTag;
            }
        } else if (access == EXEC) {
            set[e + Cpu.EXEC_TAG] = page;
        }
    }

    private CpuFault pageFault(long linear, int error) {
        cpu.cr2 = linear;
        return cpu.fault(CpuFault.PF, error);
    }

    /** Translates, sets A and D, and raises #PF, or #GP and #SS for addresses that are not canonical. */
    private long translate(long linear, int access, boolean user, boolean smap) {
        if ((cpu.cr0 & Cpu.CR0_PG) == 0) {
            return linear & 0xffff_ffffL;
        }
        long physical = walk(linear, access, user, smap, true);
        if (physical < 0) {
            if (physical == NOT_CANONICAL) {
                CpuFault fault = cpu.fault(CpuFault.GP, 0);
                fault.notCanonical = true;
                fault.linear = linear;
                throw fault;
            }
            throw pageFault(linear, walkError);
        }
        return physical;
    }

    private static final long FAULT = -1;
    private static final long NOT_CANONICAL = -2;

    /** Translates without any effect; negative if unmapped. */
    long peek(long linear) {
        if ((cpu.cr0 & Cpu.CR0_PG) == 0) {
            return linear & 0xffff_ffffL;
        }
        return walk(linear, READ, false, false, false);
    }

    private long walk(long linear, int access, boolean user, boolean smap, boolean update) {
        walkError = (access == WRITE ? PF_W : 0) | (user ? PF_U : 0) | (access == EXEC && fetchBit() ? PF_I : 0);
        if ((cpu.cr4 & Cpu.CR4_PAE) == 0) {
            return walk32(linear, access, user, smap, update);
        }
        int level;
        boolean longMode = (cpu.efer & Cpu.EFER_LMA) != 0;
        if (longMode) {
            level = (cpu.cr4 & Cpu.CR4_LA57) != 0 ? 5 : 4;
            int shift = 64 - (level * 9 + 12);
            if (linear << shift >> shift != linear) {
                return NOT_CANONICAL;
            }
            walkTable = cpu.cr3 & PHYSICAL_MASK & Cpu.PAGE_MASK;
        } else {
            level = 3;
            walkTable = cpu.cr3 & 0xffff_ffe0L;
        }
        boolean nxe = (cpu.efer & Cpu.EFER_NXE) != 0;
        boolean writable = true;
        boolean userPage = true;
        boolean executable = true;
        while (true) {
            int shift = 12 + 9 * (level - 1);
            boolean top = level == 3 && !longMode;
            long entryAddress = walkTable + ((linear >>> shift & (top ? 3 : 511)) << 3);
            long host = entryHost(entryAddress);
            if (host == 0) {
                return FAULT;
            }
            long entry = HostMemory.getVolatile64(host);
            if ((entry & P) == 0) {
                return FAULT;
            }
            boolean leaf = level == 1 || (entry & PS) != 0 && level <= 3 && !top;
            long reserved = RESERVED_HIGH | (nxe ? 0 : NX);
            if (top) {
                reserved |= NX | 0x1e6;
            } else if (leaf && level > 1) {
                reserved |= (1L << shift) - 1 & ~0x1fffL;
                if (level == 3 && !vm.gigabytePages()) {
                    reserved |= PS;
                }
            } else if (!leaf && level >= 4) {
                reserved |= PS;
            }
            if ((entry & reserved) != 0) {
                walkError |= PF_P | PF_RSVD;
                return FAULT;
            }
            if (!top) {
                writable &= (entry & RW) != 0;
                userPage &= (entry & US) != 0;
                executable &= (entry & NX) == 0;
            }
            if (!leaf) {
                if (update && !top && (entry & A) == 0 && !HostMemory.compareAndSet64(host, entry, entry | A)) {
                    continue;
                }
                walkTable = entry & PHYSICAL_MASK & Cpu.PAGE_MASK;
                level--;
                continue;
            }
            if (!allowed(access, user, smap, writable, userPage, executable)) {
                walkError |= PF_P;
                return FAULT;
            }
            long bits = A | (access == WRITE ? D : 0);
            if (update && (entry & bits) != bits && !HostMemory.compareAndSet64(host, entry, entry | bits)) {
                continue;
            }
            long offset = (1L << shift) - 1;
            return entry & PHYSICAL_MASK & ~offset & Cpu.PAGE_MASK | linear & offset;
        }
    }

    private boolean fetchBit() {
        return (cpu.cr4 & Cpu.CR4_SMEP) != 0 || (cpu.efer & Cpu.EFER_NXE) != 0 && (cpu.cr4 & Cpu.CR4_PAE) != 0;
    }

    private boolean allowed(
            int access, boolean user, boolean smap, boolean writable, boolean userPage, boolean executable) {
        if (user) {
            return userPage && (access != WRITE || writable) && (access != EXEC || executable);
        }
        if (access == EXEC) {
            return executable && !(userPage && (cpu.cr4 & Cpu.CR4_SMEP) != 0);
        }
        if (userPage && smap) {
            return false;
        }
        return access != WRITE || writable || (cpu.cr0 & Cpu.CR0_WP) == 0;
    }

    private long entryHost(long physical) {
        PhysicalMemory.Slot slot = memory.at(physical);
        if (slot == null) {
            return 0;
        }
        if (slot.dirty != null) {
            slot.markDirty(physical);
        }
        return slot.host + (physical - slot.gpa);
    }

    private long walk32(long linear, int access, boolean user, boolean smap, boolean update) {
        while (true) {
            long directoryHost = entryHost((cpu.cr3 & 0xffff_f000L) + ((linear >>> 22 & 1023) << 2));
            if (directoryHost == 0) {
                return FAULT;
            }
            int entry = HostMemory.get32(directoryHost);
            if ((entry & P) == 0) {
                return FAULT;
            }
            boolean large = (entry & PS) != 0 && (cpu.cr4 & Cpu.CR4_PSE) != 0;
            if (large) {
                // PSE-36: bits 20:13 are physical address bits 39:32; bit 21 is reserved.
                if ((entry & 1 << 21) != 0) {
                    walkError |= PF_P | PF_RSVD;
                    return FAULT;
                }
                if (!allowed(access, user, smap, (entry & RW) != 0, (entry & US) != 0, true)) {
                    walkError |= PF_P;
                    return FAULT;
                }
                if (!mark32(directoryHost, entry, access, update)) {
                    continue;
                }
                long high = (entry >>> 13 & 0xffL) << 32;
                return high | entry & 0xffc0_0000L | linear & 0x3f_ffff;
            }
            if (update && (entry & A) == 0 && !HostMemory.compareAndSet32(directoryHost, entry, (int) (entry | A))) {
                continue;
            }
            long tableHost = entryHost((entry & 0xffff_f000L) + ((linear >>> 12 & 1023) << 2));
            if (tableHost == 0) {
                return FAULT;
            }
            int page = HostMemory.get32(tableHost);
            if ((page & P) == 0) {
                return FAULT;
            }
            boolean writable = (entry & page & RW) != 0;
            boolean userPage = (entry & page & US) != 0;
            if (!allowed(access, user, smap, writable, userPage, true)) {
                walkError |= PF_P;
                return FAULT;
            }
            if (!mark32(tableHost, page, access, update)) {
                continue;
            }
            return page & 0xffff_f000L | linear & 4095;
        }
    }

    private static boolean mark32(long host, int entry, int access, boolean update) {
        int bits = (int) (A | (access == WRITE ? D : 0));
        return !update || (entry & bits) == bits || HostMemory.compareAndSet32(host, entry, entry | bits);
    }

    // ---- implicit supervisor accesses (descriptor tables, TSS) ----

    /** Runs the following accesses with supervisor privilege; returns what {@link #leaveSystem} needs. */
    int enterSystem() {
        int saved = current;
        select((cpu.cr4 & Cpu.CR4_SMAP) != 0 ? SUPERVISOR : SUPERVISOR_ANY);
        return saved;
    }

    void leaveSystem(int saved) {
        select(saved);
    }

    // ---- instruction fetch ----

    /** The host address of code; faults like a fetch. Code outside memory cannot run: 0. */
    long fetch(long linear) {
        int e = ((int) (linear >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        if ((linear & Cpu.PAGE_MASK) == cpu.tlb[e + Cpu.EXEC_TAG]) {
            return linear + cpu.tlb[e + Cpu.ADDEND];
        }
        return host(linear, EXEC);
    }
}
