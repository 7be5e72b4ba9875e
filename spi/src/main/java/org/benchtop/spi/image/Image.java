package org.benchtop.spi.image;

import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockExtent;
import org.jspecify.annotations.Nullable;

/**
 * An open image.
 *
 * <p>Besides being a disk it answers questions about itself and can be changed as a whole. Those methods wait for the
 * host, so they are for the control plane; those that change something need that no queue is open.
 */
public interface Image extends BlockBackend {
    /** What it is. */
    ImageInfo info();

    /**
     * Where the bytes at a position come from.
     *
     * @param offsetBytes less than the disk's size
     * @param lengthBytes at least 1; the answer is about as much or less
     */
    ImageExtent extent(long offsetBytes, long lengthBytes);

    @Override
    default BlockExtent blockStatus(long offsetBytes, long lengthBytes) {
        ImageExtent extent = extent(offsetBytes, lengthBytes);
        long length = Math.min(extent.lengthBytes(), lengthBytes);
        return new BlockExtent(offsetBytes, length, extent.data(), extent.zero());
    }

    /** Where all bytes of a range come from, in order; neighbours that continue each other are given as one. */
    default void extents(long offsetBytes, long lengthBytes, Consumer<ImageExtent> visitor) {
        @Nullable ImageExtent before = null;
        long end = offsetBytes + lengthBytes;
        for (long at = offsetBytes; at < end; ) {
            ImageExtent next = extent(at, end - at);
            at = next.endBytes();
            if (before != null && next.continues(before)) {
                before = next.joinedTo(before);
            } else {
                if (before != null) {
                    visitor.accept(before);
                }
                before = next;
            }
        }
        if (before != null) {
            visitor.accept(before);
        }
    }

    /** The image below, if it is open. */
    default Optional<Image> backing() {
        return Optional.empty();
    }

    /** Looks for faults in the image's own data, and repairs them if asked. */
    default ImageCheck check(ImageCheck.Repair repair) {
        throw unsupported("check");
    }

    /** The states inside. */
    default List<ImageSnapshot> snapshots() {
        return List.of();
    }

    /** Keeps the present state. */
    default void createSnapshot(String name) {
        throw unsupported("snapshots");
    }

    /** Goes back to a state, by id or name; what was written since is lost. */
    default void applySnapshot(String idOrName) {
        throw unsupported("snapshots");
    }

    /** Shows a state, by id or name, instead of the present one; only in an image that is opened read-only. */
    default void viewSnapshot(String idOrName) {
        throw unsupported("snapshots");
    }

    /** Forgets a state, by id or name. */
    default void deleteSnapshot(String idOrName) {
        throw unsupported("snapshots");
    }

    /** Changes the disk's size; making it smaller cuts data off. */
    default void resize(long sizeBytes) {
        throw unsupported("resize");
    }

    /** Allocates all space now, as the image's preallocation of that name does. */
    default void preallocate(String preallocation) {
        throw unsupported("preallocation " + preallocation);
    }

    /** Changes the name of the image below in the header only. */
    default void changeBacking(Optional<ImageBacking> backing) {
        throw unsupported("backing files");
    }

    /** Drops everything that this image itself holds, so that it reads as what is below. */
    default void makeEmpty() {
        throw unsupported("emptying");
    }

    private BenchtopException unsupported(String what) {
        ImageInfo info = info();
        return BenchtopException.of(
                ErrorKind.UNSUPPORTED, info.file() + ": " + what + ": not supported by format " + info.format());
    }
}
