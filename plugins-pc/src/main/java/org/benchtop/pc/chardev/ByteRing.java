package org.benchtop.pc.chardev;

/** A bounded FIFO of bytes; not thread-safe. */
final class ByteRing {
    private final byte[] data;
    private int head;
    private int count;

    ByteRing(int capacityBytes) {
        data = new byte[capacityBytes];
    }

    int capacity() {
        return data.length;
    }

    int count() {
        return count;
    }

    int free() {
        return data.length - count;
    }

    boolean offer(byte value) {
        if (count == data.length) {
            return false;
        }
        data[(head + count) % data.length] = value;
        count++;
        return true;
    }

    /** Appends what fits and returns how much that was. */
    int offer(byte[] source, int offset, int lengthBytes) {
        int taken = Math.min(lengthBytes, free());
        int tail = (head + count) % data.length;
        int first = Math.min(taken, data.length - tail);
        System.arraycopy(source, offset, data, tail, first);
        System.arraycopy(source, offset + first, data, 0, taken - first);
        count += taken;
        return taken;
    }

    /** Copies the oldest bytes without taking them; returns how many. */
    int peek(byte[] destination, int maxBytes) {
        int n = Math.min(Math.min(maxBytes, destination.length), count);
        int first = Math.min(n, data.length - head);
        System.arraycopy(data, head, destination, 0, first);
        System.arraycopy(data, 0, destination, first, n - first);
        return n;
    }

    /** Forgets the oldest bytes. */
    void skip(int bytes) {
        head = (head + bytes) % data.length;
        count -= bytes;
    }

    void clear() {
        head = 0;
        count = 0;
    }
}
