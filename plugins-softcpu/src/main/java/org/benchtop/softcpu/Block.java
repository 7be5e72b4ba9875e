package org.benchtop.softcpu;

import java.util.Arrays;

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

    final Op[] ops;
    private final Term own;
    Term term;
    /** The number of instructions. */
    final int count;

    volatile boolean valid = true;
    /** Executions while not yet translated. */
    int heat;

    Block(long rip, int mode, long host, long secondHost, Insn[] insns, Op[] ops, Term term) {
        this.rip = rip;
        this.mode = mode;
        this.host = host;
        this.secondHost = secondHost;
        this.insns = insns;
        this.ops = ops;
        this.own = term;
        this.term = term;
        this.count = insns.length;
    }

    /** Where step {@code i} starts; the terminator's first instruction if beyond. */
    long ripAt(int i) {
        return insns[Math.min(i, insns.length - 1)].rip;
    }

    /** The code has changed. A processor inside the block leaves it at the next instruction. */
    void invalidate() {
        valid = false;
        Arrays.fill(ops, Op.STALE);
        term = Term.STALE;
    }

    /** The terminator that the block was made with. */
    Term terminator() {
        return own;
    }
}
