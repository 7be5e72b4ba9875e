package org.benchtop.scsi.megasas;

import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.benchtop.spi.scsi.ScsiPort;

/** One frame of a driver on its way. Reusable; belongs to the adapter's event loop. */
final class MfiCommand implements ScsiCompletion {
    private static final int SECTOR_COMMAND_BYTES = 16;

    private final Megasas adapter;
    private final int slot;
    private final ScsiCommand command = new ScsiCommand();
    private final IoVector data = new IoVector();
    private final byte[] bytes = new byte[ScsiCommand.MAX_CDB_BYTES];
    private long frame;
    private long context;
    private int flags;
    private int generation;
    private boolean busy;

    MfiCommand(Megasas adapter, int slot) {
        this.adapter = adapter;
        this.slot = slot;
    }

    int slot() {
        return slot;
    }

    long frame() {
        return frame;
    }

    long context() {
        return context;
    }

    int flags() {
        return flags;
    }

    int generation() {
        return generation;
    }

    boolean busy() {
        return busy;
    }

    int lun() {
        return command.lun();
    }

    int target() {
        return target;
    }

    private int target;

    /** The buffers of a direct command. */
    IoVector data() {
        return data;
    }

    private GuestMemory memory() {
        return adapter.memory();
    }

    /** Begins what the frame at an address asks for. */
    void start(long address, int newGeneration) {
        frame = address;
        generation = newGeneration;
        busy = true;
        command.begin(0, slot);
        data.clear();
        try {
            context = memory().readLong(address + Mfi.CONTEXT);
            flags = memory().readShort(address + Mfi.FLAGS) & 0xffff;
            int what = memory().readByte(address) & 0xff;
            switch (what) {
                case Mfi.CMD_INIT -> adapter.initialize(this);
                case Mfi.CMD_LD_READ, Mfi.CMD_LD_WRITE -> blocks(what == Mfi.CMD_LD_WRITE);
                case Mfi.CMD_LD_SCSI_IO, Mfi.CMD_PD_SCSI_IO -> passThrough();
                case Mfi.CMD_DCMD -> direct();
                case Mfi.CMD_ABORT ->
                    adapter.abort(
                            this,
                            memory().readInt(address + Mfi.ABORT_CONTEXT),
                            memory().readLong(address + Mfi.ABORT_ADDRESS));
                default -> finish(Mfi.STAT_INVALID_CMD, 0);
            }
        } catch (GuestFault e) {
            adapter.counters().guestErrors().increment();
            finish(Mfi.STAT_INVALID_PARAMETER, 0);
        }
    }

    private void direct() throws GuestFault {
        gather(data, Mfi.DCMD_SGL, memory().readInt(frame + Mfi.DATA_LENGTH) & 0xffff_ffffL);
        adapter.direct(this, memory().readInt(frame + Mfi.DCMD_OPCODE), memory().readByte(frame + Mfi.DCMD_MAILBOX));
    }

    private void passThrough() throws GuestFault {
        int cdbLength = memory().readByte(frame + Mfi.CDB_LENGTH) & 0xff;
        if (cdbLength > SECTOR_COMMAND_BYTES) {
            finish(Mfi.STAT_INVALID_PARAMETER, 0);
            return;
        }
        command.begin(memory().readByte(frame + Mfi.LUN_ID) & 0xff, slot);
        memory().read(frame + Mfi.PASS_CDB, command.cdb(), 0, cdbLength);
        command.cdbLength(cdbLength);
        long length = memory().readInt(frame + Mfi.DATA_LENGTH) & 0xffff_ffffL;
        boolean reads = (flags & Mfi.FLAG_DIR_READ) != 0;
        boolean writes = (flags & Mfi.FLAG_DIR_WRITE) != 0;
        // Drivers that leave the direction open, such as SeaBIOS, mean whatever the command needs.
        if (reads || !writes) {
            gather(command.dataIn(), Mfi.PASS_SGL, length);
        }
        if (writes || !reads) {
            gather(command.dataOut(), Mfi.PASS_SGL, length);
        }
        execute();
    }

    /** A read or write of blocks of a logical drive: becomes the same with a CDB. */
    private void blocks(boolean writes) throws GuestFault {
        int count = memory().readInt(frame + Mfi.DATA_LENGTH);
        int low = memory().readInt(frame + Mfi.IO_LBA);
        int high = memory().readInt(frame + Mfi.IO_LBA + 4);
        byte[] cdb = command.cdb();
        cdb[0] = (byte) (writes ? 0x8a : 0x88);
        cdb[1] = 0;
        bigEndian(cdb, 2, high);
        bigEndian(cdb, 6, low);
        bigEndian(cdb, 10, count);
        cdb[14] = 0;
        cdb[15] = 0;
        command.cdbLength(SECTOR_COMMAND_BYTES);
        gather(writes ? command.dataOut() : command.dataIn(), Mfi.IO_SGL, Long.MAX_VALUE);
        execute();
    }

