package org.benchtop.softcpu;

import org.benchtop.softcpu.fp.X87;
import org.benchtop.softcpu.simd.Simd;
import org.jspecify.annotations.Nullable;

/**
 * Decodes instructions (Intel SDM vol. 2, chapter 2 and appendix A). Belongs to one processor; may raise the faults of an
 * instruction fetch.
 */
final class Decoder {
    private static final int CROSS_SEGMENT_BYTES = Insn.MAX_LENGTH;

    private final Cpu cpu;
    /** Where the bytes of the first page are, and how many are left on it. */
    private long host;

    private int onPage;
    private long secondHost;
    private long linear;
    private int position;
    private long limit;

    Decoder(Cpu cpu) {
        this.cpu = cpu;
    }

    /** The page after the first one, if the last instruction reached into it; else 0. */
    long secondHost() {
        return secondHost;
    }

    private int next8() {
        int at = position;
        if (at >= limit) {
            throw cpu.gp();
        }
        position = at + 1;
        if (at < onPage) {
            return HostMemory.get8(host + at);
        }
        if (secondHost == 0) {
            long page = (linear & Cpu.PAGE_MASK) + 4096;
            if (cpu.codeSize != 8) {
                page &= 0xffff_ffffL;
            }
            secondHost = cpu.mmu.fetch(page);
            if (secondHost == 0) {
                throw new UnbackedCode(page);
            }
        }
        return HostMemory.get8(secondHost + at - onPage);
    }

    /** Code is to be executed from where there is no memory. */
    static final class UnbackedCode extends RuntimeException {
        private static final long serialVersionUID = 1L;
        final long linear;

        UnbackedCode(long linear) {
            super("no memory at linear address 0x" + Long.toHexString(linear), null, false, false);
            this.linear = linear;
        }
    }

    private int next16() {
        int low = next8();
        return low | next8() << 8;
    }

    private int next32() {
        int low = next16();
        return low | next16() << 16;
    }

    private long next64() {
        long low = next32() & 0xffff_ffffL;
        return low | (long) next32() << 32;
    }

    /**
     * Decodes one instruction.
     *
     * @param hostAddress where its first byte is
     */
    Insn decode(long rip, long hostAddress) {
        linear = cpu.codeSize == 8 ? rip : rip + cpu.segBase[Cpu.CS] & 0xffff_ffffL;
        host = hostAddress;
        onPage = (int) (4096 - (linear & 4095));
        secondHost = 0;
        position = 0;
        limit = CROSS_SEGMENT_BYTES;
        if (cpu.codeSize != 8) {
            long left = cpu.segLimit[Cpu.CS] - rip + 1;
            limit = Math.max(0, Math.min(limit, left));
        }
        Insn in = new Insn();
        in.rip = rip;
        in.codeSize = cpu.codeSize;
        prefixesAndOpcode(in);
        in.length = position;
        if (in.base == RIP_RELATIVE) {
            in.base = Insn.NO_REGISTER;
            in.disp += rip + position;
        }
        return in;
    }

    private static final int RIP_RELATIVE = -1;

    private void prefixesAndOpcode(Insn in) {
        boolean mode64 = in.codeSize == 8;
        int segment = -1;
        boolean size66 = false;
        boolean size67 = false;
        int rex = 0;
        int last = 0;
        int b;
        while (true) {
            b = next8();
            switch (b) {
                case 0x66 -> size66 = true;
                case 0x67 -> size67 = true;
                case 0xf0 -> in.lock = true;
                case 0xf2 -> {
                    in.repne = true;
                    in.repe = false;
                    last = Insn.PP_F2;
                }
                case 0xf3 -> {
                    in.repe = true;
                    in.repne = false;
                    last = Insn.PP_F3;
                }
                case 0x2e -> segment = mode64 ? segment : Cpu.CS;
                case 0x36 -> segment = mode64 ? segment : Cpu.SS;
                case 0x3e -> segment = mode64 ? segment : Cpu.DS;
                case 0x26 -> segment = mode64 ? segment : Cpu.ES;
                case 0x64 -> segment = Cpu.FS;
                case 0x65 -> segment = Cpu.GS;
                default -> {
                    if (mode64 && (b & 0xf0) == 0x40) {
                        rex = b;
                        continue;
                    }
                    in.pp = last != 0 ? last : size66 ? Insn.PP_66 : Insn.PP_NONE;
                    sizes(in, size66, size67, rex);
                    opcode(in, b, rex, segment, size66 || last != 0);
                    return;
                }
            }
            rex = 0;
        }
    }

