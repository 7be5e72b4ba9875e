package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;

/** The arguments of one vCPU's hypercalls: copied out of the guest's virtual memory once, and results copied back. */
final class CallMemory {
    /** No argument structure is larger. */
    static final int SIZE = 2048;

    private final GuestMemory memory;
    private final Vcpu vcpu;
    private final byte[] bytes = new byte[SIZE];
    private final MemorySegment segment = MemorySegment.ofArray(bytes);

    CallMemory(GuestMemory memory, Vcpu vcpu) {
        this.memory = memory;
        this.vcpu = vcpu;
    }

    /** Fetches a structure; false if a part of it is not there. */
    boolean in(long address, int lengthBytes) {
        return copy(address, 0, lengthBytes, false);
    }

    /** Stores the first bytes of the structure; false if a part of its place is not there. */
    boolean out(long address, int lengthBytes) {
        return copy(address, 0, lengthBytes, true);
    }

    /** Stores other bytes of the structure, starting {@code from} into it, at an address. */
    boolean out(long address, int from, int lengthBytes) {
        return copy(address, from, lengthBytes, true);
    }

    private boolean copy(long address, int from, int lengthBytes, boolean out) {
        int done = 0;
        while (done < lengthBytes) {
            long at = address + done;
            int part = (int) Math.min(lengthBytes - done, Xen.PAGE_SIZE - (at & Xen.PAGE_SIZE - 1));
            OptionalLong gpa = vcpu.translate(at);
            if (gpa.isEmpty()) {
                return false;
            }
            try {
                if (out) {
                    memory.write(gpa.getAsLong(), bytes, from + done, part);
                } else {
                    memory.read(gpa.getAsLong(), bytes, from + done, part);
                }
            } catch (GuestFault e) {
                return false;
            }
            done += part;
        }
        return true;
    }

    /** Clears the structure. */
    void clear() {
        segment.fill((byte) 0);
    }

    int byteAt(int offset) {
        return bytes[offset] & 0xff;
    }

    int shortAt(int offset) {
        return segment.get(Xen.SHORT, offset) & 0xffff;
    }

    int intAt(int offset) {
        return segment.get(Xen.INT, offset);
    }

    long longAt(int offset) {
        return segment.get(Xen.LONG, offset);
    }

    void put(int offset, byte[] value) {
        System.arraycopy(value, 0, bytes, offset, value.length);
    }

    void shortAt(int offset, int value) {
        segment.set(Xen.SHORT, offset, (short) value);
    }

    void intAt(int offset, int value) {
        segment.set(Xen.INT, offset, value);
    }

    void longAt(int offset, long value) {
        segment.set(Xen.LONG, offset, value);
    }

    String text(int lengthBytes) {
        return new String(bytes, 0, lengthBytes, java.nio.charset.StandardCharsets.ISO_8859_1);
    }
}
