package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.IoVector;

/**
 * One request of a frontend on its way: its segments are claimed, it goes to the backend with flushes before and behind where
 * it asks for them, and is answered. Reusable; belongs to the queue's loop.
 */
final class DiskRequest implements BlockCompletion {
    private static final int SECTOR_SHIFT = 9;
    private static final int SECTORS_PER_PAGE = Xen.PAGE_SIZE >>> SECTOR_SHIFT;

    private final DiskQueue queue;
    private final DiskQueue.Parts parts;
    private final BlockRequest.Read read = new BlockRequest.Read();
    private final BlockRequest.Write write = new BlockRequest.Write();
    private final BlockRequest.Flush flush = new BlockRequest.Flush();
    private final BlockRequest.Discard discard = new BlockRequest.Discard();
    /** References that were claimed for this request alone. */
    private int[] claimed = new int[BlkifAbi.MAX_SEGMENTS];

    private int claimedCount;
    private final byte[] segmentBytes = new byte[Xen.PAGE_SIZE];
    private final MemorySegment segments = MemorySegment.ofArray(segmentBytes);

    private long id;
    private int operation;
    private boolean flushBefore;
    private boolean flushBehind;
    private boolean data;
    private boolean submitting;
    private boolean completedInline;
    private BlockStatus result = BlockStatus.OK;

    DiskRequest(DiskQueue queue, DiskQueue.Parts parts) {
        this.queue = queue;
        this.parts = parts;
    }

    /** Begins what a copy of a ring entry says. */
    void start(MemorySegment request) {
        BlkifAbi abi = parts.abi();
        id = abi.id(request);
        operation = BlkifAbi.operation(request);
        flushBefore = false;
        flushBehind = false;
        data = false;
        result = BlockStatus.OK;
        claimedCount = 0;
        switch (operation) {
            case BlkifAbi.READ, BlkifAbi.WRITE, BlkifAbi.WRITE_BARRIER, BlkifAbi.FLUSH_DISKCACHE ->
                startDirect(request, BlkifAbi.second(request));
            case BlkifAbi.INDIRECT -> {
                // The response carries the operation inside.
                operation = BlkifAbi.second(request);
                parts.stats().indirect().increment();
                startIndirect(request);
            }
            case BlkifAbi.DISCARD -> startDiscard(request);
            default -> finish(BlkifAbi.EOPNOTSUPP);
        }
    }

    private void startDirect(MemorySegment request, int count) {
        if (count > BlkifAbi.MAX_SEGMENTS || count == 0 && !mayBeEmpty()) {
            finish(BlkifAbi.ERROR);
            return;
        }
        IoVector buffer = buffer();
        buffer.clear();
        boolean fine = true;
        for (int i = 0; i < count && fine; i++) {
            fine = add(buffer, request, parts.abi().segment(i));
        }
        begin(request, buffer, fine);
    }

    private boolean mayBeEmpty() {
        return operation == BlkifAbi.FLUSH_DISKCACHE || operation == BlkifAbi.WRITE_BARRIER;
    }

    private void startIndirect(MemorySegment request) {
        int count = BlkifAbi.indirectSegments(request);
        if (operation != BlkifAbi.READ && operation != BlkifAbi.WRITE
                || count == 0
                || count > parts.limits().indirectSegments()) {
            finish(BlkifAbi.ERROR);
            return;
        }
        IoVector buffer = buffer();
        buffer.clear();
        boolean fine = true;
        for (int done = 0, page = 0; done < count && fine; page++) {
            int here = Math.min(count - done, BlkifAbi.SEGMENTS_PER_PAGE);
            fine = fetch(parts.abi().indirectPage(request, page), here);
            for (int i = 0; i < here && fine; i++) {
                fine = add(buffer, segments, (long) BlkifAbi.SEGMENT_BYTES * i);
            }
            done += here;
        }
        begin(request, buffer, fine);
    }

    /** Copies segments out of an indirect page, so that the guest cannot change them any more. */
    private boolean fetch(int reference, int count) {
        long frame = parts.grants().claim(reference, false);
        if (frame < 0) {
            return false;
        }
        try {
            parts.memory().read(frame << Xen.PAGE_SHIFT, segmentBytes, 0, count * BlkifAbi.SEGMENT_BYTES);
            return true;
        } catch (GuestFault e) {
            return false;
        } finally {
            parts.grants().release(reference);
        }
    }

    private boolean reading() {
        return operation == BlkifAbi.READ;
    }

    private IoVector buffer() {
        return reading() ? read.buffer() : write.buffer();
    }

