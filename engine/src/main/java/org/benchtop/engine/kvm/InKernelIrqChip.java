package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;

/** The in-kernel PICs and IOAPIC, and the way to the local APICs. Thread-safe. */
final class InKernelIrqChip implements IrqChip {
    /** How messages are sent. */
    enum Delivery {
        IRQFD,
        SIGNAL,
        NONE,
    }

    private final int vmFd;
    private final Delivery delivery;
    private final GsiRoutes routes;
    private final List<IrqPin> pins = new ArrayList<>();
    private final Set<KvmMessage> messages = ConcurrentHashMap.newKeySet();

    /** The controllers of a VM that has them already. */
    InKernelIrqChip(int vmFd, int routeCapacity, Delivery delivery) {
        this.vmFd = vmFd;
        this.delivery = delivery;
        routes = new GsiRoutes(vmFd, routeCapacity);
        for (int gsi = 0; gsi < GsiRoutes.PINS; gsi++) {
            pins.add(new IrqPin(vmFd, gsi));
        }
    }

    @Override
    public IrqLine line(int gsi) {
        if (gsi < 0 || gsi >= GsiRoutes.PINS) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL, "global system interrupt " + gsi + " is outside 0–" + (GsiRoutes.PINS - 1));
        }
        return pins.get(gsi).newSource();
    }

    @Override
    public Msi newMsi() {
        KvmMessage message = switch (delivery) {
            case SIGNAL -> new SignalMsi(vmFd, messages::remove);
            case IRQFD -> new IrqfdMsi(vmFd, routes, messages::remove);
            case NONE ->
                throw BenchtopException.of(
                        ErrorKind.UNSUPPORTED,
                        "this KVM sends no message-signalled interrupts:"
                                + " KVM_CAP_SIGNAL_MSI and KVM_CAP_IRQFD are missing");
        };
        messages.add(message);
        return message;
    }

    @Override
    public boolean supportsMsi() {
        return delivery != Delivery.NONE;
    }

    /** The kernel's record of a controller. */
    byte[] state(int chip) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(KvmIrqchip.LAYOUT);
            KvmIrqchip.chipId(state, 0, chip);
            // SAFETY: the struct has the size in the request number.
            Errno.checked("KVM_GET_IRQCHIP", LibC.ioctl(vmFd, KvmIoctl.KVM_GET_IRQCHIP, state.address()));
            return state.toArray(ValueLayout.JAVA_BYTE);
        }
    }

    /** Sets what {@link #state(int)} gave. */
    void state(byte[] state) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = Blob.of(arena, state, KvmIrqchip.SIZE, "kvm_irqchip");
            // SAFETY: the struct has the size in the request number.
            Errno.checked("KVM_SET_IRQCHIP", LibC.ioctl(vmFd, KvmIoctl.KVM_SET_IRQCHIP, copy.address()));
        }
    }

    /** Tells the controllers the level of every line again. */
    void refreshLines() {
        pins.forEach(IrqPin::refresh);
    }

    /** Detaches lines and messages: they have no effect from now on. */
    void close() {
        pins.forEach(IrqPin::close);
        List.copyOf(messages).forEach(Msi::close);
    }
}
