package org.benchtop.engine.asm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.benchtop.engine.asm.OpcodeTable.Encoding;
import org.benchtop.engine.asm.OpcodeTable.Entry;

/** Decodes one instruction: prefixes, opcode, ModRM, operands. */
final class Decoder {
    private static final String[] CONDITIONS = {
        "o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g",
    };
    private static final String[] BYTES = {
        "al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b",
        "r15b",
    };
    private static final String[] OLD_BYTES = {"al", "cl", "dl", "bl", "ah", "ch", "dh", "bh"};
    private static final String[] WORDS = {
        "ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w",
    };
    private static final String[] DWORDS = {
        "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d",
        "r15d",
    };
    private static final String[] QWORDS = {
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    };
    private static final String[] SEGMENTS = {"es", "cs", "ss", "ds", "fs", "gs"};
    private static final String[] BASES_16 = {"bx+si", "bx+di", "bp+si", "bp+di", "si", "di", "bp", "bx"};
    private static final String[] PREDICATES = {
        "eq",
        "lt",
        "le",
        "unord",
        "neq",
        "nlt",
        "nle",
        "ord",
        "eq_uq",
        "nge",
        "ngt",
        "false",
        "neq_oq",
        "ge",
        "gt",
        "true",
        "eq_os",
        "lt_oq",
        "le_oq",
        "unord_s",
        "neq_us",
        "nlt_uq",
        "nle_uq",
        "ord_s",
        "eq_us",
        "nge_uq",
        "ngt_uq",
        "false_os",
        "neq_os",
        "ge_oq",
        "gt_oq",
        "true_us",
    };
    private static final String[] INTEGER_PREDICATES = {"eq", "lt", "le", "", "neq", "nlt", "nle", ""};

    private static final int REX_W = 8;
    private static final int REX_R = 4;
    private static final int REX_X = 2;
    private static final int REX_B = 1;
    private static final int REX_ANY = 0x40;

    private final byte[] code;
    private final int start;
    private final int end;
    private final long address;
    private final int bits;
    private int pos;

    private int rex;
    private int rexUsed;
    private int segment = -1;
    private boolean segmentUsed;
    private boolean operand66;
    private boolean operandUsed;
    private boolean address67;
    private boolean addressUsed;
    private boolean lock;
    private int repeat;
    private boolean repeatUsed;
    private final List<Integer> prefixes = new ArrayList<>();

    private Encoding encoding = Encoding.LEGACY;
    private int map;
    private int prefix;
    private int opcode;
    private int vectorLength;
    private int vvvv;
    private int evexR;
    private int evexX;
    private boolean broadcast;
    private boolean zeroing;
    private int mask;
    private boolean compressed;

    private boolean hasModrm;
    private int modrm;
    private int mod;
    private int reg;
    private int rm;
    private boolean decodedMemory;
    private String memoryText = "";
    private int sibIndexRegister = -1;
    private OptionalLong target = OptionalLong.empty();
    private String note = "";
    private int immediatePredicate = -1;

    /** These bytes are no instruction. */
    static final class NoInstruction extends Exception {
        private static final long serialVersionUID = 1L;

        NoInstruction() {
            super(null, null, false, false);
        }
    }

    Decoder(byte[] code, int offset, long address, int bits) {
        this.code = code;
        this.start = offset;
        this.pos = offset;
        this.end = Math.min(code.length, offset + Disassembler.MAX_LENGTH);
        this.address = address;
        this.bits = bits;
    }

    private int u8() throws NoInstruction {
        if (pos >= end) {
            throw new NoInstruction();
        }
        return code[pos++] & 0xff;
    }

    private int peek(int ahead) throws NoInstruction {
        if (pos + ahead >= end) {
            throw new NoInstruction();
        }
        return code[pos + ahead] & 0xff;
    }

    private long immediate(int bytes) throws NoInstruction {
        long value = 0;
        for (int i = 0; i < bytes; i++) {
            value |= (long) u8() << 8 * i;
        }
        return value;
    }

    private long signed(int bytes) throws NoInstruction {
        int shift = 64 - 8 * bytes;
        return immediate(bytes) << shift >> shift;
    }

