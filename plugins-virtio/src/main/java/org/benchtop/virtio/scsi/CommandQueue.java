package org.benchtop.virtio.scsi;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.virtio.queue.DescriptorChain;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;
import org.jspecify.annotations.Nullable;

/** One request queue: keeps a reusable {@link CommandSlot} for each chain that may be in flight. */
final class CommandQueue implements QueueHandler {
    private final VirtioScsi scsi;
    private final QueuePump pump;
    private final GuestMemory memory;
    private final MemorySegment header = MemorySegment.ofArray(new byte[512]);

    private @Nullable CommandSlot[] slots = {};
    /** Ways that have got commands in this burst, each once. */
    private @Nullable ScsiPort[] used = new @Nullable ScsiPort[8];

    private int usedCount;

    CommandQueue(VirtioScsi scsi, QueuePump pump, GuestMemory memory) {
        this.scsi = scsi;
        this.pump = pump;
        this.memory = memory;
    }

    @Override
    public void available() {
        int taken = 0;
        DescriptorChain chain = pump.next();
        while (chain != DescriptorChain.NONE) {
            slot(chain).start();
            taken++;
            chain = pump.next();
        }
        kick();
        scsi.commands().add(taken);
    }

    private void kick() {
        for (int i = 0; i < usedCount; i++) {
            ScsiPort port = used[i];
            used[i] = null;
            if (port != null) {
                port.kick();
            }
        }
        usedCount = 0;
    }

    /** Remembers whom to kick at the end of the burst. */
    void uses(ScsiPort port) {
        if (usedCount > 0 && used[usedCount - 1] == port) {
            return;
        }
        for (int i = 0; i < usedCount; i++) {
            if (used[i] == port) {
                return;
            }
        }
        if (usedCount == used.length) {
            used = Arrays.copyOf(used, usedCount * 2);
        }
        used[usedCount++] = port;
    }

    private CommandSlot slot(DescriptorChain chain) {
        int index = chain.slot();
        if (index >= slots.length) {
            slots = Arrays.copyOf(slots, Math.max(8, Math.max(index + 1, slots.length * 2)));
        }
        CommandSlot slot = slots[index];
        if (slot == null) {
            slot = new CommandSlot(this, chain);
            slots[index] = slot;
        }
        return slot;
    }

    @Override
    public void restart(DescriptorChain chain) {
        slot(chain).start();
        kick();
    }

    @Override
    public void drain() {
        scsi.drain();
    }

    @Override
    public String describe(DescriptorChain chain) {
        return slot(chain).toString();
    }

    // What slots ask.

    VirtioScsi scsi() {
        return scsi;
    }

    QueuePump pump() {
        return pump;
    }

    GuestMemory memory() {
        return memory;
    }

    /** Room for a header or response that lies in pieces. */
    MemorySegment header() {
        return header;
    }
}
