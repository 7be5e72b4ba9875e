package org.benchtop.xen;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the guest because events wait: by a vector of each vCPU (HVMOP_set_evtchn_upcall_vector), or by a GSI or the
 * platform device's INTx pin (HVM_PARAM_CALLBACK_IRQ), which reach vCPU 0 only.
 */
final class Callback implements Upcalls, AutoCloseable {
    private static final long MSI_ADDRESS = 0xfee0_0000L;
    private static final int LOWEST_VECTOR = 0x10;
    private static final int VIA_GSI = 0;
    private static final int VIA_PCI_INTX = 1;
    private static final int GSIS = 24;
    /** How often a line that is asserted is looked at: nothing tells when the guest has taken its events. */
    private static final long RECHECK_NANOS = 50_000;
    /** How often a message is repeated until the first has been taken. */
    private static final long REPEAT_NANOS = 1_000_000;

    private final DeviceContext context;
    private final VcpuInfos infos;
    private final Counter upcalls;
    private final Msi[] messages;
    private final AtomicIntegerArray vectors;
    private final Timer recheck;
    private volatile @Nullable IrqLine line;
    private volatile boolean asserted;
    /**
     * vCPUs that have a vector but have not taken an upcall by it yet: their local APIC may still be switched off, and drops
     * what real Xen's would keep, so the message is repeated until one gets through.
     */
    private final AtomicIntegerArray unproven;

    private final Timer repeat;

    Callback(DeviceContext context, VcpuInfos infos, Counter upcalls) {
        this.context = context;
        this.infos = infos;
        this.upcalls = upcalls;
        this.messages = new Msi[infos.count()];
        for (int i = 0; i < messages.length; i++) {
            messages[i] = context.irqChip().newMsi();
        }
        this.vectors = new AtomicIntegerArray(infos.count());
        this.unproven = new AtomicIntegerArray(infos.count());
        this.recheck = context.timer(this::recheck);
        this.repeat = context.timer(this::repeat);
    }

    void reset() {
        for (int i = 0; i < vectors.length(); i++) {
            vectors.set(i, 0);
            unproven.set(i, 0);
        }
        recheck.cancel();
        repeat.cancel();
        selectLine(null);
    }

    private synchronized void selectLine(@Nullable IrqLine newLine) {
        IrqLine old = line;
        if (old != null) {
            old.lower();
        }
        asserted = false;
        line = newLine;
    }

    @Override
    public void raise(int vcpu) {
        upcalls.increment();
        if (vectors.get(vcpu) != 0) {
            messages[vcpu].signal();
            if (unproven.get(vcpu) != 0) {
                repeat.armAt(context.clock().nanoTime() + REPEAT_NANOS);
            }
        } else if (vcpu == 0 && line != null) {
            assertLine();
        }
    }

    private void repeat() {
        boolean again = false;
        for (int i = 0; i < unproven.length(); i++) {
            if (unproven.get(i) == 0) {
                continue;
            }
            if (infos.upcallPending(i)) {
                messages[i].signal();
                again = true;
            } else {
                unproven.set(i, 0);
            }
        }
        if (again) {
            repeat.armAt(context.clock().nanoTime() + REPEAT_NANOS);
        }
    }

    private synchronized void assertLine() {
        IrqLine current = line;
        if (current != null) {
            asserted = true;
            current.raise();
            recheck.armAt(context.clock().nanoTime() + RECHECK_NANOS);
        }
    }

    /** Lowers the line once the guest has taken its events. */
    void recheck() {
        if (!asserted) {
            return;
        }
        synchronized (this) {
            IrqLine current = line;
            if (current == null || !asserted) {
                return;
            }
            if (infos.upcallPending(0)) {
                recheck.armAt(context.clock().nanoTime() + RECHECK_NANOS);
            } else {
                asserted = false;
                current.lower();
            }
        }
    }

    /** Sets the vector of a vCPU. */
    long vector(int vcpu, int vector) {
        if (vcpu < 0 || vcpu >= vectors.length()) {
            return Xen.ENOENT;
        }
        if (vector < LOWEST_VECTOR) {
            return Xen.EINVAL;
        }
        messages[vcpu].target(MSI_ADDRESS | (long) vcpu << 12, vector);
        unproven.set(vcpu, 1);
        vectors.set(vcpu, vector);
        if (infos.upcallPending(vcpu)) {
            raise(vcpu);
        }
        return 0;
    }

    /**
     * Sets HVM_PARAM_CALLBACK_IRQ. Its third way, one vector for all vCPUs that no local APIC knows of, is refused; kernels
     * then take the second.
     */
    long via(long value, Optional<PciFunction> platformDevice) {
        int type = (int) (value >>> 56);
        if (value == 0) {
            selectLine(null);
            return 0;
        }
        if (type == VIA_GSI && value < GSIS) {
            selectLine(context.irqLine((int) value));
        } else if (type == VIA_PCI_INTX
                && platformDevice.isPresent()
                && (value >>> 8 & 0xff) == platformDevice.get().address().devfn()
                && (value & 3) == 0) {
            selectLine(platformDevice.get().intx());
        } else {
            return Xen.EINVAL;
        }
        if (infos.upcallPending(0)) {
            raise(0);
        }
        return 0;
    }

    /** How each vCPU is told, for people. */
    String describe(int vcpu) {
        int vector = vectors.get(vcpu);
        String way =
                vector != 0 ? "vector 0x" + Integer.toHexString(vector) : vcpu == 0 && line != null ? "line" : "none";
        return way + (infos.upcallPending(vcpu) ? ", pending" : "");
    }

    @Override
    public void close() {
        recheck.close();
        repeat.close();
        selectLine(null);
        for (Msi message : messages) {
            message.close();
        }
    }
}
