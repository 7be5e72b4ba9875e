package org.benchtop.scsi.pvscsi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.benchtop.spi.scsi.ScsiPort;

/** One request ({@code PVSCSIRingReqDesc}) on its way. Reusable; belongs to the adapter's event loop. */
final class PvscsiRequest implements ScsiCompletion {
    static final int BTSTAT_SUCCESS = 0x00;
    static final int BTSTAT_SELTIMEO = 0x11;
    static final int BTSTAT_DATARUN = 0x12;
    static final int BTSTAT_INVPARAM = 0x1a;
    static final int BTSTAT_BUSRESET = 0x25;
    static final int BTSTAT_ABORTQUEUE = 0x26;

    private static final int FLAG_SG_LIST = 1;
    private static final int FLAG_OUT_OF_BAND_CDB = 1 << 1;
    private static final int FLAG_DIR_NONE = 1 << 2;
    private static final int FLAG_DIR_TOHOST = 1 << 3;
    private static final int FLAG_DIR_TODEVICE = 1 << 4;
    private static final int SGE_FLAG_CHAIN = 1;
    private static final int SGE_BYTES = 16;
    /** Elements of one list: more than any driver needs, and an end to lists that run in circles. */
    private static final int MAX_ELEMENTS = 2048;

    private static final int MAX_CDB_BYTES = 16;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Pvscsi adapter;
    private final int slot;
    private final MemorySegment descriptor = MemorySegment.ofArray(new byte[Rings.REQUEST_BYTES]);
    private final ScsiCommand command = new ScsiCommand();
    /** Which set-up of the adapter it belongs to: completions of an earlier one reach nobody. */
    private int generation;

    private boolean busy;
    private boolean toHost;

    PvscsiRequest(Pvscsi adapter, int slot) {
        this.adapter = adapter;
        this.slot = slot;
    }

    int slot() {
        return slot;
    }

    boolean busy() {
        return busy;
    }

    int generation() {
        return generation;
    }

    /** The descriptor: to be filled before {@link #start}. */
    MemorySegment descriptor() {
        return descriptor;
    }

    long context() {
        return descriptor.get(LONG, 0);
    }

    int target() {
        return descriptor.get(ValueLayout.JAVA_BYTE, 67) & 0xff;
    }

    int lun() {
        return lun(descriptor, 57);
    }

    /** The unit that a LUN field addresses; -1 for none. */
    static int lun(MemorySegment from, long at) {
        for (int i = 0; i < 8; i++) {
            if (i != 1 && from.get(ValueLayout.JAVA_BYTE, at + i) != 0) {
                return -1;
            }
        }
        return from.get(ValueLayout.JAVA_BYTE, at + 1) & 0xff;
    }

    /** Begins what the descriptor asks for. */
    void start(int newGeneration) {
        generation = newGeneration;
        busy = true;
        command.begin(lun(), slot);
        int flags = descriptor.get(INT, 36);
        toHost = (flags & FLAG_DIR_TOHOST) != 0;
        boolean toDevice = (flags & FLAG_DIR_TODEVICE) != 0;
        int cdbBytes = descriptor.get(ValueLayout.JAVA_BYTE, 56) & 0xff;
        ScsiPort port = descriptor.get(ValueLayout.JAVA_BYTE, 66) == 0 ? adapter.port(target()) : null;
        if (port == null || lun() < 0) {
            answer(BTSTAT_SELTIMEO, 0);
            return;
        }
        boolean malformed = cdbBytes > MAX_CDB_BYTES || (flags & FLAG_OUT_OF_BAND_CDB) != 0 || toHost && toDevice;
        if (malformed) {
            answer(BTSTAT_INVPARAM, 0);
            return;
        }
        MemorySegment.copy(descriptor, ValueLayout.JAVA_BYTE, 40, command.cdb(), 0, cdbBytes);
        command.cdbLength(cdbBytes);
        command.attribute(
                switch (descriptor.get(ValueLayout.JAVA_BYTE, 65) & 0xff) {
                    case 0x21 -> ScsiCommand.Attribute.HEAD_OF_QUEUE;
                    case 0x22 -> ScsiCommand.Attribute.ORDERED;
                    default -> ScsiCommand.Attribute.SIMPLE;
                });
        try {
            gather(flags, toDevice);
        } catch (GuestFault e) {
            answer(BTSTAT_INVPARAM, 0);
            return;
        }
        adapter.counters().commands().increment();
        port.execute(command, this);
    }

    private void gather(int flags, boolean toDevice) throws GuestFault {
        long address = descriptor.get(LONG, 8);
        long length = descriptor.get(LONG, 16);
        boolean none = (flags & FLAG_DIR_NONE) != 0 || length == 0;
        if (none) {
            return;
        }
        // Drivers that leave the direction open mean whatever the command needs.
        boolean open = !toHost && !toDevice;
        if (toHost || open) {
            append(command.dataIn(), flags, address, length);
        }
        if (toDevice || open) {
            append(command.dataOut(), flags, address, length);
        }
    }

    private void append(IoVector to, int flags, long address, long length) throws GuestFault {
        GuestMemory memory = adapter.memory();
        if ((flags & FLAG_SG_LIST) == 0) {
            memory.appendTo(to, address, length);
            return;
        }
        long left = length;
        long at = address;
        for (int i = 0; left > 0; i++) {
            if (i == MAX_ELEMENTS) {
                throw new GuestFault(at, left);
            }
            long base = memory.readLong(at);
            long size = memory.readInt(at + 8) & 0xffff_ffffL;
            if ((memory.readInt(at + 12) & SGE_FLAG_CHAIN) != 0) {
                at = base;
                continue;
            }
            long part = Math.min(size, left);
            if (part > 0) {
                memory.appendTo(to, base, part);
            }
            left -= part;
            at += SGE_BYTES;
        }
    }

    @Override
    public void completed(ScsiCommand done) {
        switch (done.outcome()) {
            case DONE -> {
                boolean overrun = done.status() == ScsiCommand.GOOD
                        && done.expectedBytes() > done.dataIn().sizeBytes()
                        && done.expectedBytes() > done.dataOut().sizeBytes();
                answer(overrun ? BTSTAT_DATARUN : BTSTAT_SUCCESS, done.status());
            }
            case ABORTED -> answer(adapter.resetting() ? BTSTAT_BUSRESET : BTSTAT_ABORTQUEUE, 0);
            case PARKED -> {
                busy = false;
                adapter.park(this);
            }
        }
    }

    private void answer(int hostStatus, int scsiStatus) {
        busy = false;
        if (!adapter.current(generation)) {
            adapter.release(this);
            return;
        }
        int sense = 0;
        if (command.senseLength() > 0) {
            sense = (int) Math.min(command.senseLength(), descriptor.get(INT, 32) & 0xffff_ffffL);
            try {
                adapter.memory().write(descriptor.get(LONG, 24), command.sense(), 0, sense);
            } catch (GuestFault e) {
                sense = 0;
            }
        }
        if (command.dataIn().sizeBytes() > 0) {
            adapter.memory().written(command.dataIn());
        }
        adapter.complete(this, command.transferredBytes(), sense, hostStatus, scsiStatus);
    }
}
