package org.benchtop.softcpu;

/** Decimal adjustment and other relics (Intel SDM vol. 2). */
final class Bcd {
    private Bcd() {}

    private static void result(Cpu c, int al, boolean carry, boolean auxiliary) {
        c.set8(Cpu.RAX, al);
        c.logic((byte) al);
        c.setStatus(c.status() & ~(Flags.CF | Flags.AF) | (carry ? Flags.CF : 0) | (auxiliary ? Flags.AF : 0));
    }

    static void daa(Cpu c, Insn in) {
        int status = c.status();
        int al = c.get8(Cpu.RAX);
        int old = al;
        boolean carry = (status & Flags.CF) != 0;
        boolean auxiliary = (al & 15) > 9 || (status & Flags.AF) != 0;
        if (auxiliary) {
            al += 6;
        }
        boolean high = old > 0x99 || carry;
        if (high) {
            al += 0x60;
        }
        result(c, al & 0xff, high, auxiliary);
    }

    static void das(Cpu c, Insn in) {
        int status = c.status();
        int al = c.get8(Cpu.RAX);
        int old = al;
        boolean carry = (status & Flags.CF) != 0;
        boolean auxiliary = (al & 15) > 9 || (status & Flags.AF) != 0;
        boolean out = false;
        if (auxiliary) {
            out = carry || al < 6;
            al -= 6;
        }
        if (old > 0x99 || carry) {
            al -= 0x60;
            out = true;
        }
        result(c, al & 0xff, out, auxiliary);
    }

    static void aaa(Cpu c, Insn in) {
        boolean adjust = (c.r[Cpu.RAX] & 15) > 9 || (c.status() & Flags.AF) != 0;
        if (adjust) {
            c.set(Cpu.RAX, 2, c.r[Cpu.RAX] + 0x106);
        }
        adjusted(c, adjust);
    }

    static void aas(Cpu c, Insn in) {
        boolean adjust = (c.r[Cpu.RAX] & 15) > 9 || (c.status() & Flags.AF) != 0;
        if (adjust) {
            c.set(Cpu.RAX, 2, c.r[Cpu.RAX] - 6);
            c.set8(Insn.HIGH_BYTE, c.get8(Insn.HIGH_BYTE) - 1);
        }
        adjusted(c, adjust);
    }

    private static void adjusted(Cpu c, boolean adjust) {
        int al = c.get8(Cpu.RAX) & 15;
        c.set8(Cpu.RAX, al);
        c.logic(al);
        c.setStatus(c.status() & ~(Flags.CF | Flags.AF) | (adjust ? Flags.CF | Flags.AF : 0));
    }

    static void aam(Cpu c, Insn in) {
        int base = (int) in.imm & 0xff;
        if (base == 0) {
            throw c.fault(CpuFault.DE);
        }
        int al = c.get8(Cpu.RAX);
        c.set(Cpu.RAX, 2, al / base << 8 | al % base);
        c.logic((byte) (al % base));
    }

    static void aad(Cpu c, Insn in) {
        int al = c.get8(Cpu.RAX) + c.get8(Insn.HIGH_BYTE) * ((int) in.imm & 0xff) & 0xff;
        c.set(Cpu.RAX, 2, al);
        c.logic((byte) al);
    }

    static void salc(Cpu c, Insn in) {
        c.set8(Cpu.RAX, c.cf() ? 0xff : 0);
    }
}
