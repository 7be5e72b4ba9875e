package org.benchtop.virtio.blk;

import static org.benchtop.virtio.blk.BlkHeader.SECTOR_SHIFT;
import static org.benchtop.virtio.blk.BlkHeader.SECTOR_SIZE;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_ID_BYTES;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Stats;
import org.benchtop.virtio.device.VirtioDevice;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;

/** The virtio block device (VIRTIO 1.2, 5.2): turns the requests of its queues into those of a block backend. */
public final class VirtioBlk implements VirtioDevice {
    static final long VIRTIO_BLK_F_SEG_MAX = 1L << 2;
    static final long VIRTIO_BLK_F_GEOMETRY = 1L << 4;
    static final long VIRTIO_BLK_F_RO = 1L << 5;
    static final long VIRTIO_BLK_F_BLK_SIZE = 1L << 6;
    static final long VIRTIO_BLK_F_FLUSH = 1L << 9;
    static final long VIRTIO_BLK_F_TOPOLOGY = 1L << 10;
    static final long VIRTIO_BLK_F_CONFIG_WCE = 1L << 11;
    static final long VIRTIO_BLK_F_MQ = 1L << 12;
    static final long VIRTIO_BLK_F_DISCARD = 1L << 13;
    static final long VIRTIO_BLK_F_WRITE_ZEROES = 1L << 14;

    /** Ranges in one discard or write-zeroes request. */
    static final int MAX_RANGES = 16;
    /** Sectors in one range: 2 GiB. */
    static final long MAX_RANGE_SECTORS = 1L << 22;

    private static final int VIRTIO_ID_BLOCK = 2;
    /** Mass storage, SCSI: what drivers of block devices look for first. */
    private static final int PCI_CLASS_STORAGE_SCSI = 0x010000;

    private static final int HEADS = 16;
    private static final int SECTORS_PER_TRACK = 63;
    private static final int STATE_VERSION = 1;

    private final String id;
    private final VirtioBlkOptions options;
    private final BlockBackend backend;
    private final List<EventLoop> loops;
    private final GuestMemory memory;
    private final ErrorHandling errors;
    private final BlkStats stats;
    private final Map<EventLoop, BlockQueue> blockQueues = new IdentityHashMap<>();
    private final RegisterMap<BlkConfigRegister> config =
            new RegisterMap<>("blk-config", BlkConfigRegister.class, new ConfigHandler());

    private final boolean readOnly;
    private final int logicalBlockSizeBytes;
    private final int physicalBlockSizeBytes;
    private final int segMax;
    private final int maxSegments;
    private final long maxPartBytes;
    private final MemorySegment serial = MemorySegment.ofArray(new byte[VIRTIO_BLK_ID_BYTES]);

    private volatile long capacitySectors;
    private volatile long features;
    private volatile boolean writeback;

    /**
     * A block device over an open backend, which it neither owns nor closes.
     *
     * @param loops where the work of each queue is done; one loop for all queues, or one for each
     * @param stopMachine pauses the machine, for the given reason, when the error policy says so
     */
    public VirtioBlk(
            String id,
            VirtioBlkOptions options,
            BlockBackend backend,
            List<EventLoop> loops,
            GuestMemory memory,
            Consumer<String> stopMachine,
            Stats stats) {
        this.id = id;
        this.options = options;
        this.backend = backend;
        this.loops = List.copyOf(loops);
        this.memory = memory;
        this.errors = new ErrorHandling(id, backend, options.rerror(), options.werror(), stopMachine);
        this.stats = BlkStats.of(stats);
        if (loops.size() != 1 && loops.size() != options.queues()) {
            throw BenchtopException.config(
                    id + ": " + loops.size() + " event loops for " + options.queues() + " queues");
        }
        BlockCapabilities capabilities = backend.capabilities();
        readOnly = options.readOnly() || capabilities.readOnly();
        logicalBlockSizeBytes = options.logicalBlockSizeBytes().orElse(capabilities.logicalBlockSizeBytes());
        physicalBlockSizeBytes = options.physicalBlockSizeBytes()
                .orElse(Math.max(capabilities.physicalBlockSizeBytes(), logicalBlockSizeBytes));
        checkBlockSizes(capabilities);
        int room = options.queueSize() - 2;
        maxSegments = capabilities.maxSegments();
        segMax = Math.max(1, Math.min(options.segMax().orElse(room), maxSegments));
        maxPartBytes = Math.max(
                logicalBlockSizeBytes, capabilities.maxTransferBytes() / logicalBlockSizeBytes * logicalBlockSizeBytes);
        byte[] text = options.serial().getBytes(StandardCharsets.US_ASCII);
        MemorySegment.copy(MemorySegment.ofArray(text), 0, serial, 0, Math.min(text.length, VIRTIO_BLK_ID_BYTES));
        capacitySectors = capabilities.sizeBytes() >>> SECTOR_SHIFT;
        reset();
    }

