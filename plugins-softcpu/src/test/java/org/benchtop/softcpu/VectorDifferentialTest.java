package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** MMX, SSE, AES and AVX instructions give what the host's processor gives: results, flags, MXCSR, exceptions. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class VectorDifferentialTest {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final int SINGLES = 12;
    private static final int SEQUENCES = 8_000;
    private static final int LONGEST = 6;

    private Differential differential;
    private List<VectorEncodings.Opcode> opcodes;
    private boolean avx;

    @BeforeAll
    void open() {
        assumeTrue(HostVectorUnit.missing().isEmpty(), HostVectorUnit::missing);
        differential = new Differential();
        avx = HostVectorUnit.features().containsAll(List.of("avx2", "fma", "f16c"));
        opcodes = new VectorEncodings(differential.soft)
                .opcodes().stream().filter(o -> avx || !o.vex()).toList();
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
        Differential.mxcsr(c, random);
        if (random.nextInt(4) == 0) {
            Differential.x87(c, random);
        }
        return c;
    }

    @Test
    void everyOpcodeAgreesWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed);
        for (VectorEncodings.Opcode o : opcodes) {
            for (int i = 0; i < SINGLES * differential.factor; i++) {
                Differential.Case c = start(random);
                c.instructions.add(VectorEncodings.random(o, random));
                differential.check(c);
            }
        }
        assertTrue(opcodes.size() > 300, "only " + opcodes.size() + " opcodes");
    }

    @Test
    void sequencesAgreeWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 1);
        for (int i = 0; i < SEQUENCES * differential.factor; i++) {
            Differential.Case c = start(random);
            int length = 2 + random.nextInt(LONGEST - 1);
            for (int n = 0; n < length; n++) {
                c.instructions.add(VectorEncodings.random(opcodes.get(random.nextInt(opcodes.size())), random));
            }
            differential.check(c);
        }
    }

    @Test
    void gathersAgreeWithTheHost() {
        assumeTrue(avx, "needs a host processor with AVX2");
        SplittableRandom random = new SplittableRandom(differential.seed + 2);
        for (int i = 0; i < 500 * differential.factor; i++) {
            Differential.Case c = start(random);
            MemorySegment image = c.image();
            for (int r = 0; r < 16; r++) {
                // Indices small enough for the data page at any scale.
                long low = random.nextInt(32) | (long) random.nextInt(32) << 32;
                long high = random.nextInt(32) | (long) random.nextInt(32) << 32;
                boolean narrow = random.nextInt(2) == 0;
                image.set(LONG, 160 + 16L * r, narrow ? low : low & 31);
                image.set(LONG, 168 + 16L * r, narrow ? high : high & 31);
                image.set(LONG, 576 + 16L * r, narrow ? high : high & 31);
                image.set(LONG, 584 + 16L * r, narrow ? low : low & 31);
            }
            boolean quadIndex = random.nextInt(2) == 0;
            int mask = 8 + random.nextInt(4);
            for (int w = 0; w < 4; w++) {
                image.set(LONG, (w < 2 ? 160 : 560) + 16L * mask + 8L * w, random.nextLong());
            }
            int index = random.nextInt(8);
            if (quadIndex) {
                for (int w = 0; w < 4; w++) {
                    image.set(LONG, (w < 2 ? 160 : 560) + 16L * index + 8L * w, random.nextInt(32));
                }
            }
            int scale = random.nextInt(4);
            int destination = 8 + 4 + random.nextInt(4);
            c.instructions.add(new byte[] {
                (byte) 0xc4,
                (byte) 0x62,
                (byte) ((random.nextInt(2) << 7) | (~mask & 15) << 3 | random.nextInt(2) << 2 | 1),
                (byte) (0x90 + random.nextInt(2) * 2 + (quadIndex ? 1 : 0)),
                (byte) (0x04 | (destination & 7) << 3),
                (byte) (scale << 6 | index << 3 | Cpu.RDI)
            });
            differential.check(c);
        }
    }

    @Test
    void approximationsAreAsCloseAsDocumented() {
        SplittableRandom random = new SplittableRandom(differential.seed + 3);
        SoftProcessor soft = differential.soft;
        byte[] rcpps = {0x0f, 0x53, (byte) 0xc1};
        byte[] rsqrtps = {0x0f, 0x52, (byte) 0xc1};
        for (int i = 0; i < 2_000; i++) {
            float x = Float.intBitsToFloat(0x0100_0000 + random.nextInt(0x7d00_0000));
            soft.cpu.fpu.ymm[4] = Float.floatToRawIntBits(x);
            soft.execute(rcpps);
            float r = Float.intBitsToFloat((int) soft.cpu.fpu.ymm[0]);
            assertEquals(1.0, (double) r * x, 1.5 / 4096, () -> "rcpps of " + x);
            soft.execute(rsqrtps);
            float s = Float.intBitsToFloat((int) soft.cpu.fpu.ymm[0]);
            assertEquals(1.0, s * Math.sqrt(x), 1.5 / 4096, () -> "rsqrtps of " + x);
        }
    }

    @Test
    void specialOperandsOfApproximationsAgreeWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 4);
        int[] specials = {
            0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0xff80_0001, 1, 0x807f_ffff, 0xff7f_ffff, 0xbf80_0000
        };
        for (int i = 0; i < 200; i++) {
            Differential.Case c = start(random);
            boolean root = random.nextInt(2) == 0;
            for (int w = 0; w < 4; w++) {
                int v = specials[random.nextInt(specials.length)];
                // The reciprocal of an ordinary number may differ in its last bits.
                c.image().set(INT, 176 + 4L * w, !root && v == 0xbf80_0000 ? 0 : v);
            }
            c.instructions.add(new byte[] {0x0f, (byte) (root ? 0x52 : 0x53), (byte) 0xc1});
            if (!root) {
                for (int w = 0; w < 4; w++) {
                    if (c.image().get(INT, 176 + 4L * w) == 0xff7f_ffff) {
                        c.image().set(INT, 176 + 4L * w, 0);
                    }
                }
            }
            differential.check(c);
        }
    }
}
