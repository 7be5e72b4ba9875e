package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;

/** Checks that a layout is what the kernel's header says. */
final class Layouts {
    private Layouts() {}

    /** The layout's size, which must be the size that C gives to the struct. */
    static long checked(MemoryLayout layout, long expectedBytes) {
        if (layout.byteSize() != expectedBytes) {
            throw new AssertionError(
                    "layout size: " + layout + " has " + layout.byteSize() + " bytes, expected " + expectedBytes);
        }
        return expectedBytes;
    }
}
