package org.benchtop.softcpu;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;

/**
 * Runs instructions on the processor of the host: machine code in executable memory, called through FFM. The code must not
 * fault, must leave the stack as it was, and must not change R15.
 */
final class HostProcessor implements AutoCloseable {
    static final int CODE_BYTES = 4096;
    static final int DATA_BYTES = 4096;
    /** Register values by number, then RFLAGS. */
    static final int STATE_WORDS = 17;

    private static final int PROT_RWX = 7;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final Linker LINKER = Linker.nativeLinker();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment state = arena.allocate(8L * STATE_WORDS, 16);
    final MemorySegment code;
    final MemorySegment data;
    private final int prologueBytes;
    private final byte[] epilogue;
    private final MethodHandle call;

    static boolean available() {
        return System.getProperty("os.name").equals("Linux")
                && System.getProperty("os.arch").equals("amd64");
    }

    /** Features of the host as /proc/cpuinfo names them. */
    static Set<String> features() {
        try {
            return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith("flags"))
                    .findFirst()
                    .map(line -> Set.copyOf(Arrays.asList(
                            line.substring(line.indexOf(':') + 1).trim().split(" ", -1))))
                    .orElse(Set.of());
        } catch (IOException e) {
            return Set.of();
        }
    }

    HostProcessor() {
        try {
            MethodHandle mmap = LINKER.downcallHandle(
                    LINKER.defaultLookup().find("mmap").orElseThrow(),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_LONG));
            long address = (long) mmap.invokeExact(0L, 3L * 4096, PROT_RWX, MAP_PRIVATE_ANONYMOUS, -1, 0L);
            MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(3 * 4096);
            code = memory.asSlice(0, CODE_BYTES);
            data = memory.asSlice(2 * 4096, DATA_BYTES);
            call = LINKER.downcallHandle(
                    MemorySegment.ofAddress(address), FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        byte[] prologue = prologue();
        prologueBytes = prologue.length;
        epilogue = epilogue();
        MemorySegment.copy(prologue, 0, code, ValueLayout.JAVA_BYTE, 0, prologue.length);
    }

    private static void emit(ByteArrayOutputStream out, int... bytes) {
        for (int b : bytes) {
            out.write(b);
        }
    }

    private static byte[] prologue() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        emit(out, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x57);
        // push [rdi+128]; popfq
        emit(out, 0xff, 0xb7, 128, 0, 0, 0, 0x9d);
        for (int reg = 0; reg < 16; reg++) {
            if (reg != 4 && reg != 7) {
                emit(out, 0x48 | reg >> 3 << 2, 0x8b, 0x87 | (reg & 7) << 3, reg * 8, 0, 0, 0);
            }
        }
        emit(out, 0x48, 0x8b, 0xbf, 7 * 8, 0, 0, 0);
        return out.toByteArray();
    }

    private static byte[] epilogue() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        // push rdi; mov rdi,[rsp+8]; pushfq; pop [rdi+128]
        emit(out, 0x57, 0x48, 0x8b, 0x7c, 0x24, 8, 0x9c, 0x8f, 0x87, 128, 0, 0, 0);
        for (int reg = 0; reg < 16; reg++) {
            if (reg != 4 && reg != 7) {
                emit(out, 0x48 | reg >> 3 << 2, 0x89, 0x87 | (reg & 7) << 3, reg * 8, 0, 0, 0);
            }
        }
        // pop rax; mov [rdi+56],rax; pop rdi; cld; restore; ret
        emit(out, 0x58, 0x48, 0x89, 0x87, 7 * 8, 0, 0, 0, 0x5f, 0xfc);
        emit(out, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3);
        return out.toByteArray();
    }

    /** Where instructions start. */
    long entry() {
        return code.address() + prologueBytes;
    }

    /** Runs instructions; {@code registers} are changed in place. */
    void run(byte[] instructions, long[] registers) {
        MemorySegment.copy(instructions, 0, code, ValueLayout.JAVA_BYTE, prologueBytes, instructions.length);
        MemorySegment.copy(
                epilogue, 0, code, ValueLayout.JAVA_BYTE, prologueBytes + instructions.length, epilogue.length);
        MemorySegment.copy(registers, 0, state, ValueLayout.JAVA_LONG, 0, STATE_WORDS);
        try {
            call.invokeExact(state);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        MemorySegment.copy(state, ValueLayout.JAVA_LONG, 0, registers, 0, STATE_WORDS);
    }

    @Override
    public void close() {
        arena.close();
    }
}
