package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_segment}: a segment register with its hidden part. Source: linux/kvm.h, asm/kvm.h. */
final class KvmSegment {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_LONG.withName("base"),
                    ValueLayout.JAVA_INT.withName("limit"),
                    ValueLayout.JAVA_SHORT.withName("selector"),
                    ValueLayout.JAVA_BYTE.withName("type"),
                    ValueLayout.JAVA_BYTE.withName("present"),
                    ValueLayout.JAVA_BYTE.withName("dpl"),
                    ValueLayout.JAVA_BYTE.withName("db"),
                    ValueLayout.JAVA_BYTE.withName("s"),
                    ValueLayout.JAVA_BYTE.withName("l"),
                    ValueLayout.JAVA_BYTE.withName("g"),
                    ValueLayout.JAVA_BYTE.withName("avl"),
                    ValueLayout.JAVA_BYTE.withName("unusable"),
                    ValueLayout.JAVA_BYTE.withName("padding"))
            .withName("kvm_segment");
    static final long SIZE = Layouts.checked(LAYOUT, 24);

    private static final long BASE = LAYOUT.byteOffset(PathElement.groupElement("base"));
    private static final long LIMIT = LAYOUT.byteOffset(PathElement.groupElement("limit"));
    private static final long SELECTOR = LAYOUT.byteOffset(PathElement.groupElement("selector"));
    private static final long TYPE = LAYOUT.byteOffset(PathElement.groupElement("type"));
    private static final long PRESENT = LAYOUT.byteOffset(PathElement.groupElement("present"));
    private static final long DPL = LAYOUT.byteOffset(PathElement.groupElement("dpl"));
    private static final long DB = LAYOUT.byteOffset(PathElement.groupElement("db"));
    private static final long S = LAYOUT.byteOffset(PathElement.groupElement("s"));
    private static final long L = LAYOUT.byteOffset(PathElement.groupElement("l"));
    private static final long G = LAYOUT.byteOffset(PathElement.groupElement("g"));
    private static final long AVL = LAYOUT.byteOffset(PathElement.groupElement("avl"));
    private static final long UNUSABLE = LAYOUT.byteOffset(PathElement.groupElement("unusable"));

    private KvmSegment() {}

    static long base(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + BASE);
    }

    static void base(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + BASE, value);
    }

    static int limit(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + LIMIT);
    }

    static void limit(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + LIMIT, value);
    }

    static int selector(MemorySegment segment, long offset) {
        return Short.toUnsignedInt(segment.get(ValueLayout.JAVA_SHORT, offset + SELECTOR));
    }

    static void selector(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_SHORT, offset + SELECTOR, (short) value);
    }

    static int type(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + TYPE));
    }

    static void type(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + TYPE, (byte) value);
    }

    static int present(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + PRESENT));
    }

    static void present(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + PRESENT, (byte) value);
    }

    static int dpl(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + DPL));
    }

    static void dpl(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + DPL, (byte) value);
    }

    static int db(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + DB));
    }

    static void db(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + DB, (byte) value);
    }

    static int s(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + S));
    }

    static void s(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + S, (byte) value);
    }

    static int l(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + L));
    }

    static void l(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + L, (byte) value);
    }

    static int g(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + G));
    }

    static void g(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + G, (byte) value);
    }

    static int avl(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + AVL));
    }

    static void avl(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + AVL, (byte) value);
    }

    static int unusable(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt(segment.get(ValueLayout.JAVA_BYTE, offset + UNUSABLE));
    }

    static void unusable(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_BYTE, offset + UNUSABLE, (byte) value);
    }
}
