package org.benchtop.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.memory.DirtyLog;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.memory.MemoryRegion;

/**
 * Guest RAM in real off-heap memory, page-aligned, zeroed, freed by the garbage collector.
 *
 * <p>Remembers what was reported with {@link #written}: see {@link #wasWritten} and {@link #writtenBytes}.
 */
public final class FakeGuestMemory implements GuestMemory {
    private static final int PAGE = 4096;
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final List<MemoryRegion> regions;
    private final MemoryRegion[] regionArray;
    private final List<FakeDirtyLog> dirtyLogs = new ArrayList<>();
    private long[] writtenRanges = new long[256];
    private int writtenCount;
    private boolean recordWritten = true;

    private FakeGuestMemory(List<MemoryRegion> regions) {
        this.regions = List.copyOf(regions);
        this.regionArray = regions.toArray(MemoryRegion[]::new);
    }

    /** RAM from address 0, a multiple of 4096 bytes. */
    public static FakeGuestMemory ofSize(long sizeBytes) {
        return new FakeGuestMemory(List.of(region(0, sizeBytes)));
    }

    /** RAM from address 0 and again from 4 GiB on, as in a machine with more RAM than fits below the hole. */
    public static FakeGuestMemory withHole(long lowBytes, long highBytes) {
        return new FakeGuestMemory(List.of(region(0, lowBytes), region(1L << 32, highBytes)));
    }

    private static MemoryRegion region(long gpa, long sizeBytes) {
        if (sizeBytes <= 0 || sizeBytes % PAGE != 0) {
            throw new IllegalArgumentException("RAM size must be a positive multiple of 4096: " + sizeBytes);
        }
        return new MemoryRegion(gpa, Arena.ofAuto().allocate(sizeBytes, PAGE));
    }

    @Override
    public long sizeBytes() {
        return regions.stream().mapToLong(MemoryRegion::sizeBytes).sum();
    }

    @Override
    public List<MemoryRegion> regions() {
        return regions;
    }

    @Override
    public boolean isRam(long gpa, long lengthBytes) {
        return indexOf(gpa, lengthBytes) >= 0;
    }

    private int indexOf(long gpa, long lengthBytes) {
        if (lengthBytes < 0) {
            return -1;
        }
        long needed = Math.max(lengthBytes, 1);
        for (int i = 0; i < regionArray.length; i++) {
            long offset = gpa - regionArray[i].gpa();
            if (offset >= 0 && gpa >= 0 && offset <= regionArray[i].sizeBytes() - needed) {
                return i;
            }
        }
        return -1;
    }

    private MemoryRegion regionOf(long gpa, long lengthBytes) throws GuestFault {
        int index = indexOf(gpa, lengthBytes);
        if (index < 0) {
            throw new GuestFault(gpa, lengthBytes);
        }
        return regionArray[index];
    }

    @Override
    public MemorySegment slice(long gpa, long lengthBytes) throws GuestFault {
        MemoryRegion region = regionOf(gpa, lengthBytes);
        return region.segment().asSlice(gpa - region.gpa(), lengthBytes);
    }

    @Override
    public void appendTo(IoVector vector, long gpa, long lengthBytes) throws GuestFault {
        MemoryRegion region = regionOf(gpa, lengthBytes);
        vector.add(region.segment(), gpa - region.gpa(), lengthBytes);
    }

