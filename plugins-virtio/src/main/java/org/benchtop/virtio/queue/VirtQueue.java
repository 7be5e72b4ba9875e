package org.benchtop.virtio.queue;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * A split virtqueue (VIRTIO 1.2, 2.7) as its device sees it. The rings are used in place, every field of the driver is
 * read once, and nothing is allocated unless the driver breaks a rule.
 *
 * <p>Not thread-safe: it belongs to one event loop while it runs.
 */
public final class VirtQueue {
    private static final long MAX_CHAIN_BYTES = 1L << 32;
    /** {@code next} has 16 bits: descriptors behind it cannot be reached. */
    private static final long MAX_INDIRECT_BYTES = 65536L * VirtqDesc.SIZE;

    private final GuestMemory memory;
    private final int maxSize;
    private final IoVector indirectTable = new IoVector();

    private MemorySegment descriptors = MemorySegment.NULL;
    private MemorySegment avail = MemorySegment.NULL;
    private MemorySegment used = MemorySegment.NULL;
    private long usedGpa;
    private int size;
    private boolean eventIdx;
    private boolean indirect;

    /** The next available entry to take. */
    private int lastAvail;
    /** How far the driver's index is known to reach. */
    private int knownAvail;
    /** The next used element to fill. */
    private int usedIndex;
    /** Used elements before this one are published. */
    private int publishedUsed;
    /** Whether the driver has been asked for notifications. */
    private boolean notifying;
    /** What {@code avail_event} says; with VIRTIO_F_EVENT_IDX. */
    private int availEvent;

    private @Nullable QueueError error;

    /**
     * A queue that is not started.
     *
     * @param maxSize largest queue size, which also bounds the descriptors of a chain
     */
    public VirtQueue(GuestMemory memory, int maxSize) {
        this.memory = memory;
        this.maxSize = maxSize;
    }

    /**
     * Maps the rings and begins at the given indices, which are 0 after a reset.
     *
     * @return whether the layout is right; otherwise see {@link #error}
     */
    public boolean start(RingLayout layout, boolean eventIdx, boolean indirect, int lastAvail, int usedIndex) {
        error = null;
        if (Integer.bitCount(layout.size()) != 1 || layout.size() > maxSize) {
            return refuse(QueueError.Kind.BAD_QUEUE_SIZE, layout.size());
        }
        if (layout.descriptorGpa() % VirtqDesc.ALIGNMENT != 0) {
            return refuse(QueueError.Kind.RING_MISALIGNED, layout.descriptorGpa());
        }
        if (layout.driverGpa() % VirtqAvail.ALIGNMENT != 0) {
            return refuse(QueueError.Kind.RING_MISALIGNED, layout.driverGpa());
        }
        if (layout.deviceGpa() % VirtqUsed.ALIGNMENT != 0) {
            return refuse(QueueError.Kind.RING_MISALIGNED, layout.deviceGpa());
        }
        size = layout.size();
        this.eventIdx = eventIdx;
        this.indirect = indirect;
        try {
            descriptors = memory.slice(layout.descriptorGpa(), (long) VirtqDesc.SIZE * size);
            avail = memory.slice(layout.driverGpa(), VirtqAvail.sizeBytes(size, eventIdx));
            used = memory.slice(layout.deviceGpa(), VirtqUsed.sizeBytes(size, eventIdx));
        } catch (GuestFault e) {
            return refuse(QueueError.Kind.RING_NOT_RAM, e.gpa());
        }
        usedGpa = layout.deviceGpa();
        this.lastAvail = lastAvail & 0xffff;
        knownAvail = this.lastAvail;
        this.usedIndex = usedIndex & 0xffff;
        publishedUsed = this.usedIndex;
        enableNotifications();
        return true;
    }

    private boolean refuse(QueueError.Kind kind, long value) {
        error = new QueueError(kind, value);
        return false;
    }

    /** The number of entries. */
    public int size() {
        return size;
    }

    /** The index of the next available entry to take. */
    public int lastAvail() {
        return lastAvail;
    }

    /** The index of the next used element to fill. */
    public int usedIndex() {
        return usedIndex;
    }

