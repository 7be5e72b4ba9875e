package org.benchtop.pc.acpi;

import java.io.ByteArrayOutputStream;

/** Builds a resource template (ACPI 6.4, 6.4). */
final class ResourceTemplate {
    private static final int PRODUCER_FIXED_POSITIVE = 0x0c;
    private static final int MEMORY_CACHEABLE_WRITABLE = 0x03;
    private static final int MEMORY_NON_CACHEABLE_WRITABLE = 0x01;
    private static final int IO_ENTIRE_RANGE = 0x03;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    /** I/O port descriptor, 16-bit decode. */
    ResourceTemplate io(int base, int count) {
        out.write(0x47);
        out.write(0x01);
        little(base, 2);
        little(base, 2);
        out.write(1);
        out.write(count);
        return this;
    }

    /** IRQ descriptor without flags: edge, active high. */
    ResourceTemplate irq(int irq) {
        out.write(0x22);
        little(1L << irq, 2);
        return this;
    }

    /** Extended interrupt descriptor: level, active high, shared. */
    ResourceTemplate levelInterrupts(int... gsis) {
        out.write(0x89);
        little(2 + 4L * gsis.length, 2);
        out.write(0x09);
        out.write(gsis.length);
        for (int gsi : gsis) {
            little(gsi, 4);
        }
        return this;
    }

    /** Bus numbers that a bridge produces. */
    ResourceTemplate busNumbers(int first, int last) {
        out.write(0x88);
        little(0x0d, 2);
        out.write(2);
        out.write(PRODUCER_FIXED_POSITIVE);
        out.write(0);
        words(first, last, 2);
        return this;
    }

    /** Ports that a bridge produces. */
    ResourceTemplate ioWindow(int first, int last) {
        out.write(0x88);
        little(0x0d, 2);
        out.write(1);
        out.write(PRODUCER_FIXED_POSITIVE);
        out.write(IO_ENTIRE_RANGE);
        words(first, last, 2);
        return this;
    }

    /** 32-bit addresses that a bridge produces. */
    ResourceTemplate memoryWindow32(long first, long last) {
        out.write(0x87);
        little(0x17, 2);
        out.write(0);
        out.write(PRODUCER_FIXED_POSITIVE);
        out.write(MEMORY_NON_CACHEABLE_WRITABLE);
        words(first, last, 4);
        return this;
    }

    /** 64-bit addresses that a bridge produces. */
    ResourceTemplate memoryWindow64(long first, long last) {
        out.write(0x8a);
        little(0x2b, 2);
        out.write(0);
        out.write(PRODUCER_FIXED_POSITIVE);
        out.write(MEMORY_CACHEABLE_WRITABLE);
        words(first, last, 8);
        return this;
    }

    /** Granularity, minimum, maximum, translation, length. */
    private void words(long first, long last, int size) {
        little(0, size);
        little(first, size);
        little(last, size);
        little(0, size);
        little(last - first + 1, size);
    }

    private void little(long value, int size) {
        for (int i = 0; i < size; i++) {
            out.write((int) (value >>> 8 * i));
        }
    }

    /** The template as an AML buffer. */
    byte[] build() {
        byte[] descriptors = out.toByteArray();
        byte[] all = new byte[descriptors.length + 2];
        System.arraycopy(descriptors, 0, all, 0, descriptors.length);
        all[descriptors.length] = 0x79;
        return Aml.buffer(all);
    }
}
