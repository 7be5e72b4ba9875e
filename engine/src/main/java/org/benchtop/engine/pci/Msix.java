package org.benchtop.engine.pci;

import java.util.Optional;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.pci.Capability;
import org.benchtop.spi.pci.MessageInterrupts;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/** MSI-X: capability, table and pending bits (PCI Local Bus 3.0, 6.8.2). */
final class Msix implements MessageInterrupts {
    private static final int ENTRY_BYTES = 16;
    private static final int CONTROL_ENABLE = 0x8000;
    private static final int CONTROL_FUNCTION_MASK = 0x4000;
    private static final int VECTOR_MASK = 1;

    private final PciBusCore bus;
    private final PciFunctionCore function;
    private final PciFunctionSpec spec;
    private final Counter interrupts;
    private final int capabilityOffset;
    private final int vectors;
    /** Two words for each entry: address, and data | control << 32. */
    private final long[] table;

    private final long[] pending;
    private final @Nullable Msi[] routes;
    /** Per vector: whether a signal can go straight to its route. Written under the bus lock. */
    private final boolean[] open;

    private volatile boolean enabled;
    private volatile boolean functionMasked;

    Msix(PciBusCore bus, PciFunctionCore function, PciFunctionSpec spec, Counter interrupts, int capabilityOffset) {
        this.interrupts = interrupts;
        this.bus = bus;
        this.function = function;
        this.spec = spec;
        this.capabilityOffset = capabilityOffset;
        this.vectors = spec.msixVectors();
        this.table = new long[2 * vectors];
        this.pending = new long[vectors + 63 >>> 6];
        this.routes = new Msi[vectors];
        this.open = new boolean[vectors];
        clearTable();
    }

    static Capability capability(PciFunctionSpec spec) {
        byte[] body = new byte[10];
        put(body, 0, 2, spec.msixVectors() - 1);
        put(body, 2, 4, spec.msixTableOffset() | spec.msixBar());
        put(body, 6, 4, spec.msixPbaOffset() | spec.msixBar());
        byte[] mask = new byte[10];
        put(mask, 0, 2, CONTROL_ENABLE | CONTROL_FUNCTION_MASK);
        return new Capability(PciRegs.CAP_ID_MSIX, body, mask);
    }

    private static void put(byte[] to, int at, int size, long value) {
        for (int i = 0; i < size; i++) {
            to[at + i] = (byte) (value >>> 8 * i);
        }
    }

    private void clearTable() {
        for (int v = 0; v < vectors; v++) {
            table[2 * v] = 0;
            table[2 * v + 1] = (long) VECTOR_MASK << 32;
        }
        java.util.Arrays.fill(pending, 0);
    }

    @Override
    public int vectors() {
        return vectors;
    }

    @Override
    public boolean enabled() {
        return enabled;
    }

    private boolean vectorMasked(int vector) {
        return (table[2 * vector + 1] >>> 32 & VECTOR_MASK) != 0;
    }

    @Override
    public boolean masked(int vector) {
        synchronized (bus) {
            return functionMasked || vector < 0 || vector >= vectors || vectorMasked(vector);
        }
    }

    @Override
    public void signal(int vector) {
        if (vector < 0 || vector >= vectors || !enabled) {
            return;
        }
        // The volatile read of enabled above orders this with the writer, which clears it while it changes routes.
        Msi route = routes[vector];
        if (open[vector] && route != null) {
            interrupts.increment();
            route.signal();
            return;
        }
        synchronized (bus) {
            if (!enabled) {
                return;
            }
            if (functionMasked || vectorMasked(vector)) {
                pending[vector >>> 6] |= 1L << vector;
            } else {
                interrupts.increment();
                route(vector).signal();
            }
        }
    }

    private Msi route(int vector) {
        Msi route = routes[vector];
        if (route == null) {
            route = bus.irqChip().newMsi();
            route.target(table[2 * vector], (int) table[2 * vector + 1]);
            routes[vector] = route;
        }
        return route;
    }

