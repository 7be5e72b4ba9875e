package org.benchtop.virtio.blk;

import static org.benchtop.virtio.blk.BlkHeader.SECTOR_SHIFT;
import static org.benchtop.virtio.blk.BlkHeader.SECTOR_SIZE;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_ID_BYTES;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_S_IOERR;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_S_OK;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_S_UNSUPP;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_T_DISCARD;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_T_FLUSH;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_T_GET_ID;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_T_IN;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_T_OUT;
import static org.benchtop.virtio.blk.BlkHeader.VIRTIO_BLK_T_WRITE_ZEROES;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.virtio.queue.DescriptorChain;
import org.benchtop.virtio.queue.QueueError;
import org.jspecify.annotations.Nullable;

/**
 * One request of a driver on its way: parsed, submitted in one or more parts, and answered with a status byte.
 * Reusable; belongs to the queue's event loop.
 */
final class BlkSlot implements BlockCompletion {
    private final BlkQueue queue;
    private final DescriptorChain chain;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.Flush flush = new BlockRequest.Flush();
    private @Nullable Ranges ranges;

    private int type;
    private long sector;
    /** Reads and writes: bytes of data; discard and write-zeroes: number of ranges. */
    private long total;
    /** How much of that has been submitted. */
    private long submitted;

    private boolean flushAfterwards;
    private boolean submitting;
    private boolean completedInline;
    private BlockStatus result = BlockStatus.OK;

    /** What discard and write-zeroes need; made when a driver first uses them. */
    private static final class Ranges {
        final long[] sector = new long[VirtioBlk.MAX_RANGES];
        final long[] sectors = new long[VirtioBlk.MAX_RANGES];
        final int[] flags = new int[VirtioBlk.MAX_RANGES];
        final MemorySegment bytes = MemorySegment.ofArray(new byte[VirtioBlk.MAX_RANGES * BlkRange.SIZE]);
        final BlockRequest.Discard discard = new BlockRequest.Discard();
        final BlockRequest.WriteZeroes writeZeroes = new BlockRequest.WriteZeroes();
    }

    BlkSlot(BlkQueue queue, DescriptorChain chain) {
        this.queue = queue;
        this.chain = chain;
    }

    /** Begins the request that the chain holds now. */
    void start() {
        IoVector readable = chain.readable();
        if (readable.sizeBytes() < BlkHeader.SIZE || chain.writable().count() == 0) {
            queue.pump().fail(chain, QueueError.Kind.MALFORMED_REQUEST, readable.sizeBytes());
            return;
        }
        MemorySegment header = readable.base(0);
        long at = readable.offset(0);
        if (readable.length(0) < BlkHeader.SIZE) {
            header = queue.headerBytes();
            at = 0;
            readable.copyTo(0, header, 0, BlkHeader.SIZE);
        }
        type = BlkHeader.type(header, at);
        sector = BlkHeader.sector(header, at);
        total = 0;
        submitted = 0;
        flushAfterwards = false;
        result = BlockStatus.OK;
        switch (type) {
            case VIRTIO_BLK_T_IN -> startRead();
            case VIRTIO_BLK_T_OUT -> startWrite();
            case VIRTIO_BLK_T_FLUSH -> startFlush();
            case VIRTIO_BLK_T_GET_ID -> getId();
            case VIRTIO_BLK_T_DISCARD -> startRanges(VirtioBlk.VIRTIO_BLK_F_DISCARD);
            case VIRTIO_BLK_T_WRITE_ZEROES -> startRanges(VirtioBlk.VIRTIO_BLK_F_WRITE_ZEROES);
            default -> {
                queue.stats().otherRequests().increment();
                answer(VIRTIO_BLK_S_UNSUPP, 0);
            }
        }
    }

    private void startRead() {
        total = chain.writable().sizeBytes() - 1;
        if (inDisk(sector, total)) {
            queue.countRead(total);
            run();
        } else {
            queue.countRead(0);
            answer(VIRTIO_BLK_S_IOERR, 0);
        }
    }

    private void startWrite() {
        total = chain.readable().sizeBytes() - BlkHeader.SIZE;
        if (inDisk(sector, total) && !queue.blk().readOnly()) {
            queue.countWrite(total);
            run();
        } else {
            queue.countWrite(0);
            answer(VIRTIO_BLK_S_IOERR, 0);
        }
    }

