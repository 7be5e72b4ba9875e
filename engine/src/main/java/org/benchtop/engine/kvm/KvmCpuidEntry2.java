package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

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

    private static final VarHandle FUNCTION = LAYOUT.varHandle(PathElement.groupElement("function"));
    private static final VarHandle INDEX = LAYOUT.varHandle(PathElement.groupElement("index"));
    private static final VarHandle FLAGS = LAYOUT.varHandle(PathElement.groupElement("flags"));
    private static final VarHandle EAX = LAYOUT.varHandle(PathElement.groupElement("eax"));
    private static final VarHandle EBX = LAYOUT.varHandle(PathElement.groupElement("ebx"));
    private static final VarHandle ECX = LAYOUT.varHandle(PathElement.groupElement("ecx"));
    private static final VarHandle EDX = LAYOUT.varHandle(PathElement.groupElement("edx"));

    private KvmCpuidEntry2() {}

    static int function(MemorySegment segment, long offset) {
        return (int) FUNCTION.get(segment, offset);
    }

    static void function(MemorySegment segment, long offset, int value) {
        FUNCTION.set(segment, offset, value);
    }

    static int index(MemorySegment segment, long offset) {
        return (int) INDEX.get(segment, offset);
    }

    static void index(MemorySegment segment, long offset, int value) {
        INDEX.set(segment, offset, value);
    }

    static int flags(MemorySegment segment, long offset) {
        return (int) FLAGS.get(segment, offset);
    }

    static void flags(MemorySegment segment, long offset, int value) {
        FLAGS.set(segment, offset, value);
    }

    static int eax(MemorySegment segment, long offset) {
        return (int) EAX.get(segment, offset);
    }

    static void eax(MemorySegment segment, long offset, int value) {
        EAX.set(segment, offset, value);
    }

    static int ebx(MemorySegment segment, long offset) {
        return (int) EBX.get(segment, offset);
    }

    static void ebx(MemorySegment segment, long offset, int value) {
        EBX.set(segment, offset, value);
    }

    static int ecx(MemorySegment segment, long offset) {
        return (int) ECX.get(segment, offset);
    }

    static void ecx(MemorySegment segment, long offset, int value) {
        ECX.set(segment, offset, value);
    }

    static int edx(MemorySegment segment, long offset) {
        return (int) EDX.get(segment, offset);
    }

    static void edx(MemorySegment segment, long offset, int value) {
        EDX.set(segment, offset, value);
    }
}
