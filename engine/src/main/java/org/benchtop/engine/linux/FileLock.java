package org.benchtop.engine.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.HostFileOptions;

/**
 * An open-file-description lock on a whole file, which the kernel drops with the descriptor. Such locks also conflict
 * between two opens of one process, and with the byte locks of other emulators. Source: fcntl(2).
 */
final class FileLock {
    private static final int F_OFD_GETLK = 36;
    private static final int F_OFD_SETLK = 37;
    private static final short F_RDLCK = 0;
    private static final short F_WRLCK = 1;
    private static final short F_UNLCK = 2;
    private static final int FLOCK_BYTES = 32;
    private static final long LEFTOVER_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long PAUSE_MILLIS = 5;
    private static final long L_TYPE = 0;
    private static final long L_PID = 24;

    private FileLock() {}

    /** Takes the lock or says who has it. */
    static void take(int fd, HostFileOptions.Lock mode, String name) {
        short type = switch (mode) {
            case NONE -> -1;
            case SHARED -> F_RDLCK;
            case EXCLUSIVE -> F_WRLCK;
        };
        if (type < 0) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flock = arena.allocate(FLOCK_BYTES, 8);
            flock.set(ValueLayout.JAVA_SHORT, L_TYPE, type);
            int result = LibC.fcntl(fd, F_OFD_SETLK, flock.address());
            long end = System.nanoTime() + LEFTOVER_NANOS;
            while (result == -Errno.EAGAIN || result == -Errno.EACCES) {
                MemorySegment conflicting = arena.allocate(FLOCK_BYTES, 8).copyFrom(flock);
                Optional<String> holder = holder(fd, conflicting);
                // A lock without a holder is what is left of a process that was killed, until its io_uring is gone.
                if (holder.isPresent() || System.nanoTime() - end > 0) {
                    throw conflict(conflicting, holder, mode, name);
                }
                pause();
                result = LibC.fcntl(fd, F_OFD_SETLK, flock.address());
            }
            if (result == -Errno.EBADF) {
                throw BenchtopException.host(name + ": an exclusive lock needs the file opened for writing");
            }
            Errno.checked(name + ": lock", result);
        }
    }

    /** Gives the lock up, if there is one. */
    static void drop(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flock = arena.allocate(FLOCK_BYTES, 8);
            flock.set(ValueLayout.JAVA_SHORT, L_TYPE, F_UNLCK);
            LibC.fcntl(fd, F_OFD_SETLK, flock.address());
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw BenchtopException.host("interrupted");
        }
    }

    /** Who holds the lock that conflicts with a wanted one, which becomes that lock. */
    private static Optional<String> holder(int fd, MemorySegment flock) {
        int processId = LibC.fcntl(fd, F_OFD_GETLK, flock.address()) == 0 ? flock.get(ValueLayout.JAVA_INT, L_PID) : -1;
        return processId > 0 ? Optional.of(describe(Long.toString(processId))) : holderOf(fd, Stat.of(fd));
    }

    private static BenchtopException conflict(
            MemorySegment flock, Optional<String> holder, HostFileOptions.Lock mode, String name) {
        boolean heldExclusively = flock.get(ValueLayout.JAVA_SHORT, L_TYPE) == F_WRLCK;
        return BenchtopException.host(name + ": in use by " + holder.orElse("another process") + ", which holds "
                + (heldExclusively ? "an exclusive" : "a shared") + " lock; wanted "
                + (mode == HostFileOptions.Lock.EXCLUSIVE ? "an exclusive" : "a shared") + " one");
    }

    /** The kernel does not say who holds such a lock, but every process's descriptors show their locks. */
    private static Optional<String> holderOf(int ownFd, Stat file) {
        String own = Long.toString(ProcessHandle.current().pid());
        String inode = ":" + file.inode() + " ";
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                String id = process.getFileName().toString();
                if (holds(process, inode, id.equals(own) ? Integer.toString(ownFd) : "")) {
                    return Optional.of(id.equals(own) ? "another drive of this process" : describe(id));
                }
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return Optional.empty();
    }

    private static boolean holds(Path process, String inode, String except) {
        try (DirectoryStream<Path> infos = Files.newDirectoryStream(process.resolve("fdinfo"))) {
            for (Path info : infos) {
                if (!info.getFileName().toString().equals(except) && locks(info, inode)) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            // Another user's process, or one that has just ended.
            return false;
        }
    }

    private static boolean locks(Path info, String inode) {
        try {
            return Files.readAllLines(info).stream().anyMatch(line -> line.startsWith("lock:") && line.contains(inode));
        } catch (IOException e) {
            return false;
        }
    }

    private static String describe(String processId) {
        try {
            return "process " + processId + " ("
                    + Files.readString(Path.of("/proc", processId, "comm")).strip() + ")";
        } catch (IOException e) {
            return "process " + processId;
        }
    }
}