    private void checkBlockSizes(BlockCapabilities capabilities) {
        if (logicalBlockSizeBytes < capabilities.logicalBlockSizeBytes()) {
            throw BenchtopException.config(id + ": logical-block-size " + logicalBlockSizeBytes
                    + " is smaller than the drive's " + capabilities.logicalBlockSizeBytes());
        }
        if (physicalBlockSizeBytes < logicalBlockSizeBytes) {
            throw BenchtopException.config(id + ": physical-block-size " + physicalBlockSizeBytes
                    + " is smaller than the logical block size " + logicalBlockSizeBytes);
        }
        if (capabilities.sizeBytes() % logicalBlockSizeBytes != 0) {
            throw BenchtopException.config(id + ": the drive's size " + capabilities.sizeBytes()
                    + " is not a multiple of logical-block-size " + logicalBlockSizeBytes);
        }
    }

    @Override
    public int deviceId() {
        return VIRTIO_ID_BLOCK;
    }

    @Override
    public int pciClassCode() {
        return PCI_CLASS_STORAGE_SCSI;
    }

    @Override
    public long features() {
        return VIRTIO_BLK_F_SEG_MAX
                | VIRTIO_BLK_F_GEOMETRY
                | VIRTIO_BLK_F_BLK_SIZE
                | VIRTIO_BLK_F_FLUSH
                | VIRTIO_BLK_F_TOPOLOGY
                | (readOnly ? VIRTIO_BLK_F_RO : 0)
                | (options.configWce() ? VIRTIO_BLK_F_CONFIG_WCE : 0)
                | (options.queues() > 1 ? VIRTIO_BLK_F_MQ : 0)
                | (offersDiscard() ? VIRTIO_BLK_F_DISCARD : 0)
                | (offersWriteZeroes() ? VIRTIO_BLK_F_WRITE_ZEROES : 0);
    }

    private boolean offersDiscard() {
        return options.discard() && !readOnly && backend.capabilities().discard();
    }

    private boolean offersWriteZeroes() {
        return options.writeZeroes() && !readOnly;
    }

    @Override
    public int queues() {
        return options.queues();
    }

    @Override
    public int queueMaxSize(int queue) {
        return options.queueSize();
    }

    @Override
    public EventLoop queueLoop(int queue) {
        return loops.get(loops.size() == 1 ? 0 : queue);
    }

    @Override
    public QueueHandler openQueue(int queue, QueuePump pump) {
        BlockQueue blockQueue = blockQueues.computeIfAbsent(pump.loop(), backend::openQueue);
        return new BlkQueue(this, pump, blockQueue, memory, stats);
    }

    @Override
    public void negotiated(long newFeatures) {
        features = newFeatures;
        boolean flush = (newFeatures & VIRTIO_BLK_F_FLUSH) != 0;
        boolean configWce = (newFeatures & VIRTIO_BLK_F_CONFIG_WCE) != 0;
        writeback = flush && (!configWce || cacheAfterReset());
    }

    private boolean cacheAfterReset() {
        return backend.capabilities().cacheMode().writeCache();
    }

    @Override
    public void reset() {
        features = 0;
        writeback = cacheAfterReset();
    }