    private static void sizes(Insn in, boolean size66, boolean size67, int rex) {
        in.rex = rex != 0;
        in.w = (rex & 8) != 0;
        if (in.codeSize == 8) {
            in.operandSize = in.w ? 8 : size66 ? 2 : 4;
            in.addressSize = size67 ? 4 : 8;
        } else {
            in.operandSize = (in.codeSize == 4) != size66 ? 4 : 2;
            in.addressSize = (in.codeSize == 4) != size67 ? 4 : 2;
        }
    }

    private void opcode(Insn in, int first, int rex, int segment, boolean prefixed) {
        int b = first;
        int extensions = rex;
        if (b == 0x0f) {
            b = next8();
            if (b == 0x38) {
                in.map = 2;
                b = next8();
            } else if (b == 0x3a) {
                in.map = 3;
                b = next8();
            } else {
                in.map = 1;
            }
        } else if (b == 0xc4 || b == 0xc5) {
            int second = peek8();
            if (in.codeSize == 8 || second >= 0xc0 && cpu.segmentedProtection()) {
                extensions = vex(in, b, prefixed || rex != 0);
                if (extensions < 0) {
                    in.flags = Opcodes.END;
                    return;
                }
                b = next8();
            }
        }
        in.opcode = b;
        int flags = in.vex ? Opcodes.vexFlags(in) : Opcodes.flags(in);
        in.flags = flags;
        if ((flags & (Opcodes.D64 | Opcodes.F64)) != 0 && in.codeSize == 8) {
            if ((flags & Opcodes.F64) != 0 || in.operandSize == 4) {
                in.operandSize = 8;
            }
        }
        in.size = (flags & Opcodes.BYTE) != 0 ? 1 : in.operandSize;
        in.rm = b & 7 | (extensions & 1) << 3;
        if ((flags & Opcodes.MODRM) != 0) {
            modrm(in, extensions, segment);
        } else if (segment >= 0) {
            in.seg = segment;
        }
        byteRegisters(in, flags);
        if ((flags & Opcodes.GROUP3) != 0 && in.extension() < 2) {
            flags |= in.size == 1 ? Opcodes.IMM8 : Opcodes.IMMZ;
        }
        immediate(in, flags);
        in.handler = handler(in);
        if ((flags & Opcodes.GROUP5) != 0 && in.extension() >= 2 && in.extension() <= 5) {
            in.flags |= Opcodes.END;
            if (in.codeSize == 8 && (in.extension() & 1) == 0) {
                in.operandSize = 8;
                in.size = 8;
            }
        } else if ((flags & Opcodes.GROUP5) != 0 && in.extension() == 6 && in.codeSize == 8 && in.operandSize == 4) {
            in.operandSize = 8;
            in.size = 8;
        }
        if (in.handler == null) {
            in.flags |= Opcodes.END;
        }
    }

    private int peek8() {
        int at = position;
        int value = next8();
        position = at;
        return value;
    }

    private static @Nullable InsnHandler handler(Insn in) {
        if (in.lock && !(in.memory && Opcodes.lockable(in))) {
            return null;
        }
        InsnHandler own = in.vex ? Opcodes.vexHandler(in) : Opcodes.handler(in);
        if (own != null) {
            return own;
        }
        if (in.map == 0) {
            return in.opcode >= 0xd8 && in.opcode <= 0xdf || in.opcode == 0x9b ? X87.handler(in) : null;
        }
        return Simd.handler(in);
    }

    /** Reads a VEX prefix; returns its R, X and B bits as REX has them, or -1 if it is malformed. */
    private int vex(Insn in, int first, boolean prefixed) {
        if (prefixed || in.lock) {
            return -1;
        }
        in.vex = true;
        int extensions = 0;
        int payload = next8();
        if ((payload & 0x80) == 0) {
            extensions |= 4;
        }
        if (first == 0xc4) {
            extensions |= ((payload & 0x40) == 0 ? 2 : 0) | ((payload & 0x20) == 0 ? 1 : 0);
            in.map = payload & 0x1f;
            payload = next8();
            in.w = (payload & 0x80) != 0;
        } else {
            in.map = 1;
        }
        in.vvvv = ~payload >> 3 & 15;
        in.vexL = payload >> 2 & 1;
        in.pp = payload & 3;
        in.repe = in.pp == Insn.PP_F3;
        in.repne = in.pp == Insn.PP_F2;
        in.operandSize = in.w && in.codeSize == 8 ? 8 : 4;
        if (in.codeSize != 8) {
            extensions = 0;
            in.vvvv &= 7;
        }
        return in.map >= 1 && in.map <= 3 ? extensions : -1;
    }

