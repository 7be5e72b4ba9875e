package org.benchtop.testkit.virtio;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The driver's side of a split queue (VIRTIO 1.2, 2.7): {@link #add} and {@link #poll} keep the rules, the methods that
 * name a field write just that field, right or wrong. Methods with primitive arguments allocate nothing.
 */
public final class FakeVirtQueue {
    /** Descriptor flag: {@code next} is valid. */
    public static final int VIRTQ_DESC_F_NEXT = 1;
    /** Descriptor flag: the device writes. */
    public static final int VIRTQ_DESC_F_WRITE = 2;
    /** Descriptor flag: the buffer is a table of descriptors. */
    public static final int VIRTQ_DESC_F_INDIRECT = 4;

    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle SHORTS = SHORT.varHandle();

    /**
     * One buffer.
     *
     * @param gpa where it is
     * @param lengthBytes its length
     * @param write whether the device writes it
     */
    public record Buffer(long gpa, int lengthBytes, boolean write) {
        /** A buffer that the device reads. */
        public static Buffer readable(long gpa, int lengthBytes) {
            return new Buffer(gpa, lengthBytes, false);
        }

        /** A buffer that the device writes. */
        public static Buffer writable(long gpa, int lengthBytes) {
            return new Buffer(gpa, lengthBytes, true);
        }
    }

    /**
     * A used element.
     *
     * @param head the chain's head
     * @param writtenBytes what the device says it has written
     */
    public record Used(int head, int writtenBytes) {}

    /** Rings the device's notification address. */
    @FunctionalInterface
    public interface Notifier {
        /** One notification. */
        void ring();
    }

    private final int size;
    private final boolean eventIdx;
    private final Notifier notifier;
    private final GuestHeap heap;
    private final long descriptorGpa;
    private final long driverGpa;
    private final long deviceGpa;
    private final MemorySegment descriptors;
    private final MemorySegment avail;
    private final MemorySegment used;
    private final int[] nextFree;
    private final int[] chainTail;
    private int firstFree;
    private int free;
    private int availIndex;
    private int notifiedIndex;
    private int seenUsed;
    private boolean interruptsWanted = true;

    /** A queue with fresh rings. */
    public FakeVirtQueue(GuestHeap heap, int size, boolean eventIdx, Notifier notifier) {
        this.size = size;
        this.eventIdx = eventIdx;
        this.notifier = notifier;
        this.heap = heap;
        descriptorGpa = heap.allocate(16L * size, 16);
        driverGpa = heap.allocate(6 + 2L * size, 2);
        deviceGpa = heap.allocate(6 + 8L * size, 4);
        descriptors = heap.segment(descriptorGpa, 16L * size);
        avail = heap.segment(driverGpa, 6 + 2L * size);
        used = heap.segment(deviceGpa, 6 + 8L * size);
        nextFree = new int[size];
        chainTail = new int[size];
        for (int i = 0; i < size; i++) {
            nextFree[i] = i + 1;
        }
        free = size;
    }

    /** Starts with other ring indices than 0, as a queue that has run for a while. */
    public void beginAt(int index) {
        availIndex(index);
        notifiedIndex = availIndex;
        seenUsed = availIndex;
        SHORTS.setRelease(used, 2L, (short) index);
        usedEvent(seenUsed);
    }

    /** The number of entries. */
    public int size() {
        return size;
    }

    /** Where the descriptor table is. */
    public long descriptorGpa() {
        return descriptorGpa;
    }

    /** Where the available ring is. */
    public long driverGpa() {
        return driverGpa;
    }

    /** Where the used ring is. */
    public long deviceGpa() {
        return deviceGpa;
    }

    /** The number of free descriptors. */
    public int freeDescriptors() {
        return free;
    }

    // What a good driver does.

