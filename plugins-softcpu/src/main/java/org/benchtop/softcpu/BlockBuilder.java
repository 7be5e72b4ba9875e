package org.benchtop.softcpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;

/** Finds decoded code for an address, or decodes it. Belongs to one processor. */
final class BlockBuilder {
    static final int MAX_INSNS = 32;
    /** The logarithm of the longest block in bytes where time is counted in instructions. */
    private static final int COUNTED_BLOCK_SHIFT = 7;

    private static final int SNAPSHOT_BYTES = 4096;

    private final Cpu c;
    private final CodePages pages;
    private final Decoder decoder;
    private final byte[] snapshot = new byte[SNAPSHOT_BYTES];

    BlockBuilder(Cpu c, CodePages pages) {
        this.c = c;
        this.pages = pages;
        this.decoder = new Decoder(c);
    }

    /** Decodes one instruction at RIP, uncached. */
    Insn single() {
        return decoder.decode(c.rip, hostOf(c.rip));
    }

    private long hostOf(long rip) {
        long linear = c.codeLinear(rip);
        long host = c.mmu.fetch(linear);
        if (host == 0) {
            throw new Decoder.UnbackedCode(linear);
        }
        return host;
    }

    /** The block at RIP; may raise the faults of a fetch. */
    Block at(long rip) {
        long host = hostOf(rip);
        Block block = pages.find(host, rip, c.modeKey);
        if (block != null) {
            if (block.secondHost == 0) {
                return block;
            }
            long second = c.mmu.fetch((c.codeLinear(rip) & Cpu.PAGE_MASK) + 4096 & c.codeMask());
            if (second == block.secondHost) {
                return block;
            }
            // The second page is mapped elsewhere now: this block would be wrong here, and may be right again later.
            pages.invalidate(block.host, 1);
        }
        return build(rip, host);
    }

    private Block build(long rip, long host) {
        while (true) {
            int onPage = (int) (4096 - (host & 4095));
            MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_BYTE, host, snapshot, 0, onPage);
            long version = pages.version(host);
            List<Insn> insns = decode(rip, host, onPage);
            Insn last = insns.getLast();
            int length = (int) (last.rip + last.length - rip);
            long second = length > onPage ? decoder.secondHost() : 0;
            boolean fresh = pages.claim(host, Math.min(length, onPage));
            if (second != 0) {
                fresh |= pages.claim(second, length - onPage);
            }
            if (fresh) {
                int flushes = c.vcpu.flushes();
                c.vm.protect(c, host & Cpu.PAGE_MASK);
                if (second != 0) {
                    c.vm.protect(c, second & Cpu.PAGE_MASK);
                }
                if (c.vcpu.flushes() != flushes) {
                    // The memory map has changed while this processor waited for the others.
                    return at(rip);
                }
            }
            // A writer either finds the claim or has written what is compared now, see Mmu.codeWritten.
            VarHandle.fullFence();
            if (!unchanged(host, Math.min(length, onPage))) {
                continue;
            }
            Block block = Compiler.block(c, rip, c.modeKey, host, second, insns);
            if (pages.add(block, version)) {
                return block;
            }
        }
    }

    /** Whether nobody wrote the code between decoding it and claiming it. */
    private boolean unchanged(long host, int length) {
        for (int i = 0; i < length; i++) {
            if (HostMemory.get8(host + i) != (snapshot[i] & 0xff)) {
                return false;
            }
        }
        return true;
    }

    private List<Insn> decode(long rip, long host, int onPage) {
        List<Insn> insns = new ArrayList<>();
        long at = rip;
        while (true) {
            int offset = (int) (at - rip);
            Insn insn;
            try {
                insn = decoder.decode(at, host + offset);
            } catch (CpuFault | Decoder.UnbackedCode fault) {
                if (insns.isEmpty()) {
                    throw fault;
                }
                // The fault belongs to an instruction that may never be reached.
                return insns;
            }
            if (offset + insn.length > onPage && !insns.isEmpty()) {
                return insns;
            }
            insns.add(insn);
            at += insn.length;
            if (insn.ends()
                    || full(insns, at)
                    || offset + insn.length >= onPage
                    || c.vcpu.isBreakpoint(c.codeLinear(at))
                    || c.vm.hooks().hooked(c.codeLinear(at))) {
                return insns;
            }
        }
    }

    /** Where time is counted in instructions, blocks end at the same addresses wherever they are entered. */
    private boolean full(List<Insn> insns, long next) {
        return c.vm.turns() == null
                ? insns.size() == MAX_INSNS
                : (insns.getLast().rip ^ next) >>> COUNTED_BLOCK_SHIFT != 0;
    }
}
