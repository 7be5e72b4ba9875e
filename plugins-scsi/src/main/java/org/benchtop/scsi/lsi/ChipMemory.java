package org.benchtop.scsi.lsi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;

/**
 * Memory as the chip's DMA sees it: guest RAM and the on-chip RAM. Nothing else: an access to the chip's own registers over
 * the bus is a bus fault, so DMA never comes back into the chip.
 */
final class ChipMemory {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final int COPY_BYTES = 4096;

    private final GuestMemory memory;
    private final MemorySegment ram;
    private final long ramBytes;
    private final IoVector range = new IoVector();
    private final MemorySegment copyBuffer = MemorySegment.ofArray(new byte[COPY_BYTES]);
    private volatile long ramAddress = -1;
    private volatile boolean master;

    ChipMemory(GuestMemory memory, MemorySegment ram) {
        this.memory = memory;
        this.ram = ram;
        this.ramBytes = ram.byteSize();
    }

    /** Where the on-chip RAM is decoded, or -1, and whether the function is a bus master. */
    void placed(long newRamAddress, boolean busMaster) {
        ramAddress = newRamAddress;
        master = busMaster;
    }

    MemorySegment ram() {
        return ram;
    }

    /** Offset into the on-chip RAM, or -1. */
    private long inRam(long address, long lengthBytes) {
        long base = ramAddress;
        long offset = address - base;
        return base >= 0 && offset >= 0 && offset <= ramBytes - lengthBytes ? offset : -1;
    }

    private void fill(long address, long lengthBytes) throws GuestFault {
        if (!master) {
            throw new GuestFault(address, lengthBytes);
        }
        range.clear();
        memory.appendTo(range, address, lengthBytes);
    }

    int read32(long address) throws GuestFault {
        long offset = inRam(address, 4);
        if (offset >= 0) {
            return ram.get(INT, offset);
        }
        if (!master) {
            throw new GuestFault(address, 4);
        }
        return memory.readInt(address);
    }

    int read8(long address) throws GuestFault {
        long offset = inRam(address, 1);
        if (offset >= 0) {
            return ram.get(BYTE, offset) & 0xff;
        }
        if (!master) {
            throw new GuestFault(address, 1);
        }
        return memory.readByte(address) & 0xff;
    }

    void write8(long address, int value) throws GuestFault {
        long offset = inRam(address, 1);
        if (offset >= 0) {
            ram.set(BYTE, offset, (byte) value);
            return;
        }
        if (!master) {
            throw new GuestFault(address, 1);
        }
        memory.writeByte(address, (byte) value);
    }

    void write32(long address, int value) throws GuestFault {
        long offset = inRam(address, 4);
        if (offset >= 0) {
            ram.set(INT, offset, value);
            return;
        }
        if (!master) {
            throw new GuestFault(address, 4);
        }
        memory.writeInt(address, value);
    }

    /** Copies out of memory. */
    void read(long address, MemorySegment destination, long offset, long lengthBytes) throws GuestFault {
        if (lengthBytes == 0) {
            return;
        }
        long at = inRam(address, lengthBytes);
        if (at >= 0) {
            MemorySegment.copy(ram, at, destination, offset, lengthBytes);
            return;
        }
        fill(address, lengthBytes);
        range.copyTo(0, destination, offset, lengthBytes);
    }

    /** Copies into memory. */
    void write(long address, MemorySegment source, long offset, long lengthBytes) throws GuestFault {
        if (lengthBytes == 0) {
            return;
        }
        long at = inRam(address, lengthBytes);
        if (at >= 0) {
            MemorySegment.copy(source, offset, ram, at, lengthBytes);
            return;
        }
        fill(address, lengthBytes);
        range.copyFrom(0, source, offset, lengthBytes);
        memory.written(address, lengthBytes);
    }

    /** Copies from memory to memory, upwards. */
    void copy(long source, long destination, long lengthBytes) throws GuestFault {
        long done = 0;
        while (done < lengthBytes) {
            long part = Math.min(COPY_BYTES, lengthBytes - done);
            read(source + done, copyBuffer, 0, part);
            write(destination + done, copyBuffer, 0, part);
            done += part;
        }
    }
}
