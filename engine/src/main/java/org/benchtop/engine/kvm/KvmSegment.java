package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

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

    private static final VarHandle BASE = LAYOUT.varHandle(PathElement.groupElement("base"));
    private static final VarHandle LIMIT = LAYOUT.varHandle(PathElement.groupElement("limit"));
    private static final VarHandle SELECTOR = LAYOUT.varHandle(PathElement.groupElement("selector"));
    private static final VarHandle TYPE = LAYOUT.varHandle(PathElement.groupElement("type"));
    private static final VarHandle PRESENT = LAYOUT.varHandle(PathElement.groupElement("present"));
    private static final VarHandle DPL = LAYOUT.varHandle(PathElement.groupElement("dpl"));
    private static final VarHandle DB = LAYOUT.varHandle(PathElement.groupElement("db"));
    private static final VarHandle S = LAYOUT.varHandle(PathElement.groupElement("s"));
    private static final VarHandle L = LAYOUT.varHandle(PathElement.groupElement("l"));
    private static final VarHandle G = LAYOUT.varHandle(PathElement.groupElement("g"));
    private static final VarHandle AVL = LAYOUT.varHandle(PathElement.groupElement("avl"));
    private static final VarHandle UNUSABLE = LAYOUT.varHandle(PathElement.groupElement("unusable"));

    private KvmSegment() {}

    static long base(MemorySegment segment, long offset) {
        return (long) BASE.get(segment, offset);
    }

    static void base(MemorySegment segment, long offset, long value) {
        BASE.set(segment, offset, value);
    }

    static int limit(MemorySegment segment, long offset) {
        return (int) LIMIT.get(segment, offset);
    }

    static void limit(MemorySegment segment, long offset, int value) {
        LIMIT.set(segment, offset, value);
    }

    static int selector(MemorySegment segment, long offset) {
        return Short.toUnsignedInt((short) SELECTOR.get(segment, offset));
    }

    static void selector(MemorySegment segment, long offset, int value) {
        SELECTOR.set(segment, offset, (short) value);
    }

    static int type(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) TYPE.get(segment, offset));
    }

    static void type(MemorySegment segment, long offset, int value) {
        TYPE.set(segment, offset, (byte) value);
    }

    static int present(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) PRESENT.get(segment, offset));
    }

    static void present(MemorySegment segment, long offset, int value) {
        PRESENT.set(segment, offset, (byte) value);
    }

    static int dpl(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) DPL.get(segment, offset));
    }

    static void dpl(MemorySegment segment, long offset, int value) {
        DPL.set(segment, offset, (byte) value);
    }

    static int db(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) DB.get(segment, offset));
    }

    static void db(MemorySegment segment, long offset, int value) {
        DB.set(segment, offset, (byte) value);
    }

    static int s(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) S.get(segment, offset));
    }

    static void s(MemorySegment segment, long offset, int value) {
        S.set(segment, offset, (byte) value);
    }

    static int l(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) L.get(segment, offset));
    }

    static void l(MemorySegment segment, long offset, int value) {
        L.set(segment, offset, (byte) value);
    }

    static int g(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) G.get(segment, offset));
    }

    static void g(MemorySegment segment, long offset, int value) {
        G.set(segment, offset, (byte) value);
    }

    static int avl(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) AVL.get(segment, offset));
    }

    static void avl(MemorySegment segment, long offset, int value) {
        AVL.set(segment, offset, (byte) value);
    }

    static int unusable(MemorySegment segment, long offset) {
        return Byte.toUnsignedInt((byte) UNUSABLE.get(segment, offset));
    }

    static void unusable(MemorySegment segment, long offset, int value) {
        UNUSABLE.set(segment, offset, (byte) value);
    }
}
