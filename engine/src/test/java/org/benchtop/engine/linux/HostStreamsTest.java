package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.host.HostStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostStreamsTest {
    private static final long TIMEOUT_SECONDS = 60;
    private static final long TCGETS = 0x5401;

    private final LinuxHost host = new LinuxHost();
    private final LinuxEventLoop loop = LinuxEventLoop.start("streams");

    @AfterEach
    void stop() {
        loop.close();
    }

    private static byte[] settings(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment termios = arena.allocate(36, 8);
            assertEquals(0, LibC.ioctl(fd, TCGETS, termios.address()));
            return termios.toArray(ValueLayout.JAVA_BYTE);
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Reads until {@code lengthBytes} are there or the stream ends, with a watch on the loop. */
    private byte[] readOnLoop(HostStream stream, int lengthBytes) throws Exception {
        Semaphore done = new Semaphore(0);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] buffer = new byte[1000];
        FdWatch watch = stream.watch(loop, (readable, writable) -> {
            int got = readable ? stream.read(buffer, 0, buffer.length) : 0;
            if (got > 0) {
                all.write(buffer, 0, got);
            }
            if (got < 0 || all.size() >= lengthBytes) {
                done.release();
            }
        });
        watch.interest(true, false);
        assertTrue(done.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS), "got only " + all.size());
        loop.call(watch::close);
        return all.toByteArray();
    }

    @Test
    void ptyCarriesBytesUnchangedBothWays() throws Exception {
        try (HostStream pty = host.openPty()) {
            assertTrue(pty.terminal());
            int other = LibC.open(pty.name(), LibC.O_RDWR | LibC.O_NOCTTY | LibC.O_CLOEXEC, 0);
            try (HostStream client = new FdStream("client", true, other, other, () -> {})) {
                byte[] keys = {'a', 3, 4, '\r', '\n', 26, (byte) 0xff};

                assertEquals(keys.length, client.write(keys, 0, keys.length));
                assertArrayEquals(keys, readOnLoop(pty, keys.length));

                assertEquals(3, pty.write(utf8("xhi\n"), 1, 3));
                assertArrayEquals(utf8("hi\n"), readOnLoop(client, 3));
            }
            assertEquals(0, pty.read(new byte[10], 0, 10));
        }
    }

    @Test
    void ptyBuffersWhileNobodyIsThereAndThenTakesNoMore() {
        try (HostStream pty = host.openPty()) {
            byte[] block = new byte[1024];
            int last = 1;
            for (int i = 0; i < 1000 && last > 0; i++) {
                last = pty.write(block, 0, block.length);
            }

            assertEquals(0, last);
        }
    }

    @Test
    void rawStdioChangesTheTerminalAndPutsItBack() throws Exception {
        try (HostStream pty = host.openPty()) {
            int terminal = LibC.open(pty.name(), LibC.O_RDWR | LibC.O_NOCTTY | LibC.O_CLOEXEC, 0);
            byte[] cooked = settings(terminal);
            cooked[12] |= 0x0a; // ICANON, ECHO
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment termios = arena.allocateFrom(ValueLayout.JAVA_BYTE, cooked);
                assertEquals(0, LibC.ioctl(terminal, 0x5402, termios.address()));
            }
            Semaphore freed = new Semaphore(0);

            HostStream stdio = HostStreams.stdio(terminal, terminal, true, freed::release);
            assertTrue(stdio.terminal());
            assertEquals(0, settings(terminal)[12] & 0x0b);
            assertEquals(3, stdio.write(utf8("out"), 0, 3));
            assertArrayEquals(utf8("out"), readOnLoop(pty, 3));
            assertEquals(0, stdio.read(new byte[4], 0, 4));
            stdio.close();
            stdio.close();

            assertArrayEquals(cooked, settings(terminal));
            assertEquals(1, freed.availablePermits());
            assertEquals(0, LibC.fcntl(terminal, 3, 0) & LibC.O_NONBLOCK);
            LibC.close(terminal);
        }
    }

    @Test
    void stdioOnFilesReadsToTheEndAndAppends(@TempDir Path folder) throws Exception {
        Path in = Files.writeString(folder.resolve("in"), "input text");
        Path out = Files.writeString(folder.resolve("out"), "kept ");
        int input = LibC.open(in.toString(), LibC.O_RDONLY | LibC.O_CLOEXEC, 0);
        int output = LibC.open(out.toString(), LibC.O_WRONLY | LibC.O_CLOEXEC | 02000, 0);

        try (HostStream stdio = HostStreams.stdio(input, output, true, () -> {})) {
            assertFalse(stdio.terminal());
            assertArrayEquals(utf8("input text"), readOnLoop(stdio, Integer.MAX_VALUE));
            assertEquals(-1, stdio.read(new byte[1], 0, 1));
            assertEquals(5, stdio.write(utf8("added"), 0, 5));
        }

        assertEquals("kept added", Files.readString(out));
        LibC.close(input);
        LibC.close(output);
    }

    @Test
    void stdioIsForOneUserAtATime() {
        try (HostStream first = host.stdio(false)) {
            assertEquals("stdio", first.name());
            BenchtopException failure = assertThrows(BenchtopException.class, () -> host.stdio(false));
            assertEquals(ErrorKind.CONFIG, failure.kind());
            assertTrue(failure.getMessage().contains("already in use"), failure.getMessage());
        }
        host.stdio(false).close();
    }

    @Test
    void closedStreamReportsItsEnd() {
        HostStream pty = host.openPty();
        pty.close();

        assertEquals(-1, pty.read(new byte[1], 0, 1));
        assertEquals(-1, pty.write(new byte[1], 0, 1));
    }

    @Test
    void tapSendsAndReceivesFramesOrSaysWhyNot() {
        String name = "btest" + new Random().nextInt(10_000);
        HostStream tap;
        try {
            tap = host.openTap(name, false);
        } catch (BenchtopException e) {
            assertTrue(e.getMessage().startsWith("tap " + name), e.getMessage());
            Assumptions.abort("no tap interfaces here: " + e.getMessage());
            return;
        }
        try (tap) {
            assertEquals(name, tap.name());
            assertTrue(Files.exists(Path.of("/sys/class/net", name)));
        }
        assertFalse(Files.exists(Path.of("/sys/class/net", name)));
    }

    @Test
    void tapNameThatIsTooLongIsRefused() {
        BenchtopException failure =
                assertThrows(BenchtopException.class, () -> host.openTap("a-very-long-interface-name", true));

        assertEquals(
                "tap: interface name \"a-very-long-interface-name\" must have 1 to 15 bytes", failure.getMessage());
    }

    @Test
    void ptyCyclesLeakNothing() {
        int descriptors = HostResources.openDescriptors();

        for (int i = 0; i < 50; i++) {
            host.openPty().close();
        }

        assertEquals(descriptors, HostResources.openDescriptors());
    }
}
