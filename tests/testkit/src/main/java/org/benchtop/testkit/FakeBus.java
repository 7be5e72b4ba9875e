package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.event.Doorbell;

/**
 * One address space: claimed ranges, PCI BARs beneath them, and I/O events.
 *
 * <p>What nothing answers reads as ones. An access that lies wholly inside one range reaches it in one call; one that
 * sticks out is done byte by byte.
 */
public final class FakeBus {
    private final AddressSpace space;
    private final List<Range> ranges = new ArrayList<>();
    private final List<Range> overlays = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();

    FakeBus(AddressSpace space) {
        this.space = space;
    }

    /** Claims a range. */
    BusRange claim(String owner, long base, long sizeBytes, RegisterAccess access) {
        return claim(new Range(owner, base, sizeBytes, access));
    }

    private synchronized BusRange claim(Range range) {
        if (range.size <= 0 || range.base < 0 || space == AddressSpace.PIO && range.end() > 0x10000) {
            throw BenchtopException.config("range " + range + " is outside the address space");
        }
        refuseOverlap(range);
        ranges.add(range);
        return range;
    }

    private void refuseOverlap(Range range) {
        for (Range other : ranges) {
            if (other != range && other.enabled && range.base < other.end() && other.base < range.end()) {
                throw BenchtopException.config("range " + range + " overlaps " + other);
            }
        }
    }

    /** Adds a range that lies beneath all claimed ones and may overlap others, as the BARs of a hostile guest do. */
    synchronized Range overlay(String owner, long sizeBytes, RegisterAccess access) {
        Range range = new Range(owner, 0, sizeBytes, access);
        range.enabled = false;
        overlays.add(range);
        return range;
    }

    /** Rings a doorbell for matching writes, which then do not reach the range. */
    synchronized IoEvent ioEvent(long address, IoEventMatch match, Doorbell doorbell) {
        if (match.sizeBytes() == 0 && space == AddressSpace.PIO) {
            throw BenchtopException.config("an ioEvent on a port needs a size");
        }
        Event event = new Event(address, match, doorbell);
        events.add(event);
        return event;
    }

    /** The claimed ranges that are enabled, by address. */
    public synchronized List<BusRange> ranges() {
        List<BusRange> sorted = new ArrayList<>();
        for (Range range : ranges) {
            if (range.enabled) {
                sorted.add(range);
            }
        }
        sorted.sort(Comparator.comparingLong(BusRange::base));
        return sorted;
    }

    /** The number of I/O events. */
    public synchronized int ioEvents() {
        return events.size();
    }

    /** A guest read of 1, 2, 4 or 8 bytes. */
    public long read(long address, int size) {
        Range range = find(address, size);
        if (range != null) {
            long value = range.access.read(address - range.base, size);
            return value & mask(size);
        }
        long value = 0;
        for (int i = 0; i < size; i++) {
            Range one = size == 1 ? null : find(address + i, 1);
            long part = one == null ? 0xff : one.access.read(address + i - one.base, 1) & 0xff;
            value |= part << 8 * i;
        }
        return value;
    }

    /** A guest write of 1, 2, 4 or 8 bytes. */
    public void write(long address, int size, long value) {
        Doorbell doorbell = matching(address, size, value & mask(size));
        if (doorbell != null) {
            doorbell.ring();
            return;
        }
        Range range = find(address, size);
        if (range != null) {
            range.access.write(address - range.base, size, value & mask(size));
            return;
        }
        for (int i = 0; i < size && size > 1; i++) {
            Range one = find(address + i, 1);
            if (one != null) {
                one.access.write(address + i - one.base, 1, value >>> 8 * i & 0xff);
            }
        }
    }

    private synchronized @org.jspecify.annotations.Nullable Doorbell matching(long address, int size, long value) {
        for (int i = 0; i < events.size(); i++) {
            Event event = events.get(i);
            IoEventMatch match = event.match;
            if (event.address == address
                    && (match.sizeBytes() == 0 || match.sizeBytes() == size)
                    && (match.value().isEmpty() || (match.value().getAsLong() & mask(size)) == value)) {
                return event.doorbell;
            }
        }
        return null;
    }

    private synchronized @org.jspecify.annotations.Nullable Range find(long address, int size) {
        for (int i = 0; i < ranges.size(); i++) {
            if (ranges.get(i).covers(address, size)) {
                return ranges.get(i);
            }
        }
        for (int i = 0; i < overlays.size(); i++) {
            if (overlays.get(i).covers(address, size)) {
                return overlays.get(i);
            }
        }
        return null;
    }

    static long mask(int size) {
        return size >= 8 ? -1L : (1L << 8 * size) - 1;
    }

    /** One range. */
    final class Range implements BusRange {
        private final String owner;
        private final long size;
        private final RegisterAccess access;
        private long base;
        private boolean enabled = true;

        Range(String owner, long base, long size, RegisterAccess access) {
            this.owner = owner;
            this.base = base;
            this.size = size;
            this.access = access;
        }

        private boolean covers(long address, int length) {
            return enabled && address >= base && address - base <= size - length;
        }

        private long end() {
            return base + size;
        }

        @Override
        public long base() {
            return base;
        }

        @Override
        public long sizeBytes() {
            return size;
        }

        @Override
        public void move(long newBase) {
            synchronized (FakeBus.this) {
                long old = base;
                base = newBase;
                try {
                    if (ranges.contains(this)) {
                        refuseOverlap(this);
                    }
                } catch (BenchtopException e) {
                    base = old;
                    throw e;
                }
            }
        }

        @Override
        public void enable(boolean on) {
            synchronized (FakeBus.this) {
                enabled = on;
            }
        }

        @Override
        public void close() {
            synchronized (FakeBus.this) {
                ranges.remove(this);
                overlays.remove(this);
            }
        }

        @Override
        public String toString() {
            return "0x" + Long.toHexString(base) + "..+0x" + Long.toHexString(size) + " of " + owner;
        }
    }

    private final class Event implements IoEvent {
        private final long address;
        private final IoEventMatch match;
        private final Doorbell doorbell;

        Event(long address, IoEventMatch match, Doorbell doorbell) {
            this.address = address;
            this.match = match;
            this.doorbell = doorbell;
        }

        @Override
        public boolean accelerated() {
            return false;
        }

        @Override
        public void close() {
            synchronized (FakeBus.this) {
                events.remove(this);
            }
        }
    }
}
