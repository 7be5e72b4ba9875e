package org.benchtop.ide.drive;

import static org.benchtop.ide.drive.TaskFile.ABRT;
import static org.benchtop.ide.drive.TaskFile.DF;
import static org.benchtop.ide.drive.TaskFile.DRDY;
import static org.benchtop.ide.drive.TaskFile.DSC;
import static org.benchtop.ide.drive.TaskFile.ERR;
import static org.benchtop.ide.drive.TaskFile.ICRC;
import static org.benchtop.ide.drive.TaskFile.IDNF;
import static org.benchtop.ide.drive.TaskFile.UNC;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;

/** An ATA disk (ATA8-ACS with what ACS-2 adds for SSDs): parallel, or serial with native command queuing. */
public final class AtaDrive extends AtaDevice {
    /** Commands that may be queued at a time. */
    public static final int QUEUE_DEPTH = 32;

    /** Sectors in one block of READ and WRITE MULTIPLE. */
    static final int MAX_MULTIPLE = 16;

    /** Blocks of ranges in one TRIM. */
    static final int MAX_TRIM_BLOCKS = 8;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int RANGES_PER_BLOCK = 64;
    private static final long LBA_MASK = 0xffff_ffff_ffffL;
    private static final long MAX_LBA28 = 0x0fff_ffff;
    private static final int READY = DRDY | DSC;

    private static final int LOG_DIRECTORY = 0x00;
    private static final int LOG_SMART_SUMMARY = 0x01;
    private static final int LOG_SELF_TEST = 0x06;
    private static final int LOG_QUEUED_ERROR = 0x10;

    /** What the command does when its flush, discards or data are done. */
    private enum Then {
        /** It is complete. */
        NOTHING,
        /** Discards the next range. */
        TRIM,
        /** Takes the buffer for READ BUFFER. */
        KEEP,
    }

    private final AtaDriveOptions options;
    private final boolean serialAta;
    private final int sectorBytes;
    private final long nativeSectors;
    private final AtaGeometry physical;
    private final Transfer[] queue;
    private final MemorySegment scratch = MemorySegment.ofArray(new byte[IdentifyData.BYTES]);

    private AtaGeometry geometry;
    private int multiple;
    private boolean writeCache;
    private boolean lookAhead;
    private boolean smart;
    private int multiwordMode;
    private int ultraMode;
    private int powerMode;
    private int selfTest;
    private long visibleSectors;
    private long visibleAfterReset;
    /** SET MAX ADDRESS counts only right after READ NATIVE MAX ADDRESS. */
    private boolean nativeMaxRead;

    private Then then = Then.NOTHING;
    private int trimRanges;
    private int trimmed;

    private int queuedBusy;
    private int queuedDone;
    private boolean queueFailed;
    private int queueFailedTag;
    private long queueFailedLba;

    /**
     * A disk after power-on.
     *
     * @param serialAta whether it sits behind a serial interface: queued commands, other identification
     */
    public AtaDrive(String id, AtaDriveOptions options, BlockCapabilities capabilities, boolean serialAta) {
        super(id);
        options.check(id, capabilities);
        this.options = options;
        this.serialAta = serialAta;
        this.sectorBytes = options.logicalBlockSizeBytes();
        this.nativeSectors = capabilities.sizeBytes() / sectorBytes;
        this.physical = options.geometry().orElseGet(() -> AtaGeometry.of(nativeSectors));
        this.geometry = physical;
        this.queue = new Transfer[serialAta ? QUEUE_DEPTH : 0];
        for (int i = 0; i < queue.length; i++) {
            queue[i] = new Transfer(i);
        }
        if (physical.total() > nativeSectors && options.geometry().isPresent()) {
            throw BenchtopException.config(
                    id + ": cyls × heads × secs is " + physical.total() + " sectors, the drive has " + nativeSectors);
        }
        visibleAfterReset = nativeSectors;
        reset(true);
    }

