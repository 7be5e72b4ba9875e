package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/**
 * A decoded instruction (Intel SDM vol. 2, chapter 2). Filled by {@link Decoder} and not changed afterwards; shared by the
 * vCPUs of a VM.
 */
public final class Insn {
    /** The longest instruction. */
    public static final int MAX_LENGTH = 15;

    /** {@link #base} or {@link #index} of an address without one: a register that is always zero. */
    public static final int NO_REGISTER = 16;

    /** Byte registers AH, CH, DH and BH are numbers {@code HIGH_BYTE + 0..3}. */
    public static final int HIGH_BYTE = 20;

    /** {@link #pp} without mandatory prefix. */
    public static final int PP_NONE = 0;
    /** {@link #pp} of 66. */
    public static final int PP_66 = 1;
    /** {@link #pp} of F3. */
    public static final int PP_F3 = 2;
    /** {@link #pp} of F2. */
    public static final int PP_F2 = 3;

    /** Opcode map: 0 one byte, 1 {@code 0F}, 2 {@code 0F 38}, 3 {@code 0F 3A}. */
    public int map;
    /** The opcode byte in its map. */
    public int opcode;
    /** Whether the instruction is VEX-encoded. */
    public boolean vex;
    /** VEX.L: 1 for 256 bits. */
    public int vexL;
    /** VEX.vvvv as a register number (already inverted); 0 without VEX. */
    public int vvvv;
    /** The mandatory prefix as VEX.pp has it: the last of F2/F3, else 66. */
    public int pp;
    /** REX.W or VEX.W. */
    public boolean w;
    /** Whether there is a REX prefix. */
    public boolean rex;
    /** LOCK prefix. */
    public boolean lock;
    /** F3 prefix. */
    public boolean repe;
    /** F2 prefix. */
    public boolean repne;

    /** Effective operand size in bytes: 2, 4 or 8 (not 1: byte opcodes know themselves). */
    public int operandSize;
    /** {@link #operandSize}, or 1 for a byte opcode. */
    int size;
    /** Effective address size in bytes: 2, 4 or 8. */
    public int addressSize;
    /** Code size: 2, 4 or 8 bytes (16-bit, 32-bit, 64-bit mode). */
    public int codeSize;

    /** The ModRM byte; 0 without one. */
    public int modrm;
    /** Whether ModRM names memory. */
    public boolean memory;
    /** ModRM.reg with REX.R: 0–15. For an opcode extension use {@link #extension()}. */
    public int reg;
    /** ModRM.rm with REX.B: 0–15; valid where not {@link #memory}. Also the register in the opcode byte. */
    public int rm;

    /** Base register, 0–15 or {@link #NO_REGISTER}. */
    public int base = NO_REGISTER;
    /** Index register, 0–15 or {@link #NO_REGISTER}. */
    public int index = NO_REGISTER;
    /** The SIB byte, or -1. */
    public int sib = -1;
    /** The index is shifted left by this. */
    public int scale;
    /** Displacement; RIP-relative addresses are already absolute. */
    public long disp;
    /** The segment of the memory operand, {@link Cpu#ES} to {@link Cpu#GS}, after overrides and defaults. */
    public int seg = Cpu.DS;

    /** The immediate, sign-extended from its size. */
    public long imm;
    /** The second immediate (ENTER, far pointers: the selector). */
    public int imm2;

    /** Offset of the first byte in the code segment. */
    public long rip;
    /** Length in bytes. */
    public int length;

    /** What it does; null for an undefined opcode. */
    @Nullable
    InsnHandler handler;

    /** Properties of the opcode; see {@link Opcodes}. */
    int flags;

    Insn() {}

    /** Whether a block ends with this instruction. */
    boolean ends() {
        return (flags & Opcodes.END) != 0;
    }

    /** ModRM.reg as an opcode extension: 0–7. */
    public int extension() {
        return modrm >> 3 & 7;
    }

    /** ModRM.mod: 0–3. */
    public int mod() {
        return modrm >> 6;
    }

    /** Offset of the next instruction, wrapped to the code size. */
    public long next() {
        long next = rip + length;
        return codeSize == 8 ? next : codeSize == 4 ? next & 0xffff_ffffL : next & 0xffff;
    }

    /** Whether the instruction executes in 64-bit mode. */
    public boolean mode64() {
        return codeSize == 8;
    }
}
