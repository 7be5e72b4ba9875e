package org.benchtop.engine.bus;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.stats.Counter;

/**
 * Maps addresses of one space to devices. Look-ups are lock-free on an immutable snapshot; changes copy it.
 *
 * <p>Ranges never overlap while enabled by {@link #add}; ranges that a guest moves (BARs) may, and then the one that
 * was there first wins, so a guest that misplaces a BAR harms only itself.
 */
public final class RangeMap {
    private static final Snapshot EMPTY = new Snapshot(new long[0], new long[0], new Range[0]);

    private final AddressSpace space;
    private final long limit;
    private final List<Range> ranges = new ArrayList<>();
    private volatile Snapshot snapshot = EMPTY;

    /**
     * An empty map.
     *
     * @param limit the highest address
     */
    public RangeMap(AddressSpace space, long limit) {
        this.space = space;
        this.limit = limit;
    }

    private record Snapshot(long[] starts, long[] lasts, Range[] ranges) {}

    /** A claimed range. */
    public final class Range implements BusRange {
        private final String owner;
        private final RegisterAccess access;
        private final Counter exits;
        private final long sizeBytes;
        private final boolean movable;
        private long base;
        private boolean enabled;

        private Range(
                String owner,
                long base,
                long sizeBytes,
                RegisterAccess access,
                Counter exits,
                boolean enabled,
                boolean movable) {
            this.owner = owner;
            this.base = base;
            this.sizeBytes = sizeBytes;
            this.access = access;
            this.exits = exits;
            this.enabled = enabled;
            this.movable = movable;
        }

        /** The device that claimed it. */
        public String owner() {
            return owner;
        }

        @Override
        public long base() {
            synchronized (RangeMap.this) {
                return base;
            }
        }

        @Override
        public long sizeBytes() {
            return sizeBytes;
        }

        /** Whether it is decoded now. */
        public boolean enabled() {
            synchronized (RangeMap.this) {
                return enabled;
            }
        }

        @Override
        public void move(long newBase) {
            synchronized (RangeMap.this) {
                base = newBase;
                rebuild();
            }
        }

        @Override
        public void enable(boolean value) {
            synchronized (RangeMap.this) {
                enabled = value;
                rebuild();
            }
        }

        /** Moves and shows or hides in one step. */
        public void place(long newBase, boolean value) {
            synchronized (RangeMap.this) {
                base = newBase;
                enabled = value;
                rebuild();
            }
        }

        @Override
        public void close() {
            synchronized (RangeMap.this) {
                ranges.remove(this);
                enabled = false;
                rebuild();
            }
        }

        private String text() {
            return "0x" + Long.toHexString(base) + "..+0x" + Long.toHexString(sizeBytes) + " of " + owner;
        }
    }

    /** Claims a range; throws when it overlaps another or leaves the space. */
    public synchronized Range add(String owner, long base, long sizeBytes, RegisterAccess access, Counter exits) {
        Range range = new Range(owner, base, sizeBytes, access, exits, true, false);
        if (sizeBytes <= 0 || base < 0 || base > limit - sizeBytes + 1) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    "range " + range.text() + " is outside the " + name() + " space 0..0x" + Long.toHexString(limit));
        }
        for (Range other : ranges) {
            if (other.enabled && base < other.base + other.sizeBytes && other.base < base + sizeBytes) {
                throw BenchtopException.of(
                        ErrorKind.CONFIG,
                        "range " + range.text() + " overlaps " + other.text() + " in the " + name() + " space");
            }
        }
        ranges.add(range);
        rebuild();
        return range;
    }

    /** Adds a range that is hidden at first and may be placed anywhere later. */
    public synchronized Range addMovable(String owner, long sizeBytes, RegisterAccess access, Counter exits) {
        Range range = new Range(owner, 0, sizeBytes, access, exits, false, true);
        ranges.add(range);
        return range;
    }

    private String name() {
        return switch (space) {
            case PIO -> "I/O port";
            case MMIO -> "memory";
        };
    }

    private void rebuild() {
        List<Range> visible = new ArrayList<>();
        for (boolean movable : new boolean[] {false, true}) {
            for (Range range : ranges) {
                if (range.enabled && range.movable == movable && fits(range, visible)) {
                    visible.add(range);
                }
            }
        }
        visible.sort((a, b) -> Long.compareUnsigned(a.base, b.base));
        int n = visible.size();
        long[] starts = new long[n];
        long[] lasts = new long[n];
        for (int i = 0; i < n; i++) {
            starts[i] = visible.get(i).base;
            lasts[i] = visible.get(i).base + visible.get(i).sizeBytes - 1;
        }
        snapshot = new Snapshot(starts, lasts, visible.toArray(new Range[0]));
    }

    private boolean fits(Range range, List<Range> visible) {
        if (range.base < 0 || range.base > limit - range.sizeBytes + 1) {
            return false;
        }
        for (Range other : visible) {
            if (range.base < other.base + other.sizeBytes && other.base < range.base + range.sizeBytes) {
                return false;
            }
        }
        return true;
    }

    private static int find(Snapshot s, long address) {
        int low = 0;
        int high = s.starts.length - 1;
        while (low <= high) {
            int mid = low + high >>> 1;
            if (address < s.starts[mid]) {
                high = mid - 1;
            } else if (address > s.lasts[mid]) {
                low = mid + 1;
            } else {
                return mid;
            }
        }
        return -1;
    }

    /** A guest read; bytes that nobody claims read as ones. */
    public long read(long address, int size) {
        Snapshot s = snapshot;
        int index = find(s, address);
        if (index >= 0 && address + size - 1 <= s.lasts[index]) {
            Range range = s.ranges[index];
            range.exits.increment();
            return range.access.read(address - s.starts[index], size);
        }
        if (index < 0 && size == 1) {
            return 0xff;
        }
        return readSplit(s, address, size);
    }

    private static long readSplit(Snapshot s, long address, int size) {
        long value = 0;
        for (int i = 0; i < size; i++) {
            int index = find(s, address + i);
            long part = 0xff;
            if (index >= 0) {
                Range range = s.ranges[index];
                range.exits.increment();
                part = range.access.read(address + i - s.starts[index], 1) & 0xff;
            }
            value |= part << 8 * i;
        }
        return value;
    }

    /** A guest write; bytes that nobody claims are dropped. */
    public void write(long address, int size, long value) {
        Snapshot s = snapshot;
        int index = find(s, address);
        if (index >= 0 && address + size - 1 <= s.lasts[index]) {
            Range range = s.ranges[index];
            range.exits.increment();
            range.access.write(address - s.starts[index], size, value);
            return;
        }
        for (int i = 0; i < size; i++) {
            int at = find(s, address + i);
            if (at >= 0) {
                Range range = s.ranges[at];
                range.exits.increment();
                range.access.write(address + i - s.starts[at], 1, value >>> 8 * i & 0xff);
            }
        }
    }

    /** Who decodes an address now. */
    public Optional<Range> at(long address) {
        Snapshot s = snapshot;
        int index = find(s, address);
        return index < 0 ? Optional.empty() : Optional.of(s.ranges[index]);
    }

    /** All decoded ranges by address. */
    public List<Range> visible() {
        return List.copyOf(Arrays.asList(snapshot.ranges));
    }
}
