package org.benchtop.virtio.scsi;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.stats.Counter;
import org.benchtop.virtio.queue.DescriptorChain;
import org.benchtop.virtio.queue.QueueError;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;

/** Tells the driver what has happened (VIRTIO 1.2, 5.6.6.3), in buffers that it has supplied before. */
final class EventQueue implements QueueHandler {
    private final QueuePump pump;
    private final GuestMemory memory;
    private final Counter events;
    private final MemorySegment bytes = MemorySegment.ofArray(new byte[ScsiWire.EVENT_BYTES]);
    private volatile boolean missed;

    EventQueue(QueuePump pump, GuestMemory memory, Counter events) {
        this.pump = pump;
        this.memory = memory;
        this.events = events;
    }

    /** Whether there was no buffer for an event since the last one that was told. */
    boolean missed() {
        return missed;
    }

    void missed(boolean value) {
        missed = value;
    }

    @Override
    public void available() {
        if (missed) {
            report(ScsiWire.VIRTIO_SCSI_T_NO_EVENT, 0, 0, 0);
        }
    }

    /** Reports an event, or remembers that one was missed. */
    void report(int event, int target, int lun, int reason) {
        DescriptorChain chain = pump.next();
        if (chain == DescriptorChain.NONE) {
            missed = true;
            return;
        }
        if (chain.writable().sizeBytes() < ScsiWire.EVENT_BYTES) {
            pump.fail(chain, QueueError.Kind.MALFORMED_REQUEST, chain.writable().sizeBytes());
            return;
        }
        bytes.fill((byte) 0);
        ScsiWire.int32(bytes, 0, event | (missed ? ScsiWire.VIRTIO_SCSI_T_EVENTS_MISSED : 0));
        if (event != ScsiWire.VIRTIO_SCSI_T_NO_EVENT) {
            ScsiWire.lun(bytes, 4, target, lun);
        }
        ScsiWire.int32(bytes, 12, reason);
        missed = false;
        events.increment();
        if (pump.mayWrite()) {
            chain.writable().copyFrom(0, bytes, 0, ScsiWire.EVENT_BYTES);
            memory.written(chain.writable());
        }
        pump.complete(chain, ScsiWire.EVENT_BYTES);
    }

    @Override
    public void restart(DescriptorChain chain) {
        throw new IllegalStateException("events are never parked");
    }

    @Override
    public String describe(DescriptorChain chain) {
        return "event";
    }
}
