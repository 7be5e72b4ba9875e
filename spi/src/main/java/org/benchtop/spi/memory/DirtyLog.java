package org.benchtop.spi.memory;

/** Which 4 KiB pages of RAM have been written since the last look. Thread-safe. */
public interface DirtyLog extends AutoCloseable {
    /** Calls back with each dirty range (page-aligned, ascending) and clears it. */
    void drain(RangeVisitor visitor);

    /** Stops tracking. */
    @Override
    void close();

    /** Receives one range. */
    @FunctionalInterface
    interface RangeVisitor {
        /** One range of pages. */
        void range(long gpa, long lengthBytes);
    }
}
