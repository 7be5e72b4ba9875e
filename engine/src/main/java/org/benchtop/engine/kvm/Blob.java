package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Kernel structures that are saved and restored without a look inside. */
final class Blob {
    private Blob() {}

    /**
     * A native copy.
     *
     * @throws BenchtopException if saved state has another size, because it comes from another kernel or is damaged
     */
    static MemorySegment of(Arena arena, byte[] content, long sizeBytes, String struct) {
        if (content.length != sizeBytes) {
            throw BenchtopException.of(
                    ErrorKind.HOST,
                    "saved state does not fit this host's KVM: " + struct + " has " + content.length
                            + " bytes, expected " + sizeBytes);
        }
        MemorySegment copy = arena.allocate(sizeBytes, Long.BYTES);
        MemorySegment.copy(MemorySegment.ofArray(content), 0, copy, 0, sizeBytes);
        return copy;
    }
}
