package org.benchtop.softcpu;

import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * Hot code as JVM bytecode, made by {@link Translator}. Runs until it comes to something that it leaves to the steps of
 * blocks, with all state written back and RIP at the next instruction.
 */
abstract class Region {
    /** Code on other pages than the entry: the region may run while these addresses still lead to it. */
    private Block[] elsewhere = {};
    /** How many instructions it has: without jumping back, an execution has no more. */
    int insns;
    /** Instructions that are not translated but executed by their handlers. */
    private Insn[] handled = {};

    final void made(Block[] onOtherPages, int instructions, Insn[] byHandlers) {
        elsewhere = onOtherPages;
        insns = instructions;
        handled = byHandlers;
    }

    /** Executes; throws what handlers of instructions throw, see {@link Cpu#calledOut}. */
    abstract void run(Cpu c);

    /** Whether all of its code is where it was translated from. */
    final boolean mapped(Cpu c) {
        for (Block block : elsewhere) {
            if (!c.maps(block)) {
                return false;
            }
        }
        return true;
    }

    // ---- what generated code calls ----

    /**
     * Executes an instruction by its handler, with all state written back; what it throws goes through the region.
     *
     * @return whether to leave the region at RIP, because somebody asks for something or the code has changed
     */
    final boolean handle(Cpu c, int number) {
        Insn in = handled[number];
        c.calledOut = in;
        c.rip = in.next();
        Objects.requireNonNull(in.handler).execute(c, in);
        c.calledOut = null;
        return SoftVcpu.pending(c) != 0;
    }

    /** The host address of a read inside one page, or 0 if the TLB does not have it. */
    static long readable(long[] tlb, long a, int last) {
        int e = ((int) (a >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        return (a + last & Cpu.PAGE_MASK) == tlb[e] ? a + tlb[e + Cpu.ADDEND] : 0;
    }

    /** The host address of a write inside one page, or 0 if the TLB does not have it. */
    static long writable(long[] tlb, long a, int last) {
        int e = ((int) (a >>> 12) & Cpu.TLB_MASK) << Cpu.ENTRY_SHIFT;
        return (a + last & Cpu.PAGE_MASK) == tlb[e + Cpu.WRITE_TAG] ? a + tlb[e + Cpu.ADDEND] : 0;
    }

    /** Whether another thread asks for something: also keeps loads of guest memory inside loops. */
    static boolean poll(Cpu c) {
        return SoftVcpu.pending(c) != 0;
    }

    /** After a load, where other processors write: the JVM's compiler may neither move loads past it nor merge them. */
    static void ordered() {
        VarHandle.acquireFence();
    }

    /** {@link #poll} where time is counted in instructions: also whether the rest may be too much. */
    static boolean pollCounted(Cpu c, long executed, int insns) {
        return SoftVcpu.pending(c) != 0 || c.instructions + executed + insns > c.limit;
    }

    static boolean canonical(Cpu c, long address) {
        return ControlFlow.canonical(c, address);
    }

    static boolean sseUsable(Cpu c) {
        return (c.cr0 & (Cpu.CR0_EM | Cpu.CR0_TS)) == 0 && (c.cr4 & Cpu.CR4_OSFXSR) != 0;
    }

    /** The sum of 32-bit lanes. */
    static long addDwords(long a, long b) {
        long high = (a & 0xffff_ffff_0000_0000L) + (b & 0xffff_ffff_0000_0000L);
        return high | a + b & 0xffff_ffffL;
    }

    static long subtractDwords(long a, long b) {
        long high = (a & 0xffff_ffff_0000_0000L) - (b & 0xffff_ffff_0000_0000L);
        return high | a - b & 0xffff_ffffL;
    }

    private static final long BYTE_TOPS = 0x8080_8080_8080_8080L;

    static long addBytes(long a, long b) {
        return (a & ~BYTE_TOPS) + (b & ~BYTE_TOPS) ^ (a ^ b) & BYTE_TOPS;
    }

    static long subtractBytes(long a, long b) {
        return (a | BYTE_TOPS) - (b & ~BYTE_TOPS) ^ (a ^ ~b) & BYTE_TOPS;
    }

    static long equalBytes(long a, long b) {
        long x = a ^ b;
        long different = ((x & ~BYTE_TOPS) + ~BYTE_TOPS | x) & BYTE_TOPS;
        return ((different ^ BYTE_TOPS) >>> 7) * 0xff;
    }
}
