package org.benchtop.engine.linux;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct epoll_event}: packed on x86-64. Source: epoll_ctl(2). */
final class EpollEvent {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("events"), ValueLayout.JAVA_LONG_UNALIGNED.withName("data"));
    static final int BYTES = 12;

    static final int EPOLLIN = 1;
    static final int EPOLLOUT = 4;
    static final int EPOLLERR = 8;
    static final int EPOLLHUP = 0x10;
    static final int EPOLLET = 1 << 31;

    static final int EPOLL_CTL_ADD = 1;
    static final int EPOLL_CTL_DEL = 2;
    static final int EPOLL_CTL_MOD = 3;
    static final int EPOLL_CLOEXEC = 02000000;

    private static final VarHandle EVENTS = LAYOUT.varHandle(PathElement.groupElement("events"));
    private static final VarHandle DATA = LAYOUT.varHandle(PathElement.groupElement("data"));

    static {
        assert LAYOUT.byteSize() == BYTES;
    }

    private EpollEvent() {}

    static int events(MemorySegment segment, long offset) {
        return (int) EVENTS.get(segment, offset);
    }

    static long data(MemorySegment segment, long offset) {
        return (long) DATA.get(segment, offset);
    }

    static void set(MemorySegment segment, int events, long data) {
        EVENTS.set(segment, 0L, events);
        DATA.set(segment, 0L, data);
    }
}