    /** The driver's available index now; for inspection. */
    public int availIndex() {
        return VirtqAvail.index(avail);
    }

    /** The published used index in guest memory; for inspection. */
    public int publishedIndex() {
        return VirtqUsed.index(used);
    }

    /** What the driver did wrong, if it did. */
    public Optional<QueueError> error() {
        return Optional.ofNullable(error);
    }

    /** Whether the driver has made more available than was taken. */
    public boolean hasAvailable() {
        return lastAvail != knownAvail || VirtqAvail.index(avail) != lastAvail;
    }

    /** Takes the next available chain. */
    public PopResult pop(DescriptorChain chain) {
        if (error != null) {
            return PopResult.ERROR;
        }
        if (lastAvail == knownAvail) {
            int index = VirtqAvail.index(avail);
            if (index == lastAvail && notifying && eventIdx && availEvent != lastAvail) {
                // Taken outside a burst: a notification for the next entry has not been asked for yet.
                enableNotifications();
                index = VirtqAvail.index(avail);
            }
            int ahead = index - lastAvail & 0xffff;
            if (ahead == 0) {
                return PopResult.EMPTY;
            }
            if (ahead > size) {
                return fail(QueueError.Kind.INDEX_JUMP, index);
            }
            knownAvail = index;
        }
        int head = VirtqAvail.entry(avail, lastAvail & size - 1);
        if (head >= size) {
            return fail(QueueError.Kind.HEAD_OUT_OF_RANGE, head);
        }
        chain.begin(head);
        if (collect(chain, head) != PopResult.CHAIN) {
            return PopResult.ERROR;
        }
        lastAvail = lastAvail + 1 & 0xffff;
        return PopResult.CHAIN;
    }

    /** Takes a chain again that was taken before this queue was started, and never given back. */
    public PopResult take(DescriptorChain chain, int head) {
        if (error != null) {
            return PopResult.ERROR;
        }
        if (head < 0 || head >= size) {
            return fail(QueueError.Kind.HEAD_OUT_OF_RANGE, head);
        }
        chain.begin(head);
        return collect(chain, head);
    }

    private PopResult collect(DescriptorChain chain, int head) {
        MemorySegment table = descriptors;
        long tableOffset = 0;
        long tableEntries = size;
        boolean inIndirect = false;
        int passed = 0;
        int index = head;
        while (true) {
            long at = tableOffset + (long) VirtqDesc.SIZE * index;
            long address = VirtqDesc.address(table, at);
            long rest = VirtqDesc.rest(table, at);
            int flags = VirtqDesc.flags(rest);
            if ((flags & VirtqDesc.VIRTQ_DESC_F_INDIRECT) != 0) {
                if (!openIndirect(inIndirect, address, rest)) {
                    return PopResult.ERROR;
                }
                inIndirect = true;
                table = indirectTable.base(0);
                tableOffset = indirectTable.offset(0);
                tableEntries = VirtqDesc.length(rest) / VirtqDesc.SIZE;
                passed = 0;
                index = 0;
                continue;
            }
            if (!addBuffer(chain, address, rest)) {
                return PopResult.ERROR;
            }
            if ((flags & VirtqDesc.VIRTQ_DESC_F_NEXT) == 0) {
                return PopResult.CHAIN;
            }
            index = VirtqDesc.next(rest);
            if (index >= tableEntries) {
                return fail(QueueError.Kind.NEXT_OUT_OF_RANGE, index);
            }
            if (++passed >= tableEntries) {
                return fail(QueueError.Kind.LOOP, index);
            }
        }
    }

    private boolean openIndirect(boolean inIndirect, long address, long rest) {
        long length = VirtqDesc.length(rest);
        if (!indirect) {
            return refuse(QueueError.Kind.INDIRECT_NOT_NEGOTIATED, address);
        }
        if (inIndirect) {
            return refuse(QueueError.Kind.INDIRECT_NESTED, address);
        }
        if ((VirtqDesc.flags(rest) & VirtqDesc.VIRTQ_DESC_F_NEXT) != 0) {
            return refuse(QueueError.Kind.INDIRECT_WITH_NEXT, VirtqDesc.next(rest));
        }
        if (length == 0 || length % VirtqDesc.SIZE != 0 || length > MAX_INDIRECT_BYTES) {
            return refuse(QueueError.Kind.INDIRECT_BAD_SIZE, length);
        }
        indirectTable.clear();
        try {
            memory.appendTo(indirectTable, address, length);
        } catch (GuestFault e) {
            return refuse(QueueError.Kind.INDIRECT_NOT_RAM, address);
        }
        return true;
    }

