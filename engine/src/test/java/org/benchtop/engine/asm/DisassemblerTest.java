package org.benchtop.engine.asm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DisassemblerTest {
    /** What may be spelled differently from objdump, in parts of a thousand instructions. */
    private static final double OTHER_TEXTS = 0.002;

    private static final int INSTRUCTIONS = 40_000;

    @TempDir
    Path folder;

    private static String text(String hex, int bits) {
        return Disassembler.decode(HexFormat.of().parseHex(hex.replace(" ", "")), 0, 0x1000, bits)
                .text();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "64 | 48 89 e5 | mov rbp,rsp",
                "64 | 48 8b 44 d1 f8 | mov rax,QWORD PTR [rcx+rdx*8-0x8]",
                "64 | 65 48 8b 04 25 28 00 00 00 | mov rax,QWORD PTR gs:0x28",
                "64 | e8 fb ff ff ff | call 0x1000",
                "64 | 0f 05 | syscall",
                "64 | f0 0f b1 0a | lock cmpxchg DWORD PTR [rdx],ecx",
                "64 | 66 0f ef c0 | pxor xmm0,xmm0",
                "64 | c5 fe 6f 06 | vmovdqu ymm0,YMMWORD PTR [rsi]",
                "64 | f3 48 ab | rep stos QWORD PTR es:[rdi],rax",
                "64 | 0f 01 c1 | vmcall",
                "64 | 0f 22 d8 | mov cr3,rax",
                "64 | f3 0f 1e fa | endbr64",
                "64 | d9 c1 | fld st(1)",
                "32 | 8b 45 08 | mov eax,DWORD PTR [ebp+0x8]",
                "32 | 40 | inc eax",
                "16 | b8 34 12 | mov ax,0x1234",
                "16 | 8b 46 fe | mov ax,WORD PTR [bp-0x2]",
                "16 | ea 5b e0 00 f0 | jmp 0xf000:0xe05b",
                "16 | 66 b8 78 56 34 12 | mov eax,0x12345678",
            })
    void decodesKnownInstructions(int bits, String hex, String expected) {
        assertEquals(expected, text(hex, bits));
    }

    @Test
    void ripRelativeOperandTellsItsTarget() {
        Instruction lea = Disassembler.decode(HexFormat.of().parseHex("488d0510000000"), 0, 0x400000, 64);

        assertEquals(0x400017, lea.target().getAsLong());
        assertTrue(lea.text().endsWith("# 0x400017"), lea.text());
    }

    @Test
    void bytesThatAreNoInstructionAreOneByteLong() {
        Instruction bad = Disassembler.decode(new byte[] {0x06, 0, 0}, 0, 0, 64);

        assertFalse(bad.valid());
        assertEquals(1, bad.length());
    }

    @Test
    void truncatedInstructionIsNone() {
        assertFalse(
                Disassembler.decode(new byte[] {(byte) 0xe8, 0, 0}, 0, 0, 64).valid());
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32, 64})
    void anyBytesDecodeToSomethingOfSensibleLength(int bits) {
        Random random = new Random(7);
        byte[] code = new byte[1 << 16];
        random.nextBytes(code);

        for (int at = 0; at < code.length; at++) {
            Instruction instruction = Disassembler.decode(code, at, at, bits);
            assertTrue(instruction.length() >= 1 && instruction.length() <= Disassembler.MAX_LENGTH);
            assertFalse(instruction.text().contains("%"), instruction.text());
        }
    }

    private static void agrees(List<Objdump.Line> lines, int bits) {
        assumeTrue(!lines.isEmpty(), "objdump has shown no code");

        Objdump.Result result = Objdump.compare(lines, bits);

        assertEquals(0, result.wrongLengths(), () -> result.examples().toString());
        assertTrue(
                result.instructions() - result.sameTexts() <= OTHER_TEXTS * result.instructions(),
                () -> result.sameTexts() + " of " + result.instructions() + " texts agree: " + result.examples());
    }

    @ParameterizedTest
    @ValueSource(strings = {"/bin/busybox", "/lib/x86_64-linux-gnu/libc.so.6"})
    void agreesWithObjdumpOnRealPrograms(String program) throws IOException, InterruptedException {
        assumeTrue(Objdump.isInstalled(), "needs objdump (binutils)");
        assumeTrue(Files.exists(Path.of(program)), "needs " + program);

        agrees(Objdump.disassemble(INSTRUCTIONS, "-d", "-j", ".text", program), 64);
    }

    @Test
    void agreesWithObjdumpOnRealModeCode() throws IOException, InterruptedException {
        assumeTrue(Objdump.isInstalled(), "needs objdump (binutils)");
        Path firmware = Path.of("/usr/share/seabios/bios-256k.bin");
        assumeTrue(Files.exists(firmware), "needs " + firmware);
        byte[] image = Files.readAllBytes(firmware);
        // The part of SeaBIOS that runs in real mode ends where the reset vector is.
        Path part = folder.resolve("real-mode.bin");
        Files.write(part, java.util.Arrays.copyOfRange(image, image.length - 0x2000, image.length - 0x1000));

        List<Objdump.Line> lines =
                Objdump.disassemble(INSTRUCTIONS, "-D", "-b", "binary", "-m", "i8086", part.toString());

        Objdump.Result result = Objdump.compare(
                lines.stream().filter(line -> !line.text().contains("(bad)")).toList(), 16);
        assertTrue(
                result.sameTexts() >= 0.95 * result.instructions(),
                () -> result.sameTexts() + " of " + result.instructions() + ": " + result.examples());
    }
}
