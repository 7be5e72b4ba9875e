package org.benchtop.softcpu;

/** Which instructions {@link Translator} translates. */
final class TranslatedInsns {
    private TranslatedInsns() {}

    /** Whether an instruction ends its block with a condition. */
    static boolean isBranch(Insn in) {
        return in.map == 0 && in.opcode >= 0x70 && in.opcode < 0x80
                || in.map == 1 && in.opcode >= 0x80 && in.opcode < 0x90;
    }

    static boolean isJump(Insn in) {
        return in.map == 0 && (in.opcode == 0xe9 || in.opcode == 0xeb);
    }

    /** A direct CALL. */
    static boolean isCall(Insn in) {
        return in.map == 0 && in.opcode == 0xe8;
    }

    static boolean isReturn(Insn in) {
        return in.map == 0 && (in.opcode == 0xc2 || in.opcode == 0xc3);
    }

    private static boolean isIndirect(Insn in) {
        return in.map == 0 && in.opcode == 0xff && (in.extension() == 2 || in.extension() == 4);
    }

    static boolean supports(Insn in, CpuFeatures features) {
        if (in.codeSize != 8 || in.lock || in.vex || in.handler == null) {
            return false;
        }
        if (in.memory && in.addressSize != 8) {
            return false;
        }
        if (in.ends()) {
            return isBranch(in) || isJump(in) || isCall(in) || isReturn(in) || isIndirect(in);
        }
        if (in.map == 1 && in.opcode == 0x1f) {
            return true;
        }
        if (isVector(in)) {
            return features.has(CpuFeatures.SSE2) && vector(in);
        }
        if (in.operandSize == 2 && !words(in) || !in.memory && in.rm >= 16 || !isGroup(in) && in.reg >= 16) {
            return false;
        }
        return in.map == 0 ? oneByte(in) : in.map == 1 && twoByte(in);
    }

    /** A string instruction: ends its block, and goes on behind it unless it was interrupted. */
    static boolean isString(Insn in) {
        return in.map == 0 && (in.opcode >= 0xa4 && in.opcode < 0xa8 || in.opcode >= 0xaa && in.opcode < 0xb0);
    }

    /** Whether a region may call the handler of an instruction that is not translated. */
    static boolean callable(Insn in) {
        if (in.codeSize != 8 || in.handler == null) {
            return false;
        }
        // RDFSBASE to WRGSBASE: a region keeps the bases.
        boolean bases = in.map == 1 && in.opcode == 0xae && !in.memory && in.pp == Insn.PP_F3;
        return isString(in) || !in.ends() && !bases;
    }

    /** Whether ModRM.reg extends the opcode. */
    private static boolean isGroup(Insn in) {
        return in.map == 0
                && switch (in.opcode) {
                    case 0x80, 0x81, 0x83, 0xc0, 0xc1, 0xc6, 0xc7, 0xd0, 0xd1, 0xd3, 0xf6, 0xf7, 0xfe, 0xff -> true;
                    default -> false;
                };
    }

    /** The general registers that an instruction may read or write besides those of its address. */
    static int registers(Insn in) {
        if (isVector(in)) {
            return !in.memory && (in.opcode == 0x6e || in.opcode == 0x7e) ? 1 << in.rm : 0;
        }
        if (in.map == 1 && in.opcode == 0x1f) {
            return 0;
        }
        int stack = 1 << Cpu.RSP;
        if (in.ends()) {
            return isBranch(in) || isJump(in) ? 0 : isIndirect(in) && !in.memory ? stack | 1 << in.rm : stack;
        }
        int all = (isGroup(in) ? 0 : 1 << in.reg) | (in.memory ? 0 : 1 << in.rm);
        if (in.map == 1) {
            return all;
        }
        int opcode = in.opcode;
        if (opcode < 0x40 && (opcode & 7) >= 4 || opcode == 0xa8 || opcode == 0xa9 || opcode == 0x98) {
            all |= 1 << Cpu.RAX;
        } else if (opcode == 0x99 || opcode == 0xf7 || opcode == 0xf6) {
            all |= 1 << Cpu.RAX | 1 << Cpu.RDX;
        } else if (opcode == 0xd3) {
            all |= 1 << Cpu.RCX;
        } else if (opcode > 0x90 && opcode < 0x98) {
            all |= 1 << Cpu.RAX;
        } else if (opcode >= 0x50 && opcode < 0x60 || opcode == 0x68 || opcode == 0x6a) {
            all |= stack;
        } else if (opcode == 0xc9) {
            all |= stack | 1 << Cpu.RBP;
        }
        return all;
    }

