package org.benchtop.ide.piix;

import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;

/** The physical region descriptors of a transfer (Programming Interface for Bus Master IDE 1.0, 1.2). */
final class PrdTable {
    private static final int ENTRY_BYTES = 8;
    /** A table does not cross a boundary of 64 KiB. */
    private static final int MAX_ENTRIES = 65536 / ENTRY_BYTES;

    private static final int WHOLE = 65536;

    private PrdTable() {}

    /** How a table's length compares with what a command needs. */
    enum Fit {
        SHORTER,
        EQUAL,
        LONGER,
    }

    /**
     * Collects the memory of a transfer.
     *
     * @param bytes how much is needed, at least 1; the vector gets no more
     * @throws GuestFault if the table or a region is not RAM
     */
    static Fit collect(GuestMemory memory, long table, long bytes, IoVector into) throws GuestFault {
        long left = bytes;
        for (int i = 0; i < MAX_ENTRIES; i++) {
            long entry = table + (long) ENTRY_BYTES * i;
            int address = memory.readInt(entry) & ~1;
            int word = memory.readInt(entry + 4);
            int count = word & 0xfffe;
            long length = count == 0 ? WHOLE : count;
            long take = Math.min(length, left);
            memory.appendTo(into, Integer.toUnsignedLong(address), take);
            left -= take;
            boolean last = word < 0;
            if (left == 0) {
                return last && take == length ? Fit.EQUAL : Fit.LONGER;
            }
            if (last) {
                return Fit.SHORTER;
            }
        }
        return Fit.SHORTER;
    }
}
