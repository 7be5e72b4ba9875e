package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;

/**
 * The writes of a VM that ring an eventfd in the kernel. Thread-safe.
 *
 * <p>Each event keeps a duplicate of its descriptor, because the kernel wants to see the eventfd again to detach it and
 * its owner may have closed it by then.
 */
final class IoEvents {
    private static final int FLAG_DATAMATCH = 1;
    private static final int FLAG_PIO = 2;
    private static final int FLAG_DEASSIGN = 4;
    private static final int F_DUPFD_CLOEXEC = 1030;

    private final int vmFd;
    private final KvmSystem system;
    private final Set<Registration> registrations = new HashSet<>();
    private boolean closed;

    IoEvents(int vmFd, KvmSystem system) {
        this.vmFd = vmFd;
        this.system = system;
    }

    /** Adds an event; empty where this KVM cannot do it. */
    synchronized Optional<AutoCloseable> add(AddressSpace space, long address, IoEventMatch match, int eventFd) {
        boolean possible =
                system.has(KvmCap.IOEVENTFD) && (match.sizeBytes() != 0 || system.has(KvmCap.IOEVENTFD_ANY_LENGTH));
        if (!possible || closed) {
            return Optional.empty();
        }
        int own = Errno.checkedInt("fcntl", LibC.fcntl(eventFd, F_DUPFD_CLOEXEC, 0));
        int result = call(space, address, match, own, 0);
        if (result < 0) {
            LibC.close(own);
        }
        if (result == -Errno.EEXIST) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL,
                    "an ioevent for " + space + " 0x" + Long.toHexString(address) + " with " + match
                            + " exists already");
        }
        Errno.checked("KVM_IOEVENTFD for " + space + " 0x" + Long.toHexString(address), result);
        Registration registration = new Registration(space, address, match, own);
        registrations.add(registration);
        return Optional.of(registration);
    }

    private int call(AddressSpace space, long address, IoEventMatch match, int eventFd, int extraFlags) {
        int flags = extraFlags
                | (space == AddressSpace.PIO ? FLAG_PIO : 0)
                | (match.value().isPresent() ? FLAG_DATAMATCH : 0);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment request = arena.allocate(KvmIoeventfd.LAYOUT);
            KvmIoeventfd.datamatch(request, 0, match.value().orElse(0));
            KvmIoeventfd.addr(request, 0, address);
            KvmIoeventfd.len(request, 0, match.sizeBytes());
            KvmIoeventfd.fd(request, 0, eventFd);
            KvmIoeventfd.flags(request, 0, flags);
            // SAFETY: the struct has the size in the request number.
            return LibC.ioctl(vmFd, KvmIoctl.KVM_IOEVENTFD, request.address());
        }
    }

    /** Detaches all; later additions have no effect. */
    synchronized void close() {
        closed = true;
        List.copyOf(registrations).forEach(Registration::close);
    }

    private final class Registration implements AutoCloseable {
        private final AddressSpace space;
        private final long address;
        private final IoEventMatch match;
        private final int eventFd;

        Registration(AddressSpace space, long address, IoEventMatch match, int eventFd) {
            this.space = space;
            this.address = address;
            this.match = match;
            this.eventFd = eventFd;
        }

        @Override
        public void close() {
            synchronized (IoEvents.this) {
                if (registrations.remove(this)) {
                    call(space, address, match, eventFd, FLAG_DEASSIGN);
                    LibC.close(eventFd);
                }
            }
        }
    }
}