    private boolean addBuffer(DescriptorChain chain, long address, long rest) {
        long length = VirtqDesc.length(rest);
        IoVector readable = chain.readable();
        IoVector writable = chain.writable();
        if (length == 0) {
            return refuse(QueueError.Kind.ZERO_LENGTH, address);
        }
        if (chain.addDescriptor() > maxSize) {
            return refuse(QueueError.Kind.CHAIN_TOO_LONG, chain.descriptors());
        }
        boolean write = (VirtqDesc.flags(rest) & VirtqDesc.VIRTQ_DESC_F_WRITE) != 0;
        if (!write && writable.count() > 0) {
            return refuse(QueueError.Kind.READABLE_AFTER_WRITABLE, address);
        }
        if (readable.sizeBytes() + writable.sizeBytes() + length > MAX_CHAIN_BYTES) {
            return refuse(QueueError.Kind.CHAIN_TOO_LARGE, length);
        }
        try {
            memory.appendTo(write ? writable : readable, address, length);
        } catch (GuestFault e) {
            return refuse(QueueError.Kind.BUFFER_NOT_RAM, address);
        }
        return true;
    }

    private PopResult fail(QueueError.Kind kind, long value) {
        error = new QueueError(kind, value);
        return PopResult.ERROR;
    }

    /** Stops the queue because of what its device found wrong. */
    void fail(QueueError cause) {
        error = cause;
    }

    /**
     * Fills the next used element; the driver sees it after {@link #publish}. At most {@link #size} elements may wait.
     *
     * @param head the chain's head
     * @param writtenBytes how much of its writable buffers was written
     */
    public void push(int head, long writtenBytes) {
        VirtqUsed.element(used, usedIndex & size - 1, head, (int) Math.min(writtenBytes, 0xffff_ffffL));
        usedIndex = usedIndex + 1 & 0xffff;
    }

    /** How many used elements wait to be published. */
    public int unpublished() {
        return usedIndex - publishedUsed & 0xffff;
    }

    /** Takes back the used elements that wait to be published. */
    void forgetUnpublished() {
        usedIndex = publishedUsed;
    }

    /**
     * Shows all filled used elements to the driver.
     *
     * @return whether the driver wants an interrupt (2.7.7.2)
     */
    public boolean publish() {
        int before = publishedUsed;
        int now = usedIndex;
        publishedUsed = now;
        VirtqUsed.publish(used, now);
        memory.written(usedGpa, used.byteSize());
        // The driver sets used_event or flags and then looks at the used index again; we do it the other way round.
        VarHandle.fullFence();
        if (!eventIdx) {
            return !VirtqAvail.noInterrupt(avail);
        }
        int event = VirtqAvail.usedEvent(avail, size);
        return (now - event - 1 & 0xffff) < (now - before & 0xffff);
    }

    /** Whether the driver has been asked for notifications. */
    boolean notifying() {
        return notifying;
    }

    /** Tells the driver that notifications are not needed for now. */
    public void suppressNotifications() {
        notifying = false;
        // With VIRTIO_F_EVENT_IDX nothing is written: avail_event stays behind, and the driver does not pass it again.
        if (!eventIdx) {
            VirtqUsed.noNotify(used, true);
        }
    }

    /**
     * Asks the driver for a notification when it makes more available than has been taken.
     *
     * @return whether there is more to take already, perhaps without a notification
     */
    public boolean enableNotifications() {
        notifying = true;
        if (eventIdx) {
            availEvent = lastAvail;
            VirtqUsed.availEvent(used, size, lastAvail);
        } else {
            VirtqUsed.noNotify(used, false);
        }
        // The driver moves its index and then looks at avail_event or flags; we do it the other way round.
        VarHandle.fullFence();
        return VirtqAvail.index(avail) != lastAvail;
    }
}
