package org.benchtop.softcpu;

import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Hot code as JVM bytecode, made by {@link Translator}. Runs until it comes to something that it leaves to the steps of
 * blocks, with all state written back and RIP at the next instruction.
 */
abstract class Region {
    /** Executes; never throws. */
    abstract void run(Cpu c);

    // ---- what generated code calls ----

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

    /** Ends a block that was translated: the region instead of its steps. */
    static final class Entry extends Term {
        private final Region region;

        Entry(Region region) {
            this.region = region;
        }

        @Override
        @Nullable
        Block next(Cpu c) {
            region.run(c);
            return c.leaveToSteps ? null : c.cached(c.rip);
        }
    }
}
