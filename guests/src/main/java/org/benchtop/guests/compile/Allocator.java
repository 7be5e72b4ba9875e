package org.benchtop.guests.compile;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.benchtop.guests.compile.Ir.Insn;
import org.benchtop.guests.compile.Ir.Op;
import org.benchtop.guests.compile.Ir.Operand;
import org.benchtop.guests.compile.Ir.Reg;

/**
 * Gives every virtual register a physical one or a stack slot.
 *
 * <p>Priority colouring: an interference graph from exact liveness; the registers used most, weighted by loop depth,
 * choose first, so loop variables stay in registers; what finds no free register lives in a slot. RAX, RCX and RDX are
 * never given away: the emitter works with them.
 */
final class Allocator {
    /** Registers of the first six arguments, in order. */
    static final int[] ARGUMENTS = {
        Assembler.RDI, Assembler.RSI, Assembler.R8, Assembler.R9, Assembler.R10, Assembler.R11
    };

    /** Registers that a called method must preserve. */
    static final int[] CALLEE_SAVED = {
        Assembler.RBX, Assembler.RBP, Assembler.R12, Assembler.R13, Assembler.R14, Assembler.R15
    };

    static final int CALLER_SAVED = mask(ARGUMENTS);
    private static final int ALL = CALLER_SAVED | mask(CALLEE_SAVED);

    /** Register number, or {@code -1 - slot}. */
    record Result(int[] locations, int slots, int usedRegisters, BitSet liveAtEntry) {}

    private final Ir.Method method;
    private final int count;
    private final BitSet[] liveIn;
    private final BitSet[] liveOut;
    private final BitSet[] interference;
    private final int[] forbidden;
    private final double[] weight;
    private final int[] preferred;
    private final List<List<Integer>> related;

