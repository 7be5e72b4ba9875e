package org.benchtop.softcpu;

/**
 * String instructions (Intel SDM vol. 2). Repetitions go page by page where both sides are memory and ascend; between pages
 * a request of another thread stops them, with RIP back at the instruction.
 */
final class Strings {
    /** Elements between looks for requests where pages do not limit a run. */
    private static final int RUN = 1024;

    private Strings() {}

    private static boolean repeats(Insn in) {
        return in.repe || in.repne;
    }

    private static long count(Cpu c, Insn in) {
        return repeats(in) ? c.r[Cpu.RCX] & Cpu.mask(in.addressSize) : 1;
    }

    private static void counted(Cpu c, Insn in, long done) {
        if (repeats(in)) {
            c.set(Cpu.RCX, in.addressSize, c.r[Cpu.RCX] - done);
        }
    }

    private static long offset(Cpu c, Insn in, int register) {
        return c.r[register] & Cpu.mask(in.addressSize);
    }

    private static void advance(Cpu c, Insn in, int register, long bytes) {
        c.set(register, in.addressSize, c.r[register] + bytes);
    }

    private static boolean down(Cpu c) {
        return (c.systemFlags & Flags.DF) != 0;
    }

    private static int step(Cpu c, int size) {
        return down(c) ? -size : size;
    }

    /** Repetitions go on to their end where each instruction counts as one. */
    private static boolean mayStop(Cpu c) {
        return c.pending != 0 && (c.vm.turns() == null || trapped(c));
    }

    /** A repetition hit a watchpoint of the guest, which traps behind it. */
    private static boolean trapped(Cpu c) {
        return (c.pending & SoftVcpu.TRAP) != 0;
    }

    /** Whether to stop and come back to the instruction. */
    private static boolean interrupted(Cpu c, Insn in) {
        if (mayStop(c)) {
            c.rip = in.rip;
            return true;
        }
        return false;
    }

    /** How many whole elements ascend from an offset without leaving page, segment and address size. */
    private static long run(Cpu c, Insn in, int seg, long offset, long count, int size) {
        if (count < 2 || down(c)) {
            return 0;
        }
        long base = c.codeSize == 8 && seg < Cpu.FS ? 0 : c.segBase[seg];
        long left = 4096 - (offset + base & 4095);
        if (c.codeSize != 8) {
            if ((c.segAttr[seg] & 0xc) == 4) {
                return 0;
            }
            left = Math.min(left, c.segLimit[seg] - offset + 1);
        }
        if (in.addressSize == 2) {
            left = Math.min(left, 0x1_0000 - offset);
        }
        return Math.min(count, left / size);
    }

    static void movs(Cpu c, Insn in) {
        int size = in.size;
        long count = count(c, in);
        while (count != 0) {
            long from = offset(c, in, Cpu.RSI);
            long to = offset(c, in, Cpu.RDI);
            long n = Math.min(run(c, in, in.seg, from, count, size), run(c, in, Cpu.ES, to, count, size));
            if (n < 2 || !movePage(c, in, from, to, (int) n * size)) {
                n = 1;
                long value = c.load(c.linear(in.seg, from, size, false), size);
                c.store(c.linear(Cpu.ES, to, size, true), size, value);
            }
            long bytes = n * step(c, size);
            advance(c, in, Cpu.RSI, bytes);
            advance(c, in, Cpu.RDI, bytes);
            counted(c, in, n);
            count -= n;
            if (count != 0 && interrupted(c, in)) {
                return;
            }
        }
    }

    private static boolean movePage(Cpu c, Insn in, long from, long to, int bytes) {
        long source = c.mmu.hostForRead(c.linear(in.seg, from, bytes, false), bytes);
        if (source == 0) {
            return false;
        }
        long destination = c.mmu.hostForWrite(c.linear(Cpu.ES, to, bytes, true), bytes);
        if (destination == 0) {
            return false;
        }
        if (destination <= source || destination >= source + bytes) {
            HostMemory.copy(source, destination, bytes);
            c.mmu.wrote(destination, bytes);
            return true;
        }
        int size = in.size;
        for (int i = 0; i < bytes; i += size) {
            HostMemory.set(destination + i, size, HostMemory.get(source + i, size));
        }
        c.mmu.wrote(destination, bytes);
        return true;
    }

    static void stos(Cpu c, Insn in) {
        int size = in.size;
        long value = c.get(Cpu.RAX, size);
        long count = count(c, in);
        while (count != 0) {
            long to = offset(c, in, Cpu.RDI);
            long n = run(c, in, Cpu.ES, to, count, size);
            if (n < 2 || !fillPage(c, to, (int) n * size, size, value)) {
                n = 1;
                c.store(c.linear(Cpu.ES, to, size, true), size, value);
            }
            advance(c, in, Cpu.RDI, n * step(c, size));
            counted(c, in, n);
            count -= n;
            if (count != 0 && interrupted(c, in)) {
                return;
            }
        }
    }

