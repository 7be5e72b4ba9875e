package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

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

    private static final VarHandle RAX = LAYOUT.varHandle(PathElement.groupElement("rax"));
    private static final VarHandle RBX = LAYOUT.varHandle(PathElement.groupElement("rbx"));
    private static final VarHandle RCX = LAYOUT.varHandle(PathElement.groupElement("rcx"));
    private static final VarHandle RDX = LAYOUT.varHandle(PathElement.groupElement("rdx"));
    private static final VarHandle RSI = LAYOUT.varHandle(PathElement.groupElement("rsi"));
    private static final VarHandle RDI = LAYOUT.varHandle(PathElement.groupElement("rdi"));
    private static final VarHandle RSP = LAYOUT.varHandle(PathElement.groupElement("rsp"));
    private static final VarHandle RBP = LAYOUT.varHandle(PathElement.groupElement("rbp"));
    private static final VarHandle R8 = LAYOUT.varHandle(PathElement.groupElement("r8"));
    private static final VarHandle R9 = LAYOUT.varHandle(PathElement.groupElement("r9"));
    private static final VarHandle R10 = LAYOUT.varHandle(PathElement.groupElement("r10"));
    private static final VarHandle R11 = LAYOUT.varHandle(PathElement.groupElement("r11"));
    private static final VarHandle R12 = LAYOUT.varHandle(PathElement.groupElement("r12"));
    private static final VarHandle R13 = LAYOUT.varHandle(PathElement.groupElement("r13"));
    private static final VarHandle R14 = LAYOUT.varHandle(PathElement.groupElement("r14"));
    private static final VarHandle R15 = LAYOUT.varHandle(PathElement.groupElement("r15"));
    private static final VarHandle RIP = LAYOUT.varHandle(PathElement.groupElement("rip"));
    private static final VarHandle RFLAGS = LAYOUT.varHandle(PathElement.groupElement("rflags"));

    private KvmRegs() {}

    static long rax(MemorySegment segment, long offset) {
        return (long) RAX.get(segment, offset);
    }

    static void rax(MemorySegment segment, long offset, long value) {
        RAX.set(segment, offset, value);
    }

    static long rbx(MemorySegment segment, long offset) {
        return (long) RBX.get(segment, offset);
    }

    static void rbx(MemorySegment segment, long offset, long value) {
        RBX.set(segment, offset, value);
    }

    static long rcx(MemorySegment segment, long offset) {
        return (long) RCX.get(segment, offset);
    }

    static void rcx(MemorySegment segment, long offset, long value) {
        RCX.set(segment, offset, value);
    }

    static long rdx(MemorySegment segment, long offset) {
        return (long) RDX.get(segment, offset);
    }

    static void rdx(MemorySegment segment, long offset, long value) {
        RDX.set(segment, offset, value);
    }

    static long rsi(MemorySegment segment, long offset) {
        return (long) RSI.get(segment, offset);
    }

    static void rsi(MemorySegment segment, long offset, long value) {
        RSI.set(segment, offset, value);
    }

    static long rdi(MemorySegment segment, long offset) {
        return (long) RDI.get(segment, offset);
    }

    static void rdi(MemorySegment segment, long offset, long value) {
        RDI.set(segment, offset, value);
    }

    static long rsp(MemorySegment segment, long offset) {
        return (long) RSP.get(segment, offset);
    }

    static void rsp(MemorySegment segment, long offset, long value) {
        RSP.set(segment, offset, value);
    }

    static long rbp(MemorySegment segment, long offset) {
        return (long) RBP.get(segment, offset);
    }

    static void rbp(MemorySegment segment, long offset, long value) {
        RBP.set(segment, offset, value);
    }

    static long r8(MemorySegment segment, long offset) {
        return (long) R8.get(segment, offset);
    }

    static void r8(MemorySegment segment, long offset, long value) {
        R8.set(segment, offset, value);
    }

    static long r9(MemorySegment segment, long offset) {
        return (long) R9.get(segment, offset);
    }

    static void r9(MemorySegment segment, long offset, long value) {
        R9.set(segment, offset, value);
    }

    static long r10(MemorySegment segment, long offset) {
        return (long) R10.get(segment, offset);
    }

    static void r10(MemorySegment segment, long offset, long value) {
        R10.set(segment, offset, value);
    }

    static long r11(MemorySegment segment, long offset) {
        return (long) R11.get(segment, offset);
    }

    static void r11(MemorySegment segment, long offset, long value) {
        R11.set(segment, offset, value);
    }

    static long r12(MemorySegment segment, long offset) {
        return (long) R12.get(segment, offset);
    }

    static void r12(MemorySegment segment, long offset, long value) {
        R12.set(segment, offset, value);
    }

    static long r13(MemorySegment segment, long offset) {
        return (long) R13.get(segment, offset);
    }

    static void r13(MemorySegment segment, long offset, long value) {
        R13.set(segment, offset, value);
    }

    static long r14(MemorySegment segment, long offset) {
        return (long) R14.get(segment, offset);
    }

    static void r14(MemorySegment segment, long offset, long value) {
        R14.set(segment, offset, value);
    }

    static long r15(MemorySegment segment, long offset) {
        return (long) R15.get(segment, offset);
    }

    static void r15(MemorySegment segment, long offset, long value) {
        R15.set(segment, offset, value);
    }

    static long rip(MemorySegment segment, long offset) {
        return (long) RIP.get(segment, offset);
    }

    static void rip(MemorySegment segment, long offset, long value) {
        RIP.set(segment, offset, value);
    }

    static long rflags(MemorySegment segment, long offset) {
        return (long) RFLAGS.get(segment, offset);
    }

    static void rflags(MemorySegment segment, long offset, long value) {
        RFLAGS.set(segment, offset, value);
    }
}