    @Override
    public boolean packet() {
        return false;
    }

    @Override
    public int sectorBytes() {
        return sectorBytes;
    }

    @Override
    long mediumBytes() {
        return nativeSectors * sectorBytes;
    }

    @Override
    void resetDone(boolean powerOn) {
        registers().signature(false);
        registers().status = READY;
        then = Then.NOTHING;
        nativeMaxRead = false;
        queuedBusy = 0;
        queuedDone = 0;
        queueFailed = false;
        if (powerOn) {
            geometry = physical;
            multiple = 0;
            writeCache = options.writeCache();
            lookAhead = true;
            smart = true;
            multiwordMode = 0;
            ultraMode = 0;
            powerMode = 0xff;
            selfTest = 0;
            visibleSectors = visibleAfterReset;
        }
    }

    // Endings.

    private void complete() {
        registers().status = READY;
        registers().error = 0;
        interrupt();
    }

    private void fail(int error) {
        registers().status = READY | ERR;
        registers().error = error;
        interrupt();
    }

    private void abort() {
        fail(ABRT);
    }

    @Override
    void finished(boolean readByHost) {
        registers().status = READY;
        registers().error = 0;
        if (!readByHost) {
            interrupt();
        }
    }

    @Override
    void mediaFailed(long offset, boolean write, BlockStatus status) {
        showLba(offset / sectorBytes);
        switch (status) {
            case OUT_OF_RANGE -> fail(IDNF);
            case IO_ERROR, NO_SPACE, OK -> {
                if (write) {
                    registers().status = READY | DF | ERR;
                    registers().error = ABRT;
                    interrupt();
                } else {
                    fail(UNC);
                }
            }
            case READ_ONLY, UNSUPPORTED -> fail(ABRT);
        }
    }

    private void showLba(long lba) {
        if (wide) {
            registers().lba48(lba);
        } else if (registers().lbaMode()) {
            registers().lba28(lba);
        } else {
            long track = lba / geometry.sectors();
            long cylinder = track / geometry.heads();
            registers().write(TaskFile.LBA_LOW, (int) (lba % geometry.sectors()) + 1);
            registers().lbaMidHigh((int) cylinder, (int) (cylinder >>> 8));
            int device = registers().device() & 0xf0;
            registers().write(TaskFile.DEVICE, device | (int) (track % geometry.heads()));
        }
    }

    @Override
    void busFailed() {
        fail(ABRT | ICRC);
    }

    @Override
    void blockOffered(boolean toDevice, int bytes) {}

    // Commands.

    /** Whether the current command has 48-bit addresses. */
    private boolean wide;