    Instruction decode() throws NoInstruction {
        prefixes();
        opcode();
        if (encoding == Encoding.LEGACY && map == 0 && opcode >= 0xd8 && opcode <= 0xdf) {
            return fpu();
        }
        if (encoding == Encoding.LEGACY && map == 0 && opcode < 0x40 && (opcode & 7) < 6) {
            return arithmetic();
        }
        hasModrm = OpcodeTable.instance().hasModrm(encoding, map, opcode);
        int look = hasModrm ? peek(0) : 0;
        Entry entry = entry(look);
        if (hasModrm) {
            readModrm();
        }
        return finish(entry);
    }

    private Entry entry(int look) throws NoInstruction {
        OpcodeTable table = OpcodeTable.instance();
        boolean mode64 = bits == 64;
        if (encoding != Encoding.LEGACY) {
            return table.find(encoding, map, prefix, opcode, look, mode64).orElseThrow(NoInstruction::new);
        }
        if (repeat != 0) {
            int mandatory = repeat == 0xf3 ? OpcodeTable.PREFIX_F3 : OpcodeTable.PREFIX_F2;
            if (table.isMandatory(encoding, map, mandatory, opcode, look, mode64)) {
                repeatUsed = true;
                return table.find(encoding, map, mandatory, opcode, look, mode64)
                        .orElseThrow(NoInstruction::new);
            }
        }
        int wanted = operand66 && map != 0 ? OpcodeTable.PREFIX_66 : OpcodeTable.NO_PREFIX;
        if (operand66 && table.isMandatory(encoding, map, wanted, opcode, look, mode64)) {
            operandUsed = true;
        }
        return table.find(encoding, map, wanted, opcode, look, mode64).orElseThrow(NoInstruction::new);
    }

    private void prefixes() throws NoInstruction {
        while (true) {
            int b = peek(0);
            switch (b) {
                case 0x66 -> operand66 = true;
                case 0x67 -> address67 = true;
                case 0xf0 -> lock = true;
                case 0xf2, 0xf3 -> repeat = b;
                case 0x26, 0x2e, 0x36, 0x3e -> segment = b >>> 3 & 3;
                case 0x64, 0x65 -> segment = b - 0x60;
                default -> {
                    if (bits == 64 && (b & 0xf0) == 0x40) {
                        rex = b;
                        pos++;
                        // A prefix behind REX makes it void.
                        if (isPrefix(peek(0))) {
                            prefixes.add(rex);
                            rex = 0;
                            continue;
                        }
                    }
                    return;
                }
            }
            prefixes.add(b);
            pos++;
        }
    }

    private boolean isPrefix(int b) {
        return switch (b) {
            case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65 -> true;
            default -> (b & 0xf0) == 0x40;
        };
    }

    private void opcode() throws NoInstruction {
        int b = u8();
        boolean vexAllowed = bits == 64 || pos < end && peek(0) >= 0xc0;
        if (b == 0x0f) {
            b = u8();
            switch (b) {
                case 0x38 -> {
                    map = 2;
                    b = u8();
                }
                case 0x3a -> {
                    map = 3;
                    b = u8();
                }
                default -> map = 1;
            }
        } else if (vexAllowed && b == 0xc5) {
            vex2();
            b = u8();
        } else if (vexAllowed && b == 0xc4) {
            vex3();
            b = u8();
        } else if (vexAllowed && b == 0x62) {
            evex();
            b = u8();
        }
        opcode = b;
    }

    private void noPrefixBeforeVex() throws NoInstruction {
        if (operand66 || repeat != 0 || lock || rex != 0) {
            throw new NoInstruction();
        }
    }

    private static int mandatory(int pp) {
        return switch (pp) {
            case 1 -> OpcodeTable.PREFIX_66;
            case 2 -> OpcodeTable.PREFIX_F3;
            case 3 -> OpcodeTable.PREFIX_F2;
            default -> OpcodeTable.NO_PREFIX;
        };
    }

    private void vex2() throws NoInstruction {
        noPrefixBeforeVex();
        int b = u8();
        encoding = Encoding.VEX;
        map = 1;
        rex = (b & 0x80) == 0 ? REX_R : 0;
        vvvv = ~b >>> 3 & 15;
        vectorLength = b >>> 2 & 1;
        prefix = mandatory(b & 3);
    }

