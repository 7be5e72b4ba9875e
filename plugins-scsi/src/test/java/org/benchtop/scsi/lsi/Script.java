package org.benchtop.scsi.lsi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Writes SCRIPTS programs; addresses are absolute. */
final class Script {
    static final int ATN = 1 << 3;
    static final int ACK = 1 << 6;
    static final int CARRY = 1 << 10;

    private final int base;
    private final List<Integer> words = new ArrayList<>();

    Script(int base) {
        this.base = base;
    }

    /** The address of the next instruction. */
    int here() {
        return base + 4 * words.size();
    }

    Script raw(int first, int second) {
        words.add(first);
        words.add(second);
        return this;
    }

    /** An instruction of three words. */
    Script raw(int first, int second, int third) {
        raw(first, second);
        words.add(third);
        return this;
    }

    Script move(int phase, int bytes, long address) {
        return raw(phase << 24 | bytes, (int) address);
    }

    Script moveTable(int phase, int offset) {
        return raw(0x1000_0000 | phase << 24, offset);
    }

    Script moveIndirect(int phase, int bytes, long pointer) {
        return raw(0x2000_0000 | phase << 24 | bytes, (int) pointer);
    }

    Script select(int target, int alternate) {
        return raw(0x4100_0000 | target << 16, alternate);
    }

    Script waitDisconnect() {
        return raw(0x4800_0000, 0);
    }

    Script waitReselect(int alternate) {
        return raw(0x5000_0000, alternate);
    }

    Script set(int flags) {
        return raw(0x5800_0000 | flags, 0);
    }

    Script clear(int flags) {
        return raw(0x6000_0000 | flags, 0);
    }

    /** register = register op data. */
    Script modify(int register, int operator, int data) {
        return raw(0x7800_0000 | operator << 24 | (register & 0x7f) << 16 | data << 8 | register & 0x80, 0);
    }

    Script load(int register, int bytes, long address) {
        return raw(0xe100_0000 | register << 16 | bytes, (int) address);
    }

    Script store(int register, int bytes, long address) {
        return raw(0xe000_0000 | register << 16 | bytes, (int) address);
    }

    Script loadRelative(int register, int bytes, int offset) {
        return raw(0xf100_0000 | register << 16 | bytes, offset);
    }

    Script jump(int address) {
        return raw(0x8008_0000, address);
    }

    Script call(int address) {
        return raw(0x8808_0000, address);
    }

    Script returns() {
        return raw(0x9008_0000, 0);
    }

    /** JUMP to an address when the next phase is, or is not, {@code phase}. */
    Script jumpWhen(boolean is, int phase, int address) {
        return raw(0x8003_0000 | (is ? 1 << 19 : 0) | phase << 24, address);
    }

    /** JUMP if the first byte received is {@code value}. */
    Script jumpIfByte(int value, int mask, int address) {
        return raw(0x800c_0000 | (~mask & 0xff) << 8 | value, address);
    }

    Script interrupt(int vector) {
        return raw(0x9808_0000, vector);
    }

    Script interruptOnTheFly() {
        return raw(0x9818_0000, 0);
    }

    byte[] bytes() {
        ByteBuffer buffer = ByteBuffer.allocate(4 * words.size()).order(ByteOrder.LITTLE_ENDIAN);
        words.forEach(buffer::putInt);
        return buffer.array();
    }
}
