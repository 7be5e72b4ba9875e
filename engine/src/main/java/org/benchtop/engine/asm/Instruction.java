package org.benchtop.engine.asm;

import java.util.OptionalLong;

/**
 * One decoded instruction.
 *
 * @param address of its first byte
 * @param bytes 1 to 15; for what is no instruction, one byte
 * @param mnemonic with prefixes that are shown, such as {@code lock cmpxchg}
 * @param operands Intel syntax, without spaces; may be empty
 * @param target where a jump or call goes, or what a RIP-relative operand addresses
 * @param valid whether the bytes are an instruction
 */
public record Instruction(
        long address, byte[] bytes, String mnemonic, String operands, OptionalLong target, boolean valid) {
    /** How many bytes it has. */
    public int length() {
        return bytes.length;
    }

    /** Mnemonic and operands. */
    public String text() {
        return operands.isEmpty() ? mnemonic : mnemonic + " " + operands;
    }

    @Override
    public String toString() {
        return text();
    }
}