    void configChanged(ConfigSpace config) {
        if (vectors == 0) {
            return;
        }
        long control = config.get(capabilityOffset + 2, 2);
        boolean nowEnabled = (control & CONTROL_ENABLE) != 0;
        boolean nowMasked = (control & CONTROL_FUNCTION_MASK) != 0;
        if (nowEnabled == enabled && nowMasked == functionMasked) {
            return;
        }
        functionMasked = nowMasked;
        enabled = nowEnabled;
        for (int v = 0; v < vectors; v++) {
            refresh(v);
        }
    }

    /** Brings route and openness of a vector in line with its entry, and sends what was pending. */
    private void refresh(int vector) {
        boolean nowOpen = enabled && !functionMasked && !vectorMasked(vector);
        if (nowOpen) {
            Msi route = route(vector);
            route.target(table[2 * vector], (int) table[2 * vector + 1]);
            open[vector] = true;
            // Publishes the route and the flag to signal(), which reads enabled first.
            enabled = true;
            long bit = 1L << vector;
            if ((pending[vector >>> 6] & bit) != 0) {
                pending[vector >>> 6] &= ~bit;
                interrupts.increment();
                route.signal();
            }
        } else {
            open[vector] = false;
        }
    }

    /** The BAR that holds table and pending bits, in front of the device's own registers. */
    RegisterAccess barAccess(Optional<RegisterAccess> own) {
        return new MmioDevice() {
            @Override
            public long read(long offset, int size) {
                long tableAt = offset - spec.msixTableOffset();
                if (tableAt >= 0 && tableAt < (long) ENTRY_BYTES * vectors) {
                    synchronized (bus) {
                        return readTable(tableAt, size);
                    }
                }
                long pbaAt = offset - spec.msixPbaOffset();
                if (pbaAt >= 0 && pbaAt < 8L * pending.length) {
                    synchronized (bus) {
                        return pending[(int) (pbaAt >>> 3)] >>> 8 * (pbaAt & 7) & mask(size);
                    }
                }
                return own.map(a -> a.read(offset, size)).orElse(0L);
            }

            @Override
            public void write(long offset, int size, long value) {
                long tableAt = offset - spec.msixTableOffset();
                if (tableAt >= 0 && tableAt < (long) ENTRY_BYTES * vectors) {
                    synchronized (bus) {
                        writeTable(tableAt, size, value);
                    }
                    return;
                }
                long pbaAt = offset - spec.msixPbaOffset();
                if (pbaAt < 0 || pbaAt >= 8L * pending.length) {
                    own.ifPresent(a -> a.write(offset, size, value));
                }
            }
        };
    }

    private static long mask(int size) {
        return size >= 8 ? -1L : (1L << 8 * size) - 1;
    }

    private long readTable(long at, int size) {
        return table[(int) (at >>> 3)] >>> 8 * (at & 7) & mask(size);
    }

    private void writeTable(long at, int size, long value) {
        // The specification allows aligned 4 and 8 byte accesses only; others are dropped.
        if (size != 4 && size != 8 || at % size != 0) {
            return;
        }
        int word = (int) (at >>> 3);
        int shift = (int) (8 * (at & 7));
        table[word] = table[word] & ~(mask(size) << shift) | (value & mask(size)) << shift;
        if ((word & 1) == 1) {
            table[word] &= 0x1_ffff_ffffL;
        } else {
            table[word] &= ~3L;
        }
        refresh(word >>> 1);
    }

    void reset() {
        enabled = false;
        functionMasked = false;
        clearTable();
        java.util.Arrays.fill(open, false);
    }

    long[] saveTable() {
        return table.clone();
    }

    long[] savePending() {
        return pending.clone();
    }

    void restore(long[] savedTable, long[] savedPending) {
        System.arraycopy(savedTable, 0, table, 0, table.length);
        System.arraycopy(savedPending, 0, pending, 0, pending.length);
        enabled = false;
    }

    void close() {
        enabled = false;
        for (int v = 0; v < vectors; v++) {
            open[v] = false;
            Msi route = routes[v];
            if (route != null) {
                route.close();
                routes[v] = null;
            }
        }
    }

    @Override
    public String toString() {
        return "MSI-X of " + function.owner() + ": vectors=" + vectors + " enabled=" + enabled;
    }
}
