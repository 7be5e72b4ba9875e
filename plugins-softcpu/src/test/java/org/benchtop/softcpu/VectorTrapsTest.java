package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Who may execute x87 and vector instructions, and what else they raise (Intel SDM vol. 3, chapters 2.5 and 13). */
class VectorTrapsTest {
    private static final byte[] PADDB = {0x66, 0x0f, (byte) 0xfc, (byte) 0xc1};
    private static final byte[] PADDB_MMX = {0x0f, (byte) 0xfc, (byte) 0xc1};
    private static final byte[] PSHUFB = {0x66, 0x0f, 0x38, 0x00, (byte) 0xc1};
    private static final byte[] VPADDB = {(byte) 0xc5, (byte) 0xf1, (byte) 0xfc, (byte) 0xc2};
    private static final byte[] VPADDB_256 = {(byte) 0xc5, (byte) 0xf5, (byte) 0xfc, (byte) 0xc2};
    private static final byte[] DIVPS = {0x0f, 0x5e, (byte) 0xc1};
    private static final byte[] FLD1 = {(byte) 0xd9, (byte) 0xe8};
    private static final byte[] FWAIT = {(byte) 0x9b};

    private static int vectorOf(SoftProcessor soft, byte[] code) {
        soft.execute(code);
        return soft.vector;
    }

