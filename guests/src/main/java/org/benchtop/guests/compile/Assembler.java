package org.benchtop.guests.compile;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Encodes x86-64 instructions into a growing buffer, with local labels and link-time fixups.
 *
 * <p>Registers are their hardware numbers 0–15. A {@code wide} instruction works on 64 bits, else on 32.
 * Encodings follow the Intel SDM, volume 2.
 */
final class Assembler {
    static final int RAX = 0;
    static final int RCX = 1;
    static final int RDX = 2;
    static final int RBX = 3;
    static final int RSP = 4;
    static final int RBP = 5;
    static final int RSI = 6;
    static final int RDI = 7;
    static final int R8 = 8;
    static final int R9 = 9;
    static final int R10 = 10;
    static final int R11 = 11;
    static final int R12 = 12;
    static final int R13 = 13;
    static final int R14 = 14;
    static final int R15 = 15;

    /** Opcode digits of the eight classic two-operand operations. */
    static final int ADD = 0;

    static final int OR = 1;
    static final int AND = 4;
    static final int SUB = 5;
    static final int XOR = 6;
    static final int CMP = 7;

    static final int ROL = 0;
    static final int ROR = 1;
    static final int SHL = 4;
    static final int SHR = 5;
    static final int SAR = 7;

    /** How a fixup patches its field. */
    enum FixupKind {
        /** 32-bit absolute address. */
        ABS32,
        /** 64-bit absolute address. */
        ABS64,
        /** 32-bit distance from the end of the field. */
        REL32
    }

    /** A field to patch with the address of {@code symbol} once it is known. */
    record Fixup(int offset, FixupKind kind, String symbol, int addend) {}

    /** A memory operand: base + index × 2^scale + displacement (+ symbol); −1 stands for no register. */
    record Mem(
            int base,
            int index,
            int scale,
            int displacement,
            @Nullable String symbol) {
        static Mem at(int base, int displacement) {
            return new Mem(base, -1, 0, displacement, null);
        }

        static Mem absolute(int address) {
            return new Mem(-1, -1, 0, address, null);
        }

        static Mem symbol(String symbol, int addend) {
            return new Mem(-1, -1, 0, addend, symbol);
        }

        static Mem table(String symbol, int index, int scale) {
            return new Mem(-1, index, scale, 0, symbol);
        }
    }

    private record LabelUse(int offset, int label) {}

    private byte[] bytes = new byte[512];
    private int size;
    private int[] labels = new int[32];
    private int labelCount;
    private final List<LabelUse> labelUses = new ArrayList<>();
    private final List<Fixup> fixups = new ArrayList<>();

    int position() {
        return size;
    }

    List<Fixup> fixups() {
        return fixups;
    }

    /** The code so far, with label distances filled in. */
    byte[] finish() {
        for (LabelUse use : labelUses) {
            int distance = labels[use.label] - (use.offset + 4);
            if (labels[use.label] < 0) {
                throw new IllegalStateException("unbound label " + use.label);
            }
            patch32(use.offset, distance);
        }
        labelUses.clear();
        return Arrays.copyOf(bytes, size);
    }

    int newLabel() {
        if (labelCount == labels.length) {
            labels = Arrays.copyOf(labels, labelCount * 2);
        }
        labels[labelCount] = -1;
        return labelCount++;
    }

    void bind(int label) {
        labels[label] = size;
    }

    int labelPosition(int label) {
        return labels[label];
    }

    void emit8(int value) {
        if (size == bytes.length) {
            bytes = Arrays.copyOf(bytes, size * 2);
        }
        bytes[size++] = (byte) value;
    }

    void emit(int... values) {
        for (int value : values) {
            emit8(value);
        }
    }

    void emit16(int value) {
        emit(value, value >> 8);
    }

    void emit32(int value) {
        emit(value, value >> 8, value >> 16, value >> 24);
    }

    void emit64(long value) {
        emit32((int) value);
        emit32((int) (value >> 32));
    }

    void align(int alignment, int filler) {
        while (size % alignment != 0) {
            emit8(filler);
        }
    }

