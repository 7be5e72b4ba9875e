package org.benchtop.softcpu;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Makes random instructions that cannot fault: memory operands lie in the page that R15 points to, RSP and R15 are no
 * destinations. Flags that an instruction leaves undefined are dropped by code after it, which stores the defined ones.
 */
final class InsnGenerator {
    private static final int CF = 1;
    private static final int PF = 4;
    private static final int AF = 0x10;
    private static final int ZF = 0x40;
    private static final int SF = 0x80;
    private static final int OF = 0x800;
    private static final int ALL = CF | PF | AF | ZF | SF | OF;

    private final Random random;
    private final boolean bmi1;
    private final boolean bmi2;
    private final boolean adx;
    private final boolean movbe;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    InsnGenerator(Random random, Set<String> host) {
        this.random = random;
        bmi1 = host.contains("bmi1") && host.contains("abm");
        bmi2 = host.contains("bmi2");
        adx = host.contains("adx");
        movbe = host.contains("movbe");
    }

    private int below(int n) {
        return random.nextInt(n);
    }

    private void emit(int... bytes) {
        for (int b : bytes) {
            out.write(b);
        }
    }

    private void emit32(int value) {
        emit(value, value >> 8, value >> 16, value >> 24);
    }

    /** A register that may be written. */
    private int register() {
        int r;
        do {
            r = below(15);
        } while (r == 4);
        return r;
    }

