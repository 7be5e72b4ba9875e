package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/** The opcode maps: what follows an opcode, and which handler executes it (Intel SDM vol. 2, appendix A). */
final class Opcodes {
    /** A ModRM byte follows. */
    static final int MODRM = 1;
    /** A signed byte follows. */
    static final int IMM8 = 1 << 1;
    /** 2 or 4 bytes follow, by operand size. */
    static final int IMMZ = 1 << 2;
    /** 2, 4 or 8 bytes follow. */
    static final int IMMV = 1 << 3;
    /** 2 bytes follow; with {@link #IMM8} a further byte. */
    static final int IMM16 = 1 << 4;
    /** An address follows. */
    static final int MOFFS = 1 << 5;
    /** Offset and selector follow. */
    static final int FAR = 1 << 6;

    static final int IMMEDIATES = IMM8 | IMMZ | IMMV | IMM16 | MOFFS | FAR;
    /** Ends a block: may change the flow, the mode, or what comes next. */
    static final int END = 1 << 7;
    /** 64-bit operands by default in 64-bit mode. */
    static final int D64 = 1 << 8;
    /** Always 64-bit operands in 64-bit mode. */
    static final int F64 = 1 << 9;
    /** The operand size is a byte. */
    static final int BYTE = 1 << 10;
    /** ModRM.reg is a byte register. */
    static final int BYTE_REG = 1 << 11;
    /** ModRM.rm (or the register in the opcode) is a byte register. */
    static final int BYTE_RM = 1 << 12;
    /** LOCK is allowed with a memory operand. */
    static final int LOCKABLE = 1 << 13;
    /** Not in 64-bit mode. */
    static final int NO64 = 1 << 14;
    /** ModRM always names a register (moves of control registers). */
    static final int REGISTER_ONLY = 1 << 15;
    /** F6 and F7. */
    static final int GROUP3 = 1 << 16;
    /** FF. */
    static final int GROUP5 = 1 << 17;

    private static final int BYTES = BYTE | BYTE_REG | BYTE_RM;
    private static final int MAPS = 4;

    private static final int[][] FLAGS = new int[MAPS][256];
    private static final @Nullable InsnHandler[][] HANDLERS = new InsnHandler[MAPS][256];

    private Opcodes() {}

    private static void op(int map, int opcode, int flags, @Nullable InsnHandler handler) {
        FLAGS[map][opcode] = flags;
        HANDLERS[map][opcode] = handler;
    }

    private static void one(int opcode, int flags, @Nullable InsnHandler handler) {
        op(0, opcode, flags, handler);
    }

    private static void two(int opcode, int flags, @Nullable InsnHandler handler) {
        op(1, opcode, flags, handler);
    }

    /** Byte form at {@code opcode}, word form behind it. */
    private static void pair(int opcode, int flags, InsnHandler handler) {
        one(opcode, flags | BYTES, handler);
        one(opcode + 1, flags, handler);
    }

