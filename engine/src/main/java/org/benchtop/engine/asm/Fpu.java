package org.benchtop.engine.asm;

import java.util.Optional;

/** x87 instructions (Intel SDM vol. 2, A.5.2). */
final class Fpu {
    private static final String[][] MEMORY = {
        {"fadd d", "fmul d", "fcom d", "fcomp d", "fsub d", "fsubr d", "fdiv d", "fdivr d"},
        {"fld d", "", "fst d", "fstp d", "fldenv", "fldcw w", "fnstenv", "fnstcw w"},
        {"fiadd d", "fimul d", "ficom d", "ficomp d", "fisub d", "fisubr d", "fidiv d", "fidivr d"},
        {"fild d", "fisttp d", "fist d", "fistp d", "", "fld t", "", "fstp t"},
        {"fadd q", "fmul q", "fcom q", "fcomp q", "fsub q", "fsubr q", "fdiv q", "fdivr q"},
        {"fld q", "fisttp q", "fst q", "fstp q", "frstor", "", "fnsave", "fnstsw w"},
        {"fiadd w", "fimul w", "ficom w", "ficomp w", "fisub w", "fisubr w", "fidiv w", "fidivr w"},
        {"fild w", "fisttp w", "fist w", "fistp w", "fbld t", "fild q", "fbstp t", "fistp q"},
    };

    /** By opcode and the reg field; a star is {@code st(i)}. */
    private static final String[][] REGISTER = {
        {"fadd st,*", "fmul st,*", "fcom *", "fcomp *", "fsub st,*", "fsubr st,*", "fdiv st,*", "fdivr st,*"},
        {"fld *", "fxch *", "", "", "", "", "", ""},
        {"fcmovb st,*", "fcmove st,*", "fcmovbe st,*", "fcmovu st,*", "", "", "", ""},
        {"fcmovnb st,*", "fcmovne st,*", "fcmovnbe st,*", "fcmovnu st,*", "", "fucomi st,*", "fcomi st,*", ""},
        {"fadd *,st", "fmul *,st", "", "", "fsubr *,st", "fsub *,st", "fdivr *,st", "fdiv *,st"},
        {"ffree *", "", "fst *", "fstp *", "fucom *", "fucomp *", "", ""},
        {"faddp *,st", "fmulp *,st", "", "", "fsubrp *,st", "fsubp *,st", "fdivrp *,st", "fdivp *,st"},
        {"ffreep *", "", "", "", "", "fucomip st,*", "fcomip st,*", ""},
    };

    /** D9 with ModRM bytes E0 to FF. */
    private static final String[] D9 = {
        "fchs", "fabs", "", "", "ftst", "fxam", "", "", "fld1", "fldl2t", "fldl2e", "fldpi", "fldlg2", "fldln2", "fldz",
        "", "f2xm1", "fyl2x", "fptan", "fpatan", "fxtract", "fprem1", "fdecstp", "fincstp", "fprem", "fyl2xp1", "fsqrt",
        "fsincos", "frndint", "fscale", "fsin", "fcos",
    };

    private Fpu() {}

    /** Name and, after a space, the size letter of its memory operand. */
    static Optional<String> memory(int opcode, int reg) {
        return some(MEMORY[opcode & 7][reg]);
    }

    /** Name and operands of a register form. */
    static Optional<String> register(int opcode, int modrm) {
        String special = switch (opcode << 8 | modrm) {
            case 0xd9d0 -> "fnop";
            case 0xdae9 -> "fucompp";
            case 0xdbe0 -> "fneni(8087 only)";
            case 0xdbe1 -> "fndisi(8087 only)";
            case 0xdbe2 -> "fnclex";
            case 0xdbe3 -> "fninit";
            case 0xdbe4 -> "fnsetpm(287 only)";
            case 0xded9 -> "fcompp";
            case 0xdfe0 -> "fnstsw ax";
            default -> opcode == 0xd9 && modrm >= 0xe0 ? D9[modrm - 0xe0] : "";
        };
        return special.isEmpty()
                ? some(REGISTER[opcode & 7][modrm >>> 3 & 7].replace("*", "st(" + (modrm & 7) + ")"))
                : Optional.of(special);
    }

    private static Optional<String> some(String text) {
        return text.isEmpty() ? Optional.empty() : Optional.of(text);
    }
}
