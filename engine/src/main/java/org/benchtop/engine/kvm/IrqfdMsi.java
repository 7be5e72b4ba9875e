package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Consumer;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;

/** A message sent by writing to an eventfd that KVM listens to; its target is a route in the kernel. */
final class IrqfdMsi implements KvmMessage {
    private static final int KVM_IRQFD_FLAG_DEASSIGN = 1;

    private final int vmFd;
    private final GsiRoutes routes;
    private final Consumer<KvmMessage> onClose;
    private final MemorySegment one = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
    private final int gsi;
    private final int eventFd;
    private boolean assigned;
    private boolean closed;

    IrqfdMsi(int vmFd, GsiRoutes routes, Consumer<KvmMessage> onClose) {
        this.vmFd = vmFd;
        this.routes = routes;
        this.onClose = onClose;
        one.set(ValueLayout.JAVA_LONG, 0, 1);
        gsi = routes.allocate();
        int result = LibC.eventfd(0, LibC.EFD_CLOEXEC | LibC.EFD_NONBLOCK);
        if (result < 0) {
            routes.free(gsi);
        }
        eventFd = Errno.checkedInt("eventfd", result);
    }

    @Override
    public synchronized void target(long address, int data) {
        if (closed) {
            return;
        }
        routes.message(gsi, address, data);
        if (!assigned) {
            Errno.checked("KVM_IRQFD", irqfd(0));
            assigned = true;
        }
    }

    private int irqfd(int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment request = arena.allocate(KvmIrqfd.LAYOUT);
            KvmIrqfd.fd(request, 0, eventFd);
            KvmIrqfd.gsi(request, 0, gsi);
            KvmIrqfd.flags(request, 0, flags);
            // SAFETY: the struct has the size in the request number.
            return LibC.ioctl(vmFd, KvmIoctl.KVM_IRQFD, request.address());
        }
    }

    @Override
    public synchronized void signal() {
        if (assigned && !closed) {
            // SAFETY: eight bytes of a segment that lives as long as this object.
            LibC.write(eventFd, one.address(), Long.BYTES);
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            if (assigned) {
                irqfd(KVM_IRQFD_FLAG_DEASSIGN);
            }
            LibC.close(eventFd);
            routes.free(gsi);
        }
        onClose.accept(this);
    }
}
