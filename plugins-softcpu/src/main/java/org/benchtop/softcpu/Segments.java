package org.benchtop.softcpu;

/** Segment registers and descriptors (Intel SDM vol. 3, chapters 3 and 5). */
final class Segments {
    static final int TYPE = 0xf;
    static final int CODE_OR_DATA = 1 << 4;
    static final int PRESENT = 1 << 7;
    static final int LONG = 1 << 13;
    static final int BIG = 1 << 14;
    static final int GRANULARITY = 1 << 15;
    static final int UNUSABLE = 1 << 16;

    static final int CODE = 8;
    static final int CONFORMING = 4;
    static final int READABLE = 2;
    static final int WRITABLE = 2;
    static final int ACCESSED = 1;

    static final int LDT = 2;
    static final int TSS16 = 1;
    static final int TSS32 = 9;
    static final int BUSY = 2;
    static final int CALL_GATE16 = 4;
    static final int TASK_GATE = 5;
    static final int CALL_GATE32 = 12;

    private Segments() {}

    static int dpl(int attr) {
        return attr >> 5 & 3;
    }

    /** Attributes of a descriptor as {@link Cpu#segAttr} has them. */
    static int attributes(long descriptor) {
        return (int) (descriptor >>> 40) & 0xf0ff;
    }

    static long base(long descriptor) {
        return descriptor >>> 16 & 0xff_ffff | (descriptor >>> 56) << 24;
    }

    static long limit(long descriptor) {
        long limit = descriptor & 0xffff | descriptor >>> 32 & 0xf_0000;
        return (descriptor >>> 55 & 1) != 0 ? limit << 12 | 0xfff : limit;
    }

    /** No address of a descriptor: not canonical. */
    static final long NO_DESCRIPTOR = Long.MIN_VALUE + 1;

    /** Where a descriptor is, or {@link #NO_DESCRIPTOR} beyond the table's limit. */
    static long descriptorAddress(Cpu c, int selector, int bytes) {
        int offset = selector & ~7;
        if ((selector & 4) != 0) {
            boolean usable = (c.segAttr[Cpu.LDTR] & UNUSABLE) == 0 && (c.segAttr[Cpu.LDTR] & PRESENT) != 0;
            return usable && offset + bytes - 1 <= c.segLimit[Cpu.LDTR] ? c.segBase[Cpu.LDTR] + offset : NO_DESCRIPTOR;
        }
        return offset + bytes - 1 <= c.gdtLimit ? c.gdtBase + offset : NO_DESCRIPTOR;
    }

    static long systemLoad(Cpu c, long address) {
        int saved = c.mmu.enterSystem();
        try {
            return c.load64(address);
        } finally {
            c.mmu.leaveSystem(saved);
        }
    }

    static long systemLoad(Cpu c, long address, int size) {
        int saved = c.mmu.enterSystem();
        try {
            return c.load(address, size);
        } finally {
            c.mmu.leaveSystem(saved);
        }
    }

    static void systemStore(Cpu c, long address, int size, long value) {
        int saved = c.mmu.enterSystem();
        try {
            c.store(address, size, value);
        } finally {
            c.mmu.leaveSystem(saved);
        }
    }

    /** A descriptor; raises {@code vector} with the selector beyond the table. */
    static long descriptor(Cpu c, int selector, int vector) {
        long address = descriptorAddress(c, selector, 8);
        if (address == NO_DESCRIPTOR) {
            throw c.fault(vector, selector & 0xfffc);
        }
        return systemLoad(c, address);
    }

    static void markAccessed(Cpu c, int selector, long descriptor) {
        if ((descriptor >>> 40 & ACCESSED) == 0) {
            long address = descriptorAddress(c, selector, 8) + 5;
            systemStore(c, address, 1, descriptor >>> 40 & 0xff | ACCESSED);
        }
    }

    static void set(Cpu c, int seg, int selector, long base, long limit, int attr) {
        c.selector[seg] = selector;
        c.segBase[seg] = base;
        c.segLimit[seg] = limit;
        c.segAttr[seg] = attr;
    }

    static void set(Cpu c, int seg, int selector, long descriptor) {
        set(c, seg, selector, base(descriptor), limit(descriptor), attributes(descriptor));
    }

    /** A segment register in real and virtual-8086 mode. */
    static void setReal(Cpu c, int seg, int selector) {
        c.selector[seg] = selector & 0xffff;
        c.segBase[seg] = (long) (selector & 0xffff) << 4;
        if (c.virtual8086()) {
            c.segLimit[seg] = 0xffff;
            c.segAttr[seg] = seg == Cpu.CS ? 0xfb : 0xf3;
        } else if (seg == Cpu.CS) {
            // Real mode keeps limit and size, but a code segment becomes writable.
            c.segAttr[seg] = c.segAttr[seg] & ~(UNUSABLE | 0xff) | 0x9b;
        } else {
            c.segAttr[seg] = c.segAttr[seg] & ~(UNUSABLE | 0xff) | 0x93;
        }
        if (seg == Cpu.CS || seg == Cpu.SS) {
            c.modeChanged();
        }
    }

