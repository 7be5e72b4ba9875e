package org.benchtop.softcpu;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.spi.cpu.AccessHook;
import org.benchtop.spi.cpu.ExecHook;
import org.benchtop.spi.cpu.InstructionCount;
import org.jspecify.annotations.Nullable;

/**
 * Watchpoints and callbacks of debuggers. Pages that are watched are kept out of the TLB, and blocks that hold a hooked
 * instruction begin with it, so that others cost nothing. Changed while no processor runs.
 */
final class DebugHooks {
    /** A range and what happens when it is accessed: a callback, or a stop where there is none. */
    private record Watch(
            long first,
            long last,
            boolean reads,
            boolean writes,
            @Nullable AccessHook hook) {
        boolean overlaps(long linear, int size) {
            return linear <= last && linear + size - 1 >= first;
        }
    }

    private record Exec(long address, ExecHook hook) {}

    private volatile Watch[] watches = {};
    private volatile Exec[] execs = {};
    private volatile ExecHook[] traces = {};
    private volatile boolean counting;
    /** Executions of blocks that are gone, by opcode. */
    private final Map<Integer, Count> counts = new TreeMap<>();

    private static final class Count {
        final byte[] example;
        final int bits;
        long count;

        Count(byte[] example, int bits) {
            this.example = example;
            this.bits = bits;
        }
    }

    /** Whether accesses are watched. */
    boolean active() {
        return watches.length != 0;
    }

    boolean watches(long linearPage) {
        for (Watch watch : watches) {
            if (linearPage <= watch.last && linearPage + 4095 >= watch.first) {
                return true;
            }
        }
        return false;
    }

    void access(Cpu c, long linear, int size, boolean write) {
        for (Watch watch : watches) {
            if ((write ? watch.writes : watch.reads) && watch.overlaps(linear, size)) {
                AccessHook hook = watch.hook;
                if (hook == null) {
                    c.vcpu.watchHit();
                } else {
                    Block block = c.current;
                    long rip = block == null ? c.rip : block.ripAt(c.partial);
                    hook.accesses(c.vcpu, rip, linear, size, write);
                }
            }
        }
    }

    /** Replaces the watchpoints that stop: pairs of address and length. */
    synchronized void set(long[] ranges, boolean reads) {
        List<Watch> next = new ArrayList<>();
        for (Watch watch : watches) {
            if (watch.hook != null) {
                next.add(watch);
            }
        }
        for (int i = 0; i < ranges.length; i += 2) {
            next.add(new Watch(ranges[i], ranges[i] + ranges[i + 1] - 1, reads, true, null));
        }
        watches = next.toArray(new Watch[0]);
    }

    synchronized Object add(long address, long length, boolean reads, boolean writes, AccessHook hook) {
        Watch watch = new Watch(address, address + length - 1, reads, writes, hook);
        List<Watch> next = new ArrayList<>(List.of(watches));
        next.add(watch);
        watches = next.toArray(new Watch[0]);
        return watch;
    }

    synchronized Object add(long address, ExecHook hook) {
        Exec exec = new Exec(address, hook);
        List<Exec> next = new ArrayList<>(List.of(execs));
        next.add(exec);
        execs = next.toArray(new Exec[0]);
        return exec;
    }

    synchronized Object addTrace(ExecHook hook) {
        List<ExecHook> next = new ArrayList<>(List.of(traces));
        next.add(hook);
        traces = next.toArray(new ExecHook[0]);
        return hook;
    }

    synchronized void remove(Object hook) {
        List<Watch> nextWatches = new ArrayList<>(List.of(watches));
        nextWatches.removeIf(w -> w == hook);
        watches = nextWatches.toArray(new Watch[0]);
        List<Exec> nextExecs = new ArrayList<>(List.of(execs));
        nextExecs.removeIf(e -> e == hook);
        execs = nextExecs.toArray(new Exec[0]);
        List<ExecHook> nextTraces = new ArrayList<>(List.of(traces));
        nextTraces.removeIf(t -> t == hook);
        traces = nextTraces.toArray(new ExecHook[0]);
    }

    // ---- execution ----

    /** Whether the instruction at a linear address has a callback. */
    boolean hooked(long linear) {
        for (Exec exec : execs) {
            if (exec.address == linear) {
                return true;
            }
        }
        return false;
    }

    void executes(Cpu c, long rip) {
        long linear = c.codeLinear(rip);
        c.rip = rip;
        for (Exec exec : execs) {
            if (exec.address == linear) {
                exec.hook.executes(c.vcpu, rip, Disassembly.bytesAt(c, rip));
            }
        }
    }

    boolean tracing() {
        return traces.length != 0;
    }

    void trace(Cpu c, Insn in) {
        byte[] bytes = Disassembly.bytesAt(c, in.rip);
        byte[] code = java.util.Arrays.copyOf(bytes, Math.min(bytes.length, in.length));
        for (ExecHook hook : traces) {
            hook.executes(c.vcpu, in.rip, code);
        }
        InstructionEvent event = new InstructionEvent();
        if (event.shouldCommit()) {
            event.of(c, in.rip, code);
            event.commit();
        }
    }

    // ---- statistics ----

    /** Whether executions of blocks are counted exactly, which translated ones are not. */
    boolean counting() {
        return counting;
    }

    synchronized void counting(boolean enabled) {
        counting = enabled;
        counts.clear();
    }

    /** Adds the executions of a block that goes away, or at the end. */
    synchronized void count(Block block) {
        if (!counting || block.heat == 0) {
            return;
        }
        for (Insn in : block.insns) {
            int key = in.codeSize << 24
                    | in.map << 20
                    | in.opcode << 8
                    | in.pp << 4
                    | ((in.flags & Opcodes.MODRM) != 0 ? in.extension() : 0);
            Count count = counts.get(key);
            if (count == null) {
                byte[] example = new byte[in.length];
                for (int i = 0; i < example.length; i++) {
                    example[i] = block.byteAt(in.rip + i);
                }
                count = new Count(example, in.codeSize * 8);
                counts.put(key, count);
            }
            count.count += block.heat;
        }
        block.heat = 0;
    }

    synchronized List<InstructionCount> counts() {
        return counts.values().stream()
                .map(c -> new InstructionCount(c.example, c.bits, c.count))
                .toList();
    }
}
