package org.benchtop.softcpu;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Decoded code that is entered at its start only and left at its end: straight-line instructions and a terminator.
 *
 * <p>Inside one page, except that a single instruction may reach into the next one. Processors share it: it never changes,
 * apart from {@link #invalidate}, which any thread may call, and from its {@link #region}, which is all there or not at all.
 */
final class Block {
    final long rip;
    final int mode;
    /** The host address of the first byte. */
    final long host;
    /** The host page that the code reaches into, or 0. */
    final long secondHost;

    /** All instructions, in order; those from {@code ops.length} on are the terminator's. */
    final Insn[] insns;

    final Op[] ops;
    Term term;
    /** The number of instructions that an execution of {@link #ops} and {@link #term} counts. */
    final int count;

    /** Whether others may still lead here. */
    volatile boolean valid = true;
    /** Its first instruction has a callback, which keeps it from being translated. */
    boolean hooked;
    /** Executions so far; approximate with several processors. */
    int heat;
    /** What is executed instead of the steps, once this code is translated. */
    @Nullable
    Region region;
    /** Host pages that the region was translated from, and their granules. */
    private long[] regionPages = {};

    private long[] regionGranules = {};
    /** For {@link CodePages}. */
    @Nullable
    Block nextInGranule;

    Block(long rip, int mode, long host, long secondHost, Insn[] insns, Op[] ops, Term term) {
        this.rip = rip;
        this.mode = mode;
        this.host = host;
        this.secondHost = secondHost;
        this.insns = insns;
        this.ops = ops;
        this.term = term;
        this.count = insns.length;
    }

    /** Which granules of a page (see {@link CodePages}) the code was decoded from. */
    long covers(long hostPage) {
        Insn last = insns[insns.length - 1];
        int length = (int) (last.rip + last.length - rip);
        int onFirst = secondHost == 0 ? length : Math.min(length, (int) (4096 - (host & 4095)));
        long covered = 0;
        if ((host & Cpu.PAGE_MASK) == hostPage) {
            covered = CodePages.bits(host, onFirst);
        } else if (secondHost == hostPage) {
            covered = CodePages.bits(secondHost, length - onFirst);
        }
        for (int i = 0; i < regionPages.length; i++) {
            if (regionPages[i] == hostPage) {
                covered |= regionGranules[i];
            }
        }
        return covered;
    }

    /** All host pages that this code depends on. */
    long[] pages() {
        long[] pages = Arrays.copyOf(regionPages, regionPages.length + 2);
        pages[regionPages.length] = host & Cpu.PAGE_MASK;
        pages[regionPages.length + 1] = secondHost;
        return pages;
    }

    /** A byte of the code, by its address. */
    byte byteAt(long address) {
        long offset = address - rip;
        long left = 4096 - (host & 4095);
        return (byte) HostMemory.get8(offset < left ? host + offset : secondHost + offset - left);
    }

    /** Where step {@code i} starts; the terminator's first instruction if beyond. */
    long ripAt(int i) {
        return insns[Math.min(i, insns.length - 1)].rip;
    }

    /** From now on a region is executed instead of the steps. */
    void translated(Region newRegion, long[] pages, long[] granules) {
        regionPages = pages;
        regionGranules = granules;
        region = newRegion;
    }

    /** The code has changed. A processor inside the block leaves it at the next instruction. */
    void invalidate() {
        valid = false;
        Arrays.fill(ops, Op.STALE);
        term = Term.STALE;
        region = null;
    }
}
