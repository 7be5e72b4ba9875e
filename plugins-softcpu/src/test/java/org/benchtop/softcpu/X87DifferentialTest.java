package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * x87 instructions give what the host's processor gives: 80-bit results, status word, tags, exceptions. Transcendental
 * results may differ by one unit in the last place, because neither side rounds them correctly always.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class X87DifferentialTest {
    private static final int SINGLES = 8;
    private static final int SEQUENCES = 8_000;
    private static final int LONGEST = 8;

    private Differential differential;

    @BeforeAll
    void open() {
        assumeTrue(HostVectorUnit.missing().isEmpty(), HostVectorUnit::missing);
        differential = new Differential();
    }

    @AfterAll
    void close() {
        if (differential != null) {
            differential.close();
        }
    }

    private static Differential.Case start(SplittableRandom random) {
        Differential.Case c = new Differential.Case();
        Differential.fill(c, random);
        Differential.x87(c, random);
        return c;
    }

    private static boolean transcendental(int opcode, int modrm) {
        return opcode == 0xd9
                && switch (modrm) {
                    case 0xf0, 0xf1, 0xf2, 0xf3, 0xf9, 0xfb, 0xfe, 0xff -> true;
                    default -> false;
                };
    }

    /** FLDENV, FNSTENV, FRSTOR and FNSAVE have a test of their own. */
    private static boolean image(int opcode, int extension) {
        return (opcode == 0xd9 || opcode == 0xdd) && (extension == 4 || extension == 6);
    }

    private static byte[] memory(int opcode, int extension, SplittableRandom random) {
        int disp = random.nextInt(16) * 16;
        return new byte[] {(byte) opcode, (byte) (0x87 | extension << 3), (byte) disp, (byte) (disp >> 8), 0, 0};
    }

    private static void tolerate(Differential.Case c) {
        c.x87Tolerance = 1;
        c.ignoreC1 = true;
    }

    @Test
    void everyOpcodeAgreesWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed);
        for (int opcode = 0xd8; opcode <= 0xdf; opcode++) {
            for (int extension = 0; extension < 8; extension++) {
                for (int i = 0; i < 4 * SINGLES * differential.factor && !image(opcode, extension); i++) {
                    Differential.Case c = start(random);
                    c.instructions.add(memory(opcode, extension, random));
                    differential.check(c);
                }
            }
            for (int modrm = 0xc0; modrm < 0x100; modrm++) {
                for (int i = 0; i < SINGLES * differential.factor; i++) {
                    Differential.Case c = start(random);
                    if (transcendental(opcode, modrm)) {
                        tolerate(c);
                    }
                    c.instructions.add(new byte[] {(byte) opcode, (byte) modrm});
                    differential.check(c);
                }
            }
        }
    }

    @Test
    void functionsAreWithinOneUlpOfTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 1);
        int[] functions = {0xf0, 0xf1, 0xf2, 0xf3, 0xf9, 0xfb, 0xfe, 0xff};
        for (int modrm : functions) {
            for (int i = 0; i < 300 * differential.factor; i++) {
                Differential.Case c = start(random);
                tolerate(c);
                c.instructions.add(new byte[] {(byte) 0xd9, (byte) modrm});
                differential.check(c);
            }
        }
    }

    @Test
    void sequencesAgreeWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 2);
        for (int i = 0; i < SEQUENCES * differential.factor; i++) {
            Differential.Case c = start(random);
            int length = 2 + random.nextInt(LONGEST - 1);
            while (c.instructions.size() < length) {
                int opcode = 0xd8 + random.nextInt(8);
                if (random.nextInt(12) == 0) {
                    c.instructions.add(new byte[] {(byte) 0x9b});
                } else if (random.nextInt(2) == 0) {
                    int extension = random.nextInt(8);
                    if (!image(opcode, extension)) {
                        c.instructions.add(memory(opcode, extension, random));
                    }
                } else {
                    int modrm = 0xc0 + random.nextInt(64);
                    if (!transcendental(opcode, modrm)) {
                        c.instructions.add(new byte[] {(byte) opcode, (byte) modrm});
                    }
                }
            }
            differential.check(c);
        }
    }
}
