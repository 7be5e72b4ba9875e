package org.benchtop.engine.linux;

import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Linux error numbers: their names, a few words about each, and exceptions made from them. Source: errno(3). */
public final class Errno {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int EINTR = 4;
    public static final int EIO = 5;
    public static final int ENXIO = 6;
    public static final int EBADF = 9;
    public static final int EAGAIN = 11;
    public static final int ENOMEM = 12;
    public static final int EACCES = 13;
    public static final int EFAULT = 14;
    public static final int EBUSY = 16;
    public static final int EEXIST = 17;
    public static final int ENODEV = 19;
    public static final int EINVAL = 22;
    public static final int ENFILE = 23;
    public static final int EMFILE = 24;
    public static final int ENOTTY = 25;
    public static final int EFBIG = 27;
    public static final int ENOSPC = 28;
    public static final int EROFS = 30;
    public static final int EPIPE = 32;
    public static final int ENOSYS = 38;
    public static final int EOVERFLOW = 75;
    public static final int EOPNOTSUPP = 95;
    public static final int ETIME = 62;
    public static final int ECANCELED = 125;

    private static final Map<Integer, String> TEXTS = Map.ofEntries(
            Map.entry(EPERM, "EPERM (operation not permitted)"),
            Map.entry(ENOENT, "ENOENT (no such file or directory)"),
            Map.entry(3, "ESRCH (no such process)"),
            Map.entry(EINTR, "EINTR (interrupted)"),
            Map.entry(EIO, "EIO (input/output error)"),
            Map.entry(ENXIO, "ENXIO (no such device or address)"),
            Map.entry(7, "E2BIG (argument too long)"),
            Map.entry(8, "ENOEXEC (not executable)"),
            Map.entry(EBADF, "EBADF (bad file descriptor)"),
            Map.entry(10, "ECHILD (no child process)"),
            Map.entry(EAGAIN, "EAGAIN (not available now)"),
            Map.entry(ENOMEM, "ENOMEM (out of memory)"),
            Map.entry(EACCES, "EACCES (permission denied)"),
            Map.entry(EFAULT, "EFAULT (bad address)"),
            Map.entry(15, "ENOTBLK (block device required)"),
            Map.entry(EBUSY, "EBUSY (in use)"),
            Map.entry(EEXIST, "EEXIST (exists already)"),
            Map.entry(18, "EXDEV (on another file system)"),
            Map.entry(ENODEV, "ENODEV (no such device)"),
            Map.entry(20, "ENOTDIR (not a directory)"),
            Map.entry(21, "EISDIR (is a directory)"),
            Map.entry(EINVAL, "EINVAL (invalid argument)"),
            Map.entry(ENFILE, "ENFILE (too many open files on this host)"),
            Map.entry(EMFILE, "EMFILE (too many open files in this process)"),
            Map.entry(ENOTTY, "ENOTTY (not supported by this descriptor)"),
            Map.entry(26, "ETXTBSY (a running program's file)"),
            Map.entry(EFBIG, "EFBIG (file too large)"),
            Map.entry(ENOSPC, "ENOSPC (no space left)"),
            Map.entry(29, "ESPIPE (not seekable)"),
            Map.entry(EROFS, "EROFS (read-only file system)"),
            Map.entry(31, "EMLINK (too many links)"),
            Map.entry(EPIPE, "EPIPE (the other side is gone)"),
            Map.entry(33, "EDOM (outside domain)"),
            Map.entry(34, "ERANGE (out of range)"),
            Map.entry(35, "EDEADLK (would deadlock)"),
            Map.entry(36, "ENAMETOOLONG (name too long)"),
            Map.entry(37, "ENOLCK (no locks available)"),
            Map.entry(ENOSYS, "ENOSYS (not implemented by this kernel)"),
            Map.entry(39, "ENOTEMPTY (directory not empty)"),
            Map.entry(40, "ELOOP (too many symbolic links)"),
            Map.entry(61, "ENODATA (no data)"),
            Map.entry(ETIME, "ETIME (timer expired)"),
            Map.entry(71, "EPROTO (protocol error)"),
            Map.entry(EOVERFLOW, "EOVERFLOW (value too large)"),
            Map.entry(77, "EBADFD (descriptor in a bad state)"),
            Map.entry(EOPNOTSUPP, "EOPNOTSUPP (operation not supported)"),
            Map.entry(98, "EADDRINUSE (address in use)"),
            Map.entry(104, "ECONNRESET (connection reset)"),
            Map.entry(110, "ETIMEDOUT (timed out)"),
            Map.entry(111, "ECONNREFUSED (connection refused)"),
            Map.entry(114, "EALREADY (already in progress)"),
            Map.entry(115, "EINPROGRESS (in progress)"),
            Map.entry(116, "ESTALE (stale file handle)"),
            Map.entry(121, "EREMOTEIO (remote input/output error)"),
            Map.entry(122, "EDQUOT (quota exceeded)"),
            Map.entry(123, "ENOMEDIUM (no medium)"),
            Map.entry(ECANCELED, "ECANCELED (cancelled)"));

    private Errno() {}

    /** The name and meaning of an error number, such as {@code EACCES (permission denied)}; either sign is taken. */
    public static String describe(long errno) {
        int positive = (int) Math.abs(errno);
        return TEXTS.getOrDefault(positive, "errno " + positive);
    }

    /** The symbolic name of an error number, such as {@code EACCES}; either sign is taken. */
    public static String name(long errno) {
        String text = describe(errno);
        int end = text.indexOf(" (");
        return end < 0 ? text : text.substring(0, end);
    }

    /** An exception of kind HOST: {@code what: EACCES (permission denied)}, with {@code errno} in its context. */
    public static BenchtopException exception(String what, long errno) {
        return BenchtopException.of(ErrorKind.HOST, what + ": " + describe(errno), Map.of("errno", name(errno)), null);
    }

    /** Passes a result through, or throws {@link #exception} if it is a negative errno. */
    public static long checked(String what, long result) {
        if (result < 0) {
            throw exception(what, result);
        }
        return result;
    }

    /** {@link #checked(String, long)} for descriptors and other small results. */
    public static int checkedInt(String what, long result) {
        return (int) checked(what, result);
    }
}