    private void patch32(int offset, int value) {
        for (int i = 0; i < 4; i++) {
            bytes[offset + i] = (byte) (value >> (8 * i));
        }
    }

    void symbol32(String symbol, int addend) {
        fixups.add(new Fixup(size, FixupKind.ABS32, symbol, addend));
        emit32(0);
    }

    void symbol64(String symbol, int addend) {
        fixups.add(new Fixup(size, FixupKind.ABS64, symbol, addend));
        emit64(0);
    }

    private void label32(int label) {
        labelUses.add(new LabelUse(size, label));
        emit32(0);
    }

    // ---- general forms

    private void rex(boolean wide, int reg, int index, int base, boolean force) {
        int rex = (wide ? 8 : 0) | ((reg >> 3) << 2) | (index < 0 ? 0 : (index >> 3) << 1) | (base < 0 ? 0 : base >> 3);
        if (rex != 0 || force) {
            emit8(0x40 | rex);
        }
    }

    private void opcode(int opcode) {
        if (opcode > 0xffff) {
            emit8(opcode >> 16);
        }
        if (opcode > 0xff) {
            emit8(opcode >> 8);
        }
        emit8(opcode);
    }

    /** Register–register form; {@code byteRegs} forces REX so that numbers 4–7 mean SPL…DIL. */
    void rr(int prefix, boolean wide, int opcode, int reg, int rm, boolean byteRegs) {
        if (prefix != 0) {
            emit8(prefix);
        }
        rex(wide, reg, -1, rm, byteRegs && (reg >= 4 || rm >= 4));
        opcode(opcode);
        emit8(0xc0 | (reg & 7) << 3 | (rm & 7));
    }

    void rr(boolean wide, int opcode, int reg, int rm) {
        rr(0, wide, opcode, reg, rm, false);
    }

    /** Register–memory form. */
    void rm(int prefix, boolean wide, int opcode, int reg, Mem mem, boolean byteReg) {
        if (prefix != 0) {
            emit8(prefix);
        }
        rex(wide, reg, mem.index, mem.base, byteReg && reg >= 4);
        opcode(opcode);
        int field = (reg & 7) << 3;
        if (mem.base < 0) {
            int index = mem.index < 0 ? 4 : mem.index & 7;
            emit(field | 4, mem.scale << 6 | index << 3 | 5);
            if (mem.symbol != null) {
                symbol32(mem.symbol, mem.displacement);
            } else {
                emit32(mem.displacement);
            }
            return;
        }
        boolean symbolic = mem.symbol != null;
        int low = mem.base & 7;
        int mode;
        if (symbolic) {
            mode = 0x80;
        } else if (mem.displacement == 0 && low != 5) {
            mode = 0;
        } else if (mem.displacement == (byte) mem.displacement) {
            mode = 0x40;
        } else {
            mode = 0x80;
        }
        if (mem.index >= 0 || low == 4) {
            int index = mem.index < 0 ? 4 : mem.index & 7;
            emit(mode | field | 4, mem.scale << 6 | index << 3 | low);
        } else {
            emit8(mode | field | low);
        }
        if (mem.symbol != null) {
            symbol32(mem.symbol, mem.displacement);
        } else if (mode == 0x40) {
            emit8(mem.displacement);
        } else if (mode == 0x80) {
            emit32(mem.displacement);
        }
    }

    void rm(boolean wide, int opcode, int reg, Mem mem) {
        rm(0, wide, opcode, reg, mem, false);
    }

    // ---- moves

    void mov(boolean wide, int dst, int src) {
        rr(wide, 0x8b, dst, src);
    }

    void load(boolean wide, int dst, Mem mem) {
        rm(wide, 0x8b, dst, mem);
    }

    void store(boolean wide, Mem mem, int src) {
        rm(wide, 0x89, src, mem);
    }

    void movImmediate(int dst, long value) {
        if (value == 0) {
            rr(false, 0x31, dst, dst);
        } else {
            movImmediateKeepFlags(dst, value);
        }
    }

