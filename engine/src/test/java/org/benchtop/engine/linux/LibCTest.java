package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibCTest {
    private static final int SIGNAL = 41;

    @Test
    void openOfMissingFileReturnsNegativeErrno() {
        assertEquals(-Errno.ENOENT, LibC.open("/no/such/file", LibC.O_RDONLY, 0));
    }

    @Test
    void closeOfBadDescriptorReturnsNegativeErrno() {
        assertEquals(-Errno.EBADF, LibC.close(-1));
    }

    @Test
    void writtenBytesReadBack(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("a");
        int fd = LibC.open(file.toString(), LibC.O_RDWR | LibC.O_CREAT | LibC.O_CLOEXEC, 0600);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("hello");
            MemorySegment back = arena.allocate(16);
            MemorySegment capture = LibC.newCapture(arena);

            assertEquals(5, LibC.pwrite(fd, text.address(), 5, 3));
            assertEquals(5, LibC.pread(capture, fd, back.address(), 16, 3));

            assertEquals("hello", back.getString(0));
            assertEquals(8, Files.size(file));
        } finally {
            assertEquals(0, LibC.close(fd));
        }
    }

    @Test
    void mappedMemoryIsSharedWithTheDescriptor() {
        int fd = LibC.memfdCreate("libc-test", 1);
        assertTrue(fd >= 0);
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(0, LibC.ftruncate(fd, 8192));
            long address = LibC.mmap(0, 8192, LibC.PROT_READ | LibC.PROT_WRITE, LibC.MAP_SHARED, fd, 0);
            assertTrue(address > 0);
            LibC.memory(address, 8192).set(ValueLayout.JAVA_LONG, 4096, 0x1122334455667788L);
            MemorySegment back = arena.allocate(8, 8);

            assertEquals(8, LibC.pread(fd, back.address(), 8, 4096));

            assertEquals(0x1122334455667788L, back.get(ValueLayout.JAVA_LONG, 0));
            assertEquals(0, LibC.munmap(address, 8192));
        } finally {
            LibC.close(fd);
        }
    }

    @Test
    void blockedSignalIsTakenBySigtimedwait() throws Exception {
        int[] taken = {0, 0};
        Thread thread = Thread.ofPlatform().start(() -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment set = arena.allocate(LibC.SIGSET_BYTES, 8);
                set.set(ValueLayout.JAVA_LONG, 0, 1L << (SIGNAL - 1));
                MemorySegment noWait = arena.allocate(16, 8);
                LibC.pthreadSigmask(LibC.SIG_BLOCK, set.address(), 0);
                LibC.tgkill(LibC.getpid(), LibC.gettid(), SIGNAL);
                taken[0] = LibC.sigtimedwait(LibC.capture(), set.address(), 0, noWait.address());
                taken[1] = LibC.sigtimedwait(LibC.capture(), set.address(), 0, noWait.address());
            }
        });
        thread.join();

        assertEquals(SIGNAL, taken[0]);
        assertEquals(-Errno.EAGAIN, taken[1]);
    }

    @Test
    void ignoredSignalDoesNotEndTheProcess() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ignore = arena.allocate(LibC.SIGACTION_BYTES, 8);
            MemorySegment old = arena.allocate(LibC.SIGACTION_BYTES, 8);
            ignore.set(ValueLayout.JAVA_LONG, 0, 1);

            assertEquals(0, LibC.sigaction(SIGNAL + 1, ignore.address(), old.address()));
            assertEquals(0, LibC.tgkill(LibC.getpid(), LibC.gettid(), SIGNAL + 1));

            assertEquals(0, LibC.sigaction(SIGNAL + 1, old.address(), 0));
        }
    }

    @Test
    void errnoNamesAndMeaningAreShown() {
        assertEquals("EACCES (permission denied)", Errno.describe(-Errno.EACCES));
        assertEquals("ENOSPC", Errno.name(Errno.ENOSPC));
        assertEquals("errno 250", Errno.describe(250));

        BenchtopException failure = Assertions.assertThrows(BenchtopException.class, () -> Errno.checked("open x", -2));
        assertEquals("open x: ENOENT (no such file or directory)", failure.getMessage());
        assertEquals(ErrorKind.HOST, failure.kind());
        assertEquals("ENOENT", failure.context().get("errno"));
    }
}
