package org.benchtop.softcpu;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Decoded code that is entered at its start only and left at its end: straight-line instructions and a terminator.
 *
 * <p>Inside one page, except that a single instruction may reach into the next one. Immutable apart from {@link
 * #invalidate}, which any thread may call.
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

    Op[] ops;
    Term term;
    /** The number of instructions that an execution of {@link #ops} and {@link #term} counts. */
    int count;

    volatile boolean valid = true;
    /** Executions so far; approximate with several processors. */
    int heat;
    /** The same code as steps, once this block is translated. */
    @Nullable
    Block steps;
    /** What else the region of this block was made of. */
    private long regionCovers;

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
        if ((host & Cpu.PAGE_MASK) == hostPage) {
            return CodePages.bits(host, onFirst) | regionCovers;
        }
        return secondHost == hostPage ? CodePages.bits(secondHost, length - onFirst) : 0;
    }

    /** Where step {@code i} starts; the terminator's first instruction if beyond. */
    long ripAt(int i) {
        return insns[Math.min(i, insns.length - 1)].rip;
    }

    /** From now on a region is executed instead of the steps, which stay for what the region leaves to them. */
    void translated(Region region, long covers) {
        regionCovers = covers;
        steps = new Block(rip, mode, host, secondHost, insns, ops, term);
        ops = NO_OPS;
        term = new Region.Entry(region);
        count = 0;
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