    @Override
    public byte readByte(long gpa) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 1);
        return region.segment().get(ValueLayout.JAVA_BYTE, gpa - region.gpa());
    }

    @Override
    public short readShort(long gpa) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 2);
        return region.segment().get(SHORT, gpa - region.gpa());
    }

    @Override
    public int readInt(long gpa) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 4);
        return region.segment().get(INT, gpa - region.gpa());
    }

    @Override
    public long readLong(long gpa) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 8);
        return region.segment().get(LONG, gpa - region.gpa());
    }

    @Override
    public void writeByte(long gpa, byte value) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 1);
        region.segment().set(ValueLayout.JAVA_BYTE, gpa - region.gpa(), value);
        written(gpa, 1);
    }

    @Override
    public void writeShort(long gpa, short value) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 2);
        region.segment().set(SHORT, gpa - region.gpa(), value);
        written(gpa, 2);
    }

    @Override
    public void writeInt(long gpa, int value) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 4);
        region.segment().set(INT, gpa - region.gpa(), value);
        written(gpa, 4);
    }

    @Override
    public void writeLong(long gpa, long value) throws GuestFault {
        MemoryRegion region = regionOf(gpa, 8);
        region.segment().set(LONG, gpa - region.gpa(), value);
        written(gpa, 8);
    }

    @Override
    public void read(long gpa, byte[] destination, int offset, int lengthBytes) throws GuestFault {
        MemoryRegion region = regionOf(gpa, lengthBytes);
        MemorySegment.copy(
                region.segment(), ValueLayout.JAVA_BYTE, gpa - region.gpa(), destination, offset, lengthBytes);
    }

    @Override
    public void write(long gpa, byte[] source, int offset, int lengthBytes) throws GuestFault {
        MemoryRegion region = regionOf(gpa, lengthBytes);
        MemorySegment.copy(source, offset, region.segment(), ValueLayout.JAVA_BYTE, gpa - region.gpa(), lengthBytes);
        written(gpa, lengthBytes);
    }

    @Override
    public synchronized void written(long gpa, long lengthBytes) {
        if (lengthBytes == 0) {
            return;
        }
        if (!isRam(gpa, lengthBytes)) {
            throw new AssertionError(
                    "written() reports what is not RAM: gpa=0x" + Long.toHexString(gpa) + " length=" + lengthBytes);
        }
        for (int i = 0; i < dirtyLogs.size(); i++) {
            dirtyLogs.get(i).mark(gpa, lengthBytes);
        }
        if (!recordWritten) {
            return;
        }
        if (writtenCount * 2 == writtenRanges.length) {
            writtenRanges = Arrays.copyOf(writtenRanges, writtenRanges.length * 2);
        }
        writtenRanges[writtenCount * 2] = gpa;
        writtenRanges[writtenCount * 2 + 1] = lengthBytes;
        writtenCount++;
    }

    @Override
    public void written(IoVector vector) {
        for (int i = 0; i < vector.count(); i++) {
            written(gpaOf(vector.address(i)), vector.length(i));
        }
    }

    private long gpaOf(long address) {
        for (MemoryRegion region : regionArray) {
            long offset = address - region.segment().address();
            if (offset >= 0 && offset < region.sizeBytes()) {
                return region.gpa() + offset;
            }
        }
        throw new AssertionError("written() reports memory that is not guest RAM: 0x" + Long.toHexString(address));
    }

    /** Whether every byte of a range has been reported as written since the last {@link #forgetWritten}. */
    public synchronized boolean wasWritten(long gpa, long lengthBytes) {
        long at = gpa;
        boolean progress = true;
        while (at < gpa + lengthBytes && progress) {
            progress = false;
            for (int i = 0; i < writtenCount; i++) {
                long start = writtenRanges[i * 2];
                long end = start + writtenRanges[i * 2 + 1];
                if (start <= at && at < end) {
                    at = end;
                    progress = true;
                }
            }
        }
        return at >= gpa + lengthBytes;
    }

    /** The sum of the lengths of all reports since the last {@link #forgetWritten}. */
    public synchronized long writtenBytes() {
        long sum = 0;
        for (int i = 0; i < writtenCount; i++) {
            sum += writtenRanges[i * 2 + 1];
        }
        return sum;
    }

    /** Forgets all reports. */
    public synchronized void forgetWritten() {
        writtenCount = 0;
    }

    /** Switches the record of reports on (the default) or off, for long runs and allocation tests. */
    public synchronized void recordWritten(boolean enabled) {
        recordWritten = enabled;
        writtenCount = 0;
    }

    /** Copies out of RAM; fails the test where there is none. */
    public byte[] bytes(long gpa, int lengthBytes) {
        byte[] copy = new byte[lengthBytes];
        try {
            read(gpa, copy, 0, lengthBytes);
        } catch (GuestFault e) {
            throw new AssertionError(e.getMessage(), e);
        }
        return copy;
    }

    /** Copies into RAM without a report, as a guest's own store; fails the test where there is no RAM. */
    public void poke(long gpa, byte[] bytes) {
        try {
            MemorySegment.copy(bytes, 0, slice(gpa, bytes.length), ValueLayout.JAVA_BYTE, 0, bytes.length);
        } catch (GuestFault e) {
            throw new AssertionError(e.getMessage(), e);
        }
    }

    @Override
    public synchronized DirtyLog trackDirty() {
        FakeDirtyLog log = new FakeDirtyLog();
        dirtyLogs.add(log);
        return log;
    }

    private final class FakeDirtyLog implements DirtyLog {
        private final java.util.TreeSet<Long> pages = new java.util.TreeSet<>();

        void mark(long gpa, long lengthBytes) {
            for (long page = gpa / PAGE; page <= (gpa + lengthBytes - 1) / PAGE; page++) {
                pages.add(page);
            }
        }

        @Override
        public void drain(RangeVisitor visitor) {
            List<Long> dirty;
            synchronized (FakeGuestMemory.this) {
                dirty = List.copyOf(pages);
                pages.clear();
            }
            int i = 0;
            while (i < dirty.size()) {
                int j = i + 1;
                while (j < dirty.size() && dirty.get(j) == dirty.get(i) + (j - i)) {
                    j++;
                }
                visitor.range(dirty.get(i) * PAGE, (long) (j - i) * PAGE);
                i = j;
            }
        }

        @Override
        public void close() {
            synchronized (FakeGuestMemory.this) {
                dirtyLogs.remove(this);
            }
        }
    }
}
