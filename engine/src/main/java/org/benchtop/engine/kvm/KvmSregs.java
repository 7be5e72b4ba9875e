package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct kvm_sregs}: segments, descriptor tables and control registers. Source: linux/kvm.h, asm/kvm.h. */
final class KvmSregs {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            KvmSegment.LAYOUT.withName("cs"),
            KvmSegment.LAYOUT.withName("ds"),
            KvmSegment.LAYOUT.withName("es"),
            KvmSegment.LAYOUT.withName("fs"),
            KvmSegment.LAYOUT.withName("gs"),
            KvmSegment.LAYOUT.withName("ss"),
            KvmSegment.LAYOUT.withName("tr"),
            KvmSegment.LAYOUT.withName("ldt"),
            KvmDtable.LAYOUT.withName("gdt"),
            KvmDtable.LAYOUT.withName("idt"),
            ValueLayout.JAVA_LONG.withName("cr0"),
            ValueLayout.JAVA_LONG.withName("cr2"),
            ValueLayout.JAVA_LONG.withName("cr3"),
            ValueLayout.JAVA_LONG.withName("cr4"),
            ValueLayout.JAVA_LONG.withName("cr8"),
            ValueLayout.JAVA_LONG.withName("efer"),
            ValueLayout.JAVA_LONG.withName("apic_base"),
            MemoryLayout.sequenceLayout(4, ValueLayout.JAVA_LONG).withName("interrupt_bitmap"))
            .withName("kvm_sregs");
    static final long SIZE = Layouts.checked(LAYOUT, 312);

    static final long CS_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("cs"));
    static final long DS_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("ds"));
    static final long ES_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("es"));
    static final long FS_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("fs"));
    static final long GS_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("gs"));
    static final long SS_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("ss"));
    static final long TR_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("tr"));
    static final long LDT_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("ldt"));
    static final long GDT_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("gdt"));
    static final long IDT_OFFSET = LAYOUT.byteOffset(PathElement.groupElement("idt"));
    private static final VarHandle CR0 = LAYOUT.varHandle(PathElement.groupElement("cr0"));
    private static final VarHandle CR2 = LAYOUT.varHandle(PathElement.groupElement("cr2"));
    private static final VarHandle CR3 = LAYOUT.varHandle(PathElement.groupElement("cr3"));
    private static final VarHandle CR4 = LAYOUT.varHandle(PathElement.groupElement("cr4"));
    private static final VarHandle CR8 = LAYOUT.varHandle(PathElement.groupElement("cr8"));
    private static final VarHandle EFER = LAYOUT.varHandle(PathElement.groupElement("efer"));
    private static final VarHandle APIC_BASE = LAYOUT.varHandle(PathElement.groupElement("apic_base"));
    private static final VarHandle INTERRUPT_BITMAP = LAYOUT.varHandle(PathElement.groupElement("interrupt_bitmap"), PathElement.sequenceElement());

    private KvmSregs() {}

    static long cr0(MemorySegment segment, long offset) {
        return (long) CR0.get(segment, offset);
    }

    static void cr0(MemorySegment segment, long offset, long value) {
        CR0.set(segment, offset, value);
    }

    static long cr2(MemorySegment segment, long offset) {
        return (long) CR2.get(segment, offset);
    }

    static void cr2(MemorySegment segment, long offset, long value) {
        CR2.set(segment, offset, value);
    }

    static long cr3(MemorySegment segment, long offset) {
        return (long) CR3.get(segment, offset);
    }

    static void cr3(MemorySegment segment, long offset, long value) {
        CR3.set(segment, offset, value);
    }

    static long cr4(MemorySegment segment, long offset) {
        return (long) CR4.get(segment, offset);
    }

    static void cr4(MemorySegment segment, long offset, long value) {
        CR4.set(segment, offset, value);
    }

    static long cr8(MemorySegment segment, long offset) {
        return (long) CR8.get(segment, offset);
    }

    static void cr8(MemorySegment segment, long offset, long value) {
        CR8.set(segment, offset, value);
    }

    static long efer(MemorySegment segment, long offset) {
        return (long) EFER.get(segment, offset);
    }

    static void efer(MemorySegment segment, long offset, long value) {
        EFER.set(segment, offset, value);
    }

    static long apicBase(MemorySegment segment, long offset) {
        return (long) APIC_BASE.get(segment, offset);
    }

    static void apicBase(MemorySegment segment, long offset, long value) {
        APIC_BASE.set(segment, offset, value);
    }

    static void interruptBitmap(MemorySegment segment, long offset, long index, long value) {
        INTERRUPT_BITMAP.set(segment, offset, index, value);
    }
}