    static {
        for (int alu = 0; alu < 8; alu++) {
            int base = alu << 3;
            int lock = alu == Alu.CMP ? 0 : LOCKABLE;
            pair(base, MODRM | lock, Arithmetic.rmReg(alu));
            pair(base + 2, MODRM, Arithmetic.regRm(alu));
            one(base + 4, BYTES | IMM8, Arithmetic.accImm(alu));
            one(base + 5, IMMZ, Arithmetic.accImm(alu));
        }
        int[] pushSeg = {0x06, 0x0e, 0x16, 0x1e};
        int[] popSeg = {0x07, -1, 0x17, 0x1f};
        for (int s = 0; s < 4; s++) {
            int seg = s;
            one(pushSeg[s], NO64, (c, in) -> c.push(c.selector[seg], in.operandSize));
            if (popSeg[s] >= 0) {
                one(popSeg[s], NO64 | END, (c, in) -> Segments.popSegment(c, in, seg));
            }
        }
        one(0x27, NO64, Bcd::daa);
        one(0x2f, NO64, Bcd::das);
        one(0x37, NO64, Bcd::aaa);
        one(0x3f, NO64, Bcd::aas);
        for (int i = 0; i < 8; i++) {
            one(0x40 + i, NO64, Arithmetic::incRegister);
            one(0x48 + i, NO64, Arithmetic::decRegister);
            one(0x50 + i, D64, Moves::pushRegister);
            one(0x58 + i, D64, Moves::popRegister);
            one(0xb0 + i, BYTES | IMM8, Moves::registerImmediate);
            one(0xb8 + i, IMMV, Moves::registerImmediate);
            one(0x90 + i, 0, Moves::xchgAccumulator);
            two(0xc8 + i, 0, BitOps::bswap);
        }
        one(0x90, 0, Moves::nop);
        one(0x60, NO64, Moves::pusha);
        one(0x61, NO64, Moves::popa);
        one(0x62, NO64 | MODRM, ControlFlow::bound);
        one(0x63, MODRM, Moves::movsxdOrArpl);
        one(0x68, IMMZ | D64, Moves::pushImmediate);
        one(0x6a, IMM8 | D64, Moves::pushImmediate);
        one(0x69, MODRM | IMMZ, Arithmetic::imul3);
        one(0x6b, MODRM | IMM8, Arithmetic::imul3);
        pair(0x6c, END, Strings::ins);
        pair(0x6e, END, Strings::outs);
        for (int cc = 0; cc < 16; cc++) {
            one(0x70 + cc, IMM8 | END | F64, ControlFlow::jcc);
            two(0x80 + cc, IMMZ | END | F64, ControlFlow::jcc);
            two(0x90 + cc, MODRM | BYTE | BYTE_RM, BitOps::setcc);
            two(0x40 + cc, MODRM, Moves::cmov);
        }
        one(0x80, MODRM | BYTES | IMM8 | LOCKABLE, Arithmetic::group1);
        one(0x81, MODRM | IMMZ | LOCKABLE, Arithmetic::group1);
        one(0x82, MODRM | BYTES | IMM8 | LOCKABLE | NO64, Arithmetic::group1);
        one(0x83, MODRM | IMM8 | LOCKABLE, Arithmetic::group1);
        pair(0x84, MODRM, Arithmetic::test);
        pair(0x86, MODRM | LOCKABLE, Moves::xchg);
        pair(0x88, MODRM, Moves::store);
        pair(0x8a, MODRM, Moves::load);
        one(0x8c, MODRM, Segments::storeSelector);
        one(0x8d, MODRM, Moves::lea);
        one(0x8e, MODRM | END, Segments::loadSelector);
        one(0x8f, MODRM | D64, Moves::popRm);
        one(0x98, 0, Arithmetic::convert);
        one(0x99, 0, Arithmetic::convertDouble);
        one(0x9a, FAR | END | NO64, ControlFlow::callFar);
        one(0x9c, D64, SystemInsns::pushf);
        one(0x9d, D64 | END, SystemInsns::popf);
        one(0x9e, 0, SystemInsns::sahf);
        one(0x9f, 0, SystemInsns::lahf);
        one(0xa0, MOFFS | BYTES, Moves::loadAccumulator);
        one(0xa1, MOFFS, Moves::loadAccumulator);
        one(0xa2, MOFFS | BYTES, Moves::storeAccumulator);
        one(0xa3, MOFFS, Moves::storeAccumulator);
        pair(0xa4, END, Strings::movs);
        pair(0xa6, END, Strings::cmps);
        one(0xa8, BYTES | IMM8, Arithmetic::testAccumulator);
        one(0xa9, IMMZ, Arithmetic::testAccumulator);
        pair(0xaa, END, Strings::stos);
        pair(0xac, END, Strings::lods);
        pair(0xae, END, Strings::scas);
        one(0xc0, MODRM | BYTES | IMM8, Shifts::byImmediate);
        one(0xc1, MODRM | IMM8, Shifts::byImmediate);
        pair(0xd0, MODRM, Shifts::byOne);
        pair(0xd2, MODRM, Shifts::byCl);
        one(0xc2, IMM16 | END | F64, ControlFlow::ret);
        one(0xc3, END | F64, ControlFlow::ret);
        one(0xc4, MODRM | NO64 | END, Segments::les);
        one(0xc5, MODRM | NO64 | END, Segments::lds);
        one(0xc6, MODRM | BYTES | IMM8, Moves::storeImmediate);
        one(0xc7, MODRM | IMMZ, Moves::storeImmediate);
        one(0xc8, IMM16 | IMM8 | D64, Moves::enter);
        one(0xc9, D64, Moves::leave);
        one(0xca, IMM16 | END, ControlFlow::retFar);
        one(0xcb, END, ControlFlow::retFar);
        one(0xcc, END, ControlFlow::int3);
        one(0xcd, IMM8 | END, ControlFlow::interrupt);
        one(0xce, NO64 | END, ControlFlow::into);
        one(0xcf, END, ControlFlow::iret);
        one(0xd4, IMM8 | NO64, Bcd::aam);
        one(0xd5, IMM8 | NO64, Bcd::aad);
        one(0xd6, NO64, Bcd::salc);
        one(0xd7, 0, Moves::xlat);
        for (int i = 0xd8; i <= 0xdf; i++) {
            one(i, MODRM, null);
        }
        one(0xe0, IMM8 | END | F64, ControlFlow::loop);
        one(0xe1, IMM8 | END | F64, ControlFlow::loop);
        one(0xe2, IMM8 | END | F64, ControlFlow::loop);
        one(0xe3, IMM8 | END | F64, ControlFlow::jcxz);
        one(0xe4, BYTES | IMM8, SystemInsns::inImmediate);
        one(0xe5, IMM8, SystemInsns::inImmediate);
        one(0xe6, BYTES | IMM8 | END, SystemInsns::outImmediate);
        one(0xe7, IMM8 | END, SystemInsns::outImmediate);
        one(0xe8, IMMZ | END | F64, ControlFlow::call);
        one(0xe9, IMMZ | END | F64, ControlFlow::jmp);
        one(0xea, FAR | END | NO64, ControlFlow::jmpFar);
        one(0xeb, IMM8 | END | F64, ControlFlow::jmp);
        pair(0xec, 0, SystemInsns::inDx);
        pair(0xee, END, SystemInsns::outDx);
        one(0xf1, END, ControlFlow::int1);
        one(0xf4, END, SystemInsns::hlt);
        one(0xf5, 0, SystemInsns::cmc);
        one(0xf6, MODRM | BYTES | GROUP3 | LOCKABLE, Arithmetic::group3);
        one(0xf7, MODRM | GROUP3 | LOCKABLE, Arithmetic::group3);
        one(0xf8, 0, SystemInsns::clc);
        one(0xf9, 0, SystemInsns::stc);
        one(0xfa, 0, SystemInsns::cli);
        one(0xfb, END, SystemInsns::sti);
        one(0xfc, 0, SystemInsns::cld);
        one(0xfd, 0, SystemInsns::std);
        one(0xfe, MODRM | BYTES | LOCKABLE, Arithmetic::group4);
        one(0xff, MODRM | GROUP5 | LOCKABLE, ControlFlow::group5);

        two(0x00, MODRM | END, SystemInsns::group6);
        two(0x01, MODRM | END, SystemInsns::group7);
        two(0x02, MODRM, Segments::lar);
        two(0x03, MODRM, Segments::lsl);
        two(0x05, END, ControlFlow::syscall);
        two(0x06, END, SystemInsns::clts);
        two(0x07, END, ControlFlow::sysret);
        two(0x08, 0, SystemInsns::invd);
        two(0x09, 0, SystemInsns::invd);
        two(0x0b, END, SystemInsns::ud);
        two(0x0d, MODRM, Moves::nop);
        for (int i = 0x18; i < 0x20; i++) {
            two(i, MODRM, Moves::nop);
        }
        two(0x20, MODRM | REGISTER_ONLY, SystemInsns::readControl);
        two(0x21, MODRM | REGISTER_ONLY, SystemInsns::readDebug);
        two(0x22, MODRM | REGISTER_ONLY | END, SystemInsns::writeControl);
        two(0x23, MODRM | REGISTER_ONLY | END, SystemInsns::writeDebug);
        two(0x30, END, SystemInsns::wrmsr);
        two(0x31, 0, SystemInsns::rdtsc);
        two(0x32, 0, SystemInsns::rdmsr);
        two(0x33, 0, SystemInsns::rdpmc);
        two(0x34, END, ControlFlow::sysenter);
        two(0x35, END, ControlFlow::sysexit);
        two(0xa0, D64, (c, in) -> c.push(c.selector[Cpu.FS], in.operandSize));
        two(0xa1, D64 | END, (c, in) -> Segments.popSegment(c, in, Cpu.FS));
        two(0xa2, 0, SystemInsns::cpuid);
        two(0xa3, MODRM, BitOps::bitTest);
        two(0xab, MODRM | LOCKABLE, BitOps::bitTest);
        two(0xb3, MODRM | LOCKABLE, BitOps::bitTest);
        two(0xbb, MODRM | LOCKABLE, BitOps::bitTest);
        two(0xba, MODRM | IMM8 | LOCKABLE, BitOps::group8);
        two(0xa4, MODRM | IMM8, Shifts::shld);
        two(0xa5, MODRM, Shifts::shld);
        two(0xac, MODRM | IMM8, Shifts::shrd);
        two(0xad, MODRM, Shifts::shrd);
        two(0xa8, D64, (c, in) -> c.push(c.selector[Cpu.GS], in.operandSize));
        two(0xa9, D64 | END, (c, in) -> Segments.popSegment(c, in, Cpu.GS));
        two(0xaa, END, SystemInsns::rsm);
        two(0xae, MODRM, null);
        two(0xaf, MODRM, Arithmetic::imul2);
        two(0xb0, MODRM | BYTES | LOCKABLE, BitOps::cmpxchg);
        two(0xb1, MODRM | LOCKABLE, BitOps::cmpxchg);
        two(0xb2, MODRM | END, Segments::lss);
        two(0xb4, MODRM | END, Segments::lfs);
        two(0xb5, MODRM | END, Segments::lgs);
        two(0xb6, MODRM | BYTE_RM, Moves::movzx8);
        two(0xb7, MODRM, Moves::movzx16);
        two(0xbe, MODRM | BYTE_RM, Moves::movsx8);
        two(0xbf, MODRM, Moves::movsx16);
        two(0xb8, MODRM, BitOps::popcnt);
        two(0xb9, MODRM | END, SystemInsns::ud);
        two(0xff, MODRM | END, SystemInsns::ud);
        two(0xbc, MODRM, BitOps::bsf);
        two(0xbd, MODRM, BitOps::bsr);
        two(0xc0, MODRM | BYTES | LOCKABLE, BitOps::xadd);
        two(0xc1, MODRM | LOCKABLE, BitOps::xadd);
        two(0xc3, MODRM, BitOps::movnti);
        two(0xc7, MODRM | LOCKABLE, null);
        for (int i = 0x10; i < 0x18; i++) {
            two(i, MODRM, null);
        }
        for (int i = 0x28; i < 0x30; i++) {
            two(i, MODRM, null);
        }
        for (int i = 0x50; i < 0x80; i++) {
            two(i, i == 0x77 ? 0 : i >= 0x70 && i <= 0x73 ? MODRM | IMM8 : MODRM, null);
        }
        two(0xc2, MODRM | IMM8, null);
        two(0xc4, MODRM | IMM8, null);
        two(0xc5, MODRM | IMM8, null);
        two(0xc6, MODRM | IMM8, null);
        for (int i = 0xd0; i < 0xff; i++) {
            two(i, MODRM, null);
        }
        for (int i = 0; i < 256; i++) {
            op(2, i, MODRM, null);
            op(3, i, MODRM | IMM8, null);
        }
    }

