package org.benchtop.shell.lab;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.benchtop.spi.bus.AddressSpace;

/**
 * Counts one vCPU's accesses by address. One thread counts, without allocating; any thread reads.
 *
 * <p>Open addressing in a table of fixed size, so that a guest that touches many addresses costs nothing more: those
 * beyond are counted together.
 */
final class AccessTable {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int SLOTS = 4096;
    private static final int PROBES = 16;
    private static final long EMPTY = -1;

    private final long[] keys = new long[SLOTS];
    private final long[] counts = new long[SLOTS];
    private final long[] elsewhere = new long[1];

    AccessTable() {
        java.util.Arrays.fill(keys, EMPTY);
    }

    /** Hears of each counted address. */
    interface Visitor {
        void visit(AddressSpace space, boolean write, long address, long count);
    }

    void count(AddressSpace space, boolean write, long address) {
        long key = address << 2 | (space == AddressSpace.MMIO ? 2 : 0) | (write ? 1 : 0);
        int slot = (int) (key * 0x9e37_79b9_7f4a_7c15L >>> 52);
        for (int i = 0; i < PROBES; i++) {
            int at = slot + i & SLOTS - 1;
            long known = keys[at];
            if (known == EMPTY) {
                ELEMENT.setRelease(keys, at, key);
                known = key;
            }
            if (known == key) {
                ELEMENT.setOpaque(counts, at, counts[at] + 1);
                return;
            }
        }
        ELEMENT.setOpaque(elsewhere, 0, elsewhere[0] + 1);
    }

    long elsewhere() {
        return (long) ELEMENT.getOpaque(elsewhere, 0);
    }

    void forEach(Visitor visitor) {
        for (int i = 0; i < SLOTS; i++) {
            long key = (long) ELEMENT.getAcquire(keys, i);
            if (key != EMPTY) {
                visitor.visit((key & 2) != 0 ? AddressSpace.MMIO : AddressSpace.PIO, (key & 1) != 0, key >>> 2, (long)
                        ELEMENT.getOpaque(counts, i));
            }
        }
    }
}
