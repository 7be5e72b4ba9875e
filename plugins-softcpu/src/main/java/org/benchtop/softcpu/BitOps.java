package org.benchtop.softcpu;

import java.lang.invoke.VarHandle;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Bits, bytes, compare-and-exchange (Intel SDM vol. 2). */
final class BitOps {
    private BitOps() {}

    static void bswap(Cpu c, Insn in) {
        if (in.operandSize == 8) {
            c.r[in.rm] = Long.reverseBytes(c.r[in.rm]);
        } else if (in.operandSize == 4) {
            c.r[in.rm] = Integer.reverseBytes((int) c.r[in.rm]) & 0xffff_ffffL;
        } else {
            // Undefined with 16 bits; processors give zero.
            c.set(in.rm, 2, 0);
        }
    }

    static void setcc(Cpu c, Insn in) {
        c.writeRm(in, 1, c.condition(in.opcode & 15) ? 1 : 0);
    }

    private static void carry(Cpu c, boolean carry) {
        c.setStatus(c.status() & ~Flags.CF | (carry ? Flags.CF : 0));
    }

    private static int operation(int kind) {
        return switch (kind) {
            case 1 -> Alu.OR;
            case 2 -> Alu.CLEAR;
            default -> Alu.XOR;
        };
    }

    /** BT, BTS, BTR, BTC with a register: the bit may be far from the address. */
    static void bitTest(Cpu c, Insn in) {
        int size = in.operandSize;
        int kind = in.opcode >> 3 & 3;
        long bit = Cpu.signExtend(c.r[in.reg], size);
        if (!in.memory) {
            registerBit(c, in, kind, bit);
            return;
        }
        long offset = c.offset(in) + (bit >> (size == 8 ? 6 : size == 4 ? 5 : 4)) * size;
        offset &= Cpu.mask(in.addressSize);
        long address = c.linear(in.seg, offset, size, kind != 0);
        memoryBit(c, in, kind, bit, address);
    }

    /** BT, BTS, BTR, BTC with an immediate. */
    static void group8(Cpu c, Insn in) {
        if (in.extension() < 4) {
            throw c.ud();
        }
        int kind = in.extension() & 3;
        if (in.memory) {
            memoryBit(c, in, kind, in.imm, c.address(in, in.operandSize, kind != 0));
        } else {
            registerBit(c, in, kind, in.imm);
        }
    }

    private static void registerBit(Cpu c, Insn in, int kind, long bit) {
        int size = in.operandSize;
        long mask = 1L << (bit & 8L * size - 1);
        long value = c.get(in.rm, size);
        if (kind != 0) {
            c.set(in.rm, size, Alu.apply(operation(kind), value, mask, 0));
        }
        carry(c, (value & mask) != 0);
    }

    private static void memoryBit(Cpu c, Insn in, int kind, long bit, long address) {
        int size = in.operandSize;
        long mask = 1L << (bit & 8L * size - 1);
        long old = kind == 0 ? c.load(address, size) : Alu.memory(c, operation(kind), size, address, mask, in.lock);
        carry(c, (old & mask) != 0);
    }

    static void bsf(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        if (in.repe && c.features.has(CpuFeatures.BMI1)) {
            long count = value == 0 ? 8 * size : Long.numberOfTrailingZeros(value);
            c.set(in.reg, size, count);
            countFlags(c, value, count);
            return;
        }
        scanned(c, in, value, Long.numberOfTrailingZeros(value));
    }

    static void bsr(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        if (in.repe && c.features.has(CpuFeatures.ABM)) {
            long count = Long.numberOfLeadingZeros(value) - (64 - 8 * size);
            c.set(in.reg, size, count);
            countFlags(c, value, count);
            return;
        }
        scanned(c, in, value, 63 - Long.numberOfLeadingZeros(value));
    }

    /** TZCNT and LZCNT: the others are undefined. */
    private static void countFlags(Cpu c, long value, long count) {
        c.setStatus((value == 0 ? Flags.CF : 0) | (count == 0 ? Flags.ZF : 0));
    }

    /** BSF and BSR leave the destination alone when the source is zero. */
    private static void scanned(Cpu c, Insn in, long value, long bit) {
        if (value != 0) {
            c.set(in.reg, in.operandSize, bit);
        }
        c.setStatus(c.status() & ~Flags.ZF | (value == 0 ? Flags.ZF : 0));
    }

    static void popcnt(Cpu c, Insn in) {
        if (!c.features.has(CpuFeatures.POPCNT)) {
            throw c.ud();
        }
        long value = c.readRm(in, in.operandSize);
        c.set(in.reg, in.operandSize, Long.bitCount(value));
        c.setStatus(value == 0 ? Flags.ZF : 0);
    }