    @Override
    void execute(int command) {
        if (queuedBusy != 0) {
            // ATA8-ACS 4.16: a command that is not queued aborts all that are.
            failQueue(queue[Integer.numberOfTrailingZeros(queuedBusy)].tag(), 0);
            abort();
            return;
        }
        boolean afterNativeMax = nativeMaxRead;
        nativeMaxRead = false;
        wide = false;
        then = Then.NOTHING;
        if (powerMode != 0xff && command != AtaCommand.CHECK_POWER_MODE && command != AtaCommand.CHECK_POWER_MODE_OLD) {
            wake(command);
        }
        switch (command) {
            case AtaCommand.READ_SECTORS, AtaCommand.READ_SECTORS_NO_RETRY -> pio(false, false, 1, false);
            case AtaCommand.READ_SECTORS_EXT -> pio(true, false, 1, false);
            case AtaCommand.READ_MULTIPLE -> pio(false, false, multiple, false);
            case AtaCommand.READ_MULTIPLE_EXT -> pio(true, false, multiple, false);
            case AtaCommand.WRITE_SECTORS, AtaCommand.WRITE_SECTORS_NO_RETRY -> pio(false, true, 1, false);
            case AtaCommand.WRITE_SECTORS_EXT -> pio(true, true, 1, false);
            case AtaCommand.WRITE_MULTIPLE -> pio(false, true, multiple, false);
            case AtaCommand.WRITE_MULTIPLE_EXT -> pio(true, true, multiple, false);
            case AtaCommand.WRITE_MULTIPLE_FUA_EXT -> pio(true, true, multiple, true);
            case AtaCommand.READ_DMA, AtaCommand.READ_DMA_NO_RETRY -> directly(false, false, false);
            case AtaCommand.READ_DMA_EXT -> directly(true, false, false);
            case AtaCommand.WRITE_DMA, AtaCommand.WRITE_DMA_NO_RETRY -> directly(false, true, false);
            case AtaCommand.WRITE_DMA_EXT -> directly(true, true, false);
            case AtaCommand.WRITE_DMA_FUA_EXT -> directly(true, true, true);
            case AtaCommand.READ_VERIFY, AtaCommand.READ_VERIFY_NO_RETRY -> verify(false);
            case AtaCommand.READ_VERIFY_EXT -> verify(true);
            case AtaCommand.DATA_SET_MANAGEMENT -> dataSetManagement();
            case AtaCommand.FLUSH_CACHE, AtaCommand.FLUSH_CACHE_EXT -> flush();
            case AtaCommand.IDENTIFY_DEVICE -> {
                identify(buffer());
                sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false);
            }
            case AtaCommand.SET_FEATURES -> setFeatures();
            case AtaCommand.SET_MULTIPLE_MODE -> setMultiple();
            case AtaCommand.INITIALIZE_DEVICE_PARAMETERS -> setGeometry();
            case EXECUTE_DEVICE_DIAGNOSTIC -> {
                registers().signature(false);
                registers().status = READY;
                interrupt();
            }
            case AtaCommand.STANDBY_IMMEDIATE,
                    AtaCommand.STANDBY_IMMEDIATE_OLD,
                    AtaCommand.STANDBY,
                    AtaCommand.STANDBY_OLD -> power(0x00);
            case AtaCommand.IDLE_IMMEDIATE, AtaCommand.IDLE_IMMEDIATE_OLD, AtaCommand.IDLE, AtaCommand.IDLE_OLD ->
                complete();
            case AtaCommand.SLEEP, AtaCommand.SLEEP_OLD -> power(0x00);
            case AtaCommand.CHECK_POWER_MODE, AtaCommand.CHECK_POWER_MODE_OLD -> {
                registers().count(powerMode);
                complete();
            }
            case AtaCommand.READ_NATIVE_MAX_ADDRESS -> {
                registers().lba28(Math.min(nativeSectors - 1, MAX_LBA28 - 1));
                nativeMaxRead = true;
                complete();
            }
            case AtaCommand.READ_NATIVE_MAX_ADDRESS_EXT -> {
                registers().lba48(nativeSectors - 1);
                nativeMaxRead = true;
                complete();
            }
            case AtaCommand.SET_MAX -> setMax(false, afterNativeMax);
            case AtaCommand.SET_MAX_ADDRESS_EXT -> setMax(true, afterNativeMax);
            case AtaCommand.SMART -> smart();
            case AtaCommand.READ_LOG_EXT -> readLog(false);
            case AtaCommand.READ_LOG_DMA_EXT -> readLog(true);
            case AtaCommand.READ_BUFFER -> {
                MemorySegment.copy(scratch, 0, buffer(), 0, IdentifyData.BYTES);
                sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false);
            }
            case AtaCommand.WRITE_BUFFER -> {
                then = Then.KEEP;
                receiveBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false, false);
            }
            case AtaCommand.PACKET, AtaCommand.IDENTIFY_PACKET_DEVICE -> abort();
            default -> {
                boolean seek = (command & 0xf0) == AtaCommand.RECALIBRATE || command == AtaCommand.SEEK;
                if (seek) {
                    complete();
                } else {
                    abort();
                }
            }
        }
    }

    private void wake(int command) {
        boolean staysAsleep = command == AtaCommand.STANDBY_IMMEDIATE
                || command == AtaCommand.STANDBY
                || command == AtaCommand.IDENTIFY_DEVICE
                || command == AtaCommand.SET_FEATURES
                || command == AtaCommand.FLUSH_CACHE
                || command == AtaCommand.FLUSH_CACHE_EXT;
        if (!staysAsleep) {
            powerMode = 0xff;
        }
    }

    /** The first sector of a command; -1 for an address that does not exist. */
    private long address() {
        if (wide) {
            return registers().lba48();
        }
        if (registers().lbaMode()) {
            return registers().lba28();
        }
        int cylinder = registers().lbaHigh() << 8 | registers().lbaMid();
        int head = registers().device() & 0x0f;
        int sector = registers().lbaLow();
        if (sector == 0 || sector > geometry.sectors() || head >= geometry.heads()) {
            return -1;
        }
        return ((long) cylinder * geometry.heads() + head) * geometry.sectors() + sector - 1;
    }

    private int sectors() {
        if (wide) {
            int count = registers().countWide();
            return count == 0 ? 65536 : count;
        }
        int count = registers().count();
        return count == 0 ? 256 : count;
    }

    /** Checks the range of a command; answers it where the range does not exist. */
    private boolean inRange(long first, int count) {
        if (first >= 0 && first <= visibleSectors - count) {
            return true;
        }
        fail(IDNF);
        return false;
    }

    private void pio(boolean isWide, boolean write, int perBlock, boolean durable) {
        wide = isWide;
        if (perBlock == 0) {
            abort();
            return;
        }
        long first = address();
        int count = sectors();
        if (!inRange(first, count)) {
            return;
        }
        long offset = first * sectorBytes;
        long bytes = (long) count * sectorBytes;
        if (write) {
            writeMedia(offset, bytes, perBlock * sectorBytes, false, durable || !writeCache);
        } else {
            readMedia(offset, bytes, perBlock * sectorBytes, false);
        }
    }

    private void directly(boolean isWide, boolean write, boolean durable) {
        wide = isWide;
        long first = address();
        int count = sectors();
        if (!inRange(first, count)) {
            return;
        }
        long offset = first * sectorBytes;
        long bytes = (long) count * sectorBytes;
        if (write) {
            writeMedia(offset, bytes, sectorBytes, true, durable || !writeCache);
        } else {
            readMedia(offset, bytes, sectorBytes, true);
        }
    }

    private void verify(boolean isWide) {
        wide = isWide;
        if (inRange(address(), sectors())) {
            complete();
        }
    }

    // Flush and TRIM.

    private void flush() {
        busy();
        transfer().flush();
        want(transfer());
    }

    private void dataSetManagement() {
        int blocks = registers().countWide();
        boolean trim = options.discard() && registers().features() == 1;
        if (!trim || blocks == 0 || blocks > MAX_TRIM_BLOCKS) {
            abort();
            return;
        }
        then = Then.TRIM;
        trimRanges = blocks * RANGES_PER_BLOCK;
        receiveBuffer(blocks * IdentifyData.BYTES, IdentifyData.BYTES, true, false);
    }

    @Override
    void received() {
        switch (then) {
            case TRIM -> {
                trimmed = 0;
                if (rangesExist()) {
                    trimNext();
                } else {
                    fail(IDNF);
                }
            }
            case KEEP -> {
                then = Then.NOTHING;
                MemorySegment.copy(buffer(), 0, scratch, 0, IdentifyData.BYTES);
                complete();
            }
            case NOTHING -> complete();
        }
    }

    private long range(int index) {
        return buffer().get(LONG, 8L * index);
    }

    private static int rangeSectors(long range) {
        return (int) (range >>> 48);
    }

    private boolean rangesExist() {
        for (int i = 0; i < trimRanges; i++) {
            long range = range(i);
            if (rangeSectors(range) != 0 && (range & LBA_MASK) > visibleSectors - rangeSectors(range)) {
                return false;
            }
        }
        return true;
    }

    private void trimNext() {
        while (trimmed < trimRanges) {
            long range = range(trimmed++);
            if (rangeSectors(range) != 0) {
                busy();
                transfer().discard((range & LBA_MASK) * sectorBytes, (long) rangeSectors(range) * sectorBytes);
                want(transfer());
                return;
            }
        }
        then = Then.NOTHING;
        endAction();
        complete();
    }

    @Override
    void actionDone(BlockStatus status) {
        if (status != BlockStatus.OK && status != BlockStatus.UNSUPPORTED) {
            then = Then.NOTHING;
            endAction();
            registers().status = READY | DF | ERR;
            registers().error = ABRT;
            interrupt();
            return;
        }
        if (then == Then.TRIM) {
            trimNext();
            return;
        }
        endAction();
        complete();
    }

    private void power(int mode) {
        powerMode = mode;
        flush();
    }

    // Settings.

    private void setMultiple() {
        int count = registers().count();
        if (count > MAX_MULTIPLE || Integer.bitCount(count) > 1) {
            abort();
            return;
        }
        multiple = count;
        complete();
    }

    private void setGeometry() {
        int sectors = registers().count();
        int heads = (registers().device() & 0x0f) + 1;
        if (sectors == 0) {
            abort();
            return;
        }
        int cylinders = Math.clamp(Math.min(nativeSectors, 16_514_064) / ((long) heads * sectors), 1, 65535);
        geometry = new AtaGeometry(cylinders, heads, sectors);
        complete();
    }

    private void setFeatures() {
        switch (registers().features()) {
            case 0x02 -> {
                writeCache = true;
                complete();
            }
            case 0x82 -> {
                writeCache = false;
                flush();
            }
            case 0x03 -> setTransferMode();
            case 0x55 -> {
                lookAhead = false;
                complete();
            }
            case 0xaa -> {
                lookAhead = true;
                complete();
            }
            // Keep settings over a soft reset, or not; both are how this drive is. Acoustic management: none to manage.
            case 0x66, 0xcc, 0x42, 0xc2 -> complete();
            // Serial ATA features: none that change anything are offered, switching one off is harmless.
            case 0x90 -> {
                if (serialAta) {
                    complete();
                } else {
                    abort();
                }
            }
            default -> abort();
        }
    }

    private void setTransferMode() {
        int mode = registers().count() & 7;
        switch (registers().count() >> 3) {
            case 0 -> complete();
            case 1 -> {
                if (mode > 4) {
                    abort();
                } else {
                    complete();
                }
            }
            case 4 -> {
                if (mode > 2) {
                    abort();
                    return;
                }
                multiwordMode = 1 << mode;
                ultraMode = 0;
                complete();
            }
            case 8 -> {
                if (mode > 5) {
                    abort();
                    return;
                }
                ultraMode = 1 << mode;
                multiwordMode = 0;
                complete();
            }
            default -> abort();
        }
    }

    /** Hides the end of the disk (ATA8-ACS, 4.11), or shows it again. */
    private void setMax(boolean isWide, boolean allowed) {
        boolean address = isWide || registers().features() == 0;
        long max = isWide ? registers().lba48() : registers().lba28();
        if (!address || !allowed) {
            abort();
            return;
        }
        if (max >= nativeSectors) {
            fail(IDNF);
            return;
        }
        visibleSectors = max + 1;
        if ((registers().count() & 1) != 0) {
            visibleAfterReset = visibleSectors;
        }
        complete();
    }

    // SMART and logs.

    private void smart() {
        int subcommand = registers().features();
        boolean key = registers().lbaMid() == 0x4f && registers().lbaHigh() == 0xc2;
        if (!key || !smart && subcommand != 0xd8) {
            abort();
            return;
        }
        switch (subcommand) {
            case 0xd8 -> {
                smart = true;
                complete();
            }
            case 0xd9 -> {
                smart = false;
                complete();
            }
            // Attributes are always saved.
            case 0xd2, 0xdb -> complete();
            // Healthy: the key is left as it is.
            case 0xda -> complete();
            case 0xd0 -> {
                SmartData.values(buffer(), selfTest);
                sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false);
            }
            case 0xd1 -> {
                SmartData.thresholds(buffer());
                sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false);
            }
            case 0xd4 -> {
                int test = registers().lbaLow() & 0x7f;
                if (test > 2 && test != 127) {
                    abort();
                    return;
                }
                selfTest = test == 127 ? 0 : test;
                complete();
            }
            case 0xd5 -> smartLog();
            default -> abort();
        }
    }

    private void smartLog() {
        int log = registers().lbaLow();
        if (registers().count() != 1 || log != LOG_DIRECTORY && log != LOG_SMART_SUMMARY && log != LOG_SELF_TEST) {
            abort();
            return;
        }
        SmartData.log(buffer(), log, selfTest);
        sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, false);
    }

    private void readLog(boolean byDma) {
        int log = registers().lbaLow();
        int pages = registers().countWide();
        int page = registers().lbaMid() | (int) (registers().lba48() >>> 32 & 0xff) << 8;
        boolean known = log == LOG_DIRECTORY || log == LOG_QUEUED_ERROR && serialAta;
        if (!known || pages != 1 || page != 0) {
            abort();
            return;
        }
        MemorySegment data = buffer().asSlice(0, IdentifyData.BYTES);
        data.fill((byte) 0);
        if (log == LOG_DIRECTORY) {
            data.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            data.set(ValueLayout.JAVA_BYTE, 2L * LOG_QUEUED_ERROR, (byte) (serialAta ? 1 : 0));
        } else {
            queuedErrorLog(data);
        }
        sendBuffer(IdentifyData.BYTES, IdentifyData.BYTES, byDma);
    }

    /** ATA8-ACS, A.14; reading it ends the error state of the queue. */
    private void queuedErrorLog(MemorySegment data) {
        data.set(ValueLayout.JAVA_BYTE, 0, (byte) (queueFailed ? queueFailedTag : 0x80));
        if (queueFailed) {
            data.set(ValueLayout.JAVA_BYTE, 2, (byte) (READY | ERR));
            data.set(ValueLayout.JAVA_BYTE, 3, (byte) UNC);
            for (int i = 0; i < 3; i++) {
                data.set(ValueLayout.JAVA_BYTE, 4 + i, (byte) (queueFailedLba >>> 8 * i));
                data.set(ValueLayout.JAVA_BYTE, 8 + i, (byte) (queueFailedLba >>> 24 + 8 * i));
            }
        }
        queueFailed = false;
        IdentifyData.checksum(data, 0);
    }

    // Native command queuing.

    /** Whether a command code is one of the queued ones that this drive knows. */
    public boolean queued(int command) {
        return serialAta && (command == AtaCommand.READ_FPDMA_QUEUED || command == AtaCommand.WRITE_FPDMA_QUEUED);
    }

    /** How many bytes the queued command in the registers moves; -1 if it is refused, which ends all queued commands. */
    public long queuedBytes() {
        int tag = registers().count() >>> 3;
        wide = true;
        int field = registers().featuresWide();
        int count = field == 0 ? 65536 : field;
        long first = registers().lba48();
        boolean exists = registers().lbaMode() && first <= visibleSectors - count;
        boolean free =
                (queuedBusy >>> tag & 1) == 0 && !inFlight(tag) && !registers().busy();
        if (queueFailed || !free || !exists) {
            failQueue(tag, first);
            return -1;
        }
        return (long) count * sectorBytes;
    }

    /** The memory of the queued command in the registers; fill it, then call {@link #startQueued}. */
    public IoVector queuedMemory() {
        return queue[registers().count() >>> 3].memory();
    }

    /** Starts the queued command in the registers, whose memory is filled; too little memory refuses it. */
    public void startQueued(int command) {
        int tag = registers().count() >>> 3;
        long bytes = queuedBytes();
        if (bytes < 0) {
            return;
        }
        Transfer transfer = queue[tag];
        long offset = registers().lba48() * sectorBytes;
        if (transfer.memory().sizeBytes() < bytes) {
            failQueue(tag, registers().lba48());
            return;
        }
        boolean durable = (registers().device() & 0x80) != 0 || !writeCache;
        if (command == AtaCommand.WRITE_FPDMA_QUEUED) {
            transfer.write(offset, bytes, durable);
        } else {
            transfer.read(offset, bytes, true);
        }
        queuedBusy |= 1 << tag;
        want(transfer);
    }

    /** The tags of queued commands that have been accepted and not completed. */
    public int queuedBusy() {
        return queuedBusy;
    }

    /** The tags of queued commands that have completed since the last call. */
    public int takeQueuedDone() {
        int done = queuedDone;
        queuedDone = 0;
        return done;
    }

    @Override
    void queuedDone(Transfer done, BlockStatus status) {
        int bit = 1 << done.tag();
        if ((queuedBusy & bit) == 0) {
            return;
        }
        if (status == BlockStatus.OK) {
            queuedBusy &= ~bit;
            queuedDone |= bit;
            return;
        }
        failQueue(done.tag(), (done.offsetBytes() + done.doneBytes()) / sectorBytes);
    }

    /** One queued command has failed: all end without completion, and the host reads the log to learn which. */
    private void failQueue(int tag, long lba) {
        drop();
        queuedBusy = 0;
        queueFailed = true;
        queueFailedTag = tag;
        queueFailedLba = lba;
        registers().status = READY | ERR;
        registers().error = ABRT;
        interrupt();
    }

    // Identification.

    private void identify(MemorySegment data) {
        IdentifyData words = new IdentifyData(data);
        long lba28 = Math.min(visibleSectors, MAX_LBA28);
        long chs = Math.min(geometry.total(), visibleSectors);
        words.word(0, 0x0040)
                .word(1, physical.cylinders())
                .word(3, physical.heads())
                .word(6, physical.sectors())
                .text(10, 20, options.serial())
                .text(23, 8, options.version())
                .text(27, 40, options.model())
                .word(47, 0x8000 | MAX_MULTIPLE)
                .word(48, 0x4000)
                .word(49, 0x0f00)
                .word(50, 0x4000)
                .word(51, 0x0200)
                .word(53, 0x0007)
                .word(54, geometry.cylinders())
                .word(55, geometry.heads())
                .word(56, geometry.sectors())
                .words(57, 2, chs)
                .word(59, multiple == 0 ? 0 : 0x0100 | multiple)
                .words(60, 2, lba28)
                .word(63, 0x0007 | multiwordMode << 8)
                .word(64, 0x0003);
        for (int i = 65; i <= 68; i++) {
            words.word(i, 120);
        }
        if (serialAta) {
            words.word(75, QUEUE_DEPTH - 1).word(76, 0x0106).word(222, 0x101f);
        } else {
            words.word(93, 0x6001);
        }
        int wwn = options.wwn() == 0 ? 0 : 0x0100;
        words.word(80, 0x01f0)
                .word(82, 0x7469)
                .word(83, 0x7400)
                .word(84, 0x4063 | wwn)
                .word(85, 0x7408 | (smart ? 1 : 0) | (writeCache ? 0x20 : 0) | (lookAhead ? 0x40 : 0))
                .word(86, 0x3400)
                .word(87, 0x4063 | wwn)
                .word(88, 0x003f | ultraMode << 8)
                .words(100, 4, visibleSectors)
                .word(105, options.discard() ? MAX_TRIM_BLOCKS : 0)
                .word(106, 0x4000 | physicalExponent() | (sectorBytes > 512 ? 0x1000 : 0));
        for (int i = 0; i < 4; i++) {
            words.word(108 + i, (int) (options.wwn() >>> 48 - 16 * i));
        }
        words.words(117, 2, sectorBytes > 512 ? sectorBytes / 2 : 0)
                .word(119, 0x4000)
                .word(120, 0x4000)
                .word(169, options.discard() ? 1 : 0)
                .word(209, 0x4000)
                .word(217, options.rotationRate())
                .checksum();
    }

    private int physicalExponent() {
        int exponent = Integer.numberOfTrailingZeros(options.physicalBlockSizeBytes() / sectorBytes);
        return exponent == 0 ? 0 : 0x2000 | exponent;
    }

    /** What people want to know. */
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("model", options.model());
        map.put("serial", options.serial());
        map.put("sectors", visibleSectors);
        map.put("native-sectors", nativeSectors);
        map.put("write-cache", writeCache);
        map.put("multiple", multiple);
        map.put("transfer-mode", transferMode());
        map.put("standby", powerMode != 0xff);
        map.put("queued", Integer.bitCount(queuedBusy));
        return map;
    }

    private String transferMode() {
        if (ultraMode != 0) {
            return "udma" + Integer.numberOfTrailingZeros(ultraMode);
        }
        return multiwordMode == 0 ? "pio" : "mwdma" + Integer.numberOfTrailingZeros(multiwordMode);
    }

    // State.

    /** Saved settings of the disk. */
    record Saved(
            AtaGeometry geometry,
            int multiple,
            boolean writeCache,
            boolean lookAhead,
            boolean smart,
            int multiwordMode,
            int ultraMode,
            int powerMode,
            int selfTest,
            long visibleSectors,
            long visibleAfterReset,
            boolean nativeMaxRead,
            boolean wide,
            Then then,
            int trimRanges,
            boolean queueFailed,
            int queueFailedTag,
            long queueFailedLba,
            int queuedDone,
            byte[] scratch) {}

    @Override
    Record saveDrive() {
        return new Saved(
                geometry,
                multiple,
                writeCache,
                lookAhead,
                smart,
                multiwordMode,
                ultraMode,
                powerMode,
                selfTest,
                visibleSectors,
                visibleAfterReset,
                nativeMaxRead,
                wide,
                then,
                trimRanges,
                queueFailed,
                queueFailedTag,
                queueFailedLba,
                queuedDone,
                scratch.toArray(ValueLayout.JAVA_BYTE));
    }

    @Override
    void restoreDrive(Record state) {
        if (!(state instanceof Saved saved)
                || saved.visibleSectors > nativeSectors
                || saved.visibleSectors < 1
                || saved.scratch.length != IdentifyData.BYTES
                || saved.trimRanges > MAX_TRIM_BLOCKS * RANGES_PER_BLOCK) {
            throw BenchtopException.config(
                    id() + ": saved state is of another drive: allowed is a disk of " + nativeSectors + " sectors");
        }
        geometry = saved.geometry;
        multiple = Math.clamp(saved.multiple, 0, MAX_MULTIPLE);
        writeCache = saved.writeCache;
        lookAhead = saved.lookAhead;
        smart = saved.smart;
        multiwordMode = saved.multiwordMode;
        ultraMode = saved.ultraMode;
        powerMode = saved.powerMode;
        selfTest = saved.selfTest;
        visibleSectors = saved.visibleSectors;
        visibleAfterReset = Math.clamp(saved.visibleAfterReset, 1, nativeSectors);
        nativeMaxRead = saved.nativeMaxRead;
        wide = saved.wide;
        then = saved.then;
        trimRanges = saved.trimRanges;
        queueFailed = saved.queueFailed;
        queueFailedTag = saved.queueFailedTag;
        queueFailedLba = saved.queueFailedLba;
        queuedDone = saved.queuedDone;
        queuedBusy = 0;
        MemorySegment.copy(saved.scratch, 0, scratch, ValueLayout.JAVA_BYTE, 0, IdentifyData.BYTES);
    }
}
