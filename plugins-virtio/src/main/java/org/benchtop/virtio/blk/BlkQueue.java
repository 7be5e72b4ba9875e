package org.benchtop.virtio.blk;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.virtio.queue.DescriptorChain;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;
import org.jspecify.annotations.Nullable;

/** One queue of a block device: keeps a reusable {@link BlkSlot} for each chain that may be in flight. */
final class BlkQueue implements QueueHandler {
    private final VirtioBlk blk;
    private final QueuePump pump;
    private final BlockQueue backend;
    private final GuestMemory memory;
    private final BlkStats stats;
    private final MemorySegment headerBytes = MemorySegment.ofArray(new byte[BlkHeader.SIZE]);

    private @Nullable BlkSlot[] slots = {};

    private long reads;
    private long readBytes;
    private long writes;
    private long writeBytes;
    private boolean submitted;

    BlkQueue(VirtioBlk blk, QueuePump pump, BlockQueue backend, GuestMemory memory, BlkStats stats) {
        this.blk = blk;
        this.pump = pump;
        this.backend = backend;
        this.memory = memory;
        this.stats = stats;
    }

    @Override
    public void available() {
        DescriptorChain chain = pump.next();
        while (chain != DescriptorChain.NONE) {
            slot(chain).start();
            chain = pump.next();
        }
        if (submitted) {
            submitted = false;
            backend.kick();
        }
        count();
    }

    private BlkSlot slot(DescriptorChain chain) {
        int index = chain.slot();
        if (index >= slots.length) {
            slots = Arrays.copyOf(slots, Math.max(8, Math.max(index + 1, slots.length * 2)));
        }
        BlkSlot slot = slots[index];
        if (slot == null) {
            slot = new BlkSlot(this, chain);
            slots[index] = slot;
        }
        return slot;
    }

    /** Adds what was gathered during a burst to the shared counters. */
    private void count() {
        if (reads != 0) {
            stats.reads().add(reads);
            stats.readBytes().add(readBytes);
            reads = 0;
            readBytes = 0;
        }
        if (writes != 0) {
            stats.writes().add(writes);
            stats.writeBytes().add(writeBytes);
            writes = 0;
            writeBytes = 0;
        }
    }

    @Override
    public void restart(DescriptorChain chain) {
        slot(chain).start();
        kickOutsideBurst();
        count();
    }

    @Override
    public void drain() {
        backend.drain();
    }

    @Override
    public String describe(DescriptorChain chain) {
        return slot(chain).toString();
    }

    // What slots ask.

    VirtioBlk blk() {
        return blk;
    }

    QueuePump pump() {
        return pump;
    }

    GuestMemory memory() {
        return memory;
    }

    BlkStats stats() {
        return stats;
    }

    /** The backend, which is then told when the burst ends. */
    BlockQueue backendForSubmit() {
        submitted = true;
        return backend;
    }

    /** Starts what was submitted outside a burst. */
    void kickOutsideBurst() {
        if (!pump.inBurst() && submitted) {
            submitted = false;
            backend.kick();
        }
    }

    /** Keeps a chain whose request the host could not carry out until the machine goes on. */
    void park(DescriptorChain chain, BlkSlot slot, BlockStatus why) {
        stats.errors().increment();
        blk.errors().stop(slot.toString(), why);
        pump.park(chain);
    }

    /** Room for a header that lies in pieces. */
    MemorySegment headerBytes() {
        return headerBytes;
    }

    void countRead(long bytes) {
        reads++;
        readBytes += bytes;
    }

    void countWrite(long bytes) {
        writes++;
        writeBytes += bytes;
    }
}
