package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/** MOVBE, CRC32, ADX, BMI1 and BMI2 (Intel SDM vol. 2). */
final class Bmi {
    private static final int CRC32C_REVERSED = 0x82f6_3b78;

    private Bmi() {}

    private static InsnHandler with(int feature, InsnHandler handler) {
        return (c, in) -> {
            if (!c.features.has(feature)) {
                throw c.ud();
            }
            handler.execute(c, in);
        };
    }

    private static final InsnHandler CRC32 = with(CpuFeatures.SSE4_2, Bmi::crc32);
    private static final InsnHandler MOVBE = with(CpuFeatures.MOVBE, Bmi::movbe);
    private static final InsnHandler ADCX = with(CpuFeatures.ADX, (c, in) -> addCarry(c, in, Flags.CF));
    private static final InsnHandler ADOX = with(CpuFeatures.ADX, (c, in) -> addCarry(c, in, Flags.OF));
    private static final InsnHandler INVPCID = with(CpuFeatures.INVPCID, SystemInsns::invpcid);
    private static final InsnHandler ANDN = with(CpuFeatures.BMI1, Bmi::andn);
    private static final InsnHandler BLS = with(CpuFeatures.BMI1, Bmi::lowestBit);
    private static final InsnHandler BEXTR = with(CpuFeatures.BMI1, Bmi::bextr);
    private static final InsnHandler BZHI = with(CpuFeatures.BMI2, Bmi::bzhi);
    private static final InsnHandler PEXT = with(CpuFeatures.BMI2, Bmi::pext);
    private static final InsnHandler PDEP = with(CpuFeatures.BMI2, Bmi::pdep);
    private static final InsnHandler MULX = with(CpuFeatures.BMI2, Bmi::mulx);
    private static final InsnHandler SHIFT = with(CpuFeatures.BMI2, Bmi::shift);
    private static final InsnHandler RORX = with(CpuFeatures.BMI2, Bmi::rorx);

    /** Integer instructions of 0F 38 without VEX. */
    static @Nullable InsnHandler legacyHandler(Insn in) {
        return switch (in.opcode) {
            case 0xf0, 0xf1 -> in.repne ? CRC32 : in.repe ? null : in.memory ? MOVBE : null;
            case 0xf6 -> in.pp == Insn.PP_66 ? ADCX : in.pp == Insn.PP_F3 ? ADOX : null;
            case 0x82 -> in.pp == Insn.PP_66 && in.memory ? INVPCID : null;
            default -> null;
        };
    }

    /** Integer instructions with VEX. */
    static @Nullable InsnHandler vexHandler(Insn in) {
        if (in.vexL != 0) {
            return null;
        }
        if (in.map == 3) {
            return in.opcode == 0xf0 && in.pp == Insn.PP_F2 && in.vvvv == 0 ? RORX : null;
        }
        if (in.map != 2) {
            return null;
        }
        return switch (in.opcode) {
            case 0xf2 -> in.pp == Insn.PP_NONE ? ANDN : null;
            case 0xf3 -> in.pp == Insn.PP_NONE && in.extension() >= 1 && in.extension() <= 3 ? BLS : null;
            case 0xf5 ->
                switch (in.pp) {
                    case Insn.PP_NONE -> BZHI;
                    case Insn.PP_F3 -> PEXT;
                    case Insn.PP_F2 -> PDEP;
                    default -> null;
                };
            case 0xf6 -> in.pp == Insn.PP_F2 ? MULX : null;
            case 0xf7 -> in.pp == Insn.PP_NONE ? BEXTR : SHIFT;
            default -> null;
        };
    }

