package org.benchtop.spi.image;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockContext;

/**
 * A way to keep a disk in a file: what is between the bytes of a file and the bytes of a disk.
 *
 * <p>Thread-safe. Errors are {@link BenchtopException}s of kind IMAGE for what is wrong with a file, of kind
 * UNSUPPORTED for what a format or this implementation cannot do.
 */
public interface ImageFormat {
    /** The name, such as {@code qcow2}. */
    String name();

    /** One sentence for people. */
    String summary();

    /**
     * Whether a file has this format's magic number. Only asked when somebody wants a file's format guessed.
     *
     * @param head the first bytes of the file, at most 64 KiB
     * @param tail the last bytes of the file, at most 512
     */
    boolean matches(MemorySegment head, MemorySegment tail);

    /** The options of {@link #create}; empty also for a format that cannot be created. */
    default List<ImageOption> createOptions() {
        return List.of();
    }

    /** Whether {@link #create} works. */
    default boolean creatable() {
        return false;
    }

    /** Makes a new image. Leaves no file behind when it fails. */
    default void create(ImageCreation creation, BlockContext context) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, "format " + name() + " is read-only: it cannot be created");
    }

    /** Opens an image. */
    Image open(ImageOpen how, BlockContext context);
}