    /** Adds a chain and makes it available, without a notification; returns its head. */
    public int add(List<Buffer> buffers) {
        if (buffers.isEmpty() || buffers.size() > free) {
            throw new AssertionError(buffers.size() + " buffers, " + free + " free descriptors");
        }
        int head = firstFree;
        int index = head;
        for (int i = 0; i < buffers.size(); i++) {
            Buffer buffer = buffers.get(i);
            boolean last = i == buffers.size() - 1;
            int next = nextFree[index];
            int flags = (buffer.write() ? VIRTQ_DESC_F_WRITE : 0) | (last ? 0 : VIRTQ_DESC_F_NEXT);
            descriptor(index, buffer.gpa(), buffer.lengthBytes(), flags, last ? 0 : next);
            if (last) {
                chainTail[head] = index;
                firstFree = next;
            }
            index = next;
        }
        free -= buffers.size();
        offer(head);
        return head;
    }

    /** Adds a chain through an indirect table and makes it available; returns its head. */
    public int addIndirect(List<Buffer> buffers) {
        return addIndirect(List.of(), buffers);
    }

    /** Adds a chain that goes on in an indirect table after some direct descriptors. */
    public int addIndirect(List<Buffer> direct, List<Buffer> indirect) {
        long table = indirectTable(indirect);
        List<Buffer> all = new ArrayList<>(direct);
        all.add(Buffer.readable(table, 16 * indirect.size()));
        if (all.size() > free) {
            throw new AssertionError(all.size() + " buffers, " + free + " free descriptors");
        }
        int head = firstFree;
        int index = head;
        for (int i = 0; i < all.size(); i++) {
            boolean last = i == all.size() - 1;
            int next = nextFree[index];
            int flags = last
                    ? VIRTQ_DESC_F_INDIRECT
                    : VIRTQ_DESC_F_NEXT | (all.get(i).write() ? VIRTQ_DESC_F_WRITE : 0);
            descriptor(index, all.get(i).gpa(), all.get(i).lengthBytes(), flags, last ? 0 : next);
            if (last) {
                chainTail[head] = index;
                firstFree = next;
            }
            index = next;
        }
        free -= all.size();
        offer(head);
        return head;
    }

    /** Writes an indirect table and returns where it is. */
    public long indirectTable(List<Buffer> buffers) {
        long table = heap.allocate(16L * buffers.size(), 16);
        for (int i = 0; i < buffers.size(); i++) {
            Buffer buffer = buffers.get(i);
            boolean last = i == buffers.size() - 1;
            int flags = (buffer.write() ? VIRTQ_DESC_F_WRITE : 0) | (last ? 0 : VIRTQ_DESC_F_NEXT);
            descriptorAt(table + 16L * i, buffer.gpa(), buffer.lengthBytes(), flags, last ? 0 : i + 1);
        }
        return table;
    }

    /** Notifies the device if it has asked for that; returns whether it had. */
    public boolean kick() {
        VarHandle.fullFence();
        boolean wanted = notificationWanted();
        notifiedIndex = availIndex;
        if (wanted) {
            notifier.ring();
        }
        return wanted;
    }

    /** Whether the device has asked for a notification of what was added since the last {@link #kick}. */
    public boolean notificationWanted() {
        if (!eventIdx) {
            return ((short) SHORTS.getVolatile(used, 0L) & 1) == 0;
        }
        int event = (short) SHORTS.getVolatile(used, 4 + 8L * size) & 0xffff;
        return (availIndex - event - 1 & 0xffff) < (availIndex - notifiedIndex & 0xffff);
    }

    /** Notifies the device whether it has asked for that or not. */
    public void ring() {
        notifier.ring();
    }

    /** Takes the next used element and frees its descriptors. */
    public Optional<Used> poll() {
        if (usedIndex() == seenUsed) {
            return Optional.empty();
        }
        Used element = new Used(usedHead(seenUsed), usedLength(seenUsed));
        take();
        return Optional.of(element);
    }