    private static void crc32(Cpu c, Insn in) {
        int size = in.opcode == 0xf0 ? 1 : in.operandSize;
        long value = c.readRm(in, size);
        int crc = (int) c.r[in.reg];
        for (int i = 0; i < size; i++) {
            crc ^= (int) (value >>> 8 * i) & 0xff;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc >>> 1 ^ (CRC32C_REVERSED & -(crc & 1));
            }
        }
        c.r[in.reg] = crc & 0xffff_ffffL;
    }

    private static long swap(long value, int size) {
        return Long.reverseBytes(value) >>> 64 - 8 * size;
    }

    private static void movbe(Cpu c, Insn in) {
        int size = in.operandSize;
        if (in.opcode == 0xf0) {
            c.set(in.reg, size, swap(c.readRm(in, size), size));
        } else {
            c.writeRm(in, size, swap(c.get(in.reg, size), size));
        }
    }

    private static void addCarry(Cpu c, Insn in, int flag) {
        int size = in.w ? 8 : 4;
        long b = c.readRm(in, size);
        long a = c.get(in.reg, size);
        int status = c.status();
        long carry = (status & flag) != 0 ? 1 : 0;
        long sum = a + b + carry;
        boolean out;
        if (size == 4) {
            out = sum >>> 32 != 0;
        } else {
            out = carry == 0 ? Long.compareUnsigned(sum, b) < 0 : Long.compareUnsigned(sum, b) <= 0;
        }
        c.set(in.reg, size, sum);
        c.setStatus(status & ~flag | (out ? flag : 0));
    }

    private static void resultFlags(Cpu c, long result, int size, boolean carry) {
        Alu.set(c, Flags.SHIFT, Cpu.signExtend(result, size), 0, carry ? 1 : 0);
    }

    private static void andn(Cpu c, Insn in) {
        int size = in.operandSize;
        long result = ~c.get(in.vvvv, size) & c.readRm(in, size);
        c.set(in.reg, size, result);
        resultFlags(c, result, size, false);
    }

    /** BLSR, BLSMSK, BLSI. */
    private static void lowestBit(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        long result;
        boolean carry = value == 0;
        switch (in.extension()) {
            case 1 -> result = value & value - 1;
            case 2 -> result = value ^ value - 1;
            default -> {
                result = value & -value;
                carry = value != 0;
            }
        }
        c.set(in.vvvv, size, result);
        resultFlags(c, result, size, carry);
    }

    private static void bextr(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        int start = (int) c.r[in.vvvv] & 0xff;
        int length = (int) c.r[in.vvvv] >> 8 & 0xff;
        long result = start >= 64 ? 0 : value >>> start;
        if (length < 64) {
            result &= (1L << length) - 1;
        }
        c.set(in.reg, size, result);
        resultFlags(c, result, size, false);
    }

    private static void bzhi(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        int n = (int) c.r[in.vvvv] & 0xff;
        boolean beyond = n > 8 * size - 1;
        long result = beyond ? value : value & (1L << n) - 1;
        c.set(in.reg, size, result);
        resultFlags(c, result, size, beyond);
    }

    private static void pext(Cpu c, Insn in) {
        int size = in.operandSize;
        c.set(in.reg, size, Long.compress(c.get(in.vvvv, size), c.readRm(in, size)));
    }

    private static void pdep(Cpu c, Insn in) {
        int size = in.operandSize;
        c.set(in.reg, size, Long.expand(c.get(in.vvvv, size), c.readRm(in, size)));
    }

    private static void mulx(Cpu c, Insn in) {
        int size = in.operandSize;
        long a = c.get(Cpu.RDX, size);
        long b = c.readRm(in, size);
        long high = size == 8 ? Math.unsignedMultiplyHigh(a, b) : a * b >>> 32;
        c.set(in.vvvv, size, a * b);
        c.set(in.reg, size, high);
    }

    /** SHLX, SARX, SHRX. */
    private static void shift(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        int count = (int) c.r[in.vvvv] & 8 * size - 1;
        long result = switch (in.pp) {
            case Insn.PP_66 -> value << count;
            case Insn.PP_F3 -> Cpu.signExtend(value, size) >> count;
            default -> value >>> count;
        };
        c.set(in.reg, size, result);
    }

    private static void rorx(Cpu c, Insn in) {
        int size = in.operandSize;
        long value = c.readRm(in, size);
        c.set(
                in.reg,
                size,
                size == 8 ? Long.rotateRight(value, (int) in.imm) : Integer.rotateRight((int) value, (int) in.imm));
    }
}
