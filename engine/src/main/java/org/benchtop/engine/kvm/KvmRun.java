package org.benchtop.engine.kvm;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.UnionLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * {@code struct kvm_run}: the page that a vCPU shares with the kernel, always at offset 0 of its mapping. Source:
 * linux/kvm.h.
 */
final class KvmRun {
    static final int EXIT_UNKNOWN = 0;
    static final int EXIT_EXCEPTION = 1;
    static final int EXIT_IO = 2;
    static final int EXIT_HYPERCALL = 3;
    static final int EXIT_DEBUG = 4;
    static final int EXIT_HLT = 5;
    static final int EXIT_MMIO = 6;
    static final int EXIT_IRQ_WINDOW_OPEN = 7;
    static final int EXIT_SHUTDOWN = 8;
    static final int EXIT_FAIL_ENTRY = 9;
    static final int EXIT_INTR = 10;
    static final int EXIT_SET_TPR = 11;
    static final int EXIT_TPR_ACCESS = 12;
    static final int EXIT_NMI = 16;
    static final int EXIT_INTERNAL_ERROR = 17;
    static final int EXIT_SYSTEM_EVENT = 24;
    static final int EXIT_IOAPIC_EOI = 26;
    static final int EXIT_X86_RDMSR = 29;
    static final int EXIT_X86_WRMSR = 30;
    static final int EXIT_X86_BUS_LOCK = 33;
    static final int EXIT_NOTIFY = 37;
    static final int EXIT_MEMORY_FAULT = 39;

    static final int INTERNAL_ERROR_EMULATION = 1;
    static final int INTERNAL_ERROR_MAX_DATA = 16;
    static final long EMULATION_FLAG_INSTRUCTION_BYTES = 1;
    static final int EMULATION_MAX_INSTRUCTION_BYTES = 15;

    static final int SYSTEM_EVENT_SHUTDOWN = 1;
    static final int SYSTEM_EVENT_RESET = 2;

