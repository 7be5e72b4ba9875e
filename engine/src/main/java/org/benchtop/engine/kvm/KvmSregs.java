package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

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
    private static final long CR0 = LAYOUT.byteOffset(PathElement.groupElement("cr0"));
    private static final long CR2 = LAYOUT.byteOffset(PathElement.groupElement("cr2"));
    private static final long CR3 = LAYOUT.byteOffset(PathElement.groupElement("cr3"));
    private static final long CR4 = LAYOUT.byteOffset(PathElement.groupElement("cr4"));
    private static final long CR8 = LAYOUT.byteOffset(PathElement.groupElement("cr8"));
    private static final long EFER = LAYOUT.byteOffset(PathElement.groupElement("efer"));
    private static final long APIC_BASE = LAYOUT.byteOffset(PathElement.groupElement("apic_base"));
    private static final long INTERRUPT_BITMAP = LAYOUT.byteOffset(PathElement.groupElement("interrupt_bitmap"));

    private KvmSregs() {}

    static long cr0(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + CR0);
    }

    static void cr0(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + CR0, value);
    }

    static long cr2(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + CR2);
    }

    static void cr2(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + CR2, value);
    }

    static long cr3(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + CR3);
    }

    static void cr3(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + CR3, value);
    }

    static long cr4(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + CR4);
    }

    static void cr4(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + CR4, value);
    }

    static long cr8(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + CR8);
    }

    static void cr8(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + CR8, value);
    }

    static long efer(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + EFER);
    }

    static void efer(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + EFER, value);
    }

    static long apicBase(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + APIC_BASE);
    }

    static void apicBase(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + APIC_BASE, value);
    }

    static void interruptBitmap(MemorySegment segment, long offset, long index, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + INTERRUPT_BITMAP + index * ValueLayout.JAVA_LONG.byteSize(), value);
    }
}
