package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A terminal's settings: saved, made raw, and put back, at the latest when the JVM ends. Source: termios(3). */
final class TerminalMode {
    private static final long TCGETS = 0x5401;
    private static final long TCSETS = 0x5402;
    /** The kernel's {@code struct termios}, which is shorter than the C library's. */
    private static final int TERMIOS_BYTES = 36;

    private static final long C_IFLAG = 0;
    private static final long C_OFLAG = 4;
    private static final long C_CFLAG = 8;
    private static final long C_LFLAG = 12;
    private static final long C_CC = 17;
    private static final int OPOST = 1;
    private static final int VTIME = 5;
    private static final int VMIN = 6;
    /** IGNBRK, BRKINT, PARMRK, ISTRIP, INLCR, IGNCR, ICRNL, IXON. */
    private static final int INPUT_PROCESSING = 0x5eb;
    /** ECHO, ECHONL, ICANON, IEXTEN, ISIG. */
    private static final int LOCAL_PROCESSING = 0x804b;
    /** CSIZE, PARENB. */
    private static final int CHARACTER_SIZE = 0x130;

    private static final int CS8 = 0x30;

    private final int fd;
    private final MemorySegment saved;
    private final Thread atExit = Thread.ofPlatform().name("benchtop-terminal").unstarted(this::restoreNow);

    private TerminalMode(int fd, MemorySegment saved) {
        this.fd = fd;
        this.saved = saved;
    }

    static boolean isTerminal(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            return LibC.ioctl(fd, TCGETS, arena.allocate(TERMIOS_BYTES, 8).address()) == 0;
        }
    }

    /**
     * Turns off all processing of input: every key, also Ctrl-C, arrives as a byte and is not echoed.
     *
     * @param processOutput keeps the processing of output, so that log lines still start at the left
     */
    static TerminalMode makeRaw(int fd, boolean processOutput) {
        MemorySegment saved = Arena.ofAuto().allocate(TERMIOS_BYTES, 8);
        Errno.checked("terminal settings", LibC.ioctl(fd, TCGETS, saved.address()));
        TerminalMode mode = new TerminalMode(fd, saved);
        Runtime.getRuntime().addShutdownHook(mode.atExit);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = arena.allocate(TERMIOS_BYTES, 8).copyFrom(saved);
            clear(raw, C_IFLAG, INPUT_PROCESSING);
            clear(raw, C_OFLAG, processOutput ? 0 : OPOST);
            clear(raw, C_LFLAG, LOCAL_PROCESSING);
            clear(raw, C_CFLAG, CHARACTER_SIZE);
            raw.set(ValueLayout.JAVA_INT, C_CFLAG, raw.get(ValueLayout.JAVA_INT, C_CFLAG) | CS8);
            raw.set(ValueLayout.JAVA_BYTE, C_CC + VMIN, (byte) 1);
            raw.set(ValueLayout.JAVA_BYTE, C_CC + VTIME, (byte) 0);
            Errno.checked("raw terminal", LibC.ioctl(fd, TCSETS, raw.address()));
        }
        return mode;
    }

    private static void clear(MemorySegment termios, long field, int flags) {
        termios.set(ValueLayout.JAVA_INT, field, termios.get(ValueLayout.JAVA_INT, field) & ~flags);
    }

    /** Puts the settings back. */
    void restore() {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            // The JVM is ending: the hook restores as well, which does no harm.
        }
        restoreNow();
    }

    /** Leaves the terminal as it is for good. */
    void forget() {
        Runtime.getRuntime().removeShutdownHook(atExit);
    }

    private void restoreNow() {
        LibC.ioctl(fd, TCSETS, saved.address());
    }
}
