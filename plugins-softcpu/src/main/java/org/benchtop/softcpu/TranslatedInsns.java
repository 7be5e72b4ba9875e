package org.benchtop.softcpu;

/** Which instructions {@link Translator} translates. */
final class TranslatedInsns {
    private TranslatedInsns() {}

    /** Whether an instruction ends its block with a condition. */
    static boolean isBranch(Insn in) {
        return in.map == 0 && in.opcode >= 0x70 && in.opcode < 0x80
                || in.map == 1 && in.opcode >= 0x80 && in.opcode < 0x90;
    }

    static boolean supports(Insn in) {
        if (in.codeSize != 8 || in.lock || in.vex || in.handler == null) {
            return false;
        }
        if (in.ends()) {
            return isBranch(in) || in.map == 0 && (in.opcode == 0xe9 || in.opcode == 0xeb);
        }
        if (in.operandSize == 2 || in.reg >= 16 || in.rm >= 16) {
            return false;
        }
        if (in.memory && (in.addressSize != 8 || in.seg >= Cpu.FS && !(in.map == 0 && in.opcode == 0x8d))) {
            return false;
        }
        return in.map == 0 ? oneByte(in) : in.map == 1 && twoByte(in);
    }

    private static boolean oneByte(Insn in) {
        int opcode = in.opcode;
        int ext = in.extension();
        if (opcode < 0x40 && (opcode & 7) < 6) {
            return in.size != 1 || opcode >> 3 == Alu.CMP;
        }
        if (opcode >= 0x50 && opcode < 0x60 || opcode >= 0xb8 && opcode < 0xc0) {
            return true;
        }
        return switch (opcode) {
            case 0x69, 0x6b, 0x81, 0x83, 0x84, 0x85, 0x89, 0x8b, 0x98, 0x99, 0xa8, 0xa9 -> true;
            case 0x63 -> in.operandSize == 8;
            case 0x8d -> in.memory && in.addressSize == 8;
            case 0x80 -> ext == Alu.CMP;
            case 0x88 -> in.memory;
            case 0x90 -> in.rm == 0 && !in.repe;
            case 0xc1, 0xd1 -> !in.memory && shifts(in, ext);
            case 0xc6 -> in.memory && ext == 0;
            case 0xc7 -> ext == 0;
            case 0xf6 -> ext < 2;
            case 0xf7 -> ext < 2 || ext < 4 && !in.memory;
            case 0xff -> ext < 2;
            default -> false;
        };
    }

    private static boolean shifts(Insn in, int ext) {
        int count = (in.opcode == 0xd1 ? 1 : (int) in.imm) & (in.size == 8 ? 63 : 31);
        return count != 0 && (ext < 2 || ext >= 4);
    }

    private static boolean twoByte(Insn in) {
        int opcode = in.opcode;
        return opcode >= 0x40 && opcode < 0x50
                || opcode >= 0x90 && opcode < 0xa0
                || opcode == 0xaf
                || opcode == 0xb6
                || opcode == 0xb7
                || opcode == 0xbe
                || opcode == 0xbf
                || opcode == 0x1f;
    }
}
