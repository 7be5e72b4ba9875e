package org.benchtop.spi.cpu;

/**
 * A segment register with its hidden part (Intel SDM vol. 3, 3.4.5).
 *
 * @param limit in bytes, after applying granularity
 * @param type the 4-bit type field
 * @param dpl descriptor privilege level
 * @param db default operation size (D/B)
 * @param system false for code and data (the S bit set), true for system segments
 * @param longMode the L bit
 */
public record SegmentRegister(
        int selector,
        long base,
        int limit,
        int type,
        boolean present,
        int dpl,
        boolean db,
        boolean system,
        boolean longMode,
        boolean granularity,
        boolean available,
        boolean unusable) {
    /** A flat 4 GiB code segment: 64-bit if {@code longMode}, else 32-bit. */
    public static SegmentRegister flatCode(int selector, boolean longMode) {
        return new SegmentRegister(selector, 0, -1, 0xb, true, 0, !longMode, false, longMode, true, false, false);
    }

    /** A flat 4 GiB data segment. */
    public static SegmentRegister flatData(int selector) {
        return new SegmentRegister(selector, 0, -1, 0x3, true, 0, true, false, false, true, false, false);
    }

    /** A real-mode segment. */
    public static SegmentRegister real(int selector, long base, boolean code) {
        return new SegmentRegister(
                selector, base, 0xffff, code ? 0xb : 0x3, true, 0, false, false, false, false, false, false);
    }
}
