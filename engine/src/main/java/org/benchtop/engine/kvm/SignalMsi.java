package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.benchtop.engine.linux.LibC;

/** A message sent with KVM_SIGNAL_MSI; a change of target costs no system call. */
final class SignalMsi implements KvmMessage {
    private final int vmFd;
    private final Consumer<KvmMessage> onClose;
    private final MemorySegment message = Arena.ofAuto().allocate(KvmMsi.LAYOUT);
    private boolean targeted;
    private boolean closed;

    SignalMsi(int vmFd, Consumer<KvmMessage> onClose) {
        this.vmFd = vmFd;
        this.onClose = onClose;
    }

    @Override
    public synchronized void target(long address, int data) {
        KvmMsi.addressLo(message, 0, (int) address);
        KvmMsi.addressHi(message, 0, (int) (address >>> Integer.SIZE));
        KvmMsi.data(message, 0, data);
        targeted = true;
    }

    @Override
    public synchronized void signal() {
        if (targeted && !closed) {
            // SAFETY: the struct lives as long as this object. An error means that the guest has aimed at no local
            // APIC, where hardware would drop the message too.
            LibC.ioctl(vmFd, KvmIoctl.KVM_SIGNAL_MSI, message.address());
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        onClose.accept(this);
    }
}