    /** MOV, POP and Lxx to a data segment register or SS. */
    static void load(Cpu c, int seg, int rawSelector) {
        int selector = rawSelector & 0xffff;
        if (!c.segmentedProtection()) {
            setReal(c, seg, selector);
            return;
        }
        if ((selector & 0xfffc) == 0) {
            if (seg == Cpu.SS && (c.codeSize != 8 || c.cpl == 3 || (selector & 3) != c.cpl)) {
                throw c.gp(0);
            }
            nullSegment(c, seg, selector);
            return;
        }
        long descriptor = descriptor(c, selector, CpuFault.GP);
        int attr = attributes(descriptor);
        int rpl = selector & 3;
        if (seg == Cpu.SS) {
            if (rpl != c.cpl
                    || dpl(attr) != c.cpl
                    || (attr & CODE_OR_DATA) == 0
                    || (attr & (CODE | WRITABLE)) != WRITABLE) {
                throw c.gp(selector & 0xfffc);
            }
            if ((attr & PRESENT) == 0) {
                throw c.fault(CpuFault.SS, selector & 0xfffc);
            }
        } else {
            boolean unreadable = (attr & CODE_OR_DATA) == 0 || (attr & (CODE | READABLE)) == CODE;
            boolean conforming = (attr & (CODE | CONFORMING)) == (CODE | CONFORMING);
            if (unreadable || !conforming && (rpl > dpl(attr) || c.cpl > dpl(attr))) {
                throw c.gp(selector & 0xfffc);
            }
            if ((attr & PRESENT) == 0) {
                throw c.fault(CpuFault.NP, selector & 0xfffc);
            }
        }
        markAccessed(c, selector, descriptor);
        set(c, seg, selector, base(descriptor), limit(descriptor), attr | ACCESSED);
        if (seg == Cpu.SS) {
            c.modeChanged();
        }
    }

    static void nullSegment(Cpu c, int seg, int selector) {
        // The base of a null segment survives on AMD and goes on Intel; what it can address is the same.
        set(c, seg, selector, 0, 0, UNUSABLE | (seg == Cpu.SS ? c.cpl << 5 | BIG : 0));
        if (seg == Cpu.SS) {
            c.modeChanged();
        }
    }

    static void storeSelector(Cpu c, Insn in) {
        int seg = in.modrm >> 3 & 7;
        if (seg > Cpu.GS) {
            throw c.ud();
        }
        if (in.memory) {
            c.writeRm(in, 2, c.selector[seg]);
        } else {
            c.set(in.rm, in.operandSize, c.selector[seg]);
        }
    }

    static void loadSelector(Cpu c, Insn in) {
        int seg = in.modrm >> 3 & 7;
        if (seg == Cpu.CS || seg > Cpu.GS) {
            throw c.ud();
        }
        load(c, seg, (int) c.readRm(in, 2));
        if (seg == Cpu.SS) {
            c.inhibit = true;
        }
    }

    static void popSegment(Cpu c, Insn in, int seg) {
        int size = in.operandSize;
        long sp = c.r[Cpu.RSP];
        int selector = (int) c.top(2);
        long mask = c.stackMask;
        load(c, seg, selector);
        c.r[Cpu.RSP] = mask == 0xffff ? sp & ~0xffffL | sp + size & 0xffff : sp + size & mask;
        if (seg == Cpu.SS) {
            c.inhibit = true;
        }
    }

    private static void loadFarPointer(Cpu c, Insn in, int seg) {
        if (!in.memory) {
            throw c.ud();
        }
        int size = in.operandSize;
        long address = c.address(in, size + 2, false);
        long offset = c.load(address, size);
        int selector = c.load16(address + size);
        load(c, seg, selector);
        c.set(in.reg, size, offset);
    }

    static void les(Cpu c, Insn in) {
        loadFarPointer(c, in, Cpu.ES);
    }

    static void lds(Cpu c, Insn in) {
        loadFarPointer(c, in, Cpu.DS);
    }

    static void lss(Cpu c, Insn in) {
        loadFarPointer(c, in, Cpu.SS);
    }

    static void lfs(Cpu c, Insn in) {
        loadFarPointer(c, in, Cpu.FS);
    }

    static void lgs(Cpu c, Insn in) {
        loadFarPointer(c, in, Cpu.GS);
    }

