package org.benchtop.softcpu;

import org.benchtop.softcpu.fp.FpuState;
import org.benchtop.spi.cpu.LocalApic;
import org.jspecify.annotations.Nullable;

/**
 * The architectural state of one processor and its view of memory. Belongs to the thread that runs it.
 *
 * <p>Addresses given to {@code load} and {@code store} are linear; {@link #address} makes one of an instruction's memory
 * operand. Values are zero-extended where their type is wider. A failing access throws {@link CpuFault} before anything has
 * changed.
 */
public final class Cpu {
    public static final int ES = 0;
    public static final int CS = 1;
    public static final int SS = 2;
    public static final int DS = 3;
    public static final int FS = 4;
    public static final int GS = 5;
    static final int TR = 6;
    static final int LDTR = 7;

    public static final int RAX = 0;
    public static final int RCX = 1;
    public static final int RDX = 2;
    public static final int RBX = 3;
    public static final int RSP = 4;
    public static final int RBP = 5;
    public static final int RSI = 6;
    public static final int RDI = 7;

    public static final long CR0_PE = 1;
    public static final long CR0_MP = 1 << 1;
    public static final long CR0_EM = 1 << 2;
    public static final long CR0_TS = 1 << 3;
    public static final long CR0_ET = 1 << 4;
    public static final long CR0_NE = 1 << 5;
    public static final long CR0_WP = 1 << 16;
    public static final long CR0_AM = 1 << 18;
    public static final long CR0_NW = 1 << 29;
    public static final long CR0_CD = 1 << 30;
    public static final long CR0_PG = 1L << 31;
    public static final long CR4_VME = 1;
    public static final long CR4_PVI = 1 << 1;
    public static final long CR4_TSD = 1 << 2;
    public static final long CR4_DE = 1 << 3;
    public static final long CR4_PSE = 1 << 4;
    public static final long CR4_PAE = 1 << 5;
    public static final long CR4_MCE = 1 << 6;
    public static final long CR4_PGE = 1 << 7;
    public static final long CR4_PCE = 1 << 8;
    public static final long CR4_OSFXSR = 1 << 9;
    public static final long CR4_OSXMMEXCPT = 1 << 10;
    public static final long CR4_UMIP = 1 << 11;
    public static final long CR4_LA57 = 1 << 12;
    public static final long CR4_FSGSBASE = 1 << 16;
    public static final long CR4_PCIDE = 1 << 17;
    public static final long CR4_OSXSAVE = 1 << 18;
    public static final long CR4_SMEP = 1 << 20;
    public static final long CR4_SMAP = 1 << 21;
    static final long EFER_SCE = 1;
    static final long EFER_LME = 1 << 8;
    static final long EFER_LMA = 1 << 10;
    static final long EFER_NXE = 1 << 11;
    static final long EFER_FFXSR = 1 << 14;

    static final int TLB_ENTRIES = 1024;
    static final int TLB_MASK = TLB_ENTRIES - 1;
    static final long PAGE_MASK = -4096L;
    /** Words of a TLB entry: read, write and execute tag (the linear page, or {@link #NO_TAG}), host minus linear address. */
    static final int ENTRY_SHIFT = 2;

    static final int WRITE_TAG = 1;
    static final int EXEC_TAG = 2;
    static final int ADDEND = 3;
    static final long NO_TAG = 1;

    /** General registers by number; {@link Insn#NO_REGISTER} is always zero. */
    public final long[] r = new long[17];
    /** What a hypervisor interface answers to CPUID. */
    final int[] cpuidAnswer = new int[4];

    /** Offset of the instruction that is executed next; valid between blocks and where a handler needs it. */
    public long rip;

    /** Status flags, see {@link Flags}. */
    int ccKind;

    long ccRes;
    long ccA;
    long ccB;
    /** RFLAGS without the status flags. */
    long systemFlags;

    final int[] selector = new int[8];
    public final long[] segBase = new long[8];
    /** Limits in bytes, unsigned. */
    final long[] segLimit = new long[8];
    /** Type (3:0), S (4), DPL (6:5), P (7), AVL (12), L (13), D/B (14), G (15), unusable (16). */
    final int[] segAttr = new int[8];

    long gdtBase;
    int gdtLimit;
    long idtBase;
    int idtLimit;

    public long cr0;
    long cr2;
    long cr3;
    public long cr4;
    long efer;
    /** Enabled state components. */
    public long xcr0 = 1;