    private void vex3() throws NoInstruction {
        noPrefixBeforeVex();
        int b = u8();
        int c = u8();
        encoding = Encoding.VEX;
        map = b & 31;
        if (map < 1 || map > 3) {
            throw new NoInstruction();
        }
        rex = (~b >>> 5 & 7) | ((c & 0x80) != 0 ? REX_W : 0);
        vvvv = ~c >>> 3 & 15;
        vectorLength = c >>> 2 & 1;
        prefix = mandatory(c & 3);
    }

    private void evex() throws NoInstruction {
        noPrefixBeforeVex();
        int b = u8();
        int c = u8();
        int d = u8();
        encoding = Encoding.EVEX;
        map = b & 7;
        if (map < 1 || map > 3 || (b & 8) != 0 || (c & 4) == 0) {
            throw new NoInstruction();
        }
        rex = (~b >>> 5 & 7) | ((c & 0x80) != 0 ? REX_W : 0);
        evexR = (b & 0x10) == 0 ? 16 : 0;
        evexX = (b & 0x40) == 0 ? 16 : 0;
        vvvv = (~c >>> 3 & 15) | ((d & 8) == 0 ? 16 : 0);
        prefix = mandatory(c & 3);
        zeroing = (d & 0x80) != 0;
        vectorLength = d >>> 5 & 3;
        broadcast = (d & 0x10) != 0;
        mask = d & 7;
        compressed = true;
    }

    private void readModrm() throws NoInstruction {
        modrm = u8();
        mod = modrm >>> 6;
        reg = modrm >>> 3 & 7;
        rm = modrm & 7;
    }

    private boolean useRex(int bit) {
        rexUsed |= bit | REX_ANY;
        return (rex & bit) != 0;
    }

    private boolean wide() {
        return useRex(REX_W);
    }

    private int operandSize() {
        if (bits == 64 && wide()) {
            return 64;
        }
        if (operand66) {
            operandUsed = true;
        }
        return bits == 16 == operand66 ? 32 : 16;
    }

    /** For pushes, pops and near jumps, which are 64 bits wide in 64-bit mode. */
    private int stackSize() {
        if (bits != 64) {
            return operandSize();
        }
        useRex(REX_W);
        if (operand66 && (rex & REX_W) == 0) {
            operandUsed = true;
            return 16;
        }
        return 64;
    }

    private int addressSize() {
        if (address67) {
            addressUsed = true;
        }
        return switch (bits) {
            case 64 -> address67 ? 32 : 64;
            case 32 -> address67 ? 16 : 32;
            default -> address67 ? 32 : 16;
        };
    }

    private String register(int number, int size) {
        return switch (size) {
            case 8 -> {
                if (bits == 64 && rex != 0) {
                    rexUsed |= REX_ANY;
                    yield BYTES[number];
                }
                yield encoding != Encoding.LEGACY ? BYTES[number] : OLD_BYTES[number & 7];
            }
            case 16 -> WORDS[number];
            case 32 -> DWORDS[number];
            default -> QWORDS[number];
        };
    }

    private int regNumber() {
        return reg | (useRex(REX_R) ? 8 : 0);
    }

    private int rmNumber() {
        return rm | (useRex(REX_B) ? 8 : 0);
    }

    private String vector(int number, int length) {
        return (length == 0 ? "xmm" : length == 1 ? "ymm" : "zmm") + number;
    }