    static void cmpxchg(Cpu c, Insn in) {
        int size = in.size;
        long expected = c.get(Cpu.RAX, size);
        long value = c.get(in.reg, size);
        if (!in.memory) {
            long old = c.get(in.rm, size);
            if (old == expected) {
                c.set(in.rm, size, value);
            } else {
                c.set(Cpu.RAX, size, old);
            }
            Alu.flags(c, Alu.CMP, size, expected, old);
            return;
        }
        long address = c.address(in, size, true);
        long old = in.lock
                ? exchangeLocked(c, address, size, expected, value)
                : exchange(c, address, size, expected, value);
        if (old != expected) {
            c.set(Cpu.RAX, size, old);
        }
        Alu.flags(c, Alu.CMP, size, expected, old);
    }

    private static long exchange(Cpu c, long address, int size, long expected, long value) {
        long old = c.loadForWrite(address, size);
        c.store(address, size, old == expected ? value : old);
        return old;
    }

    private static long exchangeLocked(Cpu c, long address, int size, long expected, long value) {
        long host = c.mmu.hostForWrite(address, size);
        if (host == 0 || (host & 7) + size > 8) {
            return c.vm.exclusively(c, () -> exchange(c, address, size, expected, value));
        }
        while (true) {
            long old = HostMemory.get(host, size);
            if (old != expected) {
                VarHandle.fullFence();
                return old;
            }
            if (HostMemory.compareAndSet(host, size, expected, value)) {
                c.mmu.wrote(host, size);
                return old;
            }
        }
    }

    static void xadd(Cpu c, Insn in) {
        int size = in.size;
        long b = c.get(in.reg, size);
        if (in.memory) {
            long old = Alu.memory(c, Alu.ADD, size, c.address(in, size, true), b, in.lock);
            c.set(in.reg, size, old);
            Alu.flags(c, Alu.ADD, size, old, b);
        } else {
            long old = c.get(in.rm, size);
            long sum = Alu.flags(c, Alu.ADD, size, old, b);
            c.set(in.reg, size, old);
            c.set(in.rm, size, sum);
        }
    }

    static void movnti(Cpu c, Insn in) {
        c.writeRm(in, in.operandSize, c.get(in.reg, in.operandSize));
    }

    /** 0F C7: CMPXCHG8B/16B, RDRAND, RDSEED, RDPID. */
    static @Nullable InsnHandler group9(Insn in) {
        if (in.memory) {
            return in.extension() == 1 ? (in.w ? BitOps::cmpxchg16b : BitOps::cmpxchg8b) : null;
        }
        return switch (in.extension()) {
            case 6 -> in.repe || in.repne ? null : (c, i) -> random(c, i, CpuFeatures.RDRAND);
            case 7 -> in.repe ? BitOps::rdpid : in.repne ? null : (c, i) -> random(c, i, CpuFeatures.RDSEED);
            default -> null;
        };
    }

    private static void random(Cpu c, Insn in, int feature) {
        if (!c.features.has(feature)) {
            throw c.ud();
        }
        c.set(in.rm, in.operandSize, c.vm.random());
        c.setStatus(Flags.CF);
    }

    private static void rdpid(Cpu c, Insn in) {
        if (!c.features.has(CpuFeatures.RDPID)) {
            throw c.ud();
        }
        c.r[in.rm] = c.tscAux;
    }

    private static void cmpxchg8b(Cpu c, Insn in) {
        long address = c.address(in, 8, true);
        long expected = c.r[Cpu.RDX] << 32 | c.r[Cpu.RAX] & 0xffff_ffffL;
        long value = c.r[Cpu.RCX] << 32 | c.r[Cpu.RBX] & 0xffff_ffffL;
        long old = in.lock ? exchangeLocked(c, address, 8, expected, value) : exchange(c, address, 8, expected, value);
        boolean equal = old == expected;
        if (!equal) {
            c.r[Cpu.RAX] = old & 0xffff_ffffL;
            c.r[Cpu.RDX] = old >>> 32;
        }
        c.setStatus(c.status() & ~Flags.ZF | (equal ? Flags.ZF : 0));
    }

    private static void cmpxchg16b(Cpu c, Insn in) {
        if (!c.features.has(CpuFeatures.CX16)) {
            throw c.ud();
        }
        long address = c.address(in, 16, true);
        if ((address & 15) != 0) {
            throw c.gp();
        }
        c.checkWrite(address, 16);
        boolean equal = in.lock ? c.vm.exclusively(c, () -> exchange16(c, address)) != 0 : exchange16(c, address) != 0;
        c.setStatus(c.status() & ~Flags.ZF | (equal ? Flags.ZF : 0));
    }

    private static long exchange16(Cpu c, long address) {
        long low = c.load64(address);
        long high = c.load64(address + 8);
        if (low == c.r[Cpu.RAX] && high == c.r[Cpu.RDX]) {
            c.store64(address, c.r[Cpu.RBX]);
            c.store64(address + 8, c.r[Cpu.RCX]);
            return 1;
        }
        c.store64(address, low);
        c.store64(address + 8, high);
        c.r[Cpu.RAX] = low;
        c.r[Cpu.RDX] = high;
        return 0;
    }

    static long hostRandom() {
        return ThreadLocalRandom.current().nextLong();
    }
}