    final long[] dr = new long[8];
    int cpl;

    long star;
    long lstar;
    long cstar;
    long sfmask;
    long kernelGsBase;
    long sysenterCs;
    long sysenterEsp;
    long sysenterEip;
    long tscAux;
    long specCtrl;
    long tscOffset;
    long pat = 0x0007_0406_0007_0406L;
    long miscEnable = 1;
    long mtrrDefType;
    long apicBase;
    final long[] mtrr = new long[32];

    /** x87, MMX, SSE and AVX state. */
    public final FpuState fpu = new FpuState();

    /** The features that the guest is told of. */
    public final CpuFeatures features;

    final int index;
    final SoftVm vm;
    final SoftVcpu vcpu;
    final Mmu mmu;
    final CpuFault fault = new CpuFault();
    final DebugRegisters debug = new DebugRegisters(this);

    @Nullable
    LocalApic apic;

    /** The code size of CS: 2, 4 or 8. */
    int codeSize = 2;

    /** {@link #modeKey} of 64-bit mode. */
    static final int MODE_64 = 8;

    /** Selects decoded code: code size, stack size. */
    int modeKey;

    /** Offsets of the stack pointer wrap with this. */
    long stackMask = 0xffff;

    /** TLB of the current privilege. */
    long[] tlb;

    /** Requests, see {@link SoftVcpu#request}; polled between blocks. */
    int pending;

    /** Executed instructions, exact between blocks. */
    long instructions;

    /** No interrupt before the next instruction (STI, MOV SS). */
    boolean inhibit;

    boolean halted;

    /** The block that is executed. */
    @Nullable
    Block current;

    /** A region left an instruction to the steps of its block. */
    boolean leaveToSteps;

    /** The instruction whose handler a region calls: it is what a fault belongs to. */
    @Nullable
    Insn calledOut;

    /** Where time is counted in instructions: how many may have been executed when blocks stop. */
    long limit = Long.MAX_VALUE;

    /** Where time is counted in instructions: how many of the current block have been executed. */
    int partial;

    Cpu(SoftVm vm, SoftVcpu vcpu, int index, CpuFeatures features) {
        this.vm = vm;
        this.vcpu = vcpu;
        this.index = index;
        this.features = features;
        this.mmu = new Mmu(this, vm);
        this.tlb = mmu.set(0);
    }

    // ---- exceptions ----

    /** An exception without error code, to be thrown. */
    public CpuFault fault(int vector) {
        return fault(vector, 0);
    }

    /** An exception, to be thrown. */
    public CpuFault fault(int vector, int errorCode) {
        fault.vector = vector;
        fault.errorCode = errorCode;
        fault.notCanonical = false;
        return fault;
    }

    /** Invalid opcode. */
    public CpuFault ud() {
        return fault(CpuFault.UD);
    }

    /** Device not available. */
    public CpuFault nm() {
        return fault(CpuFault.NM);
    }

    /** General protection with error code 0. */
    public CpuFault gp() {
        return fault(CpuFault.GP, 0);
    }

    /** General protection. */
    public CpuFault gp(int errorCode) {
        return fault(CpuFault.GP, errorCode);
    }

    /** x87 floating-point error; only where CR0.NE is set. */
    public CpuFault mf() {
        return fault(CpuFault.MF);
    }

    /** SIMD floating-point exception. */
    public CpuFault xm() {
        return fault(CpuFault.XM);
    }

    // ---- registers ----

    /** A byte register by number, {@link Insn#HIGH_BYTE} and up for AH, CH, DH, BH. */
    int get8(int register) {
        return register < Insn.HIGH_BYTE ? (int) r[register] & 0xff : (int) (r[register - Insn.HIGH_BYTE] >>> 8) & 0xff;
    }

    void set8(int register, long value) {
        if (register < Insn.HIGH_BYTE) {
            r[register] = r[register] & ~0xffL | value & 0xff;
        } else {
            int i = register - Insn.HIGH_BYTE;
            r[i] = r[i] & ~0xff00L | (value & 0xff) << 8;
        }
    }

    /** A register, zero-extended from 2, 4 or 8 bytes. */
    public long get(int register, int size) {
        return switch (size) {
            case 8 -> r[register];
            case 4 -> r[register] & 0xffff_ffffL;
            case 2 -> r[register] & 0xffff;
            default -> get8(register);
        };
    }