    static int flags(Insn in) {
        int flags = FLAGS[in.map][in.opcode];
        if (in.map == 2 && in.opcode == 0xf0 && in.repne) {
            return flags | BYTE_RM;
        }
        return flags;
    }

    /** Flags of a VEX-encoded opcode. */
    static int vexFlags(Insn in) {
        if (in.map == 1 && in.opcode == 0x77) {
            return 0;
        }
        boolean immediate = in.map == 3
                || in.map == 1
                        && (in.opcode >= 0x70 && in.opcode <= 0x73
                                || in.opcode == 0xc2
                                || in.opcode >= 0xc4 && in.opcode <= 0xc6);
        return immediate ? MODRM | IMM8 : MODRM;
    }

    /** Whether an instruction without a memory operand in ModRM reaches memory through DS and ES only. */
    static boolean accessesOnlyData(Insn in) {
        int op = in.opcode;
        return in.map == 0
                && (op >= 0xa0 && op <= 0xa7 || op >= 0xaa && op <= 0xaf || op >= 0x6c && op <= 0x6f || op == 0xd7);
    }

    static boolean lockable(Insn in) {
        if ((in.flags & LOCKABLE) == 0 || in.vex) {
            return false;
        }
        int ext = in.extension();
        return switch (in.map << 8 | in.opcode) {
            case 0x80, 0x81, 0x82, 0x83 -> ext != Alu.CMP;
            case 0xf6, 0xf7 -> ext == 2 || ext == 3;
            case 0xfe, 0xff -> ext < 2;
            case 0x1ba -> ext > 4;
            case 0x1c7 -> ext == 1;
            default -> true;
        };
    }

    /** The integer handler, or null if there is none. */
    static @Nullable InsnHandler handler(Insn in) {
        if (in.codeSize == 8 && (in.flags & NO64) != 0) {
            return null;
        }
        if (in.map == 1) {
            switch (in.opcode) {
                case 0xae -> {
                    return SystemInsns.group15(in);
                }
                case 0xc7 -> {
                    return BitOps.group9(in);
                }
                case 0xc3 -> {
                    return in.memory && in.pp == Insn.PP_NONE && in.operandSize > 2 ? BitOps::movnti : null;
                }
                case 0xb8 -> {
                    return in.repe ? BitOps::popcnt : null;
                }
                default -> {
                    // below
                }
            }
        } else if (in.map == 2) {
            return Bmi.legacyHandler(in);
        }
        return HANDLERS[in.map][in.opcode];
    }

    /** The integer handler of a VEX-encoded instruction, or null if there is none. */
    static @Nullable InsnHandler vexHandler(Insn in) {
        return Bmi.vexHandler(in);
    }
}
