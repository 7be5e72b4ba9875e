package org.benchtop.pc.serial;

/** Received characters with their line errors; not thread-safe. */
final class ReceiveFifo {
    static final int DEPTH = 16;

    private final byte[] data = new byte[DEPTH];
    private final byte[] errors = new byte[DEPTH];
    private int head;
    private int count;
    private int bad;

    int count() {
        return count;
    }

    /** Appends a character; there must be room. */
    void add(byte value, int errorBits) {
        int at = head + count & DEPTH - 1;
        data[at] = value;
        errors[at] = (byte) errorBits;
        count++;
        if (errorBits != 0) {
            bad++;
        }
    }

    /** Replaces the newest character, as an unbuffered receiver does on overrun. */
    void replaceNewest(byte value, int errorBits) {
        int at = head + count - 1 & DEPTH - 1;
        if (errors[at] != 0) {
            bad--;
        }
        count--;
        add(value, errorBits);
    }

    /** Takes the oldest character; 0 if there is none. */
    byte take() {
        if (count == 0) {
            return 0;
        }
        forgetHeadErrors();
        byte value = data[head];
        head = head + 1 & DEPTH - 1;
        count--;
        return value;
    }

    byte peek() {
        return count == 0 ? 0 : data[head];
    }

    /** Line errors of the oldest character. */
    int headErrors() {
        return count == 0 ? 0 : errors[head];
    }

    void forgetHeadErrors() {
        if (count > 0 && errors[head] != 0) {
            errors[head] = 0;
            bad--;
        }
    }

    /** Whether any character in the FIFO has an error. */
    boolean anyBad() {
        return bad > 0;
    }

    void clear() {
        head = 0;
        count = 0;
        bad = 0;
    }

    byte[] dataCopy() {
        byte[] copy = new byte[count];
        for (int i = 0; i < count; i++) {
            copy[i] = data[head + i & DEPTH - 1];
        }
        return copy;
    }

    byte[] errorsCopy() {
        byte[] copy = new byte[count];
        for (int i = 0; i < count; i++) {
            copy[i] = errors[head + i & DEPTH - 1];
        }
        return copy;
    }

    void set(byte[] newData, byte[] newErrors) {
        clear();
        for (int i = 0; i < Math.min(DEPTH, Math.min(newData.length, newErrors.length)); i++) {
            add(newData[i], newErrors[i]);
        }
    }
}
