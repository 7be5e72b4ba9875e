package org.benchtop.softcpu;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Random encodings of vector instructions, over every opcode that the software processor knows. */
final class VectorEncodings {
    /** One opcode: map, mandatory prefix (0 none, 1 66, 2 F3, 3 F2), VEX or not. */
    record Opcode(int map, int pp, int opcode, boolean vex) {
        @Override
        public String toString() {
            return (vex ? "vex " : "")
                    + new String[] {"", "66 ", "f3 ", "f2 "}[pp]
                    + new String[] {"", "0f ", "0f38 ", "0f3a "}[map]
                    + String.format("%02x", opcode);
        }
    }

    private static final int[] PREFIXES = {0, 0x66, 0xf3, 0xf2};

    private final List<Opcode> opcodes = new ArrayList<>();

    /** All opcodes of the vector unit. */
    VectorEncodings(SoftProcessor soft) {
        for (int map = 1; map <= 3; map++) {
            for (int pp = 0; pp < 4; pp++) {
                for (int opcode = 0; opcode < 256; opcode++) {
                    Opcode o = new Opcode(map, pp, opcode, false);
                    if (!excluded(o)) {
                        add(soft, o);
                        add(soft, new Opcode(map, pp, opcode, true));
                    }
                }
            }
        }
    }

    List<Opcode> opcodes() {
        return opcodes;
    }

    private void add(SoftProcessor soft, Opcode o) {
        for (int w = 0; w < 2; w++) {
            for (int l = 0; l < 2; l++) {
                for (int modrm : new int[] {0xd1, 0x97, 0xf1}) {
                    byte[] bytes = encode(o, w != 0, l, 0, 0, 0, modrm, 0, 0);
                    InsnHandler handler = soft.decode(bytes, 0).handler;
                    if (handler != null && isVector(handler)) {
                        opcodes.add(o);
                        return;
                    }
                }
            }
        }
    }

    private static boolean isVector(InsnHandler handler) {
        return handler.getClass().getName().startsWith("org.benchtop.softcpu.simd.");
    }

    /** State images have tests of their own, as have approximations and gathers. */
    private static boolean excluded(Opcode o) {
        return o.map == 1 && (o.opcode == 0xae || o.opcode == 0xc7 || o.opcode == 0x52 || o.opcode == 0x53)
                || o.map == 2 && o.opcode >= 0x90 && o.opcode <= 0x93;
    }

    /** Whether ModRM.reg or ModRM.rm can be a general register, of which RSP and RDI are taken. */
    private static boolean general(Opcode o) {
        if (o.map == 1) {
            return switch (o.opcode) {
                case 0x2a, 0x2c, 0x2d, 0x50, 0x6e, 0x7e, 0xc4, 0xc5, 0xd7 -> true;
                default -> false;
            };
        }
        return o.map == 3 && (o.opcode >= 0x14 && o.opcode <= 0x17 || o.opcode >= 0x20 && o.opcode <= 0x22);
    }

    private static boolean immediate(Opcode o) {
        return o.map == 3
                || o.map == 1
                        && (o.opcode >= 0x70 && o.opcode <= 0x73
                                || o.opcode == 0xc2
                                || o.opcode >= 0xc4 && o.opcode <= 0xc6);
    }

    static byte[] encode(Opcode o, boolean w, int l, int vvvv, int r, int b, int modrm, int disp, int imm) {
        byte[] bytes = new byte[20];
        int n = 0;
        if (o.vex) {
            bytes[n++] = (byte) 0xc4;
            bytes[n++] = (byte) ((r != 0 ? 0 : 0x80) | 0x40 | (b != 0 ? 0 : 0x20) | o.map);
            bytes[n++] = (byte) ((w ? 0x80 : 0) | (~vvvv & 15) << 3 | l << 2 | o.pp);
        } else {
            if (o.pp != 0) {
                bytes[n++] = (byte) PREFIXES[o.pp];
            }
            if (w || r != 0 || b != 0) {
                bytes[n++] = (byte) (0x40 | (w ? 8 : 0) | (r != 0 ? 4 : 0) | (b != 0 ? 1 : 0));
            }
            bytes[n++] = 0x0f;
            if (o.map > 1) {
                bytes[n++] = (byte) (o.map == 2 ? 0x38 : 0x3a);
            }
        }
        bytes[n++] = (byte) o.opcode;
        if (o.map == 1 && o.opcode == 0x77) {
            return java.util.Arrays.copyOf(bytes, n);
        }
        bytes[n++] = (byte) modrm;
        if (modrm < 0xc0) {
            bytes[n++] = (byte) disp;
            bytes[n++] = (byte) (disp >> 8);
            bytes[n++] = 0;
            bytes[n++] = 0;
        }
        if (immediate(o)) {
            bytes[n++] = (byte) imm;
        }
        return java.util.Arrays.copyOf(bytes, n);
    }

    /** What VAES and VPCLMULQDQ give 256 bits on hosts that have them. */
    private static boolean laneOnly(Opcode o) {
        return o.map == 2 && o.opcode >= 0xdc && o.opcode <= 0xdf || o.map == 3 && o.opcode == 0x44;
    }

    /** A random instruction of an opcode; memory operands are in the data, addressed by RDI. */
    static byte[] random(Opcode o, SplittableRandom random) {
        boolean w = random.nextInt(4) == 0;
        int l = laneOnly(o) ? 0 : random.nextInt(2);
        if (o.vex && o.map == 3 && o.opcode <= 1) {
            // VPERMQ and VPERMPD are defined with W set only, which not every processor checks.
            w = true;
        }
        int vvvv = random.nextInt(3) == 0 ? 0 : random.nextInt(16);
        int r = random.nextInt(3) == 0 ? 1 : 0;
        int reg = register(o, random, r);
        int disp = random.nextInt(4) == 0 ? random.nextInt(400) : random.nextInt(12) * 32;
        int imm = random.nextInt(2) == 0 ? random.nextInt(16) : random.nextInt(256);
        if (random.nextInt(3) == 0) {
            return encode(o, w, l, vvvv, r, 0, 0x87 | reg << 3, disp, imm);
        }
        int b = random.nextInt(3) == 0 ? 1 : 0;
        return encode(o, w, l, vvvv, r, b, 0xc0 | reg << 3 | register(o, random, b), disp, imm);
    }

    private static int register(Opcode o, SplittableRandom random, int extended) {
        int n = random.nextInt(8);
        while (extended == 0 && general(o) && (n == Cpu.RSP || n == Cpu.RDI)) {
            n = random.nextInt(8);
        }
        return n;
    }
}