    private boolean inDisk(long firstSector, long bytes) {
        return bytes % SECTOR_SIZE == 0
                && firstSector >= 0
                && firstSector <= queue.blk().capacitySectors() - (bytes >>> SECTOR_SHIFT);
    }

    private void startFlush() {
        queue.stats().flushes().increment();
        total = 1;
        run();
    }

    private void getId() {
        queue.stats().otherRequests().increment();
        IoVector writable = chain.writable();
        long room = writable.sizeBytes() - 1;
        if (room < VIRTIO_BLK_ID_BYTES) {
            answer(VIRTIO_BLK_S_IOERR, 0);
            return;
        }
        if (queue.pump().mayWrite()) {
            writable.copyFrom(0, queue.blk().serial(), 0, VIRTIO_BLK_ID_BYTES);
        }
        answer(VIRTIO_BLK_S_OK, VIRTIO_BLK_ID_BYTES);
    }

    private void startRanges(long feature) {
        boolean discard = type == VIRTIO_BLK_T_DISCARD;
        (discard ? queue.stats().discards() : queue.stats().writeZeroes()).increment();
        if (queue.blk().readOnly()) {
            answer(VIRTIO_BLK_S_IOERR, 0);
            return;
        }
        if (!queue.blk().negotiatedFeature(feature)) {
            answer(VIRTIO_BLK_S_UNSUPP, 0);
            return;
        }
        long bytes = chain.readable().sizeBytes() - BlkHeader.SIZE;
        if (bytes == 0 || bytes % BlkRange.SIZE != 0 || bytes > (long) VirtioBlk.MAX_RANGES * BlkRange.SIZE) {
            answer(VIRTIO_BLK_S_IOERR, 0);
            return;
        }
        Ranges parsed = ranges();
        chain.readable().copyTo(BlkHeader.SIZE, parsed.bytes, 0, bytes);
        total = bytes / BlkRange.SIZE;
        byte status = parse(parsed, discard);
        if (status == VIRTIO_BLK_S_OK) {
            flushAfterwards = !discard && queue.blk().writeThrough();
            run();
        } else {
            answer(status, 0);
        }
    }

    private byte parse(Ranges parsed, boolean discard) {
        int allowedFlags = discard ? 0 : BlkRange.UNMAP;
        byte status = VIRTIO_BLK_S_OK;
        for (int i = 0; i < total; i++) {
            long at = (long) i * BlkRange.SIZE;
            parsed.sector[i] = BlkRange.sector(parsed.bytes, at);
            parsed.sectors[i] = BlkRange.sectors(parsed.bytes, at);
            parsed.flags[i] = BlkRange.flags(parsed.bytes, at);
            if ((parsed.flags[i] & ~allowedFlags) != 0) {
                return VIRTIO_BLK_S_UNSUPP;
            }
            if (parsed.sectors[i] == 0
                    || parsed.sectors[i] > VirtioBlk.MAX_RANGE_SECTORS
                    || !inDisk(parsed.sector[i], parsed.sectors[i] << SECTOR_SHIFT)) {
                status = VIRTIO_BLK_S_IOERR;
            }
        }
        return status;
    }

    private Ranges ranges() {
        Ranges existing = ranges;
        if (existing == null) {
            existing = new Ranges();
            ranges = existing;
        }
        return existing;
    }

    /** Submits parts until one does not complete at once, or nothing is left. */
    private void run() {
        while (result == BlockStatus.OK && submitted < total) {
            if (!submitNext()) {
                return;
            }
        }
        while (result == BlockStatus.OK && flushAfterwards) {
            flushAfterwards = false;
            if (!submit(flush)) {
                return;
            }
        }
        finish();
    }

