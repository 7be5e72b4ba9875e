package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.HostLoopDevice;

/**
 * A loop device that the kernel detaches by itself when its last descriptor is closed, so also when this process is
 * killed. Source: loop(4), include/uapi/linux/loop.h.
 */
final class LoopDevice implements HostLoopDevice {
    private static final long LOOP_CTL_GET_FREE = 0x4C82;
    private static final long LOOP_CONFIGURE = 0x4C0A;
    private static final int LO_FLAGS_READ_ONLY = 1;
    private static final int LO_FLAGS_AUTOCLEAR = 4;
    private static final int LO_FLAGS_DIRECT_IO = 16;

    /** {@code struct loop_config}: fd, block_size, {@code struct loop_info64}, eight reserved words. */
    private static final long CONFIG_BYTES = 304;

    private static final long CONFIG_FD = 0;
    private static final long CONFIG_FLAGS = 8 + 52;
    private static final long CONFIG_FILE_NAME = 8 + 56;
    private static final int FILE_NAME_BYTES = 64;
    private static final int ATTEMPTS = 64;

    private final Path path;
    private final int fd;
    private boolean closed;

    private LoopDevice(Path path, int fd) {
        this.path = path;
        this.fd = fd;
    }

    static LoopDevice attach(Path file, boolean readOnly, boolean direct) {
        int access = (readOnly ? LibC.O_RDONLY : LibC.O_RDWR) | LibC.O_CLOEXEC;
        int fileFd = Errno.checkedInt(
                file + (readOnly ? ": open" : ": open for writing"),
                LibC.open(file.toString(), access | (direct ? LibC.O_DIRECT : 0), 0));
        try {
            int flags = LO_FLAGS_AUTOCLEAR | (readOnly ? LO_FLAGS_READ_ONLY : 0) | (direct ? LO_FLAGS_DIRECT_IO : 0);
            return attach(file, fileFd, access, flags);
        } finally {
            LibC.close(fileFd);
        }
    }

    private static LoopDevice attach(Path file, int fileFd, int access, int flags) {
        int control = Errno.checkedInt(
                "/dev/loop-control: open (loop devices need root)", LibC.open("/dev/loop-control", access, 0));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment config = arena.allocate(CONFIG_BYTES, 8);
            config.set(ValueLayout.JAVA_INT, CONFIG_FD, fileFd);
            config.set(ValueLayout.JAVA_INT, CONFIG_FLAGS, flags);
            byte[] name = file.toString().getBytes(StandardCharsets.UTF_8);
            byte[] end = Arrays.copyOfRange(name, Math.max(0, name.length - FILE_NAME_BYTES + 1), name.length);
            MemorySegment.copy(end, 0, config, ValueLayout.JAVA_BYTE, CONFIG_FILE_NAME, end.length);
            for (int i = 0; i < ATTEMPTS; i++) {
                long number = Errno.checked(file + ": no free loop device", LibC.ioctl(control, LOOP_CTL_GET_FREE, 0));
                Path device = Path.of("/dev/loop" + number);
                int fd = Errno.checkedInt(device + ": open", LibC.open(device.toString(), access, 0));
                int result = LibC.ioctl(fd, LOOP_CONFIGURE, config.address());
                if (result >= 0) {
                    return new LoopDevice(device, fd);
                }
                LibC.close(fd);
                if (result != -Errno.EBUSY) {
                    throw Errno.exception(device + ": attaching " + file, result);
                }
                // Somebody else was faster.
            }
            throw BenchtopException.host(file + ": others take every loop device first");
        } finally {
            LibC.close(control);
        }
    }

    @Override
    public Path path() {
        return path;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            LibC.close(fd);
        }
    }
}
