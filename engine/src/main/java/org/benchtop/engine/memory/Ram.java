package org.benchtop.engine.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.spi.memory.DirtyLog;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.memory.MemoryRegion;

/** Guest RAM as devices see it: at most two regions, accessed in place. */
public final class Ram implements GuestMemory {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final List<MemoryRegion> regions;
    private final MemorySegment low;
    private final MemorySegment high;
    private final long lowSize;
    private final long highBase;
    private final long highSize;
    private final WriteListener listener;
    private final List<PageDirtyLog> dirtyLogs = new CopyOnWriteArrayList<>();

    /** Told of every in-place write of a device. */
    @FunctionalInterface
    public interface WriteListener {
        /** A range has changed. */
        void written(long gpa, long lengthBytes);
    }

    /** Where vCPU writes are collected from, when a dirty log is read. */
    public interface DirtySource {
        /** Logging is needed or not. */
        void enable(boolean enabled);

        /** Marks the pages that vCPUs have written since the last call. */
        void collect(PageDirtyLog log);
    }

    private final DirtySource dirtySource;

    /** RAM of one or two regions as {@link RamLayout} makes them. */
    public Ram(List<MemoryRegion> regions, WriteListener listener, DirtySource dirtySource) {
        this.regions = List.copyOf(regions);
        this.low = regions.getFirst().segment();
        this.lowSize = low.byteSize();
        boolean two = regions.size() > 1;
        this.high = two ? regions.get(1).segment() : MemorySegment.NULL;
        this.highBase = two ? regions.get(1).gpa() : Long.MAX_VALUE;
        this.highSize = high.byteSize();
        this.listener = listener;
        this.dirtySource = dirtySource;
    }

    @Override
    public long sizeBytes() {
        return lowSize + highSize;
    }

    @Override
    public List<MemoryRegion> regions() {
        return regions;
    }

    private boolean inLow(long gpa, long length) {
        return gpa >= 0 && length >= 0 && length <= lowSize && gpa <= lowSize - length && gpa < lowSize;
    }

    private boolean inHigh(long gpa, long length) {
        long offset = gpa - highBase;
        return gpa >= highBase && length >= 0 && length <= highSize && offset <= highSize - length && offset < highSize;
    }

    @Override
    public boolean isRam(long gpa, long lengthBytes) {
        return inLow(gpa, lengthBytes) || inHigh(gpa, lengthBytes);
    }

    @Override
    public MemorySegment slice(long gpa, long lengthBytes) throws GuestFault {
        if (inLow(gpa, lengthBytes)) {
            return low.asSlice(gpa, lengthBytes);
        }
        if (inHigh(gpa, lengthBytes)) {
            return high.asSlice(gpa - highBase, lengthBytes);
        }
        throw new GuestFault(gpa, lengthBytes);
    }

    @Override
    public void appendTo(IoVector vector, long gpa, long lengthBytes) throws GuestFault {
        if (inLow(gpa, lengthBytes)) {
            vector.add(low, gpa, lengthBytes);
        } else if (inHigh(gpa, lengthBytes)) {
            vector.add(high, gpa - highBase, lengthBytes);
        } else {
            throw new GuestFault(gpa, lengthBytes);
        }
    }

    @Override
    public byte readByte(long gpa) throws GuestFault {
        if (inLow(gpa, 1)) {
            return low.get(ValueLayout.JAVA_BYTE, gpa);
        }
        if (inHigh(gpa, 1)) {
            return high.get(ValueLayout.JAVA_BYTE, gpa - highBase);
        }
        throw new GuestFault(gpa, 1);
    }

    @Override
    public short readShort(long gpa) throws GuestFault {
        if (inLow(gpa, 2)) {
            return low.get(SHORT, gpa);
        }
        if (inHigh(gpa, 2)) {
            return high.get(SHORT, gpa - highBase);
        }
        throw new GuestFault(gpa, 2);
    }

    @Override
    public int readInt(long gpa) throws GuestFault {
        if (inLow(gpa, 4)) {
            return low.get(INT, gpa);
        }
        if (inHigh(gpa, 4)) {
            return high.get(INT, gpa - highBase);
        }
        throw new GuestFault(gpa, 4);
    }