    /** An instruction of XMM registers with one of the opcodes that may be translated. */
    static boolean isVector(Insn in) {
        if (in.map != 1 || in.vex) {
            return false;
        }
        return switch (in.opcode) {
            case 0x10, 0x11, 0x28, 0x29, 0x54, 0x56, 0x57, 0x6e, 0x6f, 0x73, 0x7e, 0x7f -> true;
            case 0xd4, 0xd6, 0xdb, 0xeb, 0xef, 0xf8, 0xfa, 0xfb, 0xfc, 0xfe, 0x74 -> true;
            default -> false;
        };
    }

    private static boolean vector(Insn in) {
        int pp = in.pp;
        return switch (in.opcode) {
            case 0x10, 0x11, 0x28, 0x29, 0x54, 0x56, 0x57 -> pp == Insn.PP_NONE || pp == Insn.PP_66;
            case 0x6f, 0x7f -> pp == Insn.PP_66 || pp == Insn.PP_F3;
            case 0x6e -> pp == Insn.PP_66;
            case 0x7e -> pp == Insn.PP_66 || pp == Insn.PP_F3;
            case 0xd6 -> pp == Insn.PP_66 && in.memory;
            case 0x73 ->
                pp == Insn.PP_66 && !in.memory && (in.extension() == 2 || in.extension() == 6) && (in.imm & 0xff) < 64;
            default -> pp == Insn.PP_66;
        };
    }

    static boolean needsAlignment(Insn in) {
        return in.opcode == 0x28
                || in.opcode == 0x29
                || (in.opcode == 0x6f || in.opcode == 0x7f) && in.pp == Insn.PP_66;
    }

    /** Instructions of 16 bits that are translated. */
    private static boolean words(Insn in) {
        if (in.map != 0 || in.size != 2) {
            return false;
        }
        int opcode = in.opcode;
        int ext = in.extension();
        return switch (opcode) {
            case 0x81, 0x83, 0x85, 0x89, 0x8b, 0xa9 -> true;
            case 0xc7 -> ext == 0;
            case 0xf7, 0xff -> ext < 2;
            default -> opcode < 0x40 && (opcode & 7) < 6 || opcode >= 0xb8 && opcode < 0xc0;
        };
    }

    private static boolean oneByte(Insn in) {
        int opcode = in.opcode;
        int ext = in.extension();
        if (opcode < 0x40 && (opcode & 7) < 6
                || opcode >= 0x50 && opcode < 0x60
                || opcode >= 0xb0 && opcode < 0xc0
                || opcode > 0x90 && opcode < 0x98) {
            return true;
        }
        return switch (opcode) {
            case 0x68,
                    0x69,
                    0x6a,
                    0x6b,
                    0x80,
                    0x81,
                    0x83,
                    0x84,
                    0x85,
                    0x88,
                    0x89,
                    0x8a,
                    0x8b,
                    0x98,
                    0x99,
                    0xa8,
                    0xa9,
                    0xc9 -> true;
            case 0x63 -> in.operandSize == 8;
            case 0x8d -> in.memory && in.addressSize == 8;
            case 0x87 -> !in.memory;
            case 0x90 -> in.rm == 0 && !in.repe;
            case 0xc1, 0xd1 -> !in.memory && shifts(in, ext);
            case 0xd3 -> !in.memory && ext >= 4;
            case 0xc6, 0xc7 -> ext == 0;
            case 0xf6 -> ext < 2 || ext < 4 && !in.memory;
            case 0xf7 -> ext < 2 || ext < 4 && !in.memory || ext == 4 || ext == 5;
            case 0xfe -> ext < 2;
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
                || opcode >= 0xc8 && opcode < 0xd0;
    }
}
