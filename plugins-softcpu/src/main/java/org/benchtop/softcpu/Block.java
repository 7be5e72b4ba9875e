package org.benchtop.softcpu;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Decoded code that is entered at its start only and left at its end: straight-line instructions and a terminator.
 *
 * <p>Inside one page, except that a single instruction may reach into the next one. Processors share it: it never changes,
 * apart from {@link #invalidate}, which any thread may call, and from being replaced in {@link #translated}.
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

    /** The array stays, its elements may become {@link Op#STALE}. */
    final Op[] ops;

    Term term;
    /** The number of instructions that an execution of {@link #ops} and {@link #term} counts. */
    final int count;

    /** Whether others may still lead here. */
    volatile boolean valid = true;
    /** Executions so far; approximate with several processors. */
    int heat;
    /** The same code as steps, if this block is a translation. */
    final @Nullable Block steps;
    /** What else the region of this block was made of. */
    private final long regionCovers;

    Block(long rip, int mode, long host, long secondHost, Insn[] insns, Op[] ops, Term term) {
        this.rip = rip;
        this.mode = mode;
        this.host = host;
        this.secondHost = secondHost;
        this.insns = insns;
        this.ops = ops;
        this.term = term;
        this.count = insns.length;
        this.steps = null;
        this.regionCovers = 0;
    }

    private Block(Block steps, Region region, long covers) {
        this.rip = steps.rip;
        this.mode = steps.mode;
        this.host = steps.host;
        this.secondHost = steps.secondHost;
        this.insns = steps.insns;
        this.ops = NO_OPS;
        this.term = new Region.Entry(region);
        this.count = 0;
        this.heat = steps.heat;
        this.steps = steps;
        this.regionCovers = covers;
    }

    /** Which granules of a page (see {@link CodePages}) the code was decoded from. */
    long covers(long hostPage) {
        Insn last = insns[insns.length - 1];
        int length = (int) (last.rip + last.length - rip);
        int onFirst = secondHost == 0 ? length : Math.min(length, (int) (4096 - (host & 4095)));
        if ((host & Cpu.PAGE_MASK) == hostPage) {
            return CodePages.bits(host, onFirst) | regionCovers;
        }
        return secondHost == hostPage ? CodePages.bits(secondHost, length - onFirst) : 0;
    }

    /** Where step {@code i} starts; the terminator's first instruction if beyond. */
    long ripAt(int i) {
        return insns[Math.min(i, insns.length - 1)].rip;
    }

    /**
     * A block that executes a region in place of the steps of this one, which stay for what the region leaves to them, and for
     * processors that are inside them now.
     */
    Block translated(Region region, long covers) {
        valid = false;
        return new Block(this, region, covers);
    }

    private static final Op[] NO_OPS = {};

    /** The code has changed. A processor inside the block leaves it at the next instruction. */
    void invalidate() {
        valid = false;
        Arrays.fill(ops, Op.STALE);
        term = Term.STALE;
        Block plain = steps;
        if (plain != null) {
            plain.invalidate();
        }
    }
}
