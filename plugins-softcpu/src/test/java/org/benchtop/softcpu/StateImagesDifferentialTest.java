package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The images of FSTENV, FSAVE, FXSAVE and XSAVE and of their counterparts are what the host's processor makes of them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StateImagesDifferentialTest {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;

    /** Where in the data the images are. */
    private static final int AT = 64;

    private static final int CASES = 300;

    private Differential differential;

    @BeforeAll
    void open() {
        assumeTrue(HostVectorUnit.missing().isEmpty(), HostVectorUnit::missing);
        assumeTrue(HostVectorUnit.features().contains("avx"), "needs a host processor with AVX");
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
        Differential.mxcsr(c, random);
        return c;
    }

    /** An instruction with the operand {@code [rdi + AT]}. */
    private static byte[] insn(int extension, int... opcode) {
        byte[] bytes = new byte[opcode.length + 5];
        for (int i = 0; i < opcode.length; i++) {
            bytes[i] = (byte) opcode[i];
        }
        bytes[opcode.length] = (byte) (0x87 | extension << 3);
        bytes[opcode.length + 1] = AT;
        return bytes;
    }

    @Test
    void fnstenvAgreesWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed);
        for (int i = 0; i < CASES; i++) {
            Differential.Case c = start(random);
            c.instructions.add(insn(6, 0xd9));
            c.ignoredData = new int[] {AT + 12, 16};
            differential.check(c);
            Differential.Case small = start(random);
            small.instructions.add(insn(6, 0x66, 0xd9));
            small.ignoredData = new int[] {AT + 6, 8};
            differential.check(small);
        }
    }

    @Test
    void fnsaveAgreesWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 1);
        for (int i = 0; i < CASES; i++) {
            Differential.Case c = start(random);
            c.instructions.add(insn(6, 0xdd));
            c.ignoredData = new int[] {AT + 12, 16};
            differential.check(c);
        }
    }

    @Test
    void fldenvAndFrstorAgreeWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 2);
        for (int i = 0; i < CASES; i++) {
            Differential.Case c = start(random);
            MemorySegment data = MemorySegment.ofArray(c.data);
            data.set(INT, AT, random.nextInt());
            data.set(INT, AT + 4L, random.nextInt());
            data.set(INT, AT + 8L, random.nextInt());
            c.instructions.add(insn(4, random.nextInt(2) == 0 ? 0xd9 : 0xdd));
            differential.check(c);
        }
    }

    @Test
    void fxsaveAgreesWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 3);
        for (int i = 0; i < CASES; i++) {
            Differential.Case c = start(random);
            c.instructions.add(random.nextInt(2) == 0 ? insn(0, 0x0f, 0xae) : insn(0, 0x48, 0x0f, 0xae));
            // FOP, FIP and FDP; and where the host keeps its own mask of MXCSR.
            c.ignoredData = new int[] {AT + 6, 18, AT + 28, 4};
            differential.check(c);
        }
    }

    @Test
    void fxrstorAgreesWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 4);
        for (int i = 0; i < CASES; i++) {
            Differential.Case c = start(random);
            MemorySegment data = MemorySegment.ofArray(c.data);
            data.set(INT, AT, random.nextInt());
            data.set(INT, AT + 4L, random.nextInt() & 0xff);
            // Every eighth has a reserved bit set.
            data.set(INT, AT + 24L, random.nextInt() & 0xffff | (random.nextInt(8) == 0 ? 0x1_0000 : 0));
            c.instructions.add(insn(1, 0x48, 0x0f, 0xae));
            differential.check(c);
        }
    }

    @Test
    void xsaveAndXrstorAgreeWithTheHost() {
        SplittableRandom random = new SplittableRandom(differential.seed + 5);
        List<byte[]> forms = List.of(
                insn(4, 0x48, 0x0f, 0xae),
                insn(6, 0x48, 0x0f, 0xae),
                insn(4, 0x48, 0x0f, 0xc7),
                insn(5, 0x48, 0x0f, 0xae));
        for (int i = 0; i < 4 * CASES; i++) {
            byte[] form = forms.get(i % 4);
            Differential.Case c = start(random);
            c.registers[Cpu.RAX] = random.nextInt(8);
            c.registers[Cpu.RDX] = 0;
            if (random.nextInt(4) == 0) {
                // The initial configuration of a component is not written by the optimised forms.
                c.image().set(LONG, 512, random.nextInt(8));
            }
            MemorySegment data = MemorySegment.ofArray(c.data);
            header(data, random);
            c.instructions.add(form);
            c.ignoredData = new int[] {AT + 6, 18, AT + 28, 4};
            differential.check(c);
        }
    }

    private static void header(MemorySegment data, SplittableRandom random) {
        for (int i = 8; i < 64; i += 8) {
            data.set(LONG, AT + 512L + i, 0);
        }
        data.set(LONG, AT + 512L, random.nextInt(8));
        data.set(INT, AT + 24L, random.nextInt() & 0xffff);
        switch (random.nextInt(8)) {
            case 0 -> data.set(LONG, AT + 520L, Long.MIN_VALUE | random.nextInt(8));
            case 1 -> data.set(LONG, AT + 520L + 8L * random.nextInt(7), 1);
            default -> {
                // the standard format
            }
        }
    }
}
