package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code struct kvm_regs}: the general registers. Source: linux/kvm.h, asm/kvm.h. */
final class KvmRegs {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_LONG.withName("rax"),
                    ValueLayout.JAVA_LONG.withName("rbx"),
                    ValueLayout.JAVA_LONG.withName("rcx"),
                    ValueLayout.JAVA_LONG.withName("rdx"),
                    ValueLayout.JAVA_LONG.withName("rsi"),
                    ValueLayout.JAVA_LONG.withName("rdi"),
                    ValueLayout.JAVA_LONG.withName("rsp"),
                    ValueLayout.JAVA_LONG.withName("rbp"),
                    ValueLayout.JAVA_LONG.withName("r8"),
                    ValueLayout.JAVA_LONG.withName("r9"),
                    ValueLayout.JAVA_LONG.withName("r10"),
                    ValueLayout.JAVA_LONG.withName("r11"),
                    ValueLayout.JAVA_LONG.withName("r12"),
                    ValueLayout.JAVA_LONG.withName("r13"),
                    ValueLayout.JAVA_LONG.withName("r14"),
                    ValueLayout.JAVA_LONG.withName("r15"),
                    ValueLayout.JAVA_LONG.withName("rip"),
                    ValueLayout.JAVA_LONG.withName("rflags"))
            .withName("kvm_regs");
    static final long SIZE = Layouts.checked(LAYOUT, 144);

    private static final long RAX = LAYOUT.byteOffset(PathElement.groupElement("rax"));
    private static final long RBX = LAYOUT.byteOffset(PathElement.groupElement("rbx"));
    private static final long RCX = LAYOUT.byteOffset(PathElement.groupElement("rcx"));
    private static final long RDX = LAYOUT.byteOffset(PathElement.groupElement("rdx"));
    private static final long RSI = LAYOUT.byteOffset(PathElement.groupElement("rsi"));
    private static final long RDI = LAYOUT.byteOffset(PathElement.groupElement("rdi"));
    private static final long RSP = LAYOUT.byteOffset(PathElement.groupElement("rsp"));
    private static final long RBP = LAYOUT.byteOffset(PathElement.groupElement("rbp"));
    private static final long R8 = LAYOUT.byteOffset(PathElement.groupElement("r8"));
    private static final long R9 = LAYOUT.byteOffset(PathElement.groupElement("r9"));
    private static final long R10 = LAYOUT.byteOffset(PathElement.groupElement("r10"));
    private static final long R11 = LAYOUT.byteOffset(PathElement.groupElement("r11"));
    private static final long R12 = LAYOUT.byteOffset(PathElement.groupElement("r12"));
    private static final long R13 = LAYOUT.byteOffset(PathElement.groupElement("r13"));
    private static final long R14 = LAYOUT.byteOffset(PathElement.groupElement("r14"));
    private static final long R15 = LAYOUT.byteOffset(PathElement.groupElement("r15"));
    private static final long RIP = LAYOUT.byteOffset(PathElement.groupElement("rip"));
    private static final long RFLAGS = LAYOUT.byteOffset(PathElement.groupElement("rflags"));

    private KvmRegs() {}

    static long rax(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RAX);
    }

    static void rax(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RAX, value);
    }

    static long rbx(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RBX);
    }

    static void rbx(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RBX, value);
    }

    static long rcx(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RCX);
    }

    static void rcx(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RCX, value);
    }

    static long rdx(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RDX);
    }

    static void rdx(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RDX, value);
    }

    static long rsi(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RSI);
    }

    static void rsi(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RSI, value);
    }

    static long rdi(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RDI);
    }

    static void rdi(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RDI, value);
    }

    static long rsp(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RSP);
    }

    static void rsp(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RSP, value);
    }

    static long rbp(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RBP);
    }

    static void rbp(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RBP, value);
    }

    static long r8(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R8);
    }

    static void r8(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R8, value);
    }

    static long r9(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R9);
    }

    static void r9(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R9, value);
    }

    static long r10(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R10);
    }

    static void r10(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R10, value);
    }

    static long r11(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R11);
    }

    static void r11(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R11, value);
    }

    static long r12(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R12);
    }

    static void r12(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R12, value);
    }

    static long r13(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R13);
    }

    static void r13(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R13, value);
    }

    static long r14(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R14);
    }

    static void r14(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R14, value);
    }

    static long r15(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + R15);
    }

    static void r15(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + R15, value);
    }

    static long rip(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RIP);
    }

    static void rip(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RIP, value);
    }

    static long rflags(MemorySegment segment, long offset) {
        return segment.get(ValueLayout.JAVA_LONG, offset + RFLAGS);
    }

    static void rflags(MemorySegment segment, long offset, long value) {
        segment.set(ValueLayout.JAVA_LONG, offset + RFLAGS, value);
    }
}