    /** Sets a register of 2, 4 (clearing the upper half) or 8 bytes. */
    public void set(int register, int size, long value) {
        switch (size) {
            case 8 -> r[register] = value;
            case 4 -> r[register] = value & 0xffff_ffffL;
            case 2 -> r[register] = r[register] & ~0xffffL | value & 0xffff;
            default -> set8(register, value);
        }
    }

    static long signExtend(long value, int size) {
        return switch (size) {
            case 8 -> value;
            case 4 -> (int) value;
            case 2 -> (short) value;
            default -> (byte) value;
        };
    }

    static long mask(int size) {
        return size == 8 ? -1 : (1L << 8 * size) - 1;
    }

    // ---- flags ----

    /** RFLAGS with everything. */
    long rflags() {
        return systemFlags | 2 | Flags.status(ccKind, ccRes, ccA, ccB);
    }

    /** Sets all of RFLAGS. */
    void rflags(long value) {
        setStatus((int) value);
        boolean hadAc = (systemFlags & Flags.AC) != 0;
        systemFlags = value & ~(long) Flags.STATUS & 0x3f_7fd5L | 0;
        if (hadAc != ((systemFlags & Flags.AC) != 0)) {
            mmu.selectSet();
        }
        if ((systemFlags & Flags.TF) != 0) {
            vcpu.request(SoftVcpu.STEP);
        }
    }

    /** The six status flags as RFLAGS has them. */
    public int status() {
        return Flags.status(ccKind, ccRes, ccA, ccB);
    }

    /** Sets CF, PF, AF, ZF, SF and OF from a value laid out as RFLAGS. */
    public void setStatus(int value) {
        ccKind = Flags.EXPLICIT;
        ccRes = value & Flags.STATUS;
    }

    boolean cf() {
        return Flags.cf(ccKind, ccRes, ccA, ccB);
    }

    boolean condition(int cc) {
        return Flags.condition(cc, ccKind, ccRes, ccA, ccB);
    }

    void logic(long result) {
        ccKind = Flags.LOGIC;
        ccRes = result;
    }

    // ---- memory ----

    /** The offset of a memory operand in its segment, wrapped to the address size. */
    public long offset(Insn in) {
        long a = r[in.base] + (r[in.index] << in.scale) + in.disp;
        return in.addressSize == 8 ? a : in.addressSize == 4 ? a & 0xffff_ffffL : a & 0xffff;
    }

    /**
     * The linear address of a memory operand; checks the segment.
     *
     * @param size in bytes, for the limit check
     * @param write whether it will be written
     */
    public long address(Insn in, int size, boolean write) {
        long a = offset(in);
        if (codeSize == 8) {
            return in.seg >= FS ? a + segBase[in.seg] : a;
        }
        return segmented(in.seg, a, size, write);
    }

    /** The linear address of an offset outside 64-bit mode. */
    long segmented(int seg, long offset, int size, boolean write) {
        int attr = segAttr[seg];
        // Type: 1000 code, 0100 expand-down (data), 0010 writable (data) or readable (code).
        if ((attr & 0x1_0080) != 0x80
                || (write ? (attr & 0xa) != 2 : (attr & 0xa) == 8)
                        && (cr0 & CR0_PE) != 0
                        && (systemFlags & Flags.VM) == 0) {
            throw fault(seg == SS ? CpuFault.SS : CpuFault.GP, 0);
        }
        long last = offset + size - 1;
        long limit = segLimit[seg];
        boolean bad;
        if ((attr & 0xc) == 4) {
            long top = (attr & 0x4000) != 0 ? 0xffff_ffffL : 0xffff;
            bad = offset <= limit || last > top;
        } else {
            bad = last > limit;
        }
        if (bad) {
            throw fault(seg == SS ? CpuFault.SS : CpuFault.GP, 0);
        }
        return offset + segBase[seg] & 0xffff_ffffL;
    }

    /** A segment's linear address for string and stack accesses in any mode. */
    public long linear(int seg, long offset, int size, boolean write) {
        if (codeSize == 8) {
            return seg >= FS ? offset + segBase[seg] : offset;
        }
        return segmented(seg, offset, size, write);
    }