    @Override
    public long readLong(long gpa) throws GuestFault {
        if (inLow(gpa, 8)) {
            return low.get(LONG, gpa);
        }
        if (inHigh(gpa, 8)) {
            return high.get(LONG, gpa - highBase);
        }
        throw new GuestFault(gpa, 8);
    }

    @Override
    public void writeByte(long gpa, byte value) throws GuestFault {
        if (inLow(gpa, 1)) {
            low.set(ValueLayout.JAVA_BYTE, gpa, value);
        } else if (inHigh(gpa, 1)) {
            high.set(ValueLayout.JAVA_BYTE, gpa - highBase, value);
        } else {
            throw new GuestFault(gpa, 1);
        }
        written(gpa, 1);
    }

    @Override
    public void writeShort(long gpa, short value) throws GuestFault {
        if (inLow(gpa, 2)) {
            low.set(SHORT, gpa, value);
        } else if (inHigh(gpa, 2)) {
            high.set(SHORT, gpa - highBase, value);
        } else {
            throw new GuestFault(gpa, 2);
        }
        written(gpa, 2);
    }

    @Override
    public void writeInt(long gpa, int value) throws GuestFault {
        if (inLow(gpa, 4)) {
            low.set(INT, gpa, value);
        } else if (inHigh(gpa, 4)) {
            high.set(INT, gpa - highBase, value);
        } else {
            throw new GuestFault(gpa, 4);
        }
        written(gpa, 4);
    }

    @Override
    public void writeLong(long gpa, long value) throws GuestFault {
        if (inLow(gpa, 8)) {
            low.set(LONG, gpa, value);
        } else if (inHigh(gpa, 8)) {
            high.set(LONG, gpa - highBase, value);
        } else {
            throw new GuestFault(gpa, 8);
        }
        written(gpa, 8);
    }

    @Override
    public void read(long gpa, byte[] destination, int offset, int lengthBytes) throws GuestFault {
        MemorySegment.copy(slice(gpa, lengthBytes), ValueLayout.JAVA_BYTE, 0, destination, offset, lengthBytes);
    }

    @Override
    public void write(long gpa, byte[] source, int offset, int lengthBytes) throws GuestFault {
        MemorySegment.copy(source, offset, slice(gpa, lengthBytes), ValueLayout.JAVA_BYTE, 0, lengthBytes);
        written(gpa, lengthBytes);
    }

    @Override
    public void written(long gpa, long lengthBytes) {
        listener.written(gpa, lengthBytes);
        if (!dirtyLogs.isEmpty()) {
            markDirty(gpa, lengthBytes);
        }
    }

    private void markDirty(long gpa, long lengthBytes) {
        for (PageDirtyLog log : dirtyLogs) {
            log.mark(gpa, lengthBytes);
        }
    }

    @Override
    public void written(IoVector vector) {
        for (int i = 0; i < vector.count(); i++) {
            long address = vector.address(i);
            if (address >= low.address() && address < low.address() + lowSize) {
                written(address - low.address(), vector.length(i));
            } else if (address >= high.address() && address < high.address() + highSize) {
                written(highBase + address - high.address(), vector.length(i));
            }
        }
    }

    @Override
    public DirtyLog trackDirty() {
        PageDirtyLog log = new PageDirtyLog(this, regions);
        synchronized (dirtyLogs) {
            if (dirtyLogs.isEmpty()) {
                dirtySource.enable(true);
            }
            dirtyLogs.add(log);
        }
        return log;
    }

    /** Gives what vCPUs have written to every open log. */
    void collectVcpuWrites() {
        synchronized (dirtyLogs) {
            if (dirtyLogs.isEmpty()) {
                return;
            }
            PageDirtyLog fresh = new PageDirtyLog(this, regions);
            dirtySource.collect(fresh);
            for (PageDirtyLog log : dirtyLogs) {
                log.merge(fresh);
            }
        }
    }

    void remove(PageDirtyLog log) {
        synchronized (dirtyLogs) {
            if (dirtyLogs.remove(log) && dirtyLogs.isEmpty()) {
                dirtySource.enable(false);
            }
        }
    }
}