    private List<byte[]> sequence(int count, boolean record) {
        List<byte[]> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            out.reset();
            int undefined = instruction();
            if (undefined != 0 && record) {
                recordFlags(ALL & ~undefined);
            }
            list.add(out.toByteArray());
        }
        return list;
    }

    /** Instructions, one array each, with what belongs to them. */
    List<byte[]> next(int maxCount) {
        return sequence(1 + below(maxCount), true);
    }

    /** The same without code that drops undefined flags. */
    List<byte[]> bare(int maxCount) {
        return sequence(1 + below(maxCount), false);
    }

    /** pushfq; and qword [rsp], defined; pop qword [r15+off]; cmp eax, eax: all flags are defined again. */
    private void recordFlags(int defined) {
        emit(0x9c, 0x48, 0x81, 0x24, 0x24);
        emit32(defined);
        emit(0x41, 0x8f, 0x87);
        emit32(0xf00 + 8 * below(32));
        emit(0x39, 0xc0);
    }

    /** Emits prefixes, an opcode and ModRM for a random operand size. */
    private void form(int[] opcode, int reg, boolean byteForm, boolean allowMemory, int immediate) {
        int size = byteForm ? 1 : new int[] {2, 4, 4, 8, 8}[below(5)];
        encode(size, opcode, reg, allowMemory && below(3) == 0 ? -1 : register(), immediate, byteForm);
    }

    private int encode(int size, int[] opcode, int reg, int rm, int immediate, boolean byteForm) {
        boolean memory = rm < 0;
        int rex = (size == 8 ? 8 : 0) | (reg >> 3 & 1) << 2 | (memory ? 1 : rm >> 3 & 1);
        boolean high = byteForm && below(2) == 0 && reg < 8 && (memory || rm < 8);
        if (high && memory) {
            // A REX prefix is needed for R15.
            high = false;
        }
        if (size == 2) {
            emit(0x66);
        }
        if (!high && (rex != 0 || byteForm)) {
            emit(0x40 | rex);
        }
        emit(opcode);
        int r = reg & 7;
        if (high && r == 4) {
            r = 5;
        }
        if (memory) {
            emit(0x87 | r << 3);
            emit32(below(0xe00));
        } else {
            emit(0xc0 | r << 3 | rm & 7);
        }
        switch (immediate) {
            case 1 -> emit(below(256));
            case 4 -> {
                if (size == 2) {
                    emit(below(256), below(256));
                } else {
                    emit32(random.nextInt());
                }
            }
            default -> {
                // none
            }
        }
        return size;
    }

    private int[] op(int... bytes) {
        return bytes;
    }

    /** Emits one instruction; returns the flags that it leaves undefined. */
    private int instruction() {
        boolean byteForm = below(4) == 0;
        int wide = byteForm ? 0 : 1;
        switch (below(34)) {
            case 0, 1, 2 -> form(op(below(8) << 3 | wide), register(), byteForm, true, 0);
            case 3, 4 -> form(op(below(8) << 3 | 2 | wide), register(), byteForm, true, 0);
            case 5, 6 -> form(op(0x80 | wide), below(8), byteForm, true, byteForm ? 1 : 4);
            case 7 -> form(op(0x83), below(8), false, true, 1);
            case 8 -> form(op(0x84 | wide), register(), byteForm, true, 0);
            case 9 -> form(op(0x86 | wide), register(), byteForm, true, 0);
            case 10 -> form(op(0x88 | wide | below(2) << 1), register(), byteForm, true, 0);
            case 11 -> form(op(0xc6 | wide), 0, byteForm, true, byteForm ? 1 : 4);
            case 12 -> form(op(0xf6 | wide), 2 + below(2), byteForm, true, 0);
            case 13 -> {
                form(op(0xf6 | wide), 4 + below(2), byteForm, true, 0);
                return PF | AF | ZF | SF;
            }
            case 14 -> form(op(0xfe | wide), below(2), byteForm, true, 0);
            case 15, 16 -> {
                return shift(byteForm, wide);
            }
            case 17 -> {
                return doubleShift();
            }
            case 18 -> {
                if (below(2) == 0) {
                    form(op(0x0f, 0xaf), register(), false, true, 0);
                } else {
                    boolean imm8 = below(2) == 0;
                    form(op(imm8 ? 0x6b : 0x69), register(), false, true, imm8 ? 1 : 4);
                }
                return PF | AF | ZF | SF;
            }
            case 19 -> extend();
            case 20 -> {
                if (below(2) == 0) {
                    form(op(0x0f, 0x40 | below(16)), register(), false, true, 0);
                } else {
                    form(op(0x0f, 0x90 | below(16)), 0, true, true, 0);
                }
            }
            case 21 -> {
                boolean immediate = below(2) == 0;
                if (immediate) {
                    form(op(0x0f, 0xba), 4 + below(4), false, true, 1);
                } else {
                    form(op(0x0f, 0xa3 | below(4) << 3), register(), false, false, 0);
                }
                return OF | SF | AF | PF;
            }
            case 22 -> {
                form(op(0x0f, 0xbc | below(2)), register(), false, true, 0);
                return ALL & ~ZF;
            }
            case 23 -> {
                return counts();
            }
            case 24 -> {
                int r = register();
                emit(0x48 | r >> 3, 0x0f, 0xc8 | r & 7);
            }
            case 25 -> form(op(0x0f, 0xb0 | wide), register(), byteForm, true, 0);
            case 26 -> form(op(0x0f, 0xc0 | wide), register(), byteForm, true, 0);
            case 27 -> small();
            case 28 -> stack();
            case 29 -> {
                return divide();
            }
            case 30 -> strings();
            case 31 -> lea();
            case 32 -> {
                return vector();
            }
            default -> locked();
        }
        return 0;
    }

    private int shift(boolean byteForm, int wide) {
        int ext = below(8);
        int kind = below(3);
        int opcode = kind == 0 ? 0xc0 : kind == 1 ? 0xd0 : 0xd2;
        form(op(opcode | wide), ext, byteForm, true, kind == 0 ? 1 : 0);
        if (kind == 1) {
            return ext >= 4 ? AF : 0;
        }
        // CF is undefined for SHL and SHR by more than the width.
        int carry = byteForm || wide == 1 && ext >= 4 ? CF : 0;
        return ext < 4 ? OF : OF | AF | carry;
    }

    private int doubleShift() {
        boolean immediate = below(2) == 0;
        int size = below(2) == 0 ? 4 : 8;
        int opcode = (below(2) == 0 ? 0xa4 : 0xac) | (immediate ? 0 : 1);
        encode(size, op(0x0f, opcode), register(), below(3) == 0 ? -1 : register(), immediate ? 1 : 0, false);
        return OF | AF;
    }

    private void extend() {
        switch (below(4)) {
            case 0 -> {
                int size = new int[] {2, 4, 8}[below(3)];
                encode(
                        size,
                        op(0x0f, below(2) == 0 ? 0xb6 : 0xbe),
                        8 + below(6),
                        below(2) == 0 ? -1 : register(),
                        0,
                        false);
            }
            case 1 -> form(op(0x0f, below(2) == 0 ? 0xb7 : 0xbf), register(), false, true, 0);
            case 2 -> form(op(0x63), register(), false, true, 0);
            default -> {
                int prefix = below(3);
                if (prefix == 1) {
                    emit(0x66);
                } else if (prefix == 2) {
                    emit(0x48);
                }
                emit(0x98 | below(2));
            }
        }
    }

    private int counts() {
        int kind = below(3);
        if (kind != 2 && !bmi1) {
            return 0;
        }
        int opcode = kind == 0 ? 0xbc : kind == 1 ? 0xbd : 0xb8;
        emit(0xf3);
        int size = below(2) == 0 ? 4 : 8;
        encode(size, op(0x0f, opcode), register(), below(3) == 0 ? -1 : register(), 0, false);
        return kind == 2 ? 0 : OF | SF | AF | PF;
    }

    private void small() {
        switch (below(6)) {
            case 0 -> emit(0xf5);
            case 1 -> emit(0xf8);
            case 2 -> emit(0xf9);
            case 3 -> emit(0x9f);
            case 4 -> emit(0x9e);
            default -> {
                int r = register();
                emit(0x48 | r >> 3, 0xb8 | r & 7);
                emit32(random.nextInt());
                emit32(random.nextInt());
            }
        }
    }

    private void stack() {
        int from = register();
        int to = register();
        if (below(2) == 0) {
            emit(0x40 | from >> 3, 0x50 | from & 7, 0x40 | to >> 3, 0x58 | to & 7);
        } else {
            emit(0x68);
            emit32(random.nextInt());
            emit(0x40 | to >> 3, 0x58 | to & 7);
        }
    }

    /** Operands that cannot overflow: RDX:RAX is an extended RAX, and the divisor neither 0 nor -1. */
    private int divide() {
        boolean signed = below(2) == 0;
        int divisor = 8 + below(6);
        boolean wide = below(2) == 0;
        int w = wide ? 8 : 0;
        if (signed) {
            if (wide) {
                emit(0x48);
            }
            emit(0x99);
            // and divisor, 0x7ffffffe; or divisor, 2
            emit(0x40 | w | 1, 0x81, 0xe0 | divisor & 7);
            emit32(0x7fff_fffe);
        } else {
            emit(0x31, 0xd2);
        }
        emit(0x40 | w | 1, 0x83, 0xc8 | divisor & 7, 2);
        emit(0x40 | w | 1, 0xf7, (signed ? 0xf8 : 0xf0) | divisor & 7);
        return ALL;
    }

    private void strings() {
        // lea rsi,[r15+a]; lea rdi,[r15+b]; mov ecx,n
        emit(0x49, 0x8d, 0xb7);
        emit32(below(0x600));
        emit(0x49, 0x8d, 0xbf);
        emit32(below(0x600));
        emit(0xb9);
        emit32(below(64));
        boolean down = below(4) == 0;
        if (down) {
            emit(0x48, 0x81, 0xc6);
            emit32(0x400);
            emit(0x48, 0x81, 0xc7);
            emit32(0x400);
            emit(0xfd);
        }
        int[] opcodes = {0xa4, 0xa6, 0xaa, 0xac, 0xae};
        int opcode = opcodes[below(opcodes.length)];
        if (below(4) != 0) {
            emit(below(2) == 0 ? 0xf3 : 0xf2);
        }
        int size = below(4);
        if (size == 2) {
            emit(0x66);
        } else if (size == 3) {
            emit(0x48);
        }
        emit(opcode | (size == 0 ? 0 : 1));
        if (down) {
            emit(0xfc);
        }
    }

    private void lea() {
        int dest = register();
        int base = register();
        int index = register();
        emit(0x48 | dest >> 3 << 2 | index >> 3 << 1 | base >> 3);
        emit(0x8d, 0x84 | (dest & 7) << 3, below(4) << 6 | (index & 7) << 3 | base & 7);
        emit32(random.nextInt());
    }

    private void vex(int map, int pp, boolean w, int vvvv, int opcode, int reg, int rm) {
        emit(0xc4);
        emit((reg >> 3 == 0 ? 0x80 : 0) | 0x40 | (rm >> 3 == 0 ? 0x20 : 0) | map);
        emit((w ? 0x80 : 0) | (~vvvv & 15) << 3 | pp);
        emit(opcode, 0xc0 | (reg & 7) << 3 | rm & 7);
    }

    private int vector() {
        boolean w = below(2) == 0;
        switch (below(9)) {
            case 0 -> {
                if (bmi1) {
                    vex(2, 0, w, register(), 0xf2, register(), register());
                    return AF | PF;
                }
            }
            case 1 -> {
                if (bmi1) {
                    vex(2, 0, w, register(), 0xf3, 1 + below(3), register());
                    return AF | PF;
                }
            }
            case 2 -> {
                if (bmi1) {
                    vex(2, 0, w, register(), 0xf7, register(), register());
                    return AF | PF | SF;
                }
            }
            case 3 -> {
                if (bmi2) {
                    vex(2, 0, w, register(), 0xf5, register(), register());
                    return AF | PF;
                }
            }
            case 4 -> {
                if (bmi2) {
                    vex(2, 2 + below(2), w, register(), 0xf5, register(), register());
                }
            }
            case 5 -> {
                if (bmi2) {
                    vex(2, 3, w, register(), 0xf6, register(), register());
                }
            }
            case 6 -> {
                if (bmi2) {
                    vex(2, 1 + below(3), w, register(), 0xf7, register(), register());
                }
            }
            case 7 -> {
                if (bmi2) {
                    vex(3, 3, w, 0, 0xf0, register(), register());
                    emit(below(256));
                }
            }
            default -> {
                if (adx && below(2) == 0) {
                    int r = register();
                    int rm = register();
                    emit(below(2) == 0 ? 0x66 : 0xf3, 0x40 | (w ? 8 : 0) | r >> 3 << 2 | rm >> 3);
                    emit(0x0f, 0x38, 0xf6, 0xc0 | (r & 7) << 3 | rm & 7);
                } else if (movbe) {
                    encode(w ? 8 : 4, op(0x0f, 0x38, 0xf0 | below(2)), register(), -1, 0, false);
                }
            }
        }
        return 0;
    }

    private void locked() {
        emit(0xf0);
        int size = below(2) == 0 ? 4 : 8;
        switch (below(4)) {
            case 0 -> encode(size, op(below(7) << 3 | 1), register(), -1, 0, false);
            case 1 -> encode(size, op(0x0f, 0xb1), register(), -1, 0, false);
            case 2 -> encode(size, op(0x0f, 0xc1), register(), -1, 0, false);
            default -> encode(size, op(0xff), below(2), -1, 0, false);
        }
    }
}