    @Override
    public boolean resumed() {
        long now = backend.capabilities().sizeBytes() >>> SECTOR_SHIFT;
        boolean resized = now != capacitySectors;
        capacitySectors = now;
        return resized;
    }

    @Override
    public RegisterMap<?> config() {
        return config;
    }

    private final class ConfigHandler implements RegisterMap.Handler<BlkConfigRegister> {
        @Override
        public long read(BlkConfigRegister register) {
            return peek(register);
        }

        @Override
        public long peek(BlkConfigRegister register) {
            return switch (register) {
                case CAPACITY -> capacitySectors;
                case SEG_MAX -> segMax;
                case CYLINDERS -> Math.min(0xffff, capacitySectors / (HEADS * SECTORS_PER_TRACK));
                case HEADS -> HEADS;
                case SECTORS -> SECTORS_PER_TRACK;
                case BLK_SIZE -> logicalBlockSizeBytes;
                case PHYSICAL_BLOCK_EXP ->
                    Integer.numberOfTrailingZeros(physicalBlockSizeBytes / logicalBlockSizeBytes);
                case ALIGNMENT_OFFSET -> 0;
                case MIN_IO_SIZE -> physicalBlockSizeBytes / logicalBlockSizeBytes;
                case OPT_IO_SIZE -> 0;
                case WRITEBACK -> writeback ? 1 : 0;
                case NUM_QUEUES -> options.queues();
                case MAX_DISCARD_SECTORS -> offersDiscard() ? MAX_RANGE_SECTORS : 0;
                case MAX_DISCARD_SEG -> offersDiscard() ? MAX_RANGES : 0;
                case DISCARD_SECTOR_ALIGNMENT -> offersDiscard() ? physicalBlockSizeBytes / SECTOR_SIZE : 0;
                case MAX_WRITE_ZEROES_SECTORS -> offersWriteZeroes() ? MAX_RANGE_SECTORS : 0;
                case MAX_WRITE_ZEROES_SEG -> offersWriteZeroes() ? MAX_RANGES : 0;
                case WRITE_ZEROES_MAY_UNMAP ->
                    offersWriteZeroes() && backend.capabilities().discard() ? 1 : 0;
            };
        }

        @Override
        public void write(BlkConfigRegister register, long value) {
            if (register == BlkConfigRegister.WRITEBACK && (features & VIRTIO_BLK_F_CONFIG_WCE) != 0) {
                writeback = value != 0;
            }
        }
    }

    // What queues ask.

    /** The capacity in sectors. */
    long capacitySectors() {
        return capacitySectors;
    }

    boolean readOnly() {
        return readOnly;
    }

    /** Whether a write must be durable when it completes (5.2.6.2). */
    boolean writeThrough() {
        return !writeback;
    }

    /** Whether the driver has chosen a feature. */
    boolean negotiatedFeature(long feature) {
        return (features & feature) != 0;
    }

    /** What to do about requests that have failed. */
    ErrorHandling errors() {
        return errors;
    }

    /** The longest part of a request that the backend takes. */
    long maxPartBytes() {
        return maxPartBytes;
    }

    /** The most elements in one buffer that the backend takes. */
    int maxSegments() {
        return maxSegments;
    }

    /** What GET_ID answers. */
    MemorySegment serial() {
        return serial;
    }

    // State.

    /** What is saved. */
    record State(boolean writeback) {}

    @Override
    public SavedState saveState() {
        return new SavedState(STATE_VERSION, new State(writeback));
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != STATE_VERSION || !(state.content() instanceof State content)) {
            throw BenchtopException.config(
                    id + ": saved block device state has version " + state.version() + ", allowed: " + STATE_VERSION);
        }
        writeback = content.writeback();
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("drive", backend.describe());
        map.put("capacity-sectors", capacitySectors);
        map.put("read-only", readOnly);
        map.put("writeback", writeback);
        return map;
    }

    @Override
    public void close() {
        blockQueues.values().forEach(BlockQueue::close);
        blockQueues.clear();
    }

    @Override
    public String toString() {
        return id + Arrays.toString(loops.stream().map(EventLoop::name).toArray());
    }
}
