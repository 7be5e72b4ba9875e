package org.benchtop.spi.image;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A range of a disk whose bytes come from one place.
 *
 * @param offsetBytes where it starts on the disk
 * @param lengthBytes how long it is
 * @param depth 0 if the image itself decides about the range, 1 if its backing does, and so on
 * @param present whether any image of the chain has the range allocated
 * @param zero whether it reads as zeroes
 * @param data whether space is allocated for it
 * @param compressed whether it is stored compressed
 * @param file the file that holds it
 * @param hostOffsetBytes where it is in {@code file}, if it is there as it is
 */
public record ImageExtent(
        long offsetBytes,
        long lengthBytes,
        int depth,
        boolean present,
        boolean zero,
        boolean data,
        boolean compressed,
        Optional<Path> file,
        OptionalLong hostOffsetBytes) {

    /** Where it ends. */
    public long endBytes() {
        return offsetBytes + lengthBytes;
    }

    /** The same range with another depth. */
    public ImageExtent below() {
        return new ImageExtent(
                offsetBytes, lengthBytes, depth + 1, present, zero, data, compressed, file, hostOffsetBytes);
    }

    /** Whether this extent continues another one, so that both are one. */
    public boolean continues(ImageExtent before) {
        return before.endBytes() == offsetBytes
                && before.depth == depth
                && before.present == present
                && before.zero == zero
                && before.data == data
                && before.compressed == compressed
                && before.file.equals(file)
                && before.hostOffsetBytes.isPresent() == hostOffsetBytes.isPresent()
                && (hostOffsetBytes.isEmpty()
                        || before.hostOffsetBytes.getAsLong() + before.lengthBytes == hostOffsetBytes.getAsLong());
    }

    /** This extent and the one that it continues as one. */
    public ImageExtent joinedTo(ImageExtent before) {
        return new ImageExtent(
                before.offsetBytes,
                before.lengthBytes + lengthBytes,
                depth,
                present,
                zero,
                data,
                compressed,
                file,
                before.hostOffsetBytes);
    }
}
