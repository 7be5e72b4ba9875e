package org.benchtop.engine.pci;

import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.pci.Capability;
import org.benchtop.spi.pci.MessageInterrupts;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/** MSI with 64-bit addresses and per-vector masking (PCI Local Bus 3.0, 6.8.1). */
final class MsiCapability implements MessageInterrupts {
    private static final int CONTROL = 2;
    private static final int ADDRESS = 4;
    private static final int DATA = 12;
    private static final int MASK_BITS = 16;
    private static final int PENDING_BITS = 20;

    private final PciBusCore bus;
    private final PciFunctionCore function;
    private final Counter interrupts;
    private final int vectors;
    private final int capabilityOffset;
    private final @Nullable Msi[] routes;
    private volatile boolean enabled;
    private int pending;
    private int maskBits;
    private int enabledVectors = 1;
    private long address;
    private int data;

    MsiCapability(PciBusCore bus, PciFunctionCore function, Counter interrupts, int vectors, int capabilityOffset) {
        this.interrupts = interrupts;
        this.bus = bus;
        this.function = function;
        this.vectors = vectors;
        this.capabilityOffset = capabilityOffset;
        this.routes = new Msi[vectors];
    }

    static Capability capability(int vectors) {
        byte[] body = new byte[22];
        int log2 = Integer.numberOfTrailingZeros(vectors);
        // Control: multiple message capable, 64-bit, per-vector masking.
        int control = log2 << 1 | 0x80 | 0x100;
        body[0] = (byte) control;
        body[1] = (byte) (control >>> 8);
        byte[] mask = new byte[22];
        mask[0] = 0x71;
        mask[2] = (byte) 0xfc;
        for (int i = 3; i < 12; i++) {
            mask[i] = (byte) 0xff;
        }
        for (int i = 0; i < 4; i++) {
            long bits = vectors == 32 ? 0xffff_ffffL : (1L << vectors) - 1;
            mask[14 + i] = (byte) (bits >>> 8 * i);
        }
        return new Capability(PciRegs.CAP_ID_MSI, body, mask);
    }

    @Override
    public int vectors() {
        return vectors;
    }

    @Override
    public boolean enabled() {
        return enabled;
    }

    @Override
    public boolean masked(int vector) {
        synchronized (bus) {
            return vector < 0 || vector >= vectors || (maskBits >>> vector & 1) != 0;
        }
    }

    @Override
    public void signal(int vector) {
        if (!enabled || vector < 0 || vector >= vectors) {
            return;
        }
        synchronized (bus) {
            if (!enabled) {
                return;
            }
            if ((maskBits >>> vector & 1) != 0) {
                pending |= 1 << vector;
                publishPending();
                return;
            }
            send(vector);
        }
    }

    private void send(int vector) {
        // A guest that enabled fewer vectors than the device has shares the low ones.
        int slot = vector & enabledVectors - 1;
        Msi route = routes[slot];
        if (route == null) {
            route = bus.irqChip().newMsi();
            routes[slot] = route;
            route.target(address, data & -enabledVectors | slot);
        }
        interrupts.increment();
        route.signal();
    }

    private void publishPending() {
        function.config(capabilityOffset + PENDING_BITS, 4, pending);
    }

    void configChanged(ConfigSpace config) {
        if (vectors == 0) {
            return;
        }
        int at = capabilityOffset;
        long control = config.get(at + CONTROL, 2);
        long nowAddress = config.get(at + ADDRESS, 8);
        int nowData = (int) config.get(at + DATA, 2);
        int nowVectors = Math.min(vectors, 1 << (control >>> 4 & 7));
        if (nowAddress != address || nowData != data || nowVectors != enabledVectors) {
            address = nowAddress;
            data = nowData;
            enabledVectors = nowVectors;
            for (int i = 0; i < vectors; i++) {
                Msi route = routes[i];
                if (route != null) {
                    route.target(address, data & -enabledVectors | i & enabledVectors - 1);
                }
            }
        }
        maskBits = (int) config.get(at + MASK_BITS, 4);
        enabled = (control & 1) != 0;
        int ready = enabled ? pending & ~maskBits : 0;
        if (ready != 0) {
            pending &= ~ready;
            config.set(at + PENDING_BITS, 4, pending);
            for (int v = 0; v < vectors; v++) {
                if ((ready >>> v & 1) != 0) {
                    send(v);
                }
            }
        }
    }

    int savePending() {
        return pending;
    }

    void restorePending(int saved) {
        pending = saved;
    }

    void close() {
        enabled = false;
        for (int i = 0; i < vectors; i++) {
            Msi route = routes[i];
            if (route != null) {
                route.close();
                routes[i] = null;
            }
        }
    }
}
