package org.benchtop.block.image;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.host.HostFile;

/** Reads the structures of an image's file; whatever is missing or wrong is an error of kind IMAGE that names the file. */
final class ImageReader {
    private final Path path;
    private final HostFile file;
    private final long fileBytes;

    ImageReader(Path path, HostFile file) {
        this.path = path;
        this.file = file;
        this.fileBytes = file.sizeBytes();
    }

    Path path() {
        return path;
    }

    long fileBytes() {
        return fileBytes;
    }

    /** Reads all of a structure. */
    ByteBuffer read(String what, long offset, int length, ByteOrder order) {
        if (offset < 0 || offset > fileBytes - length) {
            throw error(what + " at " + offset + " with " + length + " bytes is beyond the end of the file, which has "
                    + fileBytes + " bytes");
        }
        byte[] bytes = new byte[length];
        if (file.read(offset, MemorySegment.ofArray(bytes)) < length) {
            throw error(what + " at " + offset + " cannot be read");
        }
        return ByteBuffer.wrap(bytes).order(order);
    }

    BenchtopException error(String what) {
        return BenchtopException.of(ErrorKind.IMAGE, path + ": " + what);
    }

    BenchtopException unsupported(String what) {
        return BenchtopException.of(ErrorKind.UNSUPPORTED, path + ": " + what);
    }
}