    /** Submits the next part; returns whether it has completed already. */
    private boolean submitNext() {
        return switch (type) {
            case VIRTIO_BLK_T_IN -> {
                long part = Math.min(total - submitted, queue.blk().maxPartBytes());
                read.buffer().clear();
                read.buffer().addFrom(chain.writable(), submitted, part);
                read.at((sector << SECTOR_SHIFT) + submitted);
                submitted += part;
                yield tooManySegments(read.buffer()) || submit(read);
            }
            case VIRTIO_BLK_T_OUT -> {
                long part = Math.min(total - submitted, queue.blk().maxPartBytes());
                write.buffer().clear();
                write.buffer().addFrom(chain.readable(), BlkHeader.SIZE + submitted, part);
                write.at((sector << SECTOR_SHIFT) + submitted, queue.blk().writeThrough());
                submitted += part;
                yield tooManySegments(write.buffer()) || submit(write);
            }
            case VIRTIO_BLK_T_DISCARD -> {
                Ranges all = ranges();
                int i = (int) submitted++;
                yield submit(all.discard.at(all.sector[i] << SECTOR_SHIFT, all.sectors[i] << SECTOR_SHIFT));
            }
            case VIRTIO_BLK_T_WRITE_ZEROES -> {
                Ranges all = ranges();
                int i = (int) submitted++;
                yield submit(all.writeZeroes.at(
                        all.sector[i] << SECTOR_SHIFT,
                        all.sectors[i] << SECTOR_SHIFT,
                        (all.flags[i] & BlkRange.UNMAP) != 0));
            }
            default -> {
                submitted = total;
                yield submit(flush);
            }
        };
    }

    /** Refuses what a driver could only ask for by ignoring {@code seg_max}. */
    private boolean tooManySegments(IoVector buffer) {
        if (buffer.count() <= queue.blk().maxSegments()) {
            return false;
        }
        result = BlockStatus.OUT_OF_RANGE;
        return true;
    }

    private boolean submit(BlockRequest request) {
        completedInline = false;
        submitting = true;
        queue.backendForSubmit().submit(request, this);
        submitting = false;
        return completedInline;
    }

    @Override
    public void completed(BlockRequest request, BlockStatus status) {
        if (status != BlockStatus.OK) {
            result = status;
        }
        if (submitting) {
            // From within submit: the loop in run() goes on, instead of a recursion as deep as there are parts.
            completedInline = true;
            return;
        }
        run();
        queue.kickOutsideBurst();
    }

    private void finish() {
        if (result != BlockStatus.OK) {
            switch (queue.blk().errors().onError(type == VIRTIO_BLK_T_IN, result)) {
                case STOP -> {
                    if (queue.pump().mayPark()) {
                        queue.park(chain, this, result);
                        return;
                    }
                }
                case IGNORE -> {
                    queue.stats().errors().increment();
                    result = BlockStatus.OK;
                }
                case REPORT -> {}
            }
        }
        switch (result) {
            case OK -> answer(VIRTIO_BLK_S_OK, type == VIRTIO_BLK_T_IN ? total : 0);
            case UNSUPPORTED -> answer(VIRTIO_BLK_S_UNSUPP, 0);
            case IO_ERROR, NO_SPACE, READ_ONLY, OUT_OF_RANGE -> answer(VIRTIO_BLK_S_IOERR, 0);
        }
    }

    private void answer(byte status, long writtenBytes) {
        if (status != VIRTIO_BLK_S_OK) {
            queue.stats().errors().increment();
        }
        if (queue.pump().mayWrite()) {
            IoVector writable = chain.writable();
            int last = writable.count() - 1;
            writable.base(last).set(ValueLayout.JAVA_BYTE, writable.offset(last) + writable.length(last) - 1, status);
            queue.memory().written(writable);
        }
        queue.pump().complete(chain, writtenBytes + 1);
    }

    private String typeName() {
        return switch (type) {
            case VIRTIO_BLK_T_IN -> "read";
            case VIRTIO_BLK_T_OUT -> "write";
            case VIRTIO_BLK_T_FLUSH -> "flush";
            case VIRTIO_BLK_T_GET_ID -> "get-id";
            case VIRTIO_BLK_T_DISCARD -> "discard";
            case VIRTIO_BLK_T_WRITE_ZEROES -> "write-zeroes";
            default -> "type " + type;
        };
    }

    @Override
    public String toString() {
        String name = typeName();
        return switch (type) {
            case VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT -> name + " " + total + " bytes at sector " + sector;
            case VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES -> name + " of " + total + " ranges";
            default -> name;
        };
    }
}
