package org.benchtop.virtio.scsi;

import static org.benchtop.virtio.scsi.ScsiWire.REQUEST_BYTES;
import static org.benchtop.virtio.scsi.ScsiWire.RESPONSE_BYTES;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.virtio.queue.DescriptorChain;
import org.benchtop.virtio.queue.QueueError;

/** One command of a driver on its way. Reusable; belongs to the queue's event loop. */
final class CommandSlot implements ScsiCompletion {
    private final CommandQueue queue;
    private final DescriptorChain chain;
    private final ScsiCommand command = new ScsiCommand();
    private long dataBytes;
    private int responseBytes;

    CommandSlot(CommandQueue queue, DescriptorChain chain) {
        this.queue = queue;
        this.chain = chain;
    }

    /** Begins the command that the chain holds now. */
    void start() {
        IoVector readable = chain.readable();
        IoVector writable = chain.writable();
        int cdbBytes = queue.scsi().cdbBytes();
        int requestBytes = REQUEST_BYTES + cdbBytes;
        responseBytes = RESPONSE_BYTES + queue.scsi().senseBytes();
        if (readable.sizeBytes() < requestBytes || writable.sizeBytes() < responseBytes) {
            queue.pump().fail(chain, QueueError.Kind.MALFORMED_REQUEST, readable.sizeBytes());
            return;
        }
        MemorySegment header = readable.base(0);
        long at = readable.offset(0);
        if (readable.length(0) < requestBytes) {
            header = queue.header();
            at = 0;
            readable.copyTo(0, header, 0, requestBytes);
        }
        command.begin(ScsiWire.lun(header, at), ScsiWire.int64(header, at + 8));
        command.attribute(
                switch (ScsiWire.uint8(header, at + 16)) {
                    case 1 -> ScsiCommand.Attribute.ORDERED;
                    case 2 -> ScsiCommand.Attribute.HEAD_OF_QUEUE;
                    default -> ScsiCommand.Attribute.SIMPLE;
                });
        int length = Math.min(cdbBytes, ScsiCommand.MAX_CDB_BYTES);
        MemorySegment.copy(header, ValueLayout.JAVA_BYTE, at + REQUEST_BYTES, command.cdb(), 0, length);
        command.cdbLength(length);
        long out = readable.sizeBytes() - requestBytes;
        long in = writable.sizeBytes() - responseBytes;
        dataBytes = out + in;
        ScsiPort port = queue.scsi().port(ScsiWire.target(header, at));
        if (port == null) {
            answer(ScsiWire.VIRTIO_SCSI_S_BAD_TARGET);
        } else if (out > 0 && in > 0) {
            // Without VIRTIO_SCSI_F_INOUT no command moves data both ways.
            queue.scsi().errors().increment();
            answer(ScsiWire.VIRTIO_SCSI_S_FAILURE);
        } else {
            command.dataOut().addFrom(readable, requestBytes, out);
            command.dataIn().addFrom(writable, responseBytes, in);
            queue.uses(port);
            port.execute(command, this);
        }
    }

    @Override
    public void completed(ScsiCommand done) {
        switch (done.outcome()) {
            case DONE -> {
                boolean overrun = done.status() == ScsiCommand.GOOD && done.expectedBytes() > dataBytes;
                answer(overrun ? ScsiWire.VIRTIO_SCSI_S_OVERRUN : ScsiWire.VIRTIO_SCSI_S_OK);
            }
            case ABORTED ->
                answer(queue.scsi().resets() > 0 ? ScsiWire.VIRTIO_SCSI_S_RESET : ScsiWire.VIRTIO_SCSI_S_ABORTED);
            case PARKED -> {
                if (queue.pump().mayPark()) {
                    queue.pump().park(chain);
                } else {
                    answer(ScsiWire.VIRTIO_SCSI_S_FAILURE);
                }
            }
        }
    }

    private void answer(byte response) {
        boolean in = chain.writable().sizeBytes() > responseBytes;
        if (queue.pump().mayWrite()) {
            IoVector writable = chain.writable();
            if (writable.length(0) >= responseBytes) {
                fill(writable.base(0), writable.offset(0), response);
            } else {
                fill(queue.header(), 0, response);
                writable.copyFrom(0, queue.header(), 0, responseBytes);
            }
            queue.memory().written(writable);
        }
        queue.pump().complete(chain, responseBytes + (in ? command.transferredBytes() : 0));
    }

    private void fill(MemorySegment to, long at, byte response) {
        int sense = Math.min(command.senseLength(), queue.scsi().senseBytes());
        ScsiWire.int32(to, at, sense);
        ScsiWire.int32(to, at + 4, (int) Math.max(0, dataBytes - command.transferredBytes()));
        ScsiWire.int16(to, at + 8, 0);
        to.set(ValueLayout.JAVA_BYTE, at + 10, (byte) command.status());
        to.set(ValueLayout.JAVA_BYTE, at + 11, response);
        if (sense > 0) {
            MemorySegment.copy(command.sense(), 0, to, ValueLayout.JAVA_BYTE, at + RESPONSE_BYTES, sense);
        }
    }

    @Override
    public String toString() {
        return command.toString();
    }
}
