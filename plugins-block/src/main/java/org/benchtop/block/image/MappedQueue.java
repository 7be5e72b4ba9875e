package org.benchtop.block.image;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.List;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.benchtop.block.RequestCheck;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFileQueue;

/** Reads of a {@link MappedImage}, one run after the other. */
final class MappedQueue implements BlockQueue {
    private static final int EINTR = 4;
    /** Sector number and size before a compressed grain. */
    private static final int MARKER_BYTES = 12;

    private final MappedImage image;
    private final List<HostFileQueue> files;
    private final ArrayDeque<Job> free = new ArrayDeque<>();

    MappedQueue(MappedImage image, List<HostFileQueue> files) {
        this.image = image;
        this.files = files;
    }

    @Override
    public void submit(BlockRequest request, BlockCompletion completion) {
        BlockStatus status = RequestCheck.check(request, image.capabilities());
        if (status == BlockStatus.OK && request instanceof BlockRequest.Read read && read.lengthBytes() > 0) {
            Job job = free.isEmpty() ? new Job() : free.pop();
            job.start(read, completion);
        } else {
            completion.completed(request, status);
        }
    }

    @Override
    public void kick() {
        files.forEach(HostFileQueue::kick);
    }

    @Override
    public void close() {
        files.forEach(HostFileQueue::close);
    }

    private final class Job {
        private final FileOperation operation = new FileOperation((done, result) -> operationDone(result));
        private final Place place = new Place();
        private BlockRequest.Read request = new BlockRequest.Read();
        private BlockCompletion completion = (done, status) -> {};
        private long doneBytes;
        private boolean submitting;
        private boolean completedInline;
        private long inlineResult;
        /** A compressed grain with its marker, as it is in the file. */
        private MemorySegment stored = MemorySegment.NULL;

        private byte[] unpacked = {};
        /** Which grain {@link #unpacked} holds; -1 for none. */
        private long unpackedGrain = -1;

        void start(BlockRequest.Read read, BlockCompletion newCompletion) {
            request = read;
            completion = newCompletion;
            doneBytes = 0;
            unpackedGrain = -1;
            run();
        }

        private void run() {
            while (doneBytes < request.lengthBytes()) {
                place.grainStart = 0;
                image.map().find(request.offsetBytes() + doneBytes, request.lengthBytes() - doneBytes, place);
                switch (place.kind) {
                    case ZERO -> {
                        request.buffer().fill(doneBytes, place.lengthBytes, (byte) 0);
                        doneBytes += place.lengthBytes;
                        continue;
                    }
                    case DATA -> {
                        operation.vector().clear();
                        operation.vector().addFrom(request.buffer(), doneBytes, place.lengthBytes);
                    }
                    case COMPRESSED -> {
                        if (place.grainStart == unpackedGrain) {
                            copyUnpacked();
                            continue;
                        }
                        prepareStored();
                    }
                }
                operation.set(
                        FileOperation.Kind.READ,
                        place.fileOffset,
                        operation.vector().sizeBytes());
                completedInline = false;
                submitting = true;
                files.get(place.file).submit(operation);
                submitting = false;
                if (!completedInline) {
                    return;
                }
                if (!took(inlineResult)) {
                    finish(BlockStatus.IO_ERROR);
                    return;
                }
            }
            finish(BlockStatus.OK);
        }

        private void operationDone(long result) {
            if (submitting) {
                completedInline = true;
                inlineResult = result;
            } else if (took(result)) {
                run();
                kick();
            } else {
                finish(BlockStatus.IO_ERROR);
            }
        }

        /** Uses what was read; the same place is looked up again after an interrupt or a short read. */
        private boolean took(long result) {
            if (result == -EINTR) {
                return true;
            }
            if (result <= 0) {
                return false;
            }
            if (place.kind == Place.Kind.DATA) {
                doneBytes += result;
                return true;
            }
            return unpack(result);
        }

        private void prepareStored() {
            // Deflate never needs more than this for data that does not shrink.
            long most = MARKER_BYTES + place.grainBytes + place.grainBytes / 1000 + 64L;
            if (stored.byteSize() < most) {
                stored = Arena.ofAuto().allocate(most, 16);
            }
            operation.vector().clear();
            operation.vector().add(stored, 0, most);
        }

        private boolean unpack(long storedBytes) {
            if (storedBytes < MARKER_BYTES) {
                return false;
            }
            long packed = stored.get(ValueLayout.JAVA_INT_UNALIGNED, 8) & 0xffff_ffffL;
            if (packed > storedBytes - MARKER_BYTES) {
                return false;
            }
            if (unpacked.length < place.grainBytes) {
                unpacked = new byte[place.grainBytes];
            }
            Inflater inflater = new Inflater();
            try {
                inflater.setInput(stored.asSlice(MARKER_BYTES, packed).asByteBuffer());
                int got = 0;
                while (got < place.grainBytes) {
                    int more = inflater.inflate(unpacked, got, place.grainBytes - got);
                    if (more == 0) {
                        return false;
                    }
                    got += more;
                }
            } catch (DataFormatException e) {
                return false;
            } finally {
                inflater.end();
            }
            unpackedGrain = place.grainStart;
            return true;
        }

        private void copyUnpacked() {
            long inGrain = request.offsetBytes() + doneBytes - place.grainStart;
            request.buffer().copyFrom(doneBytes, MemorySegment.ofArray(unpacked), inGrain, place.lengthBytes);
            doneBytes += place.lengthBytes;
        }

        private void finish(BlockStatus status) {
            BlockRequest.Read done = request;
            BlockCompletion told = completion;
            free.push(this);
            told.completed(done, status);
        }
    }
}
