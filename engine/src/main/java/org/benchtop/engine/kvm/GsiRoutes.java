package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;

/**
 * The VM's table from global system interrupts to controller pins and messages. Thread-safe; each change rewrites the
 * table in the kernel.
 *
 * <p>The pins are wired as on a PC: ISA interrupts 0–15 reach the PICs and the IOAPIC pin of their number, but 0 (the
 * timer) reaches pin 2, because 2 is the cascade; 16–23 reach the IOAPIC only.
 */
final class GsiRoutes {
    static final int PINS = 24;
    private static final int ISA_PINS = 16;
    private static final int PIC_PINS = 8;
    private static final int TIMER = 0;
    private static final int CASCADE = 2;

    private static final int TYPE_IRQCHIP = 1;
    private static final int TYPE_MSI = 2;
    static final int CHIP_PIC_MASTER = 0;
    static final int CHIP_PIC_SLAVE = 1;
    static final int CHIP_IOAPIC = 2;

    /** One entry; the words are chip and pin, or address low, address high and data. */
    private record Route(int gsi, int type, int word0, int word1, int word2) {}

    private final int vmFd;
    private final int capacity;
    private final List<Route> pins = new ArrayList<>();
    private final Map<Integer, Route> messages = new TreeMap<>();
    private final BitSet allocated = new BitSet();

    /**
     * Writes the table with the pins alone.
     *
     * @param capacity the number of global system interrupts that KVM allows
     */
    GsiRoutes(int vmFd, int capacity) {
        this.vmFd = vmFd;
        this.capacity = capacity;
        for (int gsi = 0; gsi < PINS; gsi++) {
            if (gsi < ISA_PINS && gsi != CASCADE) {
                int chip = gsi < PIC_PINS ? CHIP_PIC_MASTER : CHIP_PIC_SLAVE;
                pins.add(new Route(gsi, TYPE_IRQCHIP, chip, gsi % PIC_PINS, 0));
            }
            if (gsi != CASCADE) {
                pins.add(new Route(gsi, TYPE_IRQCHIP, CHIP_IOAPIC, gsi == TIMER ? CASCADE : gsi, 0));
            }
        }
        allocated.set(0, PINS);
        write();
    }

    /** A number for a message. */
    synchronized int allocate() {
        int gsi = allocated.nextClearBit(PINS);
        if (gsi >= capacity) {
            throw BenchtopException.host("KVM allows " + capacity + " interrupt routes; all are in use");
        }
        allocated.set(gsi);
        return gsi;
    }

    /** Sets what a number sends. */
    synchronized void message(int gsi, long address, int data) {
        Route route = new Route(gsi, TYPE_MSI, (int) address, (int) (address >>> Integer.SIZE), data);
        if (!route.equals(messages.put(gsi, route))) {
            write();
        }
    }

    /** Gives a number back. */
    synchronized void free(int gsi) {
        allocated.clear(gsi);
        if (messages.remove(gsi) != null) {
            write();
        }
    }

    private void write() {
        List<Route> routes = new ArrayList<>(pins);
        routes.addAll(messages.values());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment table =
                    arena.allocate(KvmIrqRouting.SIZE + routes.size() * KvmIrqRoutingEntry.SIZE, Long.BYTES);
            KvmIrqRouting.nr(table, 0, routes.size());
            for (int i = 0; i < routes.size(); i++) {
                Route route = routes.get(i);
                long offset = KvmIrqRouting.SIZE + i * KvmIrqRoutingEntry.SIZE;
                KvmIrqRoutingEntry.gsi(table, offset, route.gsi);
                KvmIrqRoutingEntry.type(table, offset, route.type);
                KvmIrqRoutingEntry.u0(table, offset, route.word0);
                KvmIrqRoutingEntry.u1(table, offset, route.word1);
                KvmIrqRoutingEntry.u2(table, offset, route.word2);
            }
            // SAFETY: the table has as many entries as its head says.
            Errno.checked("KVM_SET_GSI_ROUTING", LibC.ioctl(vmFd, KvmIoctl.KVM_SET_GSI_ROUTING, table.address()));
        }
    }
}