    private static boolean fillPage(Cpu c, long to, int bytes, int size, long value) {
        long destination = c.mmu.hostForWrite(c.linear(Cpu.ES, to, bytes, true), bytes);
        if (destination == 0) {
            return false;
        }
        long pattern = switch (size) {
            case 1 -> value * 0x0101_0101_0101_0101L;
            case 2 -> value * 0x0001_0001_0001_0001L;
            case 4 -> value * 0x0000_0001_0000_0001L;
            default -> value;
        };
        int i = 0;
        for (; i + 8 <= bytes; i += 8) {
            HostMemory.set64(destination + i, pattern);
        }
        for (; i < bytes; i += size) {
            HostMemory.set(destination + i, size, value);
        }
        c.mmu.wrote(destination, bytes);
        return true;
    }

    static void lods(Cpu c, Insn in) {
        int size = in.size;
        long count = count(c, in);
        for (int run = 0; count != 0; run++) {
            long from = offset(c, in, Cpu.RSI);
            c.set(Cpu.RAX, size, c.load(c.linear(in.seg, from, size, false), size));
            advance(c, in, Cpu.RSI, step(c, size));
            counted(c, in, 1);
            count--;
            if (count != 0 && (run >= RUN || trapped(c))) {
                run = 0;
                if (interrupted(c, in)) {
                    return;
                }
            }
        }
    }

    static void cmps(Cpu c, Insn in) {
        int size = in.size;
        long count = count(c, in);
        for (int run = 0; count != 0; run++) {
            long a = c.load(c.linear(in.seg, offset(c, in, Cpu.RSI), size, false), size);
            long b = c.load(c.linear(Cpu.ES, offset(c, in, Cpu.RDI), size, false), size);
            advance(c, in, Cpu.RSI, step(c, size));
            advance(c, in, Cpu.RDI, step(c, size));
            counted(c, in, 1);
            count--;
            if (count == 0 || ends(in, a == b)) {
                Alu.flags(c, Alu.CMP, size, a, b);
                return;
            }
            if (run >= RUN || trapped(c)) {
                run = 0;
                if (mayStop(c)) {
                    Alu.flags(c, Alu.CMP, size, a, b);
                    c.rip = in.rip;
                    return;
                }
            }
        }
    }

    static void scas(Cpu c, Insn in) {
        int size = in.size;
        long a = c.get(Cpu.RAX, size);
        long count = count(c, in);
        for (int run = 0; count != 0; run++) {
            long b = c.load(c.linear(Cpu.ES, offset(c, in, Cpu.RDI), size, false), size);
            advance(c, in, Cpu.RDI, step(c, size));
            counted(c, in, 1);
            count--;
            if (count == 0 || ends(in, a == b)) {
                Alu.flags(c, Alu.CMP, size, a, b);
                return;
            }
            if (run >= RUN || trapped(c)) {
                run = 0;
                if (mayStop(c)) {
                    Alu.flags(c, Alu.CMP, size, a, b);
                    c.rip = in.rip;
                    return;
                }
            }
        }
    }

    /** Whether REPE or REPNE stops after a comparison. */
    private static boolean ends(Insn in, boolean equal) {
        return in.repe ? !equal : !in.repne || equal;
    }

    static void ins(Cpu c, Insn in) {
        int size = Math.min(in.size, 4);
        int port = (int) c.r[Cpu.RDX] & 0xffff;
        SystemInsns.checkPort(c, port, size);
        long count = count(c, in);
        while (count != 0) {
            long address = c.linear(Cpu.ES, offset(c, in, Cpu.RDI), size, true);
            c.checkWrite(address, size);
            c.store(address, size, c.vm.portRead(c, port, size));
            advance(c, in, Cpu.RDI, step(c, size));
            counted(c, in, 1);
            count--;
            if (count != 0 && interrupted(c, in)) {
                return;
            }
        }
    }

    static void outs(Cpu c, Insn in) {
        int size = Math.min(in.size, 4);
        int port = (int) c.r[Cpu.RDX] & 0xffff;
        SystemInsns.checkPort(c, port, size);
        long count = count(c, in);
        while (count != 0) {
            long value = c.load(c.linear(in.seg, offset(c, in, Cpu.RSI), size, false), size);
            c.vm.portWrite(c, port, size, value);
            advance(c, in, Cpu.RSI, step(c, size));
            counted(c, in, 1);
            count--;
            if (count != 0 && interrupted(c, in)) {
                return;
            }
        }
    }
}
