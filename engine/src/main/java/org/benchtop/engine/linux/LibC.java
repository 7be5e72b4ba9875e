package org.benchtop.engine.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Linux system calls: each method returns the call's value or a negative errno, throws nothing, and allocates nothing
 * (those that take a {@code String} excepted).
 *
 * <p>Pointers are passed as native addresses: what they point to must stay reachable and alive during the call. All
 * methods are thread-safe. {@code errno} goes to a segment per thread; a hot caller avoids that look-up by giving its
 * own, made with {@link #newCapture}. On a host that is not Linux on x86-64 every call throws a {@link
 * BenchtopException} of kind UNSUPPORTED; loading this class is always safe. See {@link #supported}.
 *
 * <p>Nearly everything goes through {@code syscall(2)}: one function shape means one downcall stub to build at
 * start-up, and the kernel takes and returns whole registers, so no argument can be narrowed wrongly.
 */
public final class LibC {
    public static final int O_RDONLY = 0;
    public static final int O_WRONLY = 1;
    public static final int O_RDWR = 2;
    public static final int O_CREAT = 0100;
    public static final int O_EXCL = 0200;
    public static final int O_NOCTTY = 0400;
    public static final int O_NONBLOCK = 04000;
    public static final int O_DSYNC = 010000;
    public static final int O_DIRECT = 040000;
    public static final int O_CLOEXEC = 02000000;

    public static final int PROT_NONE = 0;
    public static final int PROT_READ = 1;
    public static final int PROT_WRITE = 2;
    public static final int MAP_SHARED = 1;
    public static final int MAP_PRIVATE = 2;
    public static final int MAP_FIXED = 0x10;
    public static final int MAP_ANONYMOUS = 0x20;
    public static final int MAP_NORESERVE = 0x4000;
    public static final int MAP_POPULATE = 0x8000;
    public static final int MAP_HUGETLB = 0x40000;
    public static final int MAP_HUGE_2MB = 21 << 26;

    public static final int EFD_CLOEXEC = 02000000;
    public static final int EFD_NONBLOCK = 04000;

    public static final int SIG_BLOCK = 0;
    public static final int SIG_UNBLOCK = 1;
    public static final int SIG_SETMASK = 2;
    /** The size of the kernel's signal set. */
    public static final int SIGSET_BYTES = 8;
    /** The size of libc's {@code struct sigaction}: handler at 0, mask (128 bytes) at 8, flags at 136. */
    public static final int SIGACTION_BYTES = 152;

    /** Flag of {@link #preadv2}: answer EAGAIN instead of waiting for the device. */
    public static final int RWF_NOWAIT = 8;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    private static final boolean SUPPORTED = System.getProperty("os.name").equals("Linux")
            && System.getProperty("os.arch").equals("amd64");

    private static final MethodHandle SYSCALL = handle(
            "syscall",
            FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG),
            Linker.Option.firstVariadicArg(1),
            ERRNO);

    private static final ThreadLocal<MemorySegment> CAPTURE = ThreadLocal.withInitial(() -> newCapture(Arena.ofAuto()));

    private LibC() {}

    /** Loaded when somebody installs a signal handler, which few processes do. */
    private static final class SignalAction {
        static final MethodHandle SIGACTION = handle(
                "sigaction",
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG),
                ERRNO);
    }

    /** Whether this is Linux on x86-64, so that the calls work. */
    public static boolean supported() {
        return SUPPORTED;
    }

    /** A downcall handle, or one of the same type that throws a clear exception where the function is not there. */
    private static MethodHandle handle(String symbol, FunctionDescriptor descriptor, Linker.Option... options) {
        Optional<MemorySegment> address = SUPPORTED ? LINKER.defaultLookup().find(symbol) : Optional.empty();
        if (address.isPresent()) {
            return LINKER.downcallHandle(address.get(), descriptor, options);
        }
        MethodType type = descriptor.toMethodType().insertParameterTypes(0, MemorySegment.class);
        try {
            MethodHandle raise = MethodHandles.lookup()
                    .findStatic(LibC.class, "raiseUnsupported", MethodType.methodType(Object.class, String.class));
            MethodHandle bound = MethodHandles.insertArguments(raise, 0, symbol);
            return MethodHandles.dropArguments(
                    bound.asType(MethodType.methodType(type.returnType())), 0, type.parameterArray());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("raiseUnsupported", e);
        }
    }

    @SuppressWarnings("unused") // bound by handle()
    private static Object raiseUnsupported(String symbol) {
        throw BenchtopException.of(
                ErrorKind.UNSUPPORTED,
                SUPPORTED
                        ? "the C library has no " + symbol + "()"
                        : "this needs Linux on x86-64: os.name=" + System.getProperty("os.name") + " os.arch="
                                + System.getProperty("os.arch"));
    }

    /** Space for {@code errno} that a hot caller keeps and passes to calls of one thread at a time. */
    public static MemorySegment newCapture(Arena arena) {
        return arena.allocate(Linker.Option.captureStateLayout());
    }

    /** The calling thread's own space for {@code errno}. */
    public static MemorySegment capture() {
        return CAPTURE.get();
    }

    /** A view of native memory that somebody else owns; the caller vouches for range and lifetime. */
    public static MemorySegment memory(long address, long lengthBytes) {
        // SAFETY: the caller got the range from mmap or the kernel and drops the view before it unmaps.
        return MemorySegment.ofAddress(address).reinterpret(lengthBytes);
    }

    /** syscall(2) with {@code errno} in {@code capture}: the result or a negative errno. */
    public static long syscall(MemorySegment capture, long number, long a, long b, long c, long d, long e, long f) {
        try {
            // SAFETY: variadic long syscall(long, ...): seven 64-bit integers; pointers among them are the caller's.
            long result = (long) SYSCALL.invokeExact(capture, number, a, b, c, d, e, f);
            return result == -1 ? -(long) capture.get(ValueLayout.JAVA_INT, 0) : result;
        } catch (Throwable failure) {
            throw rethrown(failure);
        }
    }

    private static RuntimeException rethrown(Throwable failure) {
        if (failure instanceof RuntimeException unchecked) {
            return unchecked;
        }
        if (failure instanceof Error error) {
            throw error;
        }
        return new IllegalStateException("a downcall threw a checked exception", failure);
    }

    /** syscall(2): the result or a negative errno. */
    public static long syscall(long number, long a, long b, long c, long d, long e, long f) {
        return syscall(CAPTURE.get(), number, a, b, c, d, e, f);
    }

    /** open(2). */
    public static int open(String path, int flags, int mode) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) syscall(SystemCall.OPEN, arena.allocateFrom(path).address(), flags, mode, 0, 0, 0);
        }
    }

    /** close(2). */
    public static int close(int fd) {
        return (int) syscall(SystemCall.CLOSE, fd, 0, 0, 0, 0, 0);
    }

    /** read(2). */
    public static long read(int fd, long address, long lengthBytes) {
        return read(CAPTURE.get(), fd, address, lengthBytes);
    }

    /** read(2) with the caller's capture segment. */
    public static long read(MemorySegment capture, int fd, long address, long lengthBytes) {
        return syscall(capture, SystemCall.READ, fd, address, lengthBytes, 0, 0, 0);
    }

    /** write(2). */
    public static long write(int fd, long address, long lengthBytes) {
        return write(CAPTURE.get(), fd, address, lengthBytes);
    }

    /** write(2) with the caller's capture segment. */
    public static long write(MemorySegment capture, int fd, long address, long lengthBytes) {
        return syscall(capture, SystemCall.WRITE, fd, address, lengthBytes, 0, 0, 0);
    }

    /** ioctl(2). */
    public static int ioctl(int fd, long request, long argument) {
        return ioctl(CAPTURE.get(), fd, request, argument);
    }

    /** ioctl(2) with the caller's capture segment. */
    public static int ioctl(MemorySegment capture, int fd, long request, long argument) {
        return (int) syscall(capture, SystemCall.IOCTL, fd, request, argument, 0, 0, 0);
    }

    /** mmap(2): the address or a negative errno. */
    public static long mmap(long hint, long lengthBytes, int protection, int flags, int fd, long offsetBytes) {
        return syscall(SystemCall.MMAP, hint, lengthBytes, protection, flags, fd, offsetBytes);
    }

    /** munmap(2). */
    public static int munmap(long address, long lengthBytes) {
        return (int) syscall(SystemCall.MUNMAP, address, lengthBytes, 0, 0, 0, 0);
    }

    /** madvise(2). */
    public static int madvise(long address, long lengthBytes, int advice) {
        return (int) syscall(SystemCall.MADVISE, address, lengthBytes, advice, 0, 0, 0);
    }

    /** memfd_create(2). */
    public static int memfdCreate(String name, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            return (int)
                    syscall(SystemCall.MEMFD_CREATE, arena.allocateFrom(name).address(), flags, 0, 0, 0, 0);
        }
    }

    /** ftruncate(2). */
    public static int ftruncate(int fd, long sizeBytes) {
        return (int) syscall(SystemCall.FTRUNCATE, fd, sizeBytes, 0, 0, 0, 0);
    }

    /** lseek(2). */
    public static long lseek(int fd, long offsetBytes, int whence) {
        return syscall(SystemCall.LSEEK, fd, offsetBytes, whence, 0, 0, 0);
    }

    /** fstat(2) into a {@code struct stat}. */
    static int fstat(int fd, long statAddress) {
        return (int) syscall(SystemCall.FSTAT, fd, statAddress, 0, 0, 0, 0);
    }

    /** statx(2) of an open descriptor into a {@code struct statx}. */
    static int statx(int fd, long emptyPathAddress, int flags, int mask, long statxAddress) {
        return (int) syscall(SystemCall.STATX, fd, emptyPathAddress, flags, mask, statxAddress, 0);
    }

    /** eventfd(2). */
    public static int eventfd(int initialValue, int flags) {
        return (int) syscall(SystemCall.EVENTFD2, initialValue, flags, 0, 0, 0, 0);
    }

    /** epoll_create1(2). */
    public static int epollCreate(int flags) {
        return (int) syscall(SystemCall.EPOLL_CREATE1, flags, 0, 0, 0, 0, 0);
    }

    /** epoll_ctl(2); the event is a packed {@code struct epoll_event}. */
    public static int epollCtl(int epollFd, int operation, int fd, long eventAddress) {
        return (int) syscall(SystemCall.EPOLL_CTL, epollFd, operation, fd, eventAddress, 0, 0);
    }

    /** epoll_wait(2); a negative timeout waits for ever. */
    public static int epollWait(
            MemorySegment capture, int epollFd, long eventsAddress, int maxEvents, int timeoutMillis) {
        return (int) syscall(capture, SystemCall.EPOLL_WAIT, epollFd, eventsAddress, maxEvents, timeoutMillis, 0, 0);
    }

    /** timerfd_create(2). */
    public static int timerfdCreate(int clockId, int flags) {
        return (int) syscall(SystemCall.TIMERFD_CREATE, clockId, flags, 0, 0, 0, 0);
    }

    /** timerfd_settime(2); the new value is a {@code struct itimerspec}. */
    public static int timerfdSettime(MemorySegment capture, int fd, int flags, long newValueAddress) {
        return (int) syscall(capture, SystemCall.TIMERFD_SETTIME, fd, flags, newValueAddress, 0, 0, 0);
    }

    /** poll(2); a negative timeout waits for ever. */
    public static int poll(long pollFdsAddress, long count, int timeoutMillis) {
        return (int) syscall(SystemCall.POLL, pollFdsAddress, count, timeoutMillis, 0, 0, 0);
    }

    /** pread(2). */
    public static long pread(int fd, long address, long lengthBytes, long offsetBytes) {
        return syscall(SystemCall.PREAD64, fd, address, lengthBytes, offsetBytes, 0, 0);
    }

    /** pread(2) with the caller's capture segment. */
    public static long pread(MemorySegment capture, int fd, long address, long lengthBytes, long offsetBytes) {
        return syscall(capture, SystemCall.PREAD64, fd, address, lengthBytes, offsetBytes, 0, 0);
    }

    /** pwrite(2). */
    public static long pwrite(int fd, long address, long lengthBytes, long offsetBytes) {
        return syscall(SystemCall.PWRITE64, fd, address, lengthBytes, offsetBytes, 0, 0);
    }

    /** pwrite(2) with the caller's capture segment. */
    public static long pwrite(MemorySegment capture, int fd, long address, long lengthBytes, long offsetBytes) {
        return syscall(capture, SystemCall.PWRITE64, fd, address, lengthBytes, offsetBytes, 0, 0);
    }

    /** preadv(2); the vector is an array of {@code struct iovec}, at most 1024. */
    public static long preadv(MemorySegment capture, int fd, long iovecAddress, int count, long offsetBytes) {
        return syscall(capture, SystemCall.PREADV, fd, iovecAddress, count, offsetBytes, 0, 0);
    }

    /** preadv2(2) with {@link #RWF_NOWAIT} and its like. */
    public static long preadv2(
            MemorySegment capture, int fd, long iovecAddress, int count, long offsetBytes, int flags) {
        return syscall(capture, SystemCall.PREADV2, fd, iovecAddress, count, offsetBytes, 0, flags);
    }

    /** pwritev(2); the vector is an array of {@code struct iovec}, at most 1024. */
    public static long pwritev(MemorySegment capture, int fd, long iovecAddress, int count, long offsetBytes) {
        return syscall(capture, SystemCall.PWRITEV, fd, iovecAddress, count, offsetBytes, 0, 0);
    }

    /** fdatasync(2). */
    public static int fdatasync(MemorySegment capture, int fd) {
        return (int) syscall(capture, SystemCall.FDATASYNC, fd, 0, 0, 0, 0, 0);
    }

    /** fallocate(2). */
    public static int fallocate(MemorySegment capture, int fd, int mode, long offsetBytes, long lengthBytes) {
        return (int) syscall(capture, SystemCall.FALLOCATE, fd, mode, offsetBytes, lengthBytes, 0, 0);
    }

    /** fcntl(2). */
    public static int fcntl(int fd, int command, long argument) {
        return (int) syscall(SystemCall.FCNTL, fd, command, argument, 0, 0, 0);
    }

    /** getpid(2). */
    public static int getpid() {
        return (int) syscall(SystemCall.GETPID, 0, 0, 0, 0, 0, 0);
    }

    /** gettid(2): the kernel's id of the calling platform thread. */
    public static int gettid() {
        return (int) syscall(SystemCall.GETTID, 0, 0, 0, 0, 0, 0);
    }

    /** tgkill(2): sends a signal to one thread. */
    public static int tgkill(int processId, int threadId, int signal) {
        return (int) syscall(SystemCall.TGKILL, processId, threadId, signal, 0, 0, 0);
    }

    /**
     * pthread_sigmask(3) of the calling platform thread.
     *
     * @param how {@link #SIG_BLOCK}, {@link #SIG_UNBLOCK} or {@link #SIG_SETMASK}
     * @param setAddress the new set of {@link #SIGSET_BYTES} bytes, or 0
     * @param oldSetAddress receives the old set of {@link #SIGSET_BYTES} bytes, or 0
     */
    public static int pthreadSigmask(int how, long setAddress, long oldSetAddress) {
        return (int) syscall(SystemCall.RT_SIGPROCMASK, how, setAddress, oldSetAddress, SIGSET_BYTES, 0, 0);
    }

    /** sigaction(2) of libc (which adds the trampoline that handlers return through), {@link #SIGACTION_BYTES} each. */
    public static int sigaction(int signal, long actionAddress, long oldActionAddress) {
        MemorySegment capture = CAPTURE.get();
        try {
            // SAFETY: int sigaction(int, const struct sigaction *, struct sigaction *); the structs are the caller's.
            int result = (int) SignalAction.SIGACTION.invokeExact(capture, signal, actionAddress, oldActionAddress);
            return result == -1 ? -capture.get(ValueLayout.JAVA_INT, 0) : result;
        } catch (Throwable failure) {
            throw rethrown(failure);
        }
    }

    /**
     * sigtimedwait(2): the signal taken, or -EAGAIN.
     *
     * @param setAddress {@link #SIGSET_BYTES} bytes
     * @param infoAddress receives 128 bytes, or 0
     * @param timeoutAddress a {@code struct timespec}, or 0 to wait for ever
     */
    public static int sigtimedwait(MemorySegment capture, long setAddress, long infoAddress, long timeoutAddress) {
        return (int) syscall(
                capture, SystemCall.RT_SIGTIMEDWAIT, setAddress, infoAddress, timeoutAddress, SIGSET_BYTES, 0, 0);
    }
}