    private static String sizeName(int bytes) throws NoInstruction {
        return switch (bytes) {
            case 0 -> "";
            case 1 -> "BYTE PTR ";
            case 2 -> "WORD PTR ";
            case 4 -> "DWORD PTR ";
            case 6 -> "FWORD PTR ";
            case 8 -> "QWORD PTR ";
            case 10 -> "TBYTE PTR ";
            case 16 -> "XMMWORD PTR ";
            case 32 -> "YMMWORD PTR ";
            case 64 -> "ZMMWORD PTR ";
            default -> throw new NoInstruction();
        };
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    private static String displacement(long value) {
        return value < 0 ? "-" + hex(-value) : "+" + hex(value);
    }

    /** The text of the memory operand; {@code bytes} scales the short displacements of EVEX. */
    private String memory(int bytes) throws NoInstruction {
        if (mod == 3) {
            throw new NoInstruction();
        }
        int size = bytes;
        boolean spread = false;
        if (encoding == Encoding.EVEX && broadcast) {
            size = (rex & REX_W) != 0 ? 8 : 4;
            spread = true;
        }
        if (!decodedMemory) {
            decodedMemory = true;
            memoryText = addressSize() == 16 ? address16() : address(Math.max(1, size));
        }
        String name = sizeName(size);
        return (spread ? name.replace("PTR", "BCST") : name) + memoryText;
    }

    private String segmentPrefix(boolean bare) {
        if (segment < 0 || bits == 64 && segment < 4) {
            return bare ? "ds:" : "";
        }
        segmentUsed = true;
        return SEGMENTS[segment] + ":";
    }

    private String address16() throws NoInstruction {
        if (mod == 0 && rm == 6) {
            return segmentPrefix(true) + hex(immediate(2));
        }
        String text = BASES_16[rm];
        if (mod == 1) {
            text += displacement(signed(1));
        } else if (mod == 2) {
            text += displacement(signed(2));
        }
        return segmentPrefix(false) + "[" + text + "]";
    }

    private String address(int scaleOf) throws NoInstruction {
        int size = addressSize();
        String[] names = size == 64 ? QWORDS : DWORDS;
        boolean sib = rm == 4;
        int base = rm;
        String index = "";
        boolean bare = false;
        if (sib) {
            int b = u8();
            base = b & 7;
            int number = b >>> 3 & 7 | (useRex(REX_X) ? 8 : 0);
            int scale = 1 << (b >>> 6);
            if (sibIndexRegister >= 0) {
                int vectorNumber = number | (encoding == Encoding.EVEX && vvvv >= 16 ? 16 : 0);
                index = vector(vectorNumber, sibIndexRegister) + "*" + scale;
            } else if (number != 4) {
                index = names[number] + "*" + scale;
            } else if (scale != 1 || base != 4 && !(base == 5 && mod == 0)) {
                index = (size == 64 ? "riz" : "eiz") + "*" + scale;
            }
        }
        StringBuilder text = new StringBuilder();
        boolean absolute = base == 5 && mod == 0;
        if (!absolute) {
            text.append(names[base | (useRex(REX_B) ? 8 : 0)]);
        } else if (!sib && bits == 64) {
            long offset = signed(4);
            ripRelative = true;
            ripOffset = offset;
            // objdump shows this displacement, and only this one, without a sign.
            return segmentPrefix(false) + "[" + (size == 64 ? "rip" : "eip") + "+" + hex(offset) + "]";
        } else {
            useRex(REX_B);
        }
        if (!index.isEmpty()) {
            text.append(text.isEmpty() ? "" : "+").append(index);
        }
        if (absolute) {
            long offset = signed(4);
            if (index.isEmpty()) {
                bare = true;
                return segmentPrefix(bare) + hex(size == 64 ? offset : offset & 0xffff_ffffL);
            }
            text.append(displacement(offset));
        } else if (mod == 1) {
            text.append(displacement(signed(1) * (compressed ? scaleOf : 1)));
        } else if (mod == 2) {
            text.append(displacement(signed(4)));
        }
        return segmentPrefix(false) + "[" + text + "]";
    }

    private boolean ripRelative;
    private long ripOffset;

    private String general(int size) throws NoInstruction {
        return mod == 3 ? register(rmNumber(), size) : memory(size / 8);
    }

    private static String unsigned(long value, int size) {
        return hex(size == 64 ? value : value & (1L << size) - 1);
    }

    private int vectorBytes() {
        return 16 << vectorLength;
    }

    /** The last operand of a vector instruction: a register or memory. */
    private String vectorOrMemory(int bytes, int registerLength) throws NoInstruction {
        if (mod == 3) {
            return vector(rmVector(), registerLength);
        }
        return memory(bytes);
    }

    private int rmVector() {
        return rmNumber() | evexX;
    }

    private int regVector() {
        return regNumber() | evexR;
    }

    private String operand(String kind) throws NoInstruction {
        String rest = kind.substring(1);
        return switch (kind.charAt(0)) {
            case 'E' -> general(size(rest));
            case 'G' -> register(regNumber(), size(rest));
            case 'R' -> registerOrSmallMemory(rest);
            case 'B' -> register(vvvv & 15, wide() ? 64 : 32);
            case 'Z' -> register(opcode & 7 | (useRex(REX_B) ? 8 : 0), size(rest));
            case 'I' -> immediateOperand(rest);
            case 'J' -> jump(rest.equals("b") ? 1 : 4);
            case 'A' -> farPointer();
            case 'M' -> memoryOperand(rest);
            case 'O' -> offset(rest);
            case 'X' -> string(rest, "ds", 6);
            case 'Y' -> string(rest, "es", 7);
            case 'S' -> segmentRegister();
            case 'C' -> "cr" + regNumber();
            case 'D' -> "db" + regNumber();
            case 'P' -> "mm" + reg;
            case 'N' -> "mm" + rm;
            case 'Q' -> mod == 3 ? "mm" + rm : memory(rest.equals("d") ? 4 : 8);
            case 'K' -> maskRegister(rest);
            case 'V' -> vector(regVector(), length(rest));
            case 'H' -> vector(vvvv, length(rest));
            case 'U' -> vector(rmVector(), length(rest));
            case 'L' -> vector(u8() >>> 4, length(rest));
            case 'W' -> vectorOperand(rest);
            default -> fixed(kind);
        };
    }

    private String fixed(String kind) {
        return switch (kind) {
            case "rAX" -> register(0, operandSize());
            case "eAX" -> register(0, operandSize() == 16 ? 16 : 32);
            case "aAX" -> register(0, addressSize());
            default -> kind;
        };
    }

    /** Bits of a general operand. */
    private int size(String kind) {
        return switch (kind) {
            case "b" -> 8;
            case "w" -> 16;
            case "d" -> 32;
            case "q" -> 64;
            case "y" -> bits == 64 && wide() ? 64 : 32;
            case "z" -> operandSize() == 16 ? 16 : 32;
            case "6" -> stackSize();
            case "n" -> bits == 64 ? 64 : 32;
            default -> operandSize();
        };
    }

    /** Vector length of a register operand. */
    private int length(String kind) {
        return switch (kind) {
            case "o" -> 0;
            case "n" -> Math.max(0, vectorLength - 1);
            case "q2" -> (rex & REX_W) != 0 ? vectorLength : Math.max(0, vectorLength - 1);
            default -> encoding == Encoding.LEGACY ? 0 : vectorLength;
        };
    }

    private String vectorOperand(String kind) throws NoInstruction {
        int full = encoding == Encoding.LEGACY ? 16 : vectorBytes();
        int whole = encoding == Encoding.LEGACY ? 0 : vectorLength;
        return switch (kind) {
            case "b" -> vectorOrMemory(1, 0);
            case "w" -> vectorOrMemory(2, 0);
            case "d" -> vectorOrMemory(4, 0);
            case "q" -> vectorOrMemory(8, 0);
            case "y" -> vectorOrMemory(wide() ? 8 : 4, 0);
            case "o" -> vectorOrMemory(16, 0);
            case "qq" -> vectorOrMemory(32, 1);
            case "q2" -> vectorOrMemory(whole == 0 ? 8 : full, whole);
            case "h" -> vectorOrMemory(full / 2, Math.max(0, whole - 1));
            case "f" -> vectorOrMemory(full / 4, Math.max(0, whole - 2));
            case "e" -> vectorOrMemory(full / 8, 0);
            default -> vectorOrMemory(full, whole);
        };
    }

    private String registerOrSmallMemory(String kind) throws NoInstruction {
        return switch (kind) {
            // A register of the operand size, or 16 bits of memory.
            case "w" -> mod == 3 ? register(rmNumber(), operandSize()) : memory(2);
            case "s" -> mod == 3 ? register(rmNumber(), operandSize() == 64 ? 64 : operandSize()) : memory(2);
            // A 32-bit register, or less memory.
            case "Mb" -> mod == 3 ? register(rmNumber(), 32) : memory(1);
            case "Mw" -> mod == 3 ? register(rmNumber(), 32) : memory(2);
            default -> register(rmNumber(), bits == 64 ? 64 : 32);
        };
    }

    private String immediateOperand(String kind) throws NoInstruction {
        return switch (kind) {
            case "b" -> hex(immediate(1));
            case "w" -> hex(immediate(2));
            case "s" -> unsigned(signed(1), operandSize());
            case "s6" -> unsigned(signed(1), stackSize());
            case "6" -> {
                int size = stackSize();
                yield unsigned(signed(size == 16 ? 2 : 4), size);
            }
            case "v" -> {
                int size = operandSize();
                yield unsigned(immediate(size / 8), size);
            }
            case "p" -> {
                immediatePredicate = (int) immediate(1);
                yield hex(immediatePredicate);
            }
            default -> {
                int size = operandSize();
                yield unsigned(signed(size == 16 ? 2 : 4), size);
            }
        };
    }

    private String jump(int shortOrLong) throws NoInstruction {
        int bytes = shortOrLong;
        boolean narrow = bits != 64 && operandSize() == 16;
        if (bytes == 4 && narrow) {
            bytes = 2;
        }
        long offset = signed(bytes);
        long to = address + (pos - start) + offset;
        if (narrow) {
            to = bits == 16 ? to & ~0xffffL & address | to & 0xffff : to & 0xffff;
        } else if (bits != 64) {
            to &= 0xffff_ffffL;
        }
        target = OptionalLong.of(to);
        return hex(to);
    }

    private String farPointer() throws NoInstruction {
        long offset = immediate(operandSize() == 16 ? 2 : 4);
        return hex(immediate(2)) + ":" + hex(offset);
    }

    private String memoryOperand(String kind) throws NoInstruction {
        return switch (kind) {
            case "" -> memory(0);
            case "b" -> memory(1);
            case "w" -> memory(2);
            case "d" -> memory(4);
            case "q" -> memory(8);
            case "y" -> memory(wide() ? 8 : 4);
            case "v" -> memory(operandSize() / 8);
            case "o" -> memory(16);
            case "qq" -> memory(32);
            case "x8" -> memory(wide() ? 16 : 8);
            case "p" -> {
                int size = operandSize();
                yield memory(size == 64 ? 10 : size == 32 ? 6 : 4);
            }
            case "a" -> memory(operandSize() == 16 ? 4 : 8);
            case "Vd" -> gather(vectorLength, wide() ? 8 : 4, wide() ? Math.max(0, vectorLength - 1) : vectorLength);
            case "Vq" -> gather(vectorLength, wide() ? 8 : 4, vectorLength);
            default -> memory(encoding == Encoding.LEGACY ? 16 : vectorBytes());
        };
    }

    private String gather(int length, int bytes, int indexLength) throws NoInstruction {
        sibIndexRegister = encoding == Encoding.EVEX || length > 0 ? indexLength : 0;
        return memory(bytes);
    }

    private String offset(String kind) throws NoInstruction {
        int size = addressSize();
        long at = immediate(size / 8);
        if (kind.equals("v")) {
            operandSize();
        }
        return segmentPrefix(true) + hex(at);
    }

    private String string(String kind, String segmentName, int register) throws NoInstruction {
        String name = segmentName;
        if (register == 6 && segment >= 0) {
            segmentUsed = true;
            name = SEGMENTS[segment];
        }
        int size = kind.equals("t") ? 8 : size(kind);
        String where = kind.equals("t") ? register(3, addressSize()) : register(register, addressSize());
        return sizeName(size / 8) + name + ":[" + where + "]";
    }

    private String segmentRegister() throws NoInstruction {
        if (reg >= SEGMENTS.length) {
            return "?";
        }
        return SEGMENTS[reg];
    }

    private String maskRegister(String kind) throws NoInstruction {
        return switch (kind) {
            case "r" -> "k" + reg;
            case "h" -> "k" + (vvvv & 7);
            case "Mwq" -> mod == 3 ? "k" + rm : memory(wide() ? 8 : 2);
            case "Mbd" -> mod == 3 ? "k" + rm : memory(wide() ? 4 : 1);
            default -> {
                if (mod != 3) {
                    throw new NoInstruction();
                }
                yield "k" + rm;
            }
        };
    }

    private Instruction finish(Entry entry) throws NoInstruction {
        List<String> texts = new ArrayList<>();
        for (String kind : entry.operands()) {
            texts.add(operand(kind));
        }
        if (encoding == Encoding.EVEX && !texts.isEmpty()) {
            String decoration = (mask != 0 ? "{k" + mask + "}" : "") + (zeroing ? "{z}" : "");
            texts.set(0, texts.getFirst() + decoration);
        }
        String name = name(entry);
        if (immediatePredicate >= 0 && predicate(entry, name)) {
            name = predicateName;
            texts.removeLast();
        }
        if (hasModrm && mod != 3 && !decodedMemory) {
            // A ModRM byte whose operand is not shown still has its displacement.
            memory(0);
        }
        return result(name, texts);
    }

    private String predicateName = "";

    private boolean predicate(Entry entry, String name) {
        if (name.contains("%P")) {
            int known = encoding == Encoding.LEGACY ? 8 : 32;
            boolean named = immediatePredicate < known;
            predicateName = name.replace("%P", named ? PREDICATES[immediatePredicate] : "");
            return named;
        }
        if (name.contains("%U")) {
            String text = immediatePredicate < 8 ? INTEGER_PREDICATES[immediatePredicate] : "";
            predicateName = name.replace("%U", text);
            return !text.isEmpty();
        }
        String half = switch (immediatePredicate) {
            case 0x00 -> "lqlq";
            case 0x01 -> "hqlq";
            case 0x10 -> "lqhq";
            case 0x11 -> "hqhq";
            default -> "";
        };
        predicateName = name.replace("%Q", half + "dq");
        return !half.isEmpty();
    }

    private String name(Entry entry) {
        List<String> names = encoding == Encoding.LEGACY ? entry.bySize() : entry.byW();
        String name;
        if (names.size() == 1) {
            name = names.getFirst();
        } else if (encoding != Encoding.LEGACY) {
            name = names.get(wide() ? 1 : 0);
        } else {
            int size = operandSize();
            name = names.get(size == 16 ? 0 : size == 32 ? 1 : Math.min(2, names.size() - 1));
        }
        if (bits == 16 && encoding == Encoding.LEGACY) {
            name = realModeName(name);
        }
        if (name.indexOf('%') < 0) {
            return name;
        }
        return name.replace("%c", CONDITIONS[opcode & 15])
                .replace("%A", movabs())
                .replace("%f", flagsSuffix())
                .replace("%w", name.contains("%w") && narrowStack() ? "w" : "")
                .replace("%x", name.contains("%x") ? counterPrefix() : "")
                .replace("%z", vectorLength == 0 ? "upper" : "all");
    }

    /** In 16-bit code, objdump says the operand size of some instructions that have none to see. */
    private String realModeName(String name) {
        boolean stack =
                map == 0 && (opcode == 0xe8 || opcode == 0xc2 || opcode == 0xc3 || opcode == 0x68 || opcode == 0x6a);
        boolean table = map == 1 && opcode == 1 && reg < 4 && mod != 3;
        if (map == 0 && opcode == 0xcf) {
            return operandSize() == 16 ? "iret" : "iretd";
        }
        if (stack && operand66) {
            return name.replace("%w", "") + "d";
        }
        return table ? name + (operandSize() == 16 ? "w" : "d") : name;
    }

    private String movabs() {
        boolean offset = opcode >= 0xa0 && opcode <= 0xa3;
        return bits == 64 && (offset ? !address67 : (rex & REX_W) != 0) ? "abs" : "";
    }

    private String flagsSuffix() {
        if (opcode != 0x9c && opcode != 0x9d) {
            return "";
        }
        return narrowStack() ? "w" : "";
    }

    private boolean narrowStack() {
        if (operand66) {
            operandUsed = true;
        }
        return bits != 16 && operand66;
    }

    private String counterPrefix() {
        return switch (addressSize()) {
            case 64 -> "r";
            case 32 -> "e";
            default -> "";
        };
    }

    /** ADD, OR, ADC, SBB, AND, SUB, XOR, CMP in their six common forms. */
    private Instruction arithmetic() throws NoInstruction {
        String[] names = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
        String[][] forms = {
            {"Eb", "Gb"}, {"Ev", "Gv"}, {"Gb", "Eb"}, {"Gv", "Ev"}, {"al", "Ib"}, {"rAX", "Iz"},
        };
        String[] form = forms[opcode & 7];
        if ((opcode & 7) < 4) {
            hasModrm = true;
            readModrm();
        }
        List<String> texts = new ArrayList<>();
        for (String kind : form) {
            texts.add(operand(kind));
        }
        return result(names[opcode >>> 3], texts);
    }

    private Instruction fpu() throws NoInstruction {
        readModrm();
        if (mod == 3) {
            String[] text =
                    Fpu.register(opcode, modrm).orElseThrow(NoInstruction::new).split(" ", 2);
            return result(text[0], text.length > 1 ? List.of(text[1].split(",")) : List.of());
        }
        String[] text = Fpu.memory(opcode, reg).orElseThrow(NoInstruction::new).split(" ");
        int bytes = text.length == 1
                ? 0
                : switch (text[1]) {
                    case "w" -> 2;
                    case "d" -> 4;
                    case "q" -> 8;
                    default -> 10;
                };
        return result(text[0], List.of(memory(bytes)));
    }

    private Instruction result(String plainName, List<String> texts) {
        String name = plainName;
        List<String> operands = texts;
        boolean exchange = encoding == Encoding.LEGACY && map == 0 && opcode == 0x90;
        if (exchange && (rex & REX_B) == 0 && !operand66 && (rex & REX_W) == 0) {
            operands = List.of();
            if (repeat == 0xf3) {
                repeatUsed = true;
                name = "pause";
            } else {
                name = "nop";
            }
        }
        if (ripRelative) {
            long to = address + (pos - start) + ripOffset;
            target = OptionalLong.of(addressSize() == 64 ? to : to & 0xffff_ffffL);
            note = "        # " + hex(target.getAsLong());
        }
        byte[] bytes = Arrays.copyOfRange(code, start, pos);
        String shown = shownPrefixes(name);
        return new Instruction(address, bytes, shown + name, String.join(",", operands) + note, target, true);
    }

    private String shownPrefixes(String name) {
        StringBuilder text = new StringBuilder();
        boolean branch = isBranch();
        for (int i = 0; i < prefixes.size(); i++) {
            int p = prefixes.get(i);
            boolean last = prefixes.lastIndexOf(p) == i;
            String shown = switch (p) {
                case 0x66 -> last && operandUsed ? "" : bits == 16 ? "data32 " : "data16 ";
                case 0x67 -> last && addressUsed ? "" : bits == 32 ? "addr16 " : "addr32 ";
                case 0xf0 -> "lock ";
                case 0xf2, 0xf3 -> last && repeatUsed ? "" : repeatName(p, name, branch);
                default -> (p & 0xf0) == 0x40 ? rexName(p) : segmentName(p, last, branch);
            };
            text.append(shown);
        }
        if (encoding == Encoding.LEGACY && rex != 0) {
            int unused = rex & 15 & ~rexUsed;
            if (unused != 0 || (rex & 15) == 0 && (rexUsed & REX_ANY) == 0) {
                text.append(rexName(rex));
            }
        }
        return text.toString();
    }

    private boolean isBranch() {
        return encoding == Encoding.LEGACY
                && (map == 0
                                && (opcode >= 0x70 && opcode < 0x80
                                        || opcode == 0xe8
                                        || opcode == 0xe9
                                        || opcode == 0xeb
                                        || opcode == 0xc2
                                        || opcode == 0xc3
                                        || opcode == 0xff && (reg == 2 || reg == 4))
                        || map == 1 && opcode >= 0x80 && opcode < 0x90);
    }

    private String repeatName(int p, String name, boolean branch) {
        if (p == 0xf2 && branch) {
            return "bnd ";
        }
        boolean compares = name.startsWith("cmps") || name.startsWith("scas");
        boolean moves = name.equals("movs")
                || name.equals("stos")
                || name.equals("lods")
                || name.equals("ins")
                || name.equals("outs");
        if (encoding == Encoding.LEGACY && lock && map == 0 || name.startsWith("xchg") || lock) {
            return p == 0xf2 ? "xacquire " : "xrelease ";
        }
        if (p == 0xf2) {
            return "repnz ";
        }
        return moves && map == 0 && !compares ? "rep " : "repz ";
    }

    private String segmentName(int p, boolean last, boolean branch) {
        int number = p >= 0x64 ? p - 0x60 : p >>> 3 & 3;
        if (last && segmentUsed && number == segment) {
            return "";
        }
        if (branch && p == 0x3e && map == 0 && opcode == 0xff) {
            return "notrack ";
        }
        return SEGMENTS[number] + " ";
    }

    private static String rexName(int rex) {
        StringBuilder text = new StringBuilder("rex");
        if ((rex & 15) != 0) {
            text.append('.');
        }
        text.append((rex & REX_W) != 0 ? "W" : "")
                .append((rex & REX_R) != 0 ? "R" : "")
                .append((rex & REX_X) != 0 ? "X" : "")
                .append((rex & REX_B) != 0 ? "B" : "");
        return text.append(' ').toString();
    }
}