    private Allocator(Ir.Method method) {
        this.method = method;
        this.count = method.registers.size();
        this.liveIn = new BitSet[method.blocks.size()];
        this.liveOut = new BitSet[method.blocks.size()];
        this.interference = new BitSet[count];
        this.forbidden = new int[count];
        this.weight = new double[count];
        this.preferred = new int[count];
        this.related = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            interference[i] = new BitSet();
            related.add(new ArrayList<>(2));
        }
    }

    static Result allocate(Ir.Method method) {
        return new Allocator(method).run();
    }

    private static int mask(int[] registers) {
        return Arrays.stream(registers).map(register -> 1 << register).reduce(0, (a, b) -> a | b);
    }

    private Result run() {
        findLoops();
        findLiveness();
        method.layout.forEach(this::buildInterference);
        BitSet entry = liveIn[0];
        for (int a = entry.nextSetBit(0); a >= 0; a = entry.nextSetBit(a + 1)) {
            interference[a].or(entry);
            interference[a].clear(a);
        }
        for (int i = 0; i < Math.min(method.parameters.size(), ARGUMENTS.length); i++) {
            preferred[method.parameters.get(i)] |= 1 << ARGUMENTS[i];
        }
        return color();
    }

    /** Counts for every block how many loops (ranges from a jump target back to it) enclose it. */
    private void findLoops() {
        int[] place = new int[method.blocks.size()];
        int[] end = new int[method.blocks.size()];
        for (int i = 0; i < method.layout.size(); i++) {
            place[method.layout.get(i).id] = i;
        }
        for (Ir.Block block : method.layout) {
            for (int successor : block.successors()) {
                if (place[successor] <= place[block.id]) {
                    end[successor] = Math.max(end[successor], place[block.id] + 1);
                }
            }
        }
        for (Ir.Block header : method.layout) {
            for (int i = place[header.id]; i < end[header.id]; i++) {
                method.layout.get(i).loopDepth++;
            }
        }
    }

    private void findLiveness() {
        BitSet[] defined = new BitSet[method.blocks.size()];
        for (Ir.Block block : method.blocks) {
            BitSet used = new BitSet();
            BitSet written = new BitSet();
            for (Insn insn : block.insns) {
                for (Operand arg : insn.args) {
                    if (arg instanceof Reg reg && !written.get(reg.id())) {
                        used.set(reg.id());
                    }
                }
                if (insn.dst >= 0) {
                    written.set(insn.dst);
                }
            }
            liveIn[block.id] = used;
            liveOut[block.id] = new BitSet();
            defined[block.id] = written;
        }
        boolean changed = true;
        while (changed) {
            changed = false;
            for (Ir.Block block : method.layout.reversed()) {
                BitSet out = liveOut[block.id];
                int before = out.cardinality();
                for (int successor : block.successors()) {
                    out.or(liveIn[successor]);
                }
                if (out.cardinality() != before || before == 0 && !out.isEmpty()) {
                    BitSet through = (BitSet) out.clone();
                    through.andNot(defined[block.id]);
                    liveIn[block.id].or(through);
                    changed = true;
                }
            }
        }
    }

    private void buildInterference(Ir.Block block) {
        double cost = Math.pow(10, Math.min(block.loopDepth, 6));
        BitSet live = (BitSet) liveOut[block.id].clone();
        for (int i = block.insns.size() - 1; i >= 0; i--) {
            Insn insn = block.insns.get(i);
            if (insn.dst >= 0) {
                if (insn.op.pure() && !live.get(insn.dst)) {
                    block.insns.remove(i);
                    continue;
                }
                live.clear(insn.dst);
                define(insn, live);
                weight[insn.dst] += cost;
            }
            int clobbers = insn.op.clobbers();
            if (clobbers != 0) {
                for (int v = live.nextSetBit(0); v >= 0; v = live.nextSetBit(v + 1)) {
                    forbidden[v] |= clobbers;
                }
                preferArguments(insn);
            }
            for (Operand arg : insn.args) {
                if (arg instanceof Reg reg) {
                    live.set(reg.id());
                    weight[reg.id()] += cost;
                }
            }
            if (insn.dst >= 0 && insn.args.length > 0 && insn.args[0] instanceof Reg first) {
                related.get(insn.dst).add(first.id());
                related.get(first.id()).add(insn.dst);
            }
        }
    }

    private void define(Insn insn, BitSet live) {
        int copied = insn.op == Op.MOVE && insn.args[0] instanceof Reg source ? source.id() : -1;
        for (int v = live.nextSetBit(0); v >= 0; v = live.nextSetBit(v + 1)) {
            if (v != copied) {
                interference[insn.dst].set(v);
                interference[v].set(insn.dst);
            }
        }
    }

    private void preferArguments(Insn call) {
        if (call.op != Op.CALL) {
            return;
        }
        for (int i = 0; i < Math.min(call.args.length, ARGUMENTS.length); i++) {
            if (call.args[i] instanceof Reg reg) {
                preferred[reg.id()] |= 1 << ARGUMENTS[i];
            }
        }
    }

    private Result color() {
        Integer[] order = new Integer[count];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> {
            int byWeight = Double.compare(weight[b], weight[a]);
            return byWeight != 0
                    ? byWeight
                    : Integer.compare(interference[a].cardinality(), interference[b].cardinality());
        });
        int[] locations = new int[count];
        BitSet done = new BitSet();
        int used = 0;
        int slots = 0;
        for (int v : order) {
            int taken = forbidden[v];
            BitSet takenSlots = new BitSet();
            BitSet neighbours = (BitSet) interference[v].clone();
            neighbours.and(done);
            for (int n = neighbours.nextSetBit(0); n >= 0; n = neighbours.nextSetBit(n + 1)) {
                if (locations[n] >= 0) {
                    taken |= 1 << locations[n];
                } else {
                    takenSlots.set(-1 - locations[n]);
                }
            }
            int free = ALL & ~taken;
            if (free != 0) {
                locations[v] = choose(v, free, used, locations, done);
                used |= 1 << locations[v];
            } else {
                int slot = takenSlots.nextClearBit(0);
                locations[v] = -1 - slot;
                slots = Math.max(slots, slot + 1);
            }
            done.set(v);
        }
        return new Result(locations, slots, used, liveIn[0]);
    }

    private int choose(int v, int free, int used, int[] locations, BitSet done) {
        for (int other : related.get(v)) {
            if (done.get(other) && locations[other] >= 0 && (free >> locations[other] & 1) != 0) {
                return locations[other];
            }
        }
        int best = free & preferred[v];
        if (best == 0) {
            best = free & CALLER_SAVED;
        }
        if (best == 0) {
            best = free & used;
        }
        if (best == 0) {
            best = free;
        }
        return Integer.numberOfTrailingZeros(best);
    }
}
