package org.benchtop.spi.cpu;

/**
 * How often the instructions of one opcode were executed.
 *
 * @param example the bytes of one of them, for a disassembler
 * @param bits of its code segment: 16, 32 or 64
 */
public record InstructionCount(byte[] example, int bits, long count) {}
