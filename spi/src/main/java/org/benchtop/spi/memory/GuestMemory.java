package org.benchtop.spi.memory;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The guest's physical memory as devices see it: bounds-checked, in place, little-endian.
 *
 * <p>Thread-safe. RAM never moves while the machine lives, so a slice may be kept (a virtqueue keeps its rings); it
 * must not be used after the machine is closed. Plain accesses are not ordered against vCPUs: use
 * {@link java.lang.invoke.VarHandle} acquire/release accesses on a slice where a protocol needs order.
 */
public interface GuestMemory {
    /** The total amount of RAM. */
    long sizeBytes();

    /** RAM by ascending address; the hole below 4 GiB lies between two regions. */
    List<MemoryRegion> regions();

    /** Whether the whole range is RAM within one region. A zero length is RAM where a byte would be. */
    boolean isRam(long gpa, long lengthBytes);

    /**
     * The RAM behind a range, without copying; writes through it must be reported with {@link #written}.
     *
     * @throws GuestFault if the range is not wholly inside one region of RAM
     */
    MemorySegment slice(long gpa, long lengthBytes) throws GuestFault;

    /**
     * Appends the RAM behind a range to a vector, allocating nothing.
     *
     * @throws GuestFault if the range is not RAM; the vector is then unchanged
     */
    void appendTo(IoVector vector, long gpa, long lengthBytes) throws GuestFault;

    /** Reads one byte. */
    byte readByte(long gpa) throws GuestFault;

    /** Reads two bytes, unaligned allowed. */
    short readShort(long gpa) throws GuestFault;

    /** Reads four bytes, unaligned allowed. */
    int readInt(long gpa) throws GuestFault;

    /** Reads eight bytes, unaligned allowed. */
    long readLong(long gpa) throws GuestFault;

    /** Writes one byte. */
    void writeByte(long gpa, byte value) throws GuestFault;

    /** Writes two bytes, unaligned allowed. */
    void writeShort(long gpa, short value) throws GuestFault;

    /** Writes four bytes, unaligned allowed. */
    void writeInt(long gpa, int value) throws GuestFault;

    /** Writes eight bytes, unaligned allowed. */
    void writeLong(long gpa, long value) throws GuestFault;

    /** Copies out of RAM; the range may span regions that touch. */
    void read(long gpa, byte[] destination, int offset, int lengthBytes) throws GuestFault;

    /** Copies into RAM and reports the range as written. */
    void write(long gpa, byte[] source, int offset, int lengthBytes) throws GuestFault;

    /**
     * Says that a device has changed RAM in place, so that dirty logs and translated code follow. Cheap when nobody
     * listens. Call it after the data is there and before the guest is told.
     */
    void written(long gpa, long lengthBytes);

    /** {@link #written(long, long)} for everything that a vector covers. */
    void written(IoVector vector);

    /** Starts counting written pages (by vCPUs and devices) from now. */
    DirtyLog trackDirty();
}