    private void modrm(Insn in, int rex, int segment) {
        int m = next8();
        in.modrm = m;
        in.reg = m >> 3 & 7 | (rex & 4) << 1;
        int rm = m & 7;
        if (m >= 0xc0 || (in.flags & Opcodes.REGISTER_ONLY) != 0) {
            in.rm = rm | (rex & 1) << 3;
            return;
        }
        in.memory = true;
        if (in.addressSize == 2) {
            address16(in, m >> 6, rm);
        } else {
            address32(in, m >> 6, rm, rex);
        }
        if (segment >= 0) {
            in.seg = segment;
        }
    }

    private static final int[] BASE_16 = {3, 3, 5, 5, 6, 7, 5, 3};
    private static final int[] INDEX_16 = {6, 7, 6, 7, 16, 16, 16, 16};

    private void address16(Insn in, int mod, int rm) {
        in.base = BASE_16[rm];
        in.index = INDEX_16[rm];
        if (mod == 0 && rm == 6) {
            in.base = Insn.NO_REGISTER;
            in.disp = (short) next16();
        } else if (mod == 1) {
            in.disp = (byte) next8();
        } else if (mod == 2) {
            in.disp = (short) next16();
        }
        in.seg = in.base == 5 ? Cpu.SS : Cpu.DS;
    }

    private void address32(Insn in, int mod, int rm, int rex) {
        int base = rm | (rex & 1) << 3;
        boolean absolute = mod == 0 && rm == 5;
        boolean sibAbsolute = false;
        if (rm == 4) {
            int sib = next8();
            in.sib = sib;
            in.scale = sib >> 6;
            int index = sib >> 3 & 7 | (rex & 2) << 2;
            if (index != 4) {
                in.index = index;
            } else {
                in.scale = 0;
            }
            base = sib & 7 | (rex & 1) << 3;
            sibAbsolute = mod == 0 && (sib & 7) == 5;
        }
        in.base = base;
        if (absolute || sibAbsolute) {
            in.base = absolute && in.codeSize == 8 ? RIP_RELATIVE : Insn.NO_REGISTER;
            in.disp = next32();
        } else if (mod == 1) {
            in.disp = (byte) next8();
        } else if (mod == 2) {
            in.disp = next32();
        }
        in.seg = in.base == Cpu.RSP || in.base == Cpu.RBP ? Cpu.SS : Cpu.DS;
    }

    private static void byteRegisters(Insn in, int flags) {
        if (in.rex) {
            return;
        }
        if ((flags & Opcodes.BYTE_REG) != 0 && in.reg >= 4 && in.reg < 8) {
            in.reg += Insn.HIGH_BYTE - 4;
        }
        if ((flags & Opcodes.BYTE_RM) != 0 && !in.memory && in.rm >= 4 && in.rm < 8) {
            in.rm += Insn.HIGH_BYTE - 4;
        }
    }

    private void immediate(Insn in, int flags) {
        if ((flags & Opcodes.IMMEDIATES) == 0) {
            return;
        }
        if ((flags & Opcodes.MOFFS) != 0) {
            in.memory = true;
            in.disp = in.addressSize == 8 ? next64() : in.addressSize == 4 ? next32() & 0xffff_ffffL : next16();
        } else if ((flags & Opcodes.FAR) != 0) {
            in.imm = in.operandSize == 2 ? next16() : next32() & 0xffff_ffffL;
            in.imm2 = next16();
        } else if ((flags & Opcodes.IMM16) != 0) {
            in.imm = next16();
            if ((flags & Opcodes.IMM8) != 0) {
                in.imm2 = next8();
            }
        } else if ((flags & Opcodes.IMMV) != 0) {
            in.imm = in.operandSize == 8 ? next64() : in.operandSize == 4 ? next32() : (short) next16();
        } else if ((flags & Opcodes.IMMZ) != 0) {
            in.imm = in.operandSize == 2 ? (short) next16() : next32();
        } else if ((flags & Opcodes.IMM8) != 0) {
            in.imm = (byte) next8();
        }
    }
}
