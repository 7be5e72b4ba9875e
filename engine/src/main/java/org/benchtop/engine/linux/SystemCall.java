package org.benchtop.engine.linux;

/** System call numbers of Linux on x86-64. Source: arch/x86/entry/syscalls/syscall_64.tbl. */
final class SystemCall {
    static final long READ = 0;
    static final long WRITE = 1;
    static final long OPEN = 2;
    static final long CLOSE = 3;
    static final long FSTAT = 5;
    static final long POLL = 7;
    static final long LSEEK = 8;
    static final long MMAP = 9;
    static final long MUNMAP = 11;
    static final long RT_SIGPROCMASK = 14;
    static final long IOCTL = 16;
    static final long PREAD64 = 17;
    static final long PWRITE64 = 18;
    static final long MADVISE = 28;
    static final long GETPID = 39;
    static final long FCNTL = 72;
    static final long FDATASYNC = 75;
    static final long FTRUNCATE = 77;
    static final long GETTID = 186;
    static final long RT_SIGTIMEDWAIT = 128;
    static final long IO_SETUP = 206;
    static final long IO_DESTROY = 207;
    static final long IO_GETEVENTS = 208;
    static final long IO_SUBMIT = 209;
    static final long EPOLL_WAIT = 232;
    static final long EPOLL_CTL = 233;
    static final long TGKILL = 234;
    static final long TIMERFD_CREATE = 283;
    static final long FALLOCATE = 285;
    static final long TIMERFD_SETTIME = 286;
    static final long EVENTFD2 = 290;
    static final long EPOLL_CREATE1 = 291;
    static final long PREADV = 295;
    static final long PWRITEV = 296;
    static final long MEMFD_CREATE = 319;
    static final long PREADV2 = 327;
    static final long STATX = 332;
    static final long IO_URING_SETUP = 425;
    static final long IO_URING_ENTER = 426;
    static final long IO_URING_REGISTER = 427;

    private SystemCall() {}
}
