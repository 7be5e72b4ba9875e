package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;

/**
 * The host's processor as a referee: executes instruction bytes in an executable page and gives the registers before and
 * after. The only place of these tests that calls native code.
 *
 * <p>A frame of code loads all general registers but RSP, the flags and the x87, SSE and AVX state, runs the bytes and stores
 * everything. SIGFPE, SIGSEGV, SIGBUS and SIGILL inside the page are taken as the exceptions they stand for; elsewhere they
 * go to the handlers of the JVM. x86-64 Linux only. One thread at a time.
 */
final class HostVectorUnit implements AutoCloseable {
    /** Offset in {@link #frame()} of the state before: an XSAVE image in standard format. */
    static final int STATE_IN = 0;
    /** The state after. */
    static final int STATE_OUT = 1024;
    /** Sixteen general registers before, in encoding order; RSP is ignored. */
    static final int REGISTERS_IN = 2048;
    /** RFLAGS before. */
    static final int FLAGS_IN = 2176;
    /** General registers after. */
    static final int REGISTERS_OUT = 2304;
    /** RFLAGS after. */
    static final int FLAGS_OUT = 2432;
    /** Signal number, or 0. */
    static final int SIGNAL = 2560;
    /** Address at which the signal came. */
    static final int SIGNAL_RIP = 2568;

    private static final int SAVED_RSP = 2576;
    /** The handlers of the JVM, by signal number. */
    private static final int OLD_HANDLERS = 2624;
    /** Exception vector that the signal stands for. */
    static final int TRAP = 2760;
    /** Error code of the exception. */
    static final int ERROR = 2768;
    /** CR2 at a page fault. */
    static final int FAULT_ADDRESS = 2776;
    /** A page that operands may be in. */
    static final int DATA = 4096;
    /** Its length. */
    static final int DATA_BYTES = 4096;

    static final int SIGILL = 4;
    static final int SIGBUS = 7;
    static final int SIGFPE = 8;
    static final int SIGSEGV = 11;

    private static final int CODE_BYTES = 8192;
    private static final int BODY = 1024;
    private static final int BODY_BYTES = 1024;
    private static final int EPILOGUE = BODY + BODY_BYTES;
    private static final int HANDLER = 4096;
    private static final int[] SIGNALS = {SIGILL, SIGBUS, SIGFPE, SIGSEGV};
    private static final int SIGACTION_BYTES = 152;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment code;
    private final MemorySegment frame;
    private final MemorySegment oldActions;
    private final MethodHandle run;
    private final MethodHandle sigaction;
    private final int stateComponents;
    private byte[] assembled = new byte[256];
    private int length;

    private HostVectorUnit() throws Throwable {
        Linker linker = Linker.nativeLinker();
        SymbolLookup libc = linker.defaultLookup();
        MethodHandle mmap = linker.downcallHandle(
                libc.findOrThrow("mmap"),
                FunctionDescriptor.of(
                        ValueLayout.ADDRESS,
                        ValueLayout.ADDRESS,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_LONG));
        sigaction = linker.downcallHandle(
                libc.findOrThrow("sigaction"),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
        // SAFETY: an anonymous private mapping of our own, never unmapped while a signal handler points into it.
        MemorySegment mapped =
                (MemorySegment) mmap.invokeExact(MemorySegment.NULL, CODE_BYTES + 8192L, 7, 0x22, -1, 0L);
        assumeTrue(mapped.address() != -1, "needs executable memory, which mmap refused");
        MemorySegment all = mapped.reinterpret(CODE_BYTES + 8192L);
        code = all.asSlice(0, CODE_BYTES);
        frame = all.asSlice(CODE_BYTES, 8192);
        stateComponents = features().contains("avx") ? 7 : 3;
        oldActions = arena.allocate((long) SIGACTION_BYTES * 16, 8);
        prologue();
        epilogue();
        handler();
        run = linker.downcallHandle(code, FunctionDescriptor.ofVoid());
        installHandlers();
    }

    /** Why there is no referee here, or an empty string. */
    static String missing() {
        if (!System.getProperty("os.arch").equals("amd64")
                || !System.getProperty("os.name").equals("Linux")) {
            return "needs x86-64 Linux";
        }
        if (!processorLine("vendor_id").equals("AuthenticAMD")) {
            return "compares with AMD processors: others differ in what the manuals leave undefined";
        }
        return features().containsAll(Set.of("xsave", "sse4_2", "aes", "pclmulqdq"))
                ? ""
                : "needs a host processor with SSE4.2, AES, PCLMULQDQ and XSAVE";
    }

    /** The components of {@link #STATE_IN} and {@link #STATE_OUT} that the host has, as XCR0 names them. */
    int stateComponents() {
        return stateComponents;
    }

    /** The features of the host as /proc/cpuinfo names them. */
    static Set<String> features() {
        return new TreeSet<>(Arrays.asList(processorLine("flags").split(" ")));
    }

    private static String processorLine(String name) {
        try {
            return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith(name))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .orElse("");
        } catch (IOException e) {
            return "";
        }
    }

