package org.benchtop.engine.linux;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct iovec}. Source: readv(2). */
final class Iovec {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("iov_base"), ValueLayout.JAVA_LONG.withName("iov_len"));
    static final int BYTES = 16;
    /** The most elements that one call takes (UIO_MAXIOV). */
    static final int MAX_COUNT = 1024;

    private static final VarHandle BASE = LAYOUT.varHandle(PathElement.groupElement("iov_base"));
    private static final VarHandle LENGTH = LAYOUT.varHandle(PathElement.groupElement("iov_len"));

    static {
        assert LAYOUT.byteSize() == BYTES;
    }

    private Iovec() {}

    static void set(MemorySegment array, int index, long address, long lengthBytes) {
        long offset = (long) index * BYTES;
        BASE.set(array, offset, address);
        LENGTH.set(array, offset, lengthBytes);
    }
}
