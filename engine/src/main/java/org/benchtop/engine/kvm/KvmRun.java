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

    private static final StructLayout HW = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("hardware_exit_reason"));
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
            MemoryLayout.sequenceLayout(INTERNAL_ERROR_MAX_DATA, ValueLayout.JAVA_LONG).withName("data"));
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

    private static final VarHandle IMMEDIATE_EXIT =
            LAYOUT.varHandle(PathElement.groupElement("immediate_exit"));
    private static final VarHandle EXIT_REASON = LAYOUT.varHandle(PathElement.groupElement("exit_reason"));
    private static final VarHandle HW_EXIT_REASON = exit("hw", "hardware_exit_reason");
    private static final VarHandle FAIL_ENTRY_REASON = exit("fail_entry", "hardware_entry_failure_reason");
    private static final VarHandle EX_EXCEPTION = exit("ex", "exception");
    private static final VarHandle EX_ERROR_CODE = exit("ex", "error_code");
    private static final VarHandle IO_DIRECTION = exit("io", "direction");
    private static final VarHandle IO_SIZE = exit("io", "size");
    private static final VarHandle IO_PORT = exit("io", "port");
    private static final VarHandle IO_COUNT = exit("io", "count");
    private static final VarHandle IO_DATA_OFFSET = exit("io", "data_offset");
    private static final VarHandle MMIO_PHYS_ADDR = exit("mmio", "phys_addr");
    private static final VarHandle MMIO_DATA = exit("mmio", "data");
    private static final VarHandle MMIO_LEN = exit("mmio", "len");
    private static final VarHandle MMIO_IS_WRITE = exit("mmio", "is_write");
    private static final VarHandle HYPERCALL_NR = exit("hypercall", "nr");
    private static final VarHandle HYPERCALL_ARGS = exitArray("hypercall", "args");
    private static final VarHandle HYPERCALL_RET = exit("hypercall", "ret");
    private static final VarHandle INTERNAL_SUBERROR = exit("internal", "suberror");
    private static final VarHandle INTERNAL_NDATA = exit("internal", "ndata");
    private static final VarHandle INTERNAL_DATA = exitArray("internal", "data");
    private static final VarHandle EMULATION_FLAGS = exit("emulation_failure", "flags");
    private static final VarHandle EMULATION_INSN_SIZE = exit("emulation_failure", "insn_size");
    private static final VarHandle EMULATION_INSN_BYTES = exitArray("emulation_failure", "insn_bytes");
    private static final VarHandle SYSTEM_EVENT_TYPE = exit("system_event", "type");
    private static final VarHandle MSR_ERROR = exit("msr", "error");
    private static final VarHandle MSR_INDEX = exit("msr", "index");
    private static final VarHandle MSR_DATA = exit("msr", "data");
    private static final VarHandle MEMORY_FAULT_GPA = exit("memory_fault", "gpa");

    private KvmRun() {}

    private static VarHandle exit(String member, String field) {
        return LAYOUT.varHandle(
                PathElement.groupElement("exit"), PathElement.groupElement(member), PathElement.groupElement(field));
    }

    private static VarHandle exitArray(String member, String field) {
        return LAYOUT.varHandle(
                PathElement.groupElement("exit"),
                PathElement.groupElement(member),
                PathElement.groupElement(field),
                PathElement.sequenceElement());
    }

    /** Makes the next KVM_RUN return EINTR at once; the kernel reads it, any thread writes it. */
    static void immediateExit(MemorySegment run, boolean value) {
        IMMEDIATE_EXIT.setOpaque(run, 0L, value ? (byte) 1 : (byte) 0);
    }

    static int exitReason(MemorySegment run) {
        return (int) EXIT_REASON.get(run, 0L);
    }

    static long hardwareExitReason(MemorySegment run) {
        return (long) HW_EXIT_REASON.get(run, 0L);
    }

    static long entryFailureReason(MemorySegment run) {
        return (long) FAIL_ENTRY_REASON.get(run, 0L);
    }

    static int exception(MemorySegment run) {
        return (int) EX_EXCEPTION.get(run, 0L);
    }

    static int exceptionErrorCode(MemorySegment run) {
        return (int) EX_ERROR_CODE.get(run, 0L);
    }

    /** Whether the exit is an OUT. */
    static boolean ioIsOut(MemorySegment run) {
        return (byte) IO_DIRECTION.get(run, 0L) != 0;
    }

    static int ioSize(MemorySegment run) {
        return (byte) IO_SIZE.get(run, 0L);
    }

    static int ioPort(MemorySegment run) {
        return Short.toUnsignedInt((short) IO_PORT.get(run, 0L));
    }

    /** How many elements; more than one for REP INS/OUTS. */
    static int ioCount(MemorySegment run) {
        return (int) IO_COUNT.get(run, 0L);
    }

    /** Where the elements are, from the start of the run mapping. */
    static long ioDataOffset(MemorySegment run) {
        return (long) IO_DATA_OFFSET.get(run, 0L);
    }

    static long mmioAddress(MemorySegment run) {
        return (long) MMIO_PHYS_ADDR.get(run, 0L);
    }

    static long mmioData(MemorySegment run) {
        return (long) MMIO_DATA.get(run, 0L);
    }

    static void mmioData(MemorySegment run, long value) {
        MMIO_DATA.set(run, 0L, value);
    }

    static int mmioLength(MemorySegment run) {
        return (int) MMIO_LEN.get(run, 0L);
    }

    static boolean mmioIsWrite(MemorySegment run) {
        return (byte) MMIO_IS_WRITE.get(run, 0L) != 0;
    }

    static long hypercallNumber(MemorySegment run) {
        return (long) HYPERCALL_NR.get(run, 0L);
    }

    static long hypercallArgument(MemorySegment run, long index) {
        return (long) HYPERCALL_ARGS.get(run, 0L, index);
    }

    static void hypercallResult(MemorySegment run, long value) {
        HYPERCALL_RET.set(run, 0L, value);
    }

    static int internalSuberror(MemorySegment run) {
        return (int) INTERNAL_SUBERROR.get(run, 0L);
    }

    static int internalDataCount(MemorySegment run) {
        return (int) INTERNAL_NDATA.get(run, 0L);
    }

    static long internalData(MemorySegment run, long index) {
        return (long) INTERNAL_DATA.get(run, 0L, index);
    }

    static long emulationFlags(MemorySegment run) {
        return (long) EMULATION_FLAGS.get(run, 0L);
    }

    static int emulationInstructionSize(MemorySegment run) {
        return Byte.toUnsignedInt((byte) EMULATION_INSN_SIZE.get(run, 0L));
    }

    static byte emulationInstructionByte(MemorySegment run, long index) {
        return (byte) EMULATION_INSN_BYTES.get(run, 0L, index);
    }

    static int systemEventType(MemorySegment run) {
        return (int) SYSTEM_EVENT_TYPE.get(run, 0L);
    }

    static int msrIndex(MemorySegment run) {
        return (int) MSR_INDEX.get(run, 0L);
    }

    static long msrData(MemorySegment run) {
        return (long) MSR_DATA.get(run, 0L);
    }

    static void msrData(MemorySegment run, long value) {
        MSR_DATA.set(run, 0L, value);
    }

    /** Whether the guest's RDMSR or WRMSR ends in #GP. */
    static void msrError(MemorySegment run, boolean value) {
        MSR_ERROR.set(run, 0L, value ? (byte) 1 : (byte) 0);
    }

    static long memoryFaultAddress(MemorySegment run) {
        return (long) MEMORY_FAULT_GPA.get(run, 0L);
    }
}
