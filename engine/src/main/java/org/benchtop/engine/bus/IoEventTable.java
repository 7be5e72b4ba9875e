package org.benchtop.engine.bus;

import java.util.Arrays;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.event.Doorbell;

/** The ioEvents that the CPU engine does not take by itself. Look-up is lock-free. */
public final class IoEventTable {
    private static final Entry[] NONE = new Entry[0];

    private volatile Entry[] entries = NONE;

    /** One event. */
    public record Entry(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        private boolean matches(long at, int size, long value) {
            return at == address
                    && (match.sizeBytes() == 0 || match.sizeBytes() == size)
                    && (match.value().isEmpty() || match.value().getAsLong() == value);
        }
    }

    /** Adds an event; throws when the same write has one already. */
    public synchronized Entry add(Entry entry) {
        for (Entry other : entries) {
            if (other.space == entry.space && other.address == entry.address && other.match.equals(entry.match)) {
                throw BenchtopException.of(
                        ErrorKind.CONFIG,
                        "there is an ioEvent at " + entry.space + " 0x" + Long.toHexString(entry.address) + " already");
            }
        }
        Entry[] more = Arrays.copyOf(entries, entries.length + 1);
        more[entries.length] = entry;
        entries = more;
        return entry;
    }

    /** Removes an event. */
    public synchronized void remove(Entry entry) {
        entries = Arrays.stream(entries).filter(e -> e != entry).toArray(Entry[]::new);
    }

    /** Rings the doorbell of a matching event; false if there is none. */
    public boolean ring(AddressSpace space, long address, int size, long value) {
        for (Entry entry : entries) {
            if (entry.space == space && entry.matches(address, size, value)) {
                entry.doorbell.ring();
                return true;
            }
        }
        return false;
    }
}
