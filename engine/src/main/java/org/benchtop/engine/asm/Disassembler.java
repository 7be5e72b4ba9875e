package org.benchtop.engine.asm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.benchtop.spi.BenchtopException;

/** Decodes x86 machine code of all three modes to Intel syntax, as {@code objdump -M intel} writes it. Thread-safe. */
public final class Disassembler {
    /** The length of the longest instruction. */
    public static final int MAX_LENGTH = 15;

    private Disassembler() {}

    /**
     * Decodes one instruction.
     *
     * @param code machine code; a byte sequence that ends within an instruction is none
     * @param offset of the first byte
     * @param address of that byte, for relative operands
     * @param bits 16, 32 or 64
     */
    public static Instruction decode(byte[] code, int offset, long address, int bits) {
        if (bits != 16 && bits != 32 && bits != 64) {
            throw BenchtopException.config("disassembler: mode of " + bits + " bits (allowed: 16, 32, 64)");
        }
        if (offset < 0 || offset >= code.length) {
            throw BenchtopException.config("disassembler: offset " + offset + " of " + code.length + " bytes");
        }
        try {
            return new Decoder(code, offset, address, bits).decode();
        } catch (Decoder.NoInstruction e) {
            return new Instruction(
                    address, Arrays.copyOfRange(code, offset, offset + 1), "(bad)", "", OptionalLong.empty(), false);
        }
    }

    /** Decodes up to so many instructions, one after the other; fewer if the code ends. */
    public static List<Instruction> decodeAll(byte[] code, long address, int bits, int count) {
        List<Instruction> list = new ArrayList<>();
        int at = 0;
        while (at < code.length && list.size() < count) {
            Instruction instruction = decode(code, at, address + at, bits);
            if (!instruction.valid() && code.length - at < MAX_LENGTH) {
                break;
            }
            list.add(instruction);
            at += instruction.length();
        }
        return list;
    }
}