    /** Claims the page of a segment and adds its sectors to the buffer. */
    private boolean add(IoVector buffer, MemorySegment from, long at) {
        int reference = from.get(Xen.INT, at);
        int first = from.get(java.lang.foreign.ValueLayout.JAVA_BYTE, at + 4) & 0xff;
        int last = from.get(java.lang.foreign.ValueLayout.JAVA_BYTE, at + 5) & 0xff;
        if (first > last || last >= SECTORS_PER_PAGE) {
            return false;
        }
        long frame = claim(reference);
        if (frame < 0) {
            return false;
        }
        try {
            parts.memory()
                    .appendTo(
                            buffer,
                            (frame << Xen.PAGE_SHIFT) + ((long) first << SECTOR_SHIFT),
                            (long) (last - first + 1) << SECTOR_SHIFT);
            return true;
        } catch (GuestFault e) {
            return false;
        }
    }

    private long claim(int reference) {
        GrantTable grants = parts.grants();
        if (parts.persistent()) {
            long frame = queue.kept().frame(reference);
            if (frame >= 0) {
                return frame;
            }
            // Kept grants serve reads and writes; what can only be read is claimed for this request.
            frame = grants.claim(reference, true);
            if (frame >= 0) {
                if (!queue.kept().keep(reference, frame)) {
                    remember(reference);
                }
                return frame;
            }
        }
        long frame = grants.claim(reference, reading());
        if (frame >= 0) {
            remember(reference);
        }
        return frame;
    }

    private void remember(int reference) {
        if (claimedCount == claimed.length) {
            claimed = java.util.Arrays.copyOf(claimed, claimed.length * 2);
        }
        claimed[claimedCount++] = reference;
    }

    private void begin(MemorySegment request, IoVector buffer, boolean fine) {
        long sector = parts.abi().sector(request);
        DiskLimits limits = parts.limits();
        long sectors = buffer.sizeBytes() >>> SECTOR_SHIFT;
        data = sectors > 0;
        boolean inside = !data || sector >= 0 && sector <= limits.capacitySectors() - sectors;
        boolean refused = limits.readOnly() && !reading() && data;
        if (!fine || !inside || refused || buffer.count() > limits.maxElements()) {
            finish(BlkifAbi.ERROR);
            return;
        }
        boolean barrier = operation == BlkifAbi.WRITE_BARRIER;
        flushBefore = barrier || operation == BlkifAbi.FLUSH_DISKCACHE;
        flushBehind = barrier && data;
        if (reading()) {
            parts.stats().reads().increment();
            parts.stats().readBytes().add(buffer.sizeBytes());
            read.at(sector << SECTOR_SHIFT);
        } else if (data) {
            parts.stats().writes().increment();
            parts.stats().writeBytes().add(buffer.sizeBytes());
            write.at(sector << SECTOR_SHIFT);
        }
        if (!barrier || queue.mayBegin(this)) {
            begin();
        }
    }

    private void startDiscard(MemorySegment request) {
        long sector = parts.abi().sector(request);
        long sectors = parts.abi().discardSectors(request);
        DiskLimits limits = parts.limits();
        parts.stats().discards().increment();
        if (!limits.discard() || (BlkifAbi.second(request) & BlkifAbi.DISCARD_SECURE) != 0) {
            finish(BlkifAbi.EOPNOTSUPP);
            return;
        }
        if (sector < 0 || sectors <= 0 || sector > limits.capacitySectors() - sectors) {
            finish(BlkifAbi.ERROR);
            return;
        }
        data = true;
        discard.at(sector << SECTOR_SHIFT, sectors << SECTOR_SHIFT);
        begin();
    }

    /** Submits one step after the other until one does not complete at once, or none is left. */
    void begin() {
        while (result == BlockStatus.OK) {
            BlockRequest next;
            if (flushBefore) {
                flushBefore = false;
                parts.stats().flushes().increment();
                next = flush;
            } else if (data) {
                data = false;
                next = operation == BlkifAbi.DISCARD ? discard : reading() ? read : write;
            } else if (flushBehind) {
                flushBehind = false;
                next = flush;
            } else {
                break;
            }
            if (!submit(next)) {
                return;
            }
        }
        switch (result) {
            case OK -> finish(BlkifAbi.OKAY);
            case UNSUPPORTED -> finish(BlkifAbi.EOPNOTSUPP);
            case IO_ERROR, NO_SPACE, READ_ONLY, OUT_OF_RANGE -> finish(BlkifAbi.ERROR);
        }
    }

    private boolean submit(BlockRequest request) {
        completedInline = false;
        submitting = true;
        queue.submitted();
        parts.block().submit(request, this);
        submitting = false;
        return completedInline;
    }

    @Override
    public void completed(BlockRequest request, BlockStatus status) {
        if (status != BlockStatus.OK) {
            result = status;
        }
        if (submitting) {
            completedInline = true;
            return;
        }
        begin();
        queue.afterCompletion();
    }

    private void finish(int status) {
        if (operation == BlkifAbi.READ && status == BlkifAbi.OKAY) {
            parts.memory().written(read.buffer());
        }
        for (int i = 0; i < claimedCount; i++) {
            parts.grants().release(claimed[i]);
        }
        claimedCount = 0;
        queue.finished(this, id, operation, status);
    }
}