    /** Takes all used elements. */
    public List<Used> pollAll() {
        List<Used> all = new ArrayList<>();
        for (Optional<Used> next = poll(); next.isPresent(); next = poll()) {
            all.add(next.get());
        }
        return all;
    }

    /** Takes the next used element without looking at it; allocates nothing. Returns its head, or -1. */
    public int take() {
        if (usedIndex() == seenUsed) {
            return -1;
        }
        int head = usedHead(seenUsed);
        seenUsed = seenUsed + 1 & 0xffff;
        if (head >= 0 && head < size) {
            int count = 1;
            for (int index = head; index != chainTail[head]; index = nextFree[index]) {
                count++;
            }
            nextFree[chainTail[head]] = firstFree;
            firstFree = head;
            free += count;
        }
        if (interruptsWanted && eventIdx) {
            usedEvent(seenUsed);
        }
        return head;
    }

    /** Passes the next used element without freeing its descriptors, for a driver that keeps its chains for ever. */
    public void takeBlindly() {
        seenUsed = seenUsed + 1 & 0xffff;
    }

    /** Asks for interrupts or not, as far as the negotiated features can say it. */
    public void wantInterrupts(boolean wanted) {
        interruptsWanted = wanted;
        if (eventIdx) {
            usedEvent(wanted ? seenUsed : seenUsed - 1);
        } else {
            availFlags(wanted ? 0 : 1);
        }
    }

    /** The used index that the device has published. */
    public int usedIndex() {
        return (short) SHORTS.getAcquire(used, 2L) & 0xffff;
    }

    /** How many used elements this driver has taken. */
    public int seenUsed() {
        return seenUsed;
    }

    /** The head in a used element. */
    public int usedHead(int index) {
        return used.get(INT, 4 + 8L * (index & size - 1));
    }

    /** The length in a used element. */
    public int usedLength(int index) {
        return used.get(INT, 8 + 8L * (index & size - 1));
    }

    /** The used ring's flags. */
    public int usedFlags() {
        return used.get(SHORT, 0) & 0xffff;
    }

    /** At which available index the device wants a notification. */
    public int availEvent() {
        return used.get(SHORT, 4 + 8L * size) & 0xffff;
    }

    // Single fields, right or wrong.

    /** Writes a descriptor of the table. */
    public void descriptor(int index, long gpa, int lengthBytes, int flags, int next) {
        long at = 16L * index;
        descriptors.set(LONG, at, gpa);
        descriptors.set(INT, at + 8, lengthBytes);
        descriptors.set(SHORT, at + 12, (short) flags);
        descriptors.set(SHORT, at + 14, (short) next);
    }

    /** Writes a descriptor anywhere in RAM. */
    public void descriptorAt(long where, long gpa, int lengthBytes, int flags, int next) {
        MemorySegment segment = heap.segment(where, 16);
        segment.set(ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 0, gpa);
        segment.set(ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 8, lengthBytes);
        segment.set(ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 12, (short) flags);
        segment.set(ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 14, (short) next);
    }

    /** Makes a head available: the next entry of the ring, then the index. */
    public void offer(int head) {
        availEntry(availIndex, head);
        availIndex(availIndex + 1);
    }

    /** Writes an entry of the available ring. */
    public void availEntry(int index, int head) {
        avail.set(SHORT, 4 + 2L * (index & size - 1), (short) head);
    }

    /** Publishes an available index. */
    public void availIndex(int index) {
        availIndex = index & 0xffff;
        SHORTS.setRelease(avail, 2L, (short) index);
    }

    /** The available index that was published last. */
    public int availIndex() {
        return availIndex;
    }

    /** Writes the available ring's flags. */
    public void availFlags(int flags) {
        SHORTS.setRelease(avail, 0L, (short) flags);
    }

    /** Asks for an interrupt when the used index passes this one. */
    public void usedEvent(int index) {
        SHORTS.setRelease(avail, 4 + 2L * size, (short) index);
    }
}