    private static final StructLayout HW =
            MemoryLayout.structLayout(ValueLayout.JAVA_LONG.withName("hardware_exit_reason"));
    private static final StructLayout FAIL_ENTRY = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("hardware_entry_failure_reason"),
            ValueLayout.JAVA_INT.withName("cpu"),
            MemoryLayout.paddingLayout(4));
    private static final StructLayout EX = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("exception"), ValueLayout.JAVA_INT.withName("error_code"));
    private static final StructLayout IO = MemoryLayout.structLayout(
            ValueLayout.JAVA_BYTE.withName("direction"),
            ValueLayout.JAVA_BYTE.withName("size"),
            ValueLayout.JAVA_SHORT.withName("port"),
            ValueLayout.JAVA_INT.withName("count"),
            ValueLayout.JAVA_LONG.withName("data_offset"));
    private static final StructLayout MMIO = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("phys_addr"),
            ValueLayout.JAVA_LONG.withName("data"),
            ValueLayout.JAVA_INT.withName("len"),
            ValueLayout.JAVA_BYTE.withName("is_write"),
            MemoryLayout.paddingLayout(3));
    private static final StructLayout HYPERCALL = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("nr"),
            MemoryLayout.sequenceLayout(6, ValueLayout.JAVA_LONG).withName("args"),
            ValueLayout.JAVA_LONG.withName("ret"),
            ValueLayout.JAVA_LONG.withName("flags"));
    private static final StructLayout INTERNAL = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("suberror"),
            ValueLayout.JAVA_INT.withName("ndata"),
            MemoryLayout.sequenceLayout(INTERNAL_ERROR_MAX_DATA, ValueLayout.JAVA_LONG)
                    .withName("data"));
    private static final StructLayout EMULATION_FAILURE = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("suberror"),
            ValueLayout.JAVA_INT.withName("ndata"),
            ValueLayout.JAVA_LONG.withName("flags"),
            ValueLayout.JAVA_BYTE.withName("insn_size"),
            MemoryLayout.sequenceLayout(EMULATION_MAX_INSTRUCTION_BYTES, ValueLayout.JAVA_BYTE)
                    .withName("insn_bytes"));
    private static final StructLayout SYSTEM_EVENT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("type"),
            ValueLayout.JAVA_INT.withName("ndata"),
            MemoryLayout.sequenceLayout(16, ValueLayout.JAVA_LONG).withName("data"));
    private static final StructLayout MSR = MemoryLayout.structLayout(
            ValueLayout.JAVA_BYTE.withName("error"),
            MemoryLayout.paddingLayout(7),
            ValueLayout.JAVA_INT.withName("reason"),
            ValueLayout.JAVA_INT.withName("index"),
            ValueLayout.JAVA_LONG.withName("data"));
    private static final StructLayout MEMORY_FAULT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("flags"),
            ValueLayout.JAVA_LONG.withName("gpa"),
            ValueLayout.JAVA_LONG.withName("size"));
    private static final UnionLayout EXIT = MemoryLayout.unionLayout(
                    HW.withName("hw"),
                    FAIL_ENTRY.withName("fail_entry"),
                    EX.withName("ex"),
                    IO.withName("io"),
                    MMIO.withName("mmio"),
                    HYPERCALL.withName("hypercall"),
                    INTERNAL.withName("internal"),
                    EMULATION_FAILURE.withName("emulation_failure"),
                    SYSTEM_EVENT.withName("system_event"),
                    MSR.withName("msr"),
                    MEMORY_FAULT.withName("memory_fault"),
                    MemoryLayout.sequenceLayout(256, ValueLayout.JAVA_BYTE).withName("padding"))
            .withName("exit");

    static final StructLayout LAYOUT = MemoryLayout.structLayout(
                    ValueLayout.JAVA_BYTE.withName("request_interrupt_window"),
                    ValueLayout.JAVA_BYTE.withName("immediate_exit"),
                    MemoryLayout.paddingLayout(6),
                    ValueLayout.JAVA_INT.withName("exit_reason"),
                    ValueLayout.JAVA_BYTE.withName("ready_for_interrupt_injection"),
                    ValueLayout.JAVA_BYTE.withName("if_flag"),
                    ValueLayout.JAVA_SHORT.withName("flags"),
                    ValueLayout.JAVA_LONG.withName("cr8"),
                    ValueLayout.JAVA_LONG.withName("apic_base"),
                    EXIT,
                    ValueLayout.JAVA_LONG.withName("kvm_valid_regs"),
                    ValueLayout.JAVA_LONG.withName("kvm_dirty_regs"),
                    MemoryLayout.sequenceLayout(2048, ValueLayout.JAVA_BYTE).withName("s"))
            .withName("kvm_run");
    static final long SIZE = Layouts.checked(LAYOUT, 2352);

    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
    private static final long IMMEDIATE_EXIT = LAYOUT.byteOffset(PathElement.groupElement("immediate_exit"));
    private static final long EXIT_REASON = LAYOUT.byteOffset(PathElement.groupElement("exit_reason"));
    private static final long HW_EXIT_REASON = exit("hw", "hardware_exit_reason");
    private static final long FAIL_ENTRY_REASON = exit("fail_entry", "hardware_entry_failure_reason");
    private static final long EX_EXCEPTION = exit("ex", "exception");
    private static final long EX_ERROR_CODE = exit("ex", "error_code");
    private static final long IO_DIRECTION = exit("io", "direction");
    private static final long IO_SIZE = exit("io", "size");
    private static final long IO_PORT = exit("io", "port");
    private static final long IO_COUNT = exit("io", "count");
    private static final long IO_DATA_OFFSET = exit("io", "data_offset");
    private static final long MMIO_PHYS_ADDR = exit("mmio", "phys_addr");
    private static final long MMIO_DATA = exit("mmio", "data");
    private static final long MMIO_LEN = exit("mmio", "len");
    private static final long MMIO_IS_WRITE = exit("mmio", "is_write");
    private static final long HYPERCALL_NR = exit("hypercall", "nr");
    private static final long HYPERCALL_ARGS = exit("hypercall", "args");
    private static final long HYPERCALL_RET = exit("hypercall", "ret");
    private static final long INTERNAL_SUBERROR = exit("internal", "suberror");
    private static final long INTERNAL_NDATA = exit("internal", "ndata");
    private static final long INTERNAL_DATA = exit("internal", "data");
    private static final long EMULATION_FLAGS = exit("emulation_failure", "flags");
    private static final long EMULATION_INSN_SIZE = exit("emulation_failure", "insn_size");
    private static final long EMULATION_INSN_BYTES = exit("emulation_failure", "insn_bytes");
    private static final long SYSTEM_EVENT_TYPE = exit("system_event", "type");
    private static final long MSR_ERROR = exit("msr", "error");
    private static final long MSR_INDEX = exit("msr", "index");
    private static final long MSR_DATA = exit("msr", "data");
    private static final long MEMORY_FAULT_GPA = exit("memory_fault", "gpa");

    private KvmRun() {}

    private static long exit(String member, String field) {
        return LAYOUT.byteOffset(
                PathElement.groupElement("exit"), PathElement.groupElement(member), PathElement.groupElement(field));
    }

    /** Makes the next KVM_RUN return EINTR at once; the kernel reads it, any thread writes it. */
    static void immediateExit(MemorySegment run, boolean value) {
        BYTE.setOpaque(run, IMMEDIATE_EXIT, value ? (byte) 1 : (byte) 0);
    }

    static int exitReason(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, EXIT_REASON);
    }

    static long hardwareExitReason(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, HW_EXIT_REASON);
    }

    static long entryFailureReason(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, FAIL_ENTRY_REASON);
    }

    static int exception(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, EX_EXCEPTION);
    }

    static int exceptionErrorCode(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, EX_ERROR_CODE);
    }

    /** Whether the exit is an OUT. */
    static boolean ioIsOut(MemorySegment run) {
        return run.get(ValueLayout.JAVA_BYTE, IO_DIRECTION) != 0;
    }

    static int ioSize(MemorySegment run) {
        return run.get(ValueLayout.JAVA_BYTE, IO_SIZE);
    }

    static int ioPort(MemorySegment run) {
        return Short.toUnsignedInt(run.get(ValueLayout.JAVA_SHORT, IO_PORT));
    }

    /** How many elements; more than one for REP INS/OUTS. */
    static int ioCount(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, IO_COUNT);
    }

    /** Where the elements are, from the start of the run mapping. */
    static long ioDataOffset(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, IO_DATA_OFFSET);
    }

    static long mmioAddress(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, MMIO_PHYS_ADDR);
    }

    static long mmioData(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, MMIO_DATA);
    }

    static void mmioData(MemorySegment run, long value) {
        run.set(ValueLayout.JAVA_LONG, MMIO_DATA, value);
    }

    static int mmioLength(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, MMIO_LEN);
    }

    static boolean mmioIsWrite(MemorySegment run) {
        return run.get(ValueLayout.JAVA_BYTE, MMIO_IS_WRITE) != 0;
    }

    static long hypercallNumber(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, HYPERCALL_NR);
    }

    static long hypercallArgument(MemorySegment run, long index) {
        return run.get(ValueLayout.JAVA_LONG, HYPERCALL_ARGS + index * ValueLayout.JAVA_LONG.byteSize());
    }

    static void hypercallResult(MemorySegment run, long value) {
        run.set(ValueLayout.JAVA_LONG, HYPERCALL_RET, value);
    }

    static int internalSuberror(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, INTERNAL_SUBERROR);
    }

    static int internalDataCount(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, INTERNAL_NDATA);
    }

    static long internalData(MemorySegment run, long index) {
        return run.get(ValueLayout.JAVA_LONG, INTERNAL_DATA + index * ValueLayout.JAVA_LONG.byteSize());
    }

    static long emulationFlags(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, EMULATION_FLAGS);
    }

    static int emulationInstructionSize(MemorySegment run) {
        return Byte.toUnsignedInt(run.get(ValueLayout.JAVA_BYTE, EMULATION_INSN_SIZE));
    }

    static byte emulationInstructionByte(MemorySegment run, long index) {
        return run.get(ValueLayout.JAVA_BYTE, EMULATION_INSN_BYTES + index);
    }

    static int systemEventType(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, SYSTEM_EVENT_TYPE);
    }

    static int msrIndex(MemorySegment run) {
        return run.get(ValueLayout.JAVA_INT, MSR_INDEX);
    }

    static long msrData(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, MSR_DATA);
    }

    static void msrData(MemorySegment run, long value) {
        run.set(ValueLayout.JAVA_LONG, MSR_DATA, value);
    }

    /** Whether the guest's RDMSR or WRMSR ends in #GP. */
    static void msrError(MemorySegment run, boolean value) {
        run.set(ValueLayout.JAVA_BYTE, MSR_ERROR, value ? (byte) 1 : (byte) 0);
    }

    static long memoryFaultAddress(MemorySegment run) {
        return run.get(ValueLayout.JAVA_LONG, MEMORY_FAULT_GPA);
    }
}
