package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_cpuid_entry2}: one CPUID leaf. Source: linux/kvm.h, asm/kvm.h. */
final class KvmCpuidEntry2 {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_INT.withName("function"),
                    ValueLayout.JAVA_INT.withName("index"),
                    ValueLayout.JAVA_INT.withName("flags"),
                    ValueLayout.JAVA_INT.withName("eax"),
                    ValueLayout.JAVA_INT.withName("ebx"),
                    ValueLayout.JAVA_INT.withName("ecx"),
                    ValueLayout.JAVA_INT.withName("edx"),
                    MemoryLayout.sequenceLayout(3, ValueLayout.JAVA_INT).withName("padding"))
            .withName("kvm_cpuid_entry2");
    static final long SIZE = Layouts.checked(LAYOUT, 40);

    private static final long FUNCTION = LAYOUT.byteOffset(PathElement.groupElement("function"));
    private static final long INDEX = LAYOUT.byteOffset(PathElement.groupElement("index"));
    private static final long FLAGS = LAYOUT.byteOffset(PathElement.groupElement("flags"));
    private static final long EAX = LAYOUT.byteOffset(PathElement.groupElement("eax"));
    private static final long EBX = LAYOUT.byteOffset(PathElement.groupElement("ebx"));
    private static final long ECX = LAYOUT.byteOffset(PathElement.groupElement("ecx"));
    private static final long EDX = LAYOUT.byteOffset(PathElement.groupElement("edx"));

    private KvmCpuidEntry2() {}

    static int function(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + FUNCTION);
    }

    static void function(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FUNCTION, value);
    }

    static int index(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + INDEX);
    }

    static void index(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + INDEX, value);
    }

    static int flags(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + FLAGS);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + FLAGS, value);
    }

    static int eax(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + EAX);
    }

    static void eax(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + EAX, value);
    }

    static int ebx(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + EBX);
    }

    static void ebx(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + EBX, value);
    }

    static int ecx(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + ECX);
    }

    static void ecx(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + ECX, value);
    }

    static int edx(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_INT, offset + EDX);
    }

    static void edx(MemorySegment segment, long offset, int value) {
        segment.set(ValueLayout.JAVA_INT, offset + EDX, value);
    }
}
