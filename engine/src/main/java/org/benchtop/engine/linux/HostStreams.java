package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.HostStream;

/** Opens the process's own input and output, pseudo-terminals and tap interfaces. */
final class HostStreams {
    private static final int STDIN = 0;
    private static final int STDOUT = 1;
    private static final int F_DUPFD_CLOEXEC = 1030;

    private static final long TIOCSPTLCK = 0x40045431L;
    private static final long TIOCGPTN = 0x80045430L;

    private static final long TUNSETIFF = 0x400454caL;
    private static final int IFREQ_BYTES = 40;
    private static final int IFNAMSIZ = 16;
    private static final short IFF_TAP = 2;
    private static final short IFF_NO_PI = 0x1000;
    private static final short IFF_VNET_HDR = 0x4000;

    private static final AtomicBoolean STDIO_TAKEN = new AtomicBoolean();

    private HostStreams() {}

    static HostStream stdio(boolean raw) {
        if (!STDIO_TAKEN.compareAndSet(false, true)) {
            throw BenchtopException.config("stdio: already in use by another chardev of this process");
        }
        try {
            return stdio(STDIN, STDOUT, raw, () -> STDIO_TAKEN.set(false));
        } catch (RuntimeException e) {
            STDIO_TAKEN.set(false);
            throw e;
        }
    }

    /** A stream on two descriptors that stay open and keep their blocking mode. */
    static HostStream stdio(int input, int output, boolean raw, Runnable onClose) {
        int in = ownNonBlocking(input, LibC.O_RDONLY);
        int out;
        try {
            out = ownNonBlocking(output, LibC.O_WRONLY);
        } catch (RuntimeException e) {
            LibC.close(in);
            throw e;
        }
        boolean terminal = TerminalMode.isTerminal(in);
        if (!raw || !terminal) {
            return new FdStream("stdio", terminal, in, out, onClose);
        }
        TerminalMode mode = TerminalMode.makeRaw(in, true);
        return new FdStream("stdio", true, in, out, () -> {
            mode.restore();
            onClose.run();
        });
    }

    /**
     * The same terminal or pipe through a descriptor of our own: O_NONBLOCK belongs to the open file, which we share
     * with the shell that started us, so it must not be set on what we inherited. Where that cannot be opened again
     * (a socket), and for regular files (which have a position and do not block), it is the inherited one.
     */
    private static int ownNonBlocking(int fd, int access) {
        if (!Stat.of(fd).regularFile()) {
            int own = LibC.open("/proc/self/fd/" + fd, access | LibC.O_NONBLOCK | LibC.O_NOCTTY | LibC.O_CLOEXEC, 0);
            if (own >= 0) {
                return own;
            }
        }
        return Errno.checkedInt("stdio", LibC.fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }

    static HostStream openPty() {
        int master = Errno.checkedInt(
                "/dev/ptmx", LibC.open("/dev/ptmx", LibC.O_RDWR | LibC.O_NONBLOCK | LibC.O_NOCTTY | LibC.O_CLOEXEC, 0));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(ValueLayout.JAVA_INT);
            Errno.checked("pty: unlock", LibC.ioctl(master, TIOCSPTLCK, value.address()));
            Errno.checked("pty: number", LibC.ioctl(master, TIOCGPTN, value.address()));
            String path = "/dev/pts/" + value.get(ValueLayout.JAVA_INT, 0);
            // While nobody has the other side open the master reports a hang-up for ever: we hold it open ourselves.
            int other = Errno.checkedInt(path, LibC.open(path, LibC.O_RDWR | LibC.O_NOCTTY | LibC.O_CLOEXEC, 0));
            try {
                TerminalMode.makeRaw(other, false).forget();
            } catch (RuntimeException e) {
                LibC.close(other);
                throw e;
            }
            return new FdStream(path, true, master, master, () -> LibC.close(other));
        } catch (RuntimeException e) {
            LibC.close(master);
            throw e;
        }
    }

    static HostStream openTap(String interfaceName, boolean vnetHeader) {
        byte[] bytes = interfaceName.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length >= IFNAMSIZ) {
            throw BenchtopException.config(
                    "tap: interface name \"" + interfaceName + "\" must have 1 to " + (IFNAMSIZ - 1) + " bytes");
        }
        int fd = Errno.checkedInt(
                "tap " + interfaceName + ": /dev/net/tun",
                LibC.open("/dev/net/tun", LibC.O_RDWR | LibC.O_NONBLOCK | LibC.O_CLOEXEC, 0));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment request = arena.allocate(IFREQ_BYTES, 8);
            MemorySegment.copy(bytes, 0, request, ValueLayout.JAVA_BYTE, 0, bytes.length);
            request.set(
                    ValueLayout.JAVA_SHORT, IFNAMSIZ, (short) (IFF_TAP | IFF_NO_PI | (vnetHeader ? IFF_VNET_HDR : 0)));
            Errno.checked("tap " + interfaceName, LibC.ioctl(fd, TUNSETIFF, request.address()));
            return new FdStream(interfaceName, false, fd, fd, () -> {});
        } catch (RuntimeException e) {
            LibC.close(fd);
            throw e;
        }
    }
}
