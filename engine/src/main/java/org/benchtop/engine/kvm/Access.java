package org.benchtop.engine.kvm;

import org.benchtop.spi.cpu.CpuHost;

/** Splits what a vCPU does into the sizes that {@link CpuHost} takes. */
final class Access {
    private Access() {}

    /** The low {@code size} bytes, zero-extended. */
    static long truncated(long value, int size) {
        return size >= Long.BYTES ? value : value & ((1L << (size * Byte.SIZE)) - 1);
    }

    private static boolean isPlain(int size) {
        return size == 4 || size == 1 || size == 2 || size == 8;
    }

    static void mmioWrite(CpuHost host, int vcpu, long gpa, int size, long value) {
        if (isPlain(size)) {
            host.mmioWrite(vcpu, gpa, size, truncated(value, size));
            return;
        }
        for (int done = 0; done < size; ) {
            int part = Integer.highestOneBit(size - done);
            host.mmioWrite(vcpu, gpa + done, part, truncated(value >>> (done * Byte.SIZE), part));
            done += part;
        }
    }

    static long mmioRead(CpuHost host, int vcpu, long gpa, int size) {
        if (isPlain(size)) {
            return host.mmioRead(vcpu, gpa, size);
        }
        long value = 0;
        for (int done = 0; done < size; ) {
            int part = Integer.highestOneBit(size - done);
            value |= truncated(host.mmioRead(vcpu, gpa + done, part), part) << (done * Byte.SIZE);
            done += part;
        }
        return value;
    }
}