    @Test
    void taskSwitchedFlagMakesEveryUnitUnavailable() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            soft.cpu.cr0 |= Cpu.CR0_TS;
            assertEquals(CpuFault.NM, vectorOf(soft, PADDB));
            assertEquals(CpuFault.NM, vectorOf(soft, PADDB_MMX));
            assertEquals(CpuFault.NM, vectorOf(soft, VPADDB));
            assertEquals(CpuFault.NM, vectorOf(soft, FLD1));
            assertEquals(CpuFault.NM, vectorOf(soft, FWAIT));
        }
    }

    @Test
    void emulationFlagHidesMmxAndSseAndTrapsX87() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            soft.cpu.cr0 |= Cpu.CR0_EM;
            assertEquals(CpuFault.UD, vectorOf(soft, PADDB));
            assertEquals(CpuFault.UD, vectorOf(soft, PADDB_MMX));
            assertEquals(CpuFault.NM, vectorOf(soft, FLD1));
        }
    }

    @Test
    void sseNeedsTheOperatingSystemsConsent() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            soft.cpu.cr4 &= ~Cpu.CR4_OSFXSR;
            assertEquals(CpuFault.UD, vectorOf(soft, PADDB));
            assertEquals(-1, vectorOf(soft, PADDB_MMX));
        }
    }

    @Test
    void avxNeedsItsStateEnabled() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            assertEquals(-1, vectorOf(soft, VPADDB_256));
            soft.cpu.xcr0 = 3;
            assertEquals(CpuFault.UD, vectorOf(soft, VPADDB));
            soft.cpu.xcr0 = 7;
            soft.cpu.cr4 &= ~Cpu.CR4_OSXSAVE;
            assertEquals(CpuFault.UD, vectorOf(soft, VPADDB));
        }
    }

    @Test
    void instructionsOfHiddenFeaturesAreUndefined() {
        try (SoftProcessor v1 = new SoftProcessor("x86-64-v1");
                SoftProcessor v2 = new SoftProcessor("x86-64-v2");
                SoftProcessor v3 = new SoftProcessor("x86-64-v3")) {
            assertEquals(-1, vectorOf(v1, PADDB));
            assertEquals(CpuFault.UD, vectorOf(v1, PSHUFB));
            assertEquals(-1, vectorOf(v2, PSHUFB));
            assertEquals(CpuFault.UD, vectorOf(v2, VPADDB));
            assertEquals(-1, vectorOf(v3, VPADDB_256));
        }
    }

    @Test
    void unalignedOperandOfLegacySseRaisesGp() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            soft.cpu.r[Cpu.RDI] = SoftProcessor.DATA + 8;
            byte[] paddb = {0x66, 0x0f, (byte) 0xfc, 0x07};
            byte[] movups = {0x0f, 0x10, 0x07};
            byte[] vpaddb = {(byte) 0xc5, (byte) 0xf1, (byte) 0xfc, 0x07};
            byte[] vmovaps = {(byte) 0xc5, (byte) 0xf8, 0x28, 0x07};
            assertEquals(CpuFault.GP, vectorOf(soft, paddb));
            assertEquals(-1, vectorOf(soft, movups));
            assertEquals(-1, vectorOf(soft, vpaddb));
            assertEquals(CpuFault.GP, vectorOf(soft, vmovaps));
        }
    }

    @Test
    void unmaskedDivisionByZeroRaisesXmAndKeepsTheDestination() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            soft.cpu.fpu.ymm[0] = 0x3f80_0000_3f80_0000L;
            soft.cpu.fpu.ymm[1] = 0x3f80_0000_3f80_0000L;
            soft.cpu.fpu.mxcsr(0x1f80 & ~(4 << 7));
            assertEquals(CpuFault.XM, vectorOf(soft, DIVPS));
            assertEquals(0x3f80_0000_3f80_0000L, soft.cpu.fpu.ymm[0]);
            assertEquals(4, soft.cpu.fpu.mxcsr() & 0x3f);
            soft.cpu.cr4 &= ~Cpu.CR4_OSXMMEXCPT;
            assertEquals(CpuFault.UD, vectorOf(soft, DIVPS));
        }
    }

    @Test
    void pendingX87ExceptionComesWithTheNextWaitingInstruction() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            byte[] code = {
                (byte) 0xdb,
                (byte) 0xe3, // fninit
                (byte) 0xd9,
                0x2f, // fldcw [rdi]
                (byte) 0xd9,
                (byte) 0xe8, // fld1
                (byte) 0xd9,
                (byte) 0xee, // fldz
                (byte) 0xde,
                (byte) 0xf9, // fdivp
                (byte) 0xdf,
                (byte) 0xe0, // fnstsw ax
                (byte) 0x9b // fwait
            };
            soft.cpu.r[Cpu.RDI] = SoftProcessor.DATA;
            soft.memory().set(ValueLayout.JAVA_SHORT, SoftProcessor.DATA, (short) (0x37f & ~4));
            assertEquals(CpuFault.MF, vectorOf(soft, code));
            assertEquals(12, soft.faultOffset);
            assertEquals(0x84, (int) soft.cpu.r[Cpu.RAX] & 0xff);
        }
    }

    @Test
    void aesEncryptsTheExampleOfFips197() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            // Appendix C.1: key 000102…0f, plaintext 001122…ff; the round keys come from AESKEYGENASSIST.
            long[] v = soft.cpu.fpu.ymm;
            long keyLow = 0x0706_0504_0302_0100L;
            long keyHigh = 0x0f0e_0d0c_0b0a_0908L;
            v[0] = 0x7766_5544_3322_1100L ^ keyLow;
            v[1] = 0xffee_ddcc_bbaa_9988L ^ keyHigh;
            int constant = 1;
            for (int round = 1; round <= 10; round++) {
                v[4] = keyLow;
                v[5] = keyHigh;
                soft.execute(new byte[] {0x66, 0x0f, 0x3a, (byte) 0xdf, (byte) 0xd1, (byte) constant});
                int word = (int) (v[9] >>> 32);
                int w0 = (int) keyLow ^ word;
                int w1 = (int) (keyLow >>> 32) ^ w0;
                int w2 = (int) keyHigh ^ w1;
                int w3 = (int) (keyHigh >>> 32) ^ w2;
                keyLow = w0 & 0xffff_ffffL | (long) w1 << 32;
                keyHigh = w2 & 0xffff_ffffL | (long) w3 << 32;
                v[4] = keyLow;
                v[5] = keyHigh;
                soft.execute(new byte[] {0x66, 0x0f, 0x38, (byte) (round < 10 ? 0xdc : 0xdd), (byte) 0xc1});
                constant = constant << 1 ^ (constant >= 0x80 ? 0x11b : 0);
            }
            // 69c4e0d86a7b0430 d8cdb78070b4c55a
            assertEquals(0x3004_7b6a_d8e0_c469L, v[0]);
            assertEquals(0x5ac5_b470_80b7_cdd8L, v[1]);
        }
    }
}
