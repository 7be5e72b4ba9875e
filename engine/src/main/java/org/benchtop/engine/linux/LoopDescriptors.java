package org.benchtop.engine.linux;

import org.benchtop.spi.BenchtopException;

/**
 * What an event loop holds of the kernel.
 *
 * @param epoll the epoll set
 * @param wake the eventfd by which threads end the loop's sleep; blocking
 * @param timer the timerfd
 */
record LoopDescriptors(int epoll, int wake, int timer) {
    private static final int CLOCK_MONOTONIC = 1;
    private static final int TFD_CLOEXEC = 02000000;
    private static final int TFD_NONBLOCK = 04000;

    static LoopDescriptors open() {
        int epoll = LibC.epollCreate(EpollEvent.EPOLL_CLOEXEC);
        int wake = LibC.eventfd(0, LibC.EFD_CLOEXEC);
        int timer = LibC.timerfdCreate(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        LoopDescriptors all = new LoopDescriptors(epoll, wake, timer);
        try {
            Errno.checked("event loop: epoll_create", epoll);
            Errno.checked("event loop: eventfd", wake);
            Errno.checked("event loop: timerfd_create", timer);
            return all;
        } catch (BenchtopException e) {
            all.close();
            throw e;
        }
    }

    void close() {
        for (int fd : new int[] {epoll, wake, timer}) {
            if (fd >= 0) {
                LibC.close(fd);
            }
        }
    }
}