    private static void bigEndian(byte[] to, int at, int value) {
        to[at] = (byte) (value >>> 24);
        to[at + 1] = (byte) (value >>> 16);
        to[at + 2] = (byte) (value >>> 8);
        to[at + 3] = (byte) value;
    }

    private void execute() throws GuestFault {
        target = memory().readByte(frame + Mfi.TARGET_ID) & 0xff;
        ScsiPort port = adapter.port(target);
        if (port == null) {
            finish(Mfi.STAT_DEVICE_NOT_FOUND, 0);
            return;
        }
        adapter.counters().commands().increment();
        port.execute(command, this);
    }

    /** Appends what the frame's scatter list covers; it has at most 255 elements. */
    private void gather(IoVector to, int list, long length) throws GuestFault {
        int count = memory().readByte(frame + Mfi.SGE_COUNT) & 0xff;
        boolean ieee = (flags & Mfi.FLAG_IEEE_SGL) != 0;
        boolean wide = ieee || (flags & Mfi.FLAG_SGL64) != 0;
        int each = ieee ? 16 : wide ? 12 : 8;
        long left = length;
        for (int i = 0; i < count && left > 0; i++) {
            long at = frame + list + (long) i * each;
            long address = wide ? memory().readLong(at) : memory().readInt(at) & 0xffff_ffffL;
            long size = memory().readInt(at + (wide ? 8 : 4)) & 0xffff_ffffL;
            long part = Math.min(size, left);
            if (part > 0) {
                memory().appendTo(to, address, part);
                left -= part;
            }
        }
    }

    @Override
    public void completed(ScsiCommand done) {
        switch (done.outcome()) {
            case DONE -> {
                if (done.dataIn().sizeBytes() > 0 && adapter.current(generation)) {
                    memory().written(done.dataIn());
                }
                if (done.status() == ScsiCommand.GOOD) {
                    finish(Mfi.STAT_OK, 0);
                } else {
                    deliverSense();
                    finish(Mfi.STAT_SCSI_DONE_WITH_ERROR, done.status());
                }
            }
            case ABORTED -> finish(Mfi.STAT_SCSI_IO_FAILED, 0);
            case PARKED -> {
                busy = false;
                adapter.park(this);
            }
        }
    }

    private void deliverSense() {
        if (command.senseLength() == 0 || !adapter.current(generation)) {
            return;
        }
        try {
            boolean io = (memory().readByte(frame) & 0xff) <= Mfi.CMD_LD_WRITE;
            int room = io ? ScsiCommand.MAX_SENSE_BYTES : memory().readByte(frame + Mfi.SENSE_LENGTH) & 0xff;
            long address = (flags & Mfi.FLAG_SENSE64) != 0
                    ? memory().readLong(frame + Mfi.SENSE_ADDRESS)
                    : memory().readInt(frame + Mfi.SENSE_ADDRESS) & 0xffff_ffffL;
            int length = Math.min(room, command.senseLength());
            if (address != 0 && length > 0) {
                memory().write(address, command.sense(), 0, length);
                memory().writeByte(frame + Mfi.SENSE_LENGTH, (byte) length);
            }
        } catch (GuestFault e) {
            adapter.counters().guestErrors().increment();
        }
    }

    /** Answers a direct command with data. */
    void reply(byte[] answer) {
        long length = Math.min(answer.length, data.sizeBytes());
        if (length > 0 && adapter.current(generation)) {
            data.copyFrom(0, java.lang.foreign.MemorySegment.ofArray(answer), 0, length);
            memory().written(data);
        }
        finish(length < answer.length && length == 0 ? Mfi.STAT_INVALID_PARAMETER : Mfi.STAT_OK, 0);
    }

    /** It waits in the frame alone from now on; this object is free for another one. */
    void detach() {
        busy = false;
    }

    /** Writes the status into the frame and gives it back to the driver. */
    void finish(int status, int scsiStatus) {
        busy = false;
        if (adapter.current(generation)) {
            bytes[0] = (byte) status;
            bytes[1] = (byte) scsiStatus;
            try {
                memory().write(frame + Mfi.CMD_STATUS, bytes, 0, 2);
            } catch (GuestFault e) {
                adapter.counters().guestErrors().increment();
            }
        }
        adapter.completed(this);
    }
}