    // ---- LAR, LSL, VERR, VERW ----

    private static void zero(Cpu c, boolean set) {
        c.setStatus(c.status() & ~Flags.ZF | (set ? Flags.ZF : 0));
    }

    /** The descriptor if the selector may be looked at; else 0. */
    private static long visible(Cpu c, int selector, boolean forLimit) {
        if ((selector & 0xfffc) == 0) {
            return 0;
        }
        long address = descriptorAddress(c, selector, 8);
        if (address == NO_DESCRIPTOR) {
            return 0;
        }
        long descriptor = systemLoad(c, address);
        int attr = attributes(descriptor);
        if ((attr & CODE_OR_DATA) == 0) {
            boolean known = switch (attr & TYPE) {
                case 1, 3 -> !c.longMode();
                case 2, 9, 11 -> true;
                case 4, 5 -> !forLimit && !c.longMode();
                case 12 -> !forLimit;
                default -> false;
            };
            if (!known) {
                return 0;
            }
        }
        boolean conforming = (attr & (CODE_OR_DATA | CODE | CONFORMING)) == (CODE_OR_DATA | CODE | CONFORMING);
        return conforming || Math.max(c.cpl, selector & 3) <= dpl(attr) ? descriptor : 0;
    }

    static void lar(Cpu c, Insn in) {
        requireProtection(c);
        long descriptor = visible(c, (int) c.readRm(in, 2), false);
        if (descriptor != 0) {
            c.set(in.reg, in.operandSize, descriptor >>> 32 & 0xff_ff00);
        }
        zero(c, descriptor != 0);
    }

    static void lsl(Cpu c, Insn in) {
        requireProtection(c);
        long descriptor = visible(c, (int) c.readRm(in, 2), true);
        if (descriptor != 0) {
            c.set(in.reg, in.operandSize, limit(descriptor));
        }
        zero(c, descriptor != 0);
    }

    static void verify(Cpu c, int selector, boolean write) {
        long descriptor = visible(c, selector, false);
        int attr = attributes(descriptor);
        boolean ok = descriptor != 0
                && (attr & CODE_OR_DATA) != 0
                && (write ? (attr & (CODE | WRITABLE)) == WRITABLE : (attr & (CODE | READABLE)) != CODE);
        zero(c, ok);
    }

    static void requireProtection(Cpu c) {
        if (!c.segmentedProtection()) {
            throw c.ud();
        }
    }

    // ---- LDTR and TR ----

    private static long systemBase(Cpu c, int selector, long descriptor) {
        if (!c.longMode()) {
            return base(descriptor);
        }
        long address = descriptorAddress(c, selector, 16);
        if (address == NO_DESCRIPTOR) {
            throw c.gp(selector & 0xfffc);
        }
        return base(descriptor) | systemLoad(c, address + 8) << 32;
    }

    static void loadLdt(Cpu c, int rawSelector) {
        int selector = rawSelector & 0xffff;
        if ((selector & 0xfffc) == 0) {
            set(c, Cpu.LDTR, selector, 0, 0, UNUSABLE);
            return;
        }
        if ((selector & 4) != 0) {
            throw c.gp(selector & 0xfffc);
        }
        long descriptor = descriptor(c, selector, CpuFault.GP);
        int attr = attributes(descriptor);
        if ((attr & (CODE_OR_DATA | TYPE)) != LDT) {
            throw c.gp(selector & 0xfffc);
        }
        if ((attr & PRESENT) == 0) {
            throw c.fault(CpuFault.NP, selector & 0xfffc);
        }
        set(c, Cpu.LDTR, selector, systemBase(c, selector, descriptor), limit(descriptor), attr);
    }

    static void loadTask(Cpu c, int rawSelector) {
        int selector = rawSelector & 0xffff;
        if ((selector & 0xfffc) == 0) {
            throw c.gp(0);
        }
        if ((selector & 4) != 0) {
            throw c.gp(selector & 0xfffc);
        }
        long descriptor = descriptor(c, selector, CpuFault.GP);
        int attr = attributes(descriptor);
        int type = attr & (CODE_OR_DATA | TYPE);
        if (type != TSS32 && (type != TSS16 || c.longMode())) {
            throw c.gp(selector & 0xfffc);
        }
        if ((attr & PRESENT) == 0) {
            throw c.fault(CpuFault.NP, selector & 0xfffc);
        }
        long base = systemBase(c, selector, descriptor);
        systemStore(c, descriptorAddress(c, selector, 8) + 5, 1, descriptor >>> 40 & 0xff | BUSY);
        set(c, Cpu.TR, selector, base, limit(descriptor), attr | BUSY);
    }
}
