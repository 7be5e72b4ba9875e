package org.benchtop.virtio.scsi;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.virtio.queue.DescriptorChain;
import org.benchtop.virtio.queue.QueueError;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;

/** Task management and asynchronous notifications (VIRTIO 1.2, 5.6.6.2). */
final class ControlQueue implements QueueHandler {
    private static final int AN_RESPONSE_BYTES = 5;

    private final VirtioScsi scsi;
    private final QueuePump pump;
    private final GuestMemory memory;

    ControlQueue(VirtioScsi scsi, QueuePump pump, GuestMemory memory) {
        this.scsi = scsi;
        this.pump = pump;
        this.memory = memory;
    }

    @Override
    public void available() {
        DescriptorChain chain = pump.next();
        while (chain != DescriptorChain.NONE) {
            start(chain);
            chain = pump.next();
        }
    }

    private void start(DescriptorChain chain) {
        long length = chain.readable().sizeBytes();
        MemorySegment request = MemorySegment.ofArray(new byte[ScsiWire.TMF_REQUEST_BYTES]);
        chain.readable().copyTo(0, request, 0, Math.min(length, ScsiWire.TMF_REQUEST_BYTES));
        int type = length < 4 ? -1 : ScsiWire.int32(request, 0);
        switch (type) {
            case ScsiWire.VIRTIO_SCSI_T_TMF -> {
                if (enough(chain, ScsiWire.TMF_REQUEST_BYTES, 1)) {
                    manage(chain, request);
                }
            }
            case ScsiWire.VIRTIO_SCSI_T_AN_QUERY, ScsiWire.VIRTIO_SCSI_T_AN_SUBSCRIBE -> {
                if (enough(chain, ScsiWire.AN_REQUEST_BYTES, AN_RESPONSE_BYTES)) {
                    // Logical units report changes by unit attention and the event queue; there are no other events.
                    boolean there = scsi.port(ScsiWire.target(request, 4)) != null;
                    byte[] response = new byte[AN_RESPONSE_BYTES];
                    response[4] = there ? ScsiWire.VIRTIO_SCSI_S_OK : ScsiWire.VIRTIO_SCSI_S_BAD_TARGET;
                    answer(chain, response);
                }
            }
            default -> pump.fail(chain, QueueError.Kind.MALFORMED_REQUEST, type);
        }
    }

    private boolean enough(DescriptorChain chain, int requestBytes, int responseBytes) {
        if (chain.readable().sizeBytes() >= requestBytes && chain.writable().sizeBytes() >= responseBytes) {
            return true;
        }
        pump.fail(chain, QueueError.Kind.MALFORMED_REQUEST, chain.readable().sizeBytes());
        return false;
    }

    private void manage(DescriptorChain chain, MemorySegment request) {
        scsi.managements().increment();
        int subtype = ScsiWire.int32(request, 4);
        ScsiPort port = scsi.port(ScsiWire.target(request, 8));
        if (port == null) {
            answer(chain, ScsiWire.VIRTIO_SCSI_S_BAD_TARGET);
            return;
        }
        int lun = ScsiWire.lun(request, 8);
        long tag = ScsiWire.int64(request, 16);
        switch (subtype) {
            case 0 -> manage(chain, port, ScsiTaskManagement.ABORT_TASK, lun, tag);
            case 1 -> manage(chain, port, ScsiTaskManagement.ABORT_TASK_SET, lun, tag);
            case 2 -> manage(chain, port, ScsiTaskManagement.CLEAR_ACA, lun, tag);
            case 3 -> manage(chain, port, ScsiTaskManagement.CLEAR_TASK_SET, lun, tag);
            case 4 -> reset(chain, port, ScsiTaskManagement.I_T_NEXUS_RESET, lun);
            case 5 -> reset(chain, port, ScsiTaskManagement.LOGICAL_UNIT_RESET, lun);
            case 6 -> manage(chain, port, ScsiTaskManagement.QUERY_TASK, lun, tag);
            case 7 -> manage(chain, port, ScsiTaskManagement.QUERY_TASK_SET, lun, tag);
            default -> answer(chain, ScsiWire.VIRTIO_SCSI_S_FUNCTION_REJECTED);
        }
    }

    private void manage(DescriptorChain chain, ScsiPort port, ScsiTaskManagement function, int lun, long tag) {
        port.manage(function, lun, tag, 0, result -> answer(chain, response(result)));
    }

    private void reset(DescriptorChain chain, ScsiPort port, ScsiTaskManagement function, int lun) {
        scsi.resets(scsi.resets() + 1);
        port.manage(function, lun, 0, 0, result -> {
            scsi.resets(scsi.resets() - 1);
            answer(chain, response(result));
        });
    }

    private static byte response(ScsiTaskManagement.Result result) {
        return switch (result) {
            case COMPLETE -> ScsiWire.VIRTIO_SCSI_S_OK;
            case SUCCEEDED -> ScsiWire.VIRTIO_SCSI_S_FUNCTION_SUCCEEDED;
            case REJECTED -> ScsiWire.VIRTIO_SCSI_S_FUNCTION_REJECTED;
            case INCORRECT_LUN -> ScsiWire.VIRTIO_SCSI_S_INCORRECT_LUN;
        };
    }

    private void answer(DescriptorChain chain, byte... response) {
        if (pump.mayWrite()) {
            chain.writable().copyFrom(0, MemorySegment.ofArray(response), 0, response.length);
            memory.written(chain.writable());
        }
        pump.complete(chain, response.length);
    }

    @Override
    public void restart(DescriptorChain chain) {
        throw new IllegalStateException("task management is never parked");
    }

    @Override
    public void drain() {
        scsi.drain();
    }

    @Override
    public String describe(DescriptorChain chain) {
        return "task management";
    }
}