    public int load8(long a) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        return (a & PAGE_MASK) == tlb[e] ? HostMemory.get8(a + tlb[e + ADDEND]) : (int) mmu.slowLoad(a, 1);
    }

    public int load16(long a) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        return (a + 1 & PAGE_MASK) == tlb[e] ? HostMemory.get16(a + tlb[e + ADDEND]) : (int) mmu.slowLoad(a, 2);
    }

    /** Not zero-extended beyond an int. */
    public int load32(long a) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        return (a + 3 & PAGE_MASK) == tlb[e] ? HostMemory.get32(a + tlb[e + ADDEND]) : (int) mmu.slowLoad(a, 4);
    }

    public long load64(long a) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        return (a + 7 & PAGE_MASK) == tlb[e] ? HostMemory.get64(a + tlb[e + ADDEND]) : mmu.slowLoad(a, 8);
    }

    public void store8(long a, int value) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((a & PAGE_MASK) == tlb[e + WRITE_TAG]) {
            HostMemory.set8(a + tlb[e + ADDEND], value);
        } else {
            mmu.slowStore(a, 1, value);
        }
    }

    public void store16(long a, int value) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((a + 1 & PAGE_MASK) == tlb[e + WRITE_TAG]) {
            HostMemory.set16(a + tlb[e + ADDEND], value);
        } else {
            mmu.slowStore(a, 2, value);
        }
    }

    public void store32(long a, int value) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((a + 3 & PAGE_MASK) == tlb[e + WRITE_TAG]) {
            HostMemory.set32(a + tlb[e + ADDEND], value);
        } else {
            mmu.slowStore(a, 4, value);
        }
    }

    public void store64(long a, long value) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((a + 7 & PAGE_MASK) == tlb[e + WRITE_TAG]) {
            HostMemory.set64(a + tlb[e + ADDEND], value);
        } else {
            mmu.slowStore(a, 8, value);
        }
    }

    /** Loads 1, 2, 4 or 8 bytes, zero-extended. */
    public long load(long a, int size) {
        return switch (size) {
            case 1 -> load8(a);
            case 2 -> load16(a);
            case 4 -> load32(a) & 0xffff_ffffL;
            default -> load64(a);
        };
    }

    /** Stores the low 1, 2, 4 or 8 bytes. */
    public void store(long a, int size, long value) {
        switch (size) {
            case 1 -> store8(a, (int) value);
            case 2 -> store16(a, (int) value);
            case 4 -> store32(a, (int) value);
            default -> store64(a, value);
        }
    }

    /** Raises the fault that a write of a range of up to 4096 bytes would raise; after it, the write succeeds. */
    public void checkWrite(long a, int size) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((a + size - 1 & PAGE_MASK) != tlb[e + WRITE_TAG]) {
            mmu.probe(a, size, true);
        }
    }

    /** Raises the fault that a read of a range of up to 4096 bytes would raise. */
    public void checkRead(long a, int size) {
        int e = ((int) (a >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((a + size - 1 & PAGE_MASK) != tlb[e]) {
            mmu.probe(a, size, false);
        }
    }

    /** The first part of a read-modify-write: faults like a write. */
    long loadForWrite(long a, int size) {
        checkWrite(a, size);
        return load(a, size);
    }

    // ---- operands ----

    /** The ModRM operand, zero-extended; {@code size} 1 uses byte registers. */
    public long readRm(Insn in, int size) {
        return in.memory ? load(address(in, size, false), size) : get(in.rm, size);
    }

    /** Sets the ModRM operand. */
    public void writeRm(Insn in, int size, long value) {
        if (in.memory) {
            store(address(in, size, true), size, value);
        } else {
            set(in.rm, size, value);
        }
    }

    // ---- stack ----

    long stackPointer() {
        return r[RSP] & stackMask;
    }

    void stackPointer(long value) {
        r[RSP] = stackMask == 0xffff ? r[RSP] & ~0xffffL | value & 0xffff : value & stackMask;
    }

    void push(long value, int size) {
        long sp = r[RSP] - size & stackMask;
        store(linear(SS, sp, size, true), size, value);
        stackPointer(sp);
    }

    /** The top of the stack, without popping. */
    long top(int size) {
        return load(linear(SS, r[RSP] & stackMask, size, false), size);
    }

    long pop(int size) {
        long value = top(size);
        stackPointer(r[RSP] + size);
        return value;
    }

    // ---- code ----

    private static final int CACHED_BLOCKS = 1 << 14;

    private final @Nullable Block[] blocks = new Block[CACHED_BLOCKS];

    /** The terminator that wants to know the block that is looked for next, and its number for it. */
    @Nullable
    Term linkFrom;

    int linkSlot;
    private long linkTarget;

    private static int blockSlot(long address) {
        return (int) (address ^ address >>> 14) & CACHED_BLOCKS - 1;
    }

    /** The linear address of code. */
    long codeLinear(long address) {
        return codeSize == 8 ? address : address + segBase[CS] & 0xffff_ffffL;
    }

    long codeMask() {
        return codeSize == 8 ? -1 : 0xffff_ffffL;
    }

    /** Whether a block's address still leads to its code. */
    boolean maps(Block block) {
        long linear = codeLinear(block.rip);
        int e = ((int) (linear >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        if ((linear & PAGE_MASK) != tlb[e + EXEC_TAG] || linear + tlb[e + ADDEND] != block.host) {
            return false;
        }
        if (block.secondHost == 0) {
            return true;
        }
        long page = (linear & PAGE_MASK) + 4096 & codeMask();
        int f = ((int) (page >>> 12) & TLB_MASK) << ENTRY_SHIFT;
        return page == tlb[f + EXEC_TAG] && page + tlb[f + ADDEND] == block.secondHost;
    }

    /** Sets RIP and returns the block there if it is at hand. */
    @Nullable
    Block cached(long target) {
        Block block = blocks[blockSlot(target)];
        if (block != null && block.rip == target && block.mode == modeKey && block.valid && maps(block)) {
            noteBlock(target);
            return block;
        }
        rip = target;
        return null;
    }

    /** {@link #cached}, asking the run loop to tell {@code term} what it finds if it is not. */
    @Nullable
    Block wantsLink(Term term, int slot, long target) {
        Block block = cached(target);
        if (block == null) {
            linkFrom = term;
            linkSlot = slot;
            linkTarget = target;
        } else {
            term.link(slot, block);
        }
        return block;
    }

    /** Where blocks began that were not entered by a direct jump, or for the first time: a ring for reports. */
    final long[] lastBlocks = new long[16];

    int lastBlock;

    private void noteBlock(long target) {
        lastBlock = lastBlock + 1 & lastBlocks.length - 1;
        lastBlocks[lastBlock] = target;
    }

    /** Vector and RIP of exceptions, a ring for reports. */
    final long[] lastExceptions = new long[16];

    int lastException;

    void noteException(int vector) {
        lastException = lastException + 2 & lastExceptions.length - 1;
        lastExceptions[lastException] = vector | 0x100;
        lastExceptions[lastException + 1] = rip;
    }

    /** A block was found at RIP: for {@link #cached}, and for who asked for it. */
    void found(Block block) {
        if (lastBlocks[lastBlock] != block.rip) {
            noteBlock(block.rip);
        }
        blocks[blockSlot(block.rip)] = block;
        Term from = linkFrom;
        if (from != null) {
            linkFrom = null;
            // An interrupt may have come between, or the page's mapping has changed, which links inside a page do not
            // look at.
            Block last = current;
            boolean moved = last != null
                    && ((last.rip ^ block.rip) & PAGE_MASK) == 0
                    && ((last.host ^ block.host) & PAGE_MASK) != 0;
            if (linkTarget == block.rip && !moved) {
                from.link(linkSlot, block);
            }
        }
    }

    // ---- modes ----

    boolean protectedMode() {
        return (cr0 & CR0_PE) != 0;
    }

    boolean virtual8086() {
        return (systemFlags & Flags.VM) != 0;
    }

    /** Protected mode and not virtual-8086. */
    boolean segmentedProtection() {
        return (cr0 & CR0_PE) != 0 && (systemFlags & Flags.VM) == 0;
    }

    boolean longMode() {
        return (efer & EFER_LMA) != 0;
    }

    int iopl() {
        return (int) systemFlags >> 12 & 3;
    }

    /** Recomputes what depends on CS, SS, CR0, EFER and CPL. */
    void modeChanged() {
        int cs = segAttr[CS];
        if ((efer & EFER_LMA) != 0 && (cs & 0x2000) != 0) {
            codeSize = 8;
            stackMask = -1;
        } else {
            codeSize = (cs & 0x4000) != 0 ? 4 : 2;
            stackMask = (segAttr[SS] & 0x4000) != 0 ? 0xffff_ffffL : 0xffff;
        }
        modeKey = codeSize | (stackMask == 0xffff ? 16 : 0);
        mmu.selectSet();
    }

    void cpl(int value) {
        if (cpl != value) {
            cpl = value;
            mmu.selectSet();
        }
    }
}
