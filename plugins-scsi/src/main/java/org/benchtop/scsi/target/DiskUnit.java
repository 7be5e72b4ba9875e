package org.benchtop.scsi.target;

import java.util.Map;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.stats.Stats;

/** A disk (SBC-4) over a block backend, which it neither owns nor closes. */
public final class DiskUnit extends LogicalUnit {
    /** Descriptors in one UNMAP. */
    private static final int MAX_UNMAP_DESCRIPTORS = 255;
    /** Bytes in one descriptor of UNMAP or in one WRITE SAME. */
    private static final long MAX_RANGE_BYTES = 2L << 30;
    /** Blocks in one COMPARE AND WRITE. */
    private static final int MAX_COMPARE_BLOCKS = 255;

    private static final int HEADS = 16;
    private static final int SECTORS = 63;

    private final DiskOptions options;
    private final BlockBackend backend;
    private final ErrorHandling errors;
    private final Stats stats;
    private final DiskInquiry inquiry;
    private final ModePages.Page caching;
    private final ModePages pages;
    private final Reservations reservations = new Reservations();

    private volatile long blocks;
    private volatile boolean writeCache;
    private volatile boolean stopped;
    private volatile boolean ejected;
    private int preventers;

    /** A disk after power-on, in no target yet. */
    public DiskUnit(String id, DiskOptions options, BlockBackend backend, ErrorHandling errors, Stats stats) {
        super(id);
        options.check(id, backend.capabilities());
        this.options = options;
        this.backend = backend;
        this.errors = errors;
        this.stats = stats;
        this.inquiry = new DiskInquiry(options, MAX_COMPARE_BLOCKS, MAX_UNMAP_DESCRIPTORS, maxRangeBlocks());
        blocks = backend.capabilities().sizeBytes() / options.logicalBlockSizeBytes();
        byte[] cache = new byte[20];
        cache[0] = ModePages.CACHING;
        cache[1] = 18;
        cache[2] = (byte) (options.writeCache() ? ModePages.WCE : 0);
        byte[] cacheChangeable = new byte[20];
        cacheChangeable[2] = ModePages.WCE;
        caching = new ModePages.Page(cache, cacheChangeable);
        pages = new ModePages(
                ModePages.fixed(new byte[] {ModePages.ERROR_RECOVERY, 10, (byte) 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                ModePages.fixed(geometry()),
                caching,
                ModePages.fixed(control()),
                ModePages.fixed(new byte[] {ModePages.INFORMATIONAL_EXCEPTIONS, 10, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
        writeCache = options.writeCache();
    }

    private byte[] geometry() {
        byte[] page = new byte[24];
        page[0] = ModePages.RIGID_GEOMETRY;
        page[1] = 22;
        long cylinders = Math.min(0xff_ffff, Math.max(1, blocks / (HEADS * SECTORS)));
        page[2] = (byte) (cylinders >>> 16);
        Bytes.int16(page, 3, (int) cylinders);
        page[5] = HEADS;
        Bytes.int16(page, 20, options.rotationRate() > 1 ? options.rotationRate() : 5400);
        return page;
    }

    private static byte[] control() {
        byte[] page = new byte[12];
        page[0] = ModePages.CONTROL;
        page[1] = 10;
        // Commands may be reordered at will, as SIMPLE demands nothing else.
        page[3] = 0x10;
        Bytes.int16(page, 8, 0xffff);
        return page;
    }

    private long maxRangeBlocks() {
        return MAX_RANGE_BYTES / options.logicalBlockSizeBytes();
    }

    @Override
    Operation.Unit kind() {
        return Operation.Unit.DISK;
    }

    @Override
    int blockBytes() {
        return options.logicalBlockSizeBytes();
    }

    @Override
    UnitPort openPort(EventLoop loop) {
        return new UnitPort(this, loop, backend, stats);
    }

    @Override
    byte[] standardInquiry() {
        return inquiry.standard();
    }

    @Override
    int[] vitalProductPages() {
        return inquiry.pages();
    }

    @Override
    byte[] vitalProductData(int page) {
        return inquiry.page(page);
    }

    @Override
    ErrorPolicy.Action onError(boolean read, BlockStatus status) {
        return errors.onError(read, status);
    }

    @Override
    void stopMachine(String request, BlockStatus why) {
        errors.stop(request, why);
    }

    @Override
    boolean exclusive(Operation operation) {
        return operation == Operation.COMPARE_AND_WRITE;
    }

    @Override
    void resetState(boolean powerOn) {
        pages.reset();
        writeCache = options.writeCache();
        stopped = false;
        preventers = 0;
        reservations.reset();
        if (powerOn) {
            ejected = false;
            reservations.powerOn();
        }
    }

    @Override
    boolean conflicts(Operation operation, byte[] cdb, int initiator) {
        // Allowing removal again, and starting a stopped disk, never hurt whoever holds the reservation.
        boolean harmless = operation == Operation.PREVENT_ALLOW_MEDIUM_REMOVAL && (cdb[4] & 3) == 0
                || operation == Operation.START_STOP_UNIT && (cdb[4] & 0xf1) == 1;
        return !harmless && reservations.conflicts(operation, cdb, initiator);
    }

    @Override
    void forget(int initiator) {
        reservations.release(initiator);
        preventers &= ~(1 << initiator);
    }

    // Commands.

    static long lba(byte[] cdb) {
        return switch (cdb[0] >>> 5 & 7) {
            case 0 -> Bytes.uint24(cdb, 1) & 0x1f_ffff;
            case 4 -> Bytes.int64(cdb, 2);
            default -> Bytes.uint32(cdb, 2);
        };
    }

    static long count(byte[] cdb) {
        return switch (cdb[0] >>> 5 & 7) {
            case 0 -> cdb[4] == 0 ? 256 : Bytes.uint8(cdb, 4);
            case 4 -> Bytes.uint32(cdb, 10);
            case 5 -> Bytes.uint32(cdb, 6);
            default -> Bytes.uint16(cdb, 7);
        };
    }

    private boolean inside(long lba, long count) {
        return lba >= 0 && count <= blocks && lba <= blocks - count;
    }

    @Override
    void prepareMedium(ScsiCommand command, Operation operation) {
        byte[] cdb = command.cdb();
        long bytes = count(cdb) * blockBytes();
        boolean ready = !stopped && !ejected;
        switch (operation) {
            case READ_6, READ_10, READ_12, READ_16 -> {
                if (ready && bytes > 0 && inside(lba(cdb), count(cdb))) {
                    command.expect(ScsiCommand.Direction.IN, bytes, true);
                }
            }
            case WRITE_6,
                    WRITE_10,
                    WRITE_12,
                    WRITE_16,
                    WRITE_AND_VERIFY_10,
                    WRITE_AND_VERIFY_12,
                    WRITE_AND_VERIFY_16 -> {
                if (ready && bytes > 0 && !options.readOnly() && inside(lba(cdb), count(cdb))) {
                    command.expect(ScsiCommand.Direction.OUT, bytes, true);
                }
            }
            case WRITE_SAME_10, WRITE_SAME_16 -> {
                boolean ndob = operation == Operation.WRITE_SAME_16 && (cdb[1] & 1) != 0;
                out(command, ndob ? 0 : blockBytes());
            }
            case COMPARE_AND_WRITE -> out(command, 2L * Bytes.uint8(cdb, 13) * blockBytes());
            case VERIFY_10, VERIFY_12, VERIFY_16 ->
                out(
                        command,
                        switch (cdb[1] >>> 1 & 3) {
                            case 1 -> bytes;
                            case 3 -> blockBytes();
                            default -> 0;
                        });
            default -> command.expect(ScsiCommand.Direction.NONE, 0, false);
        }
    }

    @Override
    void perform(Task task, Operation operation) {
        switch (operation) {
            case READ_6, READ_10, READ_12, READ_16 -> read(task, operation);
            case WRITE_6, WRITE_10, WRITE_12, WRITE_16 -> write(task, operation);
            case WRITE_AND_VERIFY_10, WRITE_AND_VERIFY_12, WRITE_AND_VERIFY_16 -> writeAndVerify(task);
            case VERIFY_10, VERIFY_12, VERIFY_16 -> verify(task);
            case WRITE_SAME_10, WRITE_SAME_16 -> writeSame(task, operation);
            case UNMAP -> unmap(task);
            case COMPARE_AND_WRITE -> compareAndWrite(task);
            case SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16 -> synchronizeCache(task);
            case TEST_UNIT_READY -> {
                if (ready(task)) {
                    task.good();
                }
            }
            case SEEK_10 -> {
                if (ready(task) && checkRange(task, lba(task.cdb()), 0)) {
                    task.good();
                }
            }
            case READ_CAPACITY_10 -> readCapacity10(task);
            case READ_CAPACITY_16 -> readCapacity16(task);
            case GET_LBA_STATUS -> lbaStatus(task);
            case MODE_SENSE_6, MODE_SENSE_10 -> modeSense(task, operation);
            case MODE_SELECT_6, MODE_SELECT_10 -> modeSelect(task, operation);
            case START_STOP_UNIT -> startStop(task);
            case PREVENT_ALLOW_MEDIUM_REMOVAL -> preventAllow(task);
            case RESERVE_6, RESERVE_10 -> reserve(task);
            case RELEASE_6, RELEASE_10 -> release(task);
            case PERSISTENT_RESERVE_IN -> persistentReserveIn(task);
            case PERSISTENT_RESERVE_OUT -> persistentReserveOut(task);
            case INQUIRY,
                    REQUEST_SENSE,
                    REPORT_LUNS,
                    REPORT_SUPPORTED_OPERATION_CODES,
                    REPORT_SUPPORTED_TMF,
                    SEND_DIAGNOSTIC,
                    READ_TOC,
                    GET_CONFIGURATION,
                    GET_EVENT_STATUS_NOTIFICATION,
                    READ_DISC_INFORMATION,
                    SET_CD_SPEED,
                    MECHANISM_STATUS,
                    READ_CD -> task.check(Sense.INVALID_COMMAND);
        }
    }

    /** Whether the medium can be used; ends the task otherwise. */
    private boolean ready(Task task) {
        if (ejected) {
            task.check(Sense.NOT_PRESENT_TRAY_OPEN);
            return false;
        }
        if (stopped) {
            task.check(Sense.NOT_READY_INITIALIZING_REQUIRED);
            return false;
        }
        return true;
    }

    private boolean checkRange(Task task, long lba, long count) {
        if (inside(lba, count)) {
            return true;
        }
        task.check(Sense.LBA_OUT_OF_RANGE, lba < 0 ? Sense.NO_INFORMATION : lba, -1);
        return false;
    }

    private boolean writable(Task task) {
        if (options.readOnly()) {
            task.check(Sense.WRITE_PROTECTED);
            return false;
        }
        return true;
    }

    private void read(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        long lba = lba(cdb);
        long count = count(cdb);
        if (!ready(task) || !checkRange(task, lba, count)) {
            return;
        }
        boolean fua = operation != Operation.READ_6 && (cdb[1] & 8) != 0;
        if (fua && writeCache && count > 0) {
            // What is read must be on the medium (SBC-4, 5.16).
            task.flush(t -> t.read(lba * blockBytes(), count * blockBytes()));
        } else {
            task.read(lba * blockBytes(), count * blockBytes());
        }
    }

    private void write(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        long lba = lba(cdb);
        long count = count(cdb);
        if (!ready(task) || !writable(task) || !checkRange(task, lba, count)) {
            return;
        }
        boolean fua = operation != Operation.WRITE_6 && (cdb[1] & 8) != 0;
        task.write(lba * blockBytes(), count * blockBytes(), 0, fua || !writeCache, DONE);
    }

    private static final Task.Afterwards DONE = Task::good;

    private void writeAndVerify(Task task) {
        byte[] cdb = task.cdb();
        long lba = lba(cdb);
        long count = count(cdb);
        if (!ready(task) || !writable(task) || !checkRange(task, lba, count)) {
            return;
        }
        int byteCheck = cdb[1] >>> 1 & 3;
        if (byteCheck > 1) {
            task.invalidCdb(1);
            return;
        }
        long offset = lba * blockBytes();
        long bytes = count * blockBytes();
        task.write(offset, bytes, 0, true, t -> {
            long written = t.command().dataOut().sizeBytes() / blockBytes() * blockBytes();
            t.verify(offset, Math.min(bytes, written), byteCheck == 1 ? Math.min(bytes, written) : 0, DONE);
        });
    }

    private void verify(Task task) {
        byte[] cdb = task.cdb();
        long lba = lba(cdb);
        long count = count(cdb);
        if (!ready(task) || !checkRange(task, lba, count)) {
            return;
        }
        int byteCheck = cdb[1] >>> 1 & 3;
        if (byteCheck == 2) {
            task.invalidCdb(1);
            return;
        }
        long compared = switch (byteCheck) {
            case 1 -> count * blockBytes();
            case 3 -> blockBytes();
            default -> 0;
        };
        task.command().expect(compared > 0 ? ScsiCommand.Direction.OUT : ScsiCommand.Direction.NONE, compared, false);
        if (task.command().dataOut().sizeBytes() < compared) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        task.verify(lba * blockBytes(), count * blockBytes(), compared, DONE);
    }

    private void writeSame(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        long lba = lba(cdb);
        long asked = count(cdb);
        if (!ready(task) || !writable(task)) {
            return;
        }
        if (asked > maxRangeBlocks()) {
            task.invalidCdb(operation == Operation.WRITE_SAME_10 ? 7 : 10);
            return;
        }
        // 0 means everything from here on.
        long count = asked == 0 && lba >= 0 && lba < blocks ? blocks - lba : asked;
        if (count > maxRangeBlocks()) {
            task.invalidCdb(operation == Operation.WRITE_SAME_10 ? 7 : 10);
            return;
        }
        if (!checkRange(task, lba, Math.max(1, count))) {
            return;
        }
        boolean unmap = (cdb[1] & 8) != 0;
        if (unmap && !options.discard()) {
            task.invalidCdb(1);
            return;
        }
        boolean ndob = operation == Operation.WRITE_SAME_16 && (cdb[1] & 1) != 0;
        long offset = lba * blockBytes();
        long bytes = count * blockBytes();
        task.command()
                .expect(ndob ? ScsiCommand.Direction.NONE : ScsiCommand.Direction.OUT, ndob ? 0 : blockBytes(), false);
        if (!ndob && task.command().dataOut().sizeBytes() < blockBytes()) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        if (ndob || allZero(task.command())) {
            task.zero(offset, bytes, unmap, ndob ? 0 : blockBytes(), writeCache ? DONE : Task::flush);
        } else {
            task.writePattern(offset, bytes, !writeCache);
        }
    }

    private boolean allZero(ScsiCommand command) {
        byte[] block = new byte[blockBytes()];
        command.dataOut().copyTo(0, java.lang.foreign.MemorySegment.ofArray(block), 0, block.length);
        for (byte b : block) {
            if (b != 0) {
                return false;
            }
        }
        return true;
    }

    private void unmap(Task task) {
        if (!options.discard()) {
            task.check(Sense.INVALID_COMMAND);
            return;
        }
        if (!ready(task) || !writable(task)) {
            return;
        }
        int length = Bytes.uint16(task.cdb(), 7);
        if (length == 0) {
            task.good();
            return;
        }
        byte[] list = task.parameters(length, 0xffff);
        if (list == null) {
            return;
        }
        if (list.length < 8) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        int descriptorBytes = Bytes.uint16(list, 2);
        if (descriptorBytes > list.length - 8) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        int count = descriptorBytes / 16;
        if (count > MAX_UNMAP_DESCRIPTORS) {
            task.invalidParameter(2);
            return;
        }
        long[] ranges = new long[2 * count];
        int used = 0;
        for (int i = 0; i < count; i++) {
            long lba = Bytes.int64(list, 8 + 16 * i);
            long number = Bytes.uint32(list, 16 + 16 * i);
            if (number > maxRangeBlocks()) {
                task.invalidParameter(16 + 16 * i);
                return;
            }
            if (!checkRange(task, lba, number)) {
                return;
            }
            if (number > 0) {
                ranges[2 * used] = lba * blockBytes();
                ranges[2 * used + 1] = number * blockBytes();
                used++;
            }
        }
        task.discard(ranges, used);
    }

    private void compareAndWrite(Task task) {
        byte[] cdb = task.cdb();
        long lba = Bytes.int64(cdb, 2);
        int count = Bytes.uint8(cdb, 13);
        if (!ready(task) || !writable(task) || !checkRange(task, lba, count)) {
            return;
        }
        if (count == 0) {
            task.good();
            return;
        }
        long offset = lba * blockBytes();
        long bytes = (long) count * blockBytes();
        task.command().expect(ScsiCommand.Direction.OUT, 2 * bytes, false);
        if (task.command().dataOut().sizeBytes() < 2 * bytes) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        boolean durable = (cdb[1] & 8) != 0 || !writeCache;
        task.verify(offset, bytes, bytes, t -> t.write(offset, bytes, bytes, durable, DONE));
    }

    private void synchronizeCache(Task task) {
        byte[] cdb = task.cdb();
        if (ready(task) && checkRange(task, lba(cdb), count(cdb))) {
            task.flush();
        }
    }

    private void readCapacity10(Task task) {
        byte[] cdb = task.cdb();
        if (!ready(task)) {
            return;
        }
        if ((cdb[8] & 1) == 0 && Bytes.uint32(cdb, 2) != 0) {
            task.invalidCdb(2);
            return;
        }
        byte[] data = new byte[8];
        Bytes.int32(data, 0, (int) Math.min(blocks - 1, 0xffff_ffffL));
        Bytes.int32(data, 4, blockBytes());
        task.reply(data, data.length, data.length);
    }

    private void readCapacity16(Task task) {
        byte[] cdb = task.cdb();
        if (!ready(task)) {
            return;
        }
        if ((cdb[14] & 1) == 0 && Bytes.int64(cdb, 2) != 0) {
            task.invalidCdb(2);
            return;
        }
        byte[] data = new byte[32];
        Bytes.int64(data, 0, blocks - 1);
        Bytes.int32(data, 8, blockBytes());
        data[13] = (byte) Integer.numberOfTrailingZeros(options.physicalBlockSizeBytes() / blockBytes());
        // LBPME; LBPRZ stays 0 as a discarded block may read as before.
        data[14] = (byte) (options.discard() ? 0x80 : 0);
        task.reply(data, data.length, Bytes.uint32(cdb, 10));
    }

    private void lbaStatus(Task task) {
        byte[] cdb = task.cdb();
        long lba = Bytes.int64(cdb, 2);
        if (!ready(task) || !checkRange(task, lba, 1)) {
            return;
        }
        byte[] data = new byte[24];
        Bytes.int32(data, 0, data.length - 4);
        Bytes.int64(data, 8, lba);
        Bytes.int32(data, 16, (int) Math.min(blocks - lba, 0xffff_ffffL));
        task.reply(data, data.length, Bytes.uint32(cdb, 10));
    }

    private void modeSense(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        boolean six = operation == Operation.MODE_SENSE_6;
        boolean descriptor = (cdb[1] & 8) == 0;
        boolean longDescriptor = !six && (cdb[1] & 0x10) != 0;
        int control = cdb[2] >>> 6 & 3;
        int code = cdb[2] & 0x3f;
        int subpage = Bytes.uint8(cdb, 3);
        if (control == 3) {
            task.check(Sense.SAVING_NOT_SUPPORTED);
            return;
        }
        if (!pages.has(code) || subpage != 0 && subpage != 0xff) {
            task.invalidCdb(2);
            return;
        }
        byte[] data = new byte[256];
        int header = six ? 4 : 8;
        int at = header;
        lock.lock();
        try {
            int descriptorBytes = descriptor ? longDescriptor ? 16 : 8 : 0;
            int specific = (options.readOnly() ? 0x80 : 0) | 0x10;
            if (six) {
                data[2] = (byte) specific;
                data[3] = (byte) descriptorBytes;
            } else {
                data[3] = (byte) specific;
                data[4] = (byte) (longDescriptor ? 1 : 0);
                Bytes.int16(data, 6, descriptorBytes);
            }
            if (descriptor && longDescriptor) {
                Bytes.int64(data, at, blocks);
                Bytes.int32(data, at + 12, blockBytes());
            } else if (descriptor) {
                Bytes.int32(data, at, (int) Math.min(blocks, 0xffff_ffffL));
                Bytes.int32(data, at + 4, blockBytes());
            }
            at = pages.append(data, at + descriptorBytes, code, control);
        } finally {
            lock.unlock();
        }
        if (six) {
            data[0] = (byte) (at - 1);
        } else {
            Bytes.int16(data, 0, at - 2);
        }
        task.reply(data, at, six ? Bytes.uint8(cdb, 4) : Bytes.uint16(cdb, 7));
    }

    private void modeSelect(Task task, Operation operation) {
        byte[] cdb = task.cdb();
        boolean six = operation == Operation.MODE_SELECT_6;
        if ((cdb[1] & 1) != 0) {
            task.invalidCdb(1);
            return;
        }
        int length = six ? Bytes.uint8(cdb, 4) : Bytes.uint16(cdb, 7);
        if (length == 0) {
            task.good();
            return;
        }
        byte[] list = task.parameters(length, 4096);
        if (list == null) {
            return;
        }
        int header = six ? 4 : 8;
        if (list.length < header) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        int descriptorBytes = six ? Bytes.uint8(list, 3) : Bytes.uint16(list, 6);
        if (header + descriptorBytes > list.length) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        if (descriptorBytes != 0 && !sameBlocks(list, header, descriptorBytes)) {
            task.invalidParameter(header);
            return;
        }
        boolean cacheGoesOff;
        ModePages.Verdict verdict;
        int initiator = task.command().initiator() & (INITIATORS - 1);
        lock.lock();
        try {
            boolean before = writeCache;
            verdict = pages.select(list, header + descriptorBytes, false);
            if (verdict == ModePages.Verdict.OK) {
                pages.select(list, header + descriptorBytes, true);
            }
            writeCache = (caching.current()[2] & ModePages.WCE) != 0;
            cacheGoesOff = before && !writeCache;
            if (before != writeCache) {
                attentionExcept(Sense.MODE_PARAMETERS_CHANGED, initiator);
            }
        } finally {
            lock.unlock();
        }
        switch (verdict) {
            case OK -> {
                if (cacheGoesOff) {
                    // What the cache holds now would otherwise never become durable by itself.
                    task.flush();
                } else {
                    task.good();
                }
            }
            case INVALID_FIELD -> task.invalidParameter(header + descriptorBytes);
            case LENGTH_ERROR -> task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
        }
    }

    /** Whether a block descriptor leaves the block size as it is. */
    private boolean sameBlocks(byte[] list, int at, int descriptorBytes) {
        if (descriptorBytes == 8) {
            return Bytes.uint24(list, at + 5) == blockBytes();
        }
        return descriptorBytes == 16 && Bytes.uint32(list, at + 12) == blockBytes();
    }

    private void startStop(Task task) {
        byte[] cdb = task.cdb();
        boolean start = (cdb[4] & 1) != 0;
        boolean load = (cdb[4] & 2) != 0;
        int powerCondition = cdb[4] >>> 4 & 0xf;
        if (powerCondition != 0) {
            // Idle and standby change nothing that can be seen.
            task.good();
            return;
        }
        if (load && !options.removable()) {
            task.invalidCdb(4);
            return;
        }
        int initiator = task.command().initiator() & (INITIATORS - 1);
        lock.lock();
        try {
            if (load && !start && preventers != 0) {
                load = false;
                start = true;
            } else if (load && start && ejected) {
                ejected = false;
                attentionExcept(Sense.MEDIUM_MAY_HAVE_CHANGED, initiator);
            } else if (load && !start) {
                ejected = true;
            }
            stopped = !start && !load;
        } finally {
            lock.unlock();
        }
        boolean refused = (cdb[4] & 3) == 2 && !ejected;
        if (refused) {
            task.check(Sense.REMOVAL_PREVENTED);
        } else if (!start) {
            task.flush();
        } else {
            task.good();
        }
    }

    private void preventAllow(Task task) {
        int initiator = task.command().initiator() & (INITIATORS - 1);
        int prevent = task.cdb()[4] & 3;
        if (prevent > 1) {
            task.invalidCdb(4);
            return;
        }
        lock.lock();
        try {
            if (prevent == 1) {
                preventers |= 1 << initiator;
            } else {
                preventers &= ~(1 << initiator);
            }
        } finally {
            lock.unlock();
        }
        task.good();
    }

    private void reserve(Task task) {
        boolean done;
        lock.lock();
        try {
            done = reservations.reserve(task.command().initiator() & (INITIATORS - 1));
        } finally {
            lock.unlock();
        }
        task.status(done ? ScsiCommand.GOOD : ScsiCommand.RESERVATION_CONFLICT);
    }

    private void release(Task task) {
        lock.lock();
        try {
            reservations.release(task.command().initiator() & (INITIATORS - 1));
        } finally {
            lock.unlock();
        }
        task.good();
    }

    private void persistentReserveIn(Task task) {
        byte[] cdb = task.cdb();
        long allocation = Bytes.uint16(cdb, 7);
        byte[] data;
        lock.lock();
        try {
            switch (cdb[1] & 0x1f) {
                case 0 -> data = readKeys();
                case 1 -> data = readReservation();
                case 2 -> {
                    data = new byte[8];
                    Bytes.int16(data, 0, 8);
                    // TMV and the types: all six.
                    data[3] = (byte) 0x80;
                    data[4] = (byte) 0xea;
                    data[5] = 0x01;
                }
                case 3 -> data = readFullStatus();
                default -> data = new byte[0];
            }
        } finally {
            lock.unlock();
        }
        if (data.length == 0) {
            task.invalidCdb(1);
        } else {
            task.reply(data, data.length, allocation);
        }
    }

    private byte[] readKeys() {
        byte[] data = new byte[8 + 8 * INITIATORS];
        int at = 8;
        for (int i = 0; i < INITIATORS; i++) {
            if (reservations.registered(i)) {
                Bytes.int64(data, at, reservations.key(i));
                at += 8;
            }
        }
        Bytes.int32(data, 0, reservations.generation());
        Bytes.int32(data, 4, at - 8);
        return java.util.Arrays.copyOf(data, at);
    }

    private byte[] readReservation() {
        byte[] data = new byte[reservations.reserved() ? 24 : 8];
        Bytes.int32(data, 0, reservations.generation());
        if (reservations.reserved()) {
            Bytes.int32(data, 4, 16);
            Bytes.int64(data, 8, reservations.holderKey());
            data[21] = (byte) reservations.type();
        }
        return data;
    }

    private byte[] readFullStatus() {
        // Full status descriptors with a parallel SCSI transport identifier of 24 bytes.
        int each = 24 + 24;
        byte[] data = new byte[8 + each * INITIATORS];
        int at = 8;
        for (int i = 0; i < INITIATORS; i++) {
            if (!reservations.registered(i)) {
                continue;
            }
            Bytes.int64(data, at, reservations.key(i));
            if (reservations.holds(i)) {
                data[at + 12] = 1;
                data[at + 13] = (byte) reservations.type();
            }
            Bytes.int16(data, at + 18, 1);
            Bytes.int32(data, at + 20, 24);
            data[at + 24] = 1;
            Bytes.int16(data, at + 26, i);
            Bytes.int16(data, at + 30, 1);
            at += each;
        }
        Bytes.int32(data, 0, reservations.generation());
        Bytes.int32(data, 4, at - 8);
        return java.util.Arrays.copyOf(data, at);
    }

    /** What became of PERSISTENT RESERVE OUT, before it is told. */
    private static final int CONFLICT = -1;

    private void persistentReserveOut(Task task) {
        byte[] cdb = task.cdb();
        int action = cdb[1] & 0x1f;
        int scope = cdb[2] >>> 4 & 0xf;
        int type = cdb[2] & 0xf;
        long length = Bytes.uint32(cdb, 5);
        if (action > 6) {
            task.invalidCdb(1);
            return;
        }
        boolean typed = action == 1 || action == 2 || action == 4 || action == 5;
        if (typed && (scope != 0 || !Reservations.validType(type))) {
            task.invalidCdb(2);
            return;
        }
        if (length != 24) {
            task.check(Sense.PARAMETER_LIST_LENGTH_ERROR);
            return;
        }
        byte[] list = task.parameters(length, 24);
        if (list == null) {
            return;
        }
        // SPEC_I_PT, ALL_TG_PT and APTPL: only the middle one means something to a logical unit behind one port.
        if ((list[20] & ~0x04) != 0) {
            task.invalidParameter(20);
            return;
        }
        int initiator = task.command().initiator() & (INITIATORS - 1);
        boolean[] victims = new boolean[INITIATORS];
        int sense;
        lock.lock();
        try {
            sense = reserveOut(action, type, Bytes.int64(list, 0), Bytes.int64(list, 8), initiator, victims);
        } finally {
            lock.unlock();
        }
        if (sense == CONFLICT) {
            task.status(ScsiCommand.RESERVATION_CONFLICT);
        } else if (sense != 0) {
            task.check(sense);
        } else {
            if (action == 5) {
                abortOf(victims, task);
            }
            task.good();
        }
    }

    private int reserveOut(int action, int type, long key, long newKey, int initiator, boolean[] victims) {
        boolean known = reservations.registered(initiator);
        boolean keyFits = known && reservations.key(initiator) == key;
        switch (action) {
            case 0 -> {
                if (known ? !keyFits : key != 0) {
                    return CONFLICT;
                }
                reservations.register(initiator, newKey, this::tell);
            }
            case 6 -> reservations.register(initiator, newKey, this::tell);
            default -> {
                if (!keyFits) {
                    return CONFLICT;
                }
                return reserveRegistered(action, type, newKey, initiator, victims);
            }
        }
        return 0;
    }

    private int reserveRegistered(int action, int type, long otherKey, int initiator, boolean[] victims) {
        switch (action) {
            case 1 -> {
                return reservations.reserve(initiator, type) ? 0 : CONFLICT;
            }
            case 2 -> {
                return reservations.release(initiator, type, this::tell) ? 0 : Sense.INVALID_RELEASE;
            }
            case 3 -> reservations.clear(initiator, this::tell);
            default -> {
                return switch (reservations.preempt(initiator, otherKey, type, victims, this::tell)) {
                    case DONE -> 0;
                    case CONFLICT -> CONFLICT;
                    case INVALID -> Sense.INVALID_FIELD_IN_PARAMETERS;
                };
            }
        }
        return 0;
    }

    private void tell(int initiator, int sense) {
        attention(sense, initiator);
    }

    // What happens outside.

    /** The drive may have another size now; returns whether it has. */
    public boolean refreshCapacity() {
        long now = backend.capabilities().sizeBytes() / blockBytes();
        if (now == blocks) {
            return false;
        }
        blocks = now;
        attention(Sense.CAPACITY_CHANGED);
        return true;
    }

    /** The capacity. */
    long sizeBytes() {
        return blocks * blockBytes();
    }

    /** Whether completed writes may be in a cache. */
    public boolean writeCache() {
        return writeCache;
    }

    /** What is saved. */
    public record State(
            LogicalUnit.State common,
            boolean writeCache,
            boolean stopped,
            boolean ejected,
            int preventers,
            Reservations.State reservations) {}

    /** The state, while nothing is in flight. */
    public State save() {
        lock.lock();
        try {
            return new State(saveCommon(), writeCache, stopped, ejected, preventers, reservations.save());
        } finally {
            lock.unlock();
        }
    }

    /** Restores it. */
    public void restore(State state) {
        lock.lock();
        try {
            restoreCommon(state.common());
            pages.reset();
            caching.current()[2] = (byte) (state.writeCache() ? ModePages.WCE : 0);
            writeCache = state.writeCache();
            stopped = state.stopped();
            ejected = state.ejected();
            preventers = state.preventers();
            reservations.restore(state.reservations());
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = super.inspect();
        map.put("drive", backend.describe());
        map.put("blocks", blocks);
        map.put("block-size", blockBytes());
        map.put("write-cache", writeCache);
        map.put("stopped", stopped);
        return map;
    }
}