    void movImmediateKeepFlags(int dst, long value) {
        if (value >>> 32 == 0) {
            rex(false, 0, -1, dst, false);
            emit8(0xb8 | (dst & 7));
            emit32((int) value);
        } else if (value == (int) value) {
            rex(true, 0, -1, dst, false);
            emit(0xc7, 0xc0 | (dst & 7));
            emit32((int) value);
        } else {
            rex(true, 0, -1, dst, false);
            emit8(0xb8 | (dst & 7));
            emit64(value);
        }
    }

    void movSymbol(int dst, String symbol, int addend) {
        rex(false, 0, -1, dst, false);
        emit8(0xb8 | (dst & 7));
        symbol32(symbol, addend);
    }

    void storeImmediate(boolean wide, Mem mem, int value) {
        rm(wide, 0xc7, 0, mem);
        emit32(value);
    }

    void push(int reg) {
        rex(false, 0, -1, reg, false);
        emit8(0x50 | (reg & 7));
    }

    void pop(int reg) {
        rex(false, 0, -1, reg, false);
        emit8(0x58 | (reg & 7));
    }

    void pushImmediate(int value) {
        emit8(0x68);
        emit32(value);
    }

    void lea(boolean wide, int dst, Mem mem) {
        rm(wide, 0x8d, dst, mem);
    }

    // ---- arithmetic

    void alu(int operation, boolean wide, int dst, int src) {
        rr(wide, operation << 3 | 3, dst, src);
    }

    void aluLoad(int operation, boolean wide, int dst, Mem mem) {
        rm(wide, operation << 3 | 3, dst, mem);
    }

    void aluStore(int operation, boolean wide, Mem mem, int src) {
        rm(wide, operation << 3 | 1, src, mem);
    }

    void aluImmediate(int operation, boolean wide, int dst, int value) {
        boolean small = value == (byte) value;
        rr(wide, small ? 0x83 : 0x81, operation, dst);
        immediate(small, value);
    }

    void aluImmediate(int operation, boolean wide, Mem mem, int value) {
        boolean small = value == (byte) value;
        rm(wide, small ? 0x83 : 0x81, operation, mem);
        immediate(small, value);
    }

    private void immediate(boolean small, int value) {
        if (small) {
            emit8(value);
        } else {
            emit32(value);
        }
    }

    void test(boolean wide, int a, int b) {
        rr(wide, 0x85, b, a);
    }

    void shiftImmediate(int operation, boolean wide, int dst, int count) {
        rr(wide, 0xc1, operation, dst);
        emit8(count);
    }

    void shiftByCl(int operation, boolean wide, int dst) {
        rr(wide, 0xd3, operation, dst);
    }

    void bswap(boolean wide, int dst) {
        rex(wide, 0, -1, dst, false);
        emit(0x0f, 0xc8 | (dst & 7));
    }

    void neg(boolean wide, int dst) {
        rr(wide, 0xf7, 3, dst);
    }

    /** imul dst, src, value. */
    void mulImmediate(boolean wide, int dst, int src, int value) {
        boolean small = value == (byte) value;
        rr(wide, small ? 0x6b : 0x69, dst, src);
        immediate(small, value);
    }

    // ---- control flow

    /** Jump with the shortest encoding that is known to fit. */
    void jmp(int label) {
        int target = labels[label];
        if (target >= 0 && target - (size + 2) >= -128) {
            emit(0xeb, target - (size + 2));
        } else {
            emit8(0xe9);
            label32(label);
        }
    }

    void jcc(int condition, int label) {
        int target = labels[label];
        if (target >= 0 && target - (size + 2) >= -128) {
            emit(0x70 | condition, target - (size + 2));
        } else {
            emit(0x0f, 0x80 | condition);
            label32(label);
        }
    }

    void call(String symbol) {
        emit8(0xe8);
        fixups.add(new Fixup(size, FixupKind.REL32, symbol, 0));
        emit32(0);
    }

    void ret() {
        emit8(0xc3);
    }
}