    static HostVectorUnit open() {
        try {
            return new HostVectorUnit();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** The state and the data page. */
    MemorySegment frame() {
        return frame;
    }

    /** Executes instructions, which must not use RSP, jump, or be longer than a kilobyte. */
    void execute(byte[] bytes) {
        if (bytes.length > BODY_BYTES - 16) {
            throw new IllegalArgumentException("too long: " + bytes.length);
        }
        MemorySegment.copy(bytes, 0, code, ValueLayout.JAVA_BYTE, BODY, bytes.length);
        int at = BODY + bytes.length;
        // jmp epilogue
        code.set(ValueLayout.JAVA_BYTE, at, (byte) 0xe9);
        code.set(ValueLayout.JAVA_INT_UNALIGNED, at + 1, EPILOGUE - (at + 5));
        frame.set(ValueLayout.JAVA_LONG, SIGNAL, 0);
        try {
            // SAFETY: the frame of code keeps the calling convention; faults in the bytes come back through the
            // handler.
            run.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Where the executed bytes are. */
    long entry() {
        return code.address() + BODY;
    }

    /** Offset in the executed bytes of the instruction that a signal interrupted. */
    int signalOffset() {
        return (int) (frame.get(ValueLayout.JAVA_LONG, SIGNAL_RIP) - code.address()) - BODY;
    }

    // ---------------------------------------------------------------- the frame of code

    private void emit(int... bytes) {
        if (length + bytes.length > assembled.length) {
            assembled = Arrays.copyOf(assembled, 2 * assembled.length);
        }
        for (int b : bytes) {
            assembled[length++] = (byte) b;
        }
    }

    private void emit32(int v) {
        emit(v, v >> 8, v >> 16, v >> 24);
    }

    private void emit64(long v) {
        emit32((int) v);
        emit32((int) (v >>> 32));
    }

    private void place(int offset) {
        MemorySegment.copy(assembled, 0, code, ValueLayout.JAVA_BYTE, offset, length);
        length = 0;
    }

    private long at(int offset) {
        return frame.address() + offset;
    }

    private void prologue() {
        emit(0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);
        // mov r15, frame
        emit(0x49, 0xbf);
        emit64(at(0));
        // mov [r15 + SAVED_RSP], rsp
        emit(0x49, 0x89, 0xa7);
        emit32(SAVED_RSP);
        // mov eax, components; xor edx, edx; xrstor64 [r15 + STATE_IN]
        emit(0xb8);
        emit32(stateComponents);
        emit(0x31, 0xd2, 0x49, 0x0f, 0xae, 0xaf);
        emit32(STATE_IN);
        // push qword [r15 + FLAGS_IN]; popfq
        emit(0x41, 0xff, 0xb7);
        emit32(FLAGS_IN);
        emit(0x9d);
        for (int r = 0; r < 16; r++) {
            if (r != 4) {
                // mov r, [r15 + REGISTERS_IN + 8 r]; r15 itself comes last.
                emit(0x49 | (r >= 8 ? 4 : 0), 0x8b, 0x87 | (r & 7) << 3);
                emit32(REGISTERS_IN + 8 * r);
            }
        }
        // jmp body
        emit(0xe9);
        emit32(BODY - (length + 4));
        if (length > BODY) {
            throw new IllegalStateException();
        }
        place(0);
    }

    private void epilogue() {
        // mov [REGISTERS_OUT], rax; mov rax, frame
        emit(0x48, 0xa3);
        emit64(at(REGISTERS_OUT));
        emit(0x48, 0xb8);
        emit64(at(0));
        // mov rsp, [rax + SAVED_RSP]; pushfq; pop [rax + FLAGS_OUT]
        emit(0x48, 0x8b, 0xa0);
        emit32(SAVED_RSP);
        emit(0x9c, 0x8f, 0x80);
        emit32(FLAGS_OUT);
        for (int r = 1; r < 16; r++) {
            emit(0x48 | (r >= 8 ? 4 : 0), 0x89, 0x80 | (r & 7) << 3);
            emit32(REGISTERS_OUT + 8 * r);
        }
        // mov r15, rax; mov eax, components; xor edx, edx; xsave64 [r15 + STATE_OUT]
        emit(0x49, 0x89, 0xc7, 0xb8);
        emit32(stateComponents);
        emit(0x31, 0xd2, 0x49, 0x0f, 0xae, 0xa7);
        emit32(STATE_OUT);
        // The JVM's own state: fninit; ldmxcsr [r15 + constant]; vzeroupper; cld
        emit(0xdb, 0xe3, 0x41, 0x0f, 0xae, 0x97);
        emit32(SAVED_RSP + 8);
        if (stateComponents == 7) {
            emit(0xc5, 0xf8, 0x77);
        }
        emit(0xfc, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3);
        place(EPILOGUE);
        frame.set(ValueLayout.JAVA_INT, SAVED_RSP + 8, 0x1f80);
    }

    /** {@code handler(int signal, siginfo_t *, ucontext_t *)}: RIP is in the context at 40 + 8 × REG_RIP. */
    private void handler() {
        int rip = 168;
        // mov rax, [rdx + rip]; mov rcx, code + BODY; sub rax, rcx; cmp rax, BODY_BYTES; jae other
        emit(0x48, 0x8b, 0x82);
        emit32(rip);
        emit(0x48, 0xb9);
        emit64(code.address() + BODY);
        emit(0x48, 0x29, 0xc8, 0x48, 0x3d);
        emit32(BODY_BYTES);
        emit(0x73, 0);
        int jump = length;
        // mov rcx, frame; mov rax, [rdx + rip]; mov [rcx + SIGNAL_RIP], rax; movsxd rdi, edi; mov [rcx + SIGNAL], rdi
        emit(0x48, 0xb9);
        emit64(at(0));
        emit(0x48, 0x8b, 0x82);
        emit32(rip);
        emit(0x48, 0x89, 0x81);
        emit32(SIGNAL_RIP);
        emit(0x48, 0x63, 0xff, 0x48, 0x89, 0xb9);
        emit32(SIGNAL);
        // mov rax, [rdx + REG]; mov [rcx + offset], rax for REG_ERR, REG_TRAPNO and REG_CR2
        for (int[] pair : new int[][] {{192, ERROR}, {200, TRAP}, {216, FAULT_ADDRESS}}) {
            emit(0x48, 0x8b, 0x82);
            emit32(pair[0]);
            emit(0x48, 0x89, 0x81);
            emit32(pair[1]);
        }
        // mov rax, code + EPILOGUE; mov [rdx + rip], rax; ret
        emit(0x48, 0xb8);
        emit64(code.address() + EPILOGUE);
        emit(0x48, 0x89, 0x82);
        emit32(rip);
        emit(0xc3);
        assembled[jump - 1] = (byte) (length - jump);
        // other: mov rax, frame; movsxd rcx, edi; jmp [rax + 8 rcx + OLD_HANDLERS]
        emit(0x48, 0xb8);
        emit64(at(0));
        emit(0x48, 0x63, 0xcf, 0xff, 0xa4, 0xc8);
        emit32(OLD_HANDLERS);
        place(HANDLER);
    }

    private MemorySegment action(int signal) {
        return oldActions.asSlice((long) SIGACTION_BYTES * signal, SIGACTION_BYTES);
    }

    private void installHandlers() throws Throwable {
        MemorySegment mine = arena.allocate(SIGACTION_BYTES, 8);
        for (int signal : SIGNALS) {
            // SAFETY: both structures are of the size of struct sigaction; the handler chains to the JVM's.
            int rc = (int) sigaction.invokeExact(signal, MemorySegment.NULL, action(signal));
            check(rc);
            long old = action(signal).get(ValueLayout.JAVA_LONG, 0);
            if (old == 0 || old == 1) {
                throw new IllegalStateException("the JVM does not handle signal " + signal);
            }
            frame.set(ValueLayout.JAVA_LONG, OLD_HANDLERS + 8L * signal, old);
            mine.copyFrom(action(signal));
            mine.set(ValueLayout.JAVA_LONG, 0, code.address() + HANDLER);
            rc = (int) sigaction.invokeExact(signal, mine, MemorySegment.NULL);
            check(rc);
        }
    }

    private static void check(int rc) {
        if (rc != 0) {
            throw new IllegalStateException("sigaction failed");
        }
    }

    /** Gives the signals back to the JVM. The pages stay mapped. */
    @Override
    public void close() {
        try {
            for (int signal : SIGNALS) {
                // SAFETY: restores what installHandlers has saved.
                int rc = (int) sigaction.invokeExact(signal, action(signal), MemorySegment.NULL);
                check(rc);
            }
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
        arena.close();
    }
}
