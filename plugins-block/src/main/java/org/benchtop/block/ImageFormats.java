package org.benchtop.block;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.benchtop.block.qcow2.Qcow2Format;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.ImageFormat;

/** The image formats that come with Benchtop. */
public final class ImageFormats {
    private static final int HEAD_BYTES = 64 << 10;
    private static final int TAIL_BYTES = 512;

    private ImageFormats() {}

    /** All of them; raw is the last, as it matches everything. */
    public static List<ImageFormat> all() {
        return List.of(new Qcow2Format(), new RawFormat());
    }

    /** A format by name; {@code what} is where the name comes from. */
    public static ImageFormat byName(String name, String what) {
        for (ImageFormat format : all()) {
            if (format.name().equals(name)) {
                return format;
            }
        }
        throw BenchtopException.of(
                ErrorKind.IMAGE,
                what + ": unknown image format \"" + name + "\" (known: "
                        + String.join(
                                ", ",
                                all().stream().map(ImageFormat::name).sorted().toList()) + ")");
    }

    /** The format whose magic number a file has; only for when somebody asks for a guess. */
    public static ImageFormat probe(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long size = channel.size();
            ByteBuffer head = ByteBuffer.allocateDirect((int) Math.min(HEAD_BYTES, size));
            ByteBuffer tail = ByteBuffer.allocateDirect((int) Math.min(TAIL_BYTES, size));
            fill(channel, head, 0);
            fill(channel, tail, size - tail.capacity());
            for (ImageFormat format : all()) {
                if (format.matches(MemorySegment.ofBuffer(head.flip()), MemorySegment.ofBuffer(tail.flip()))) {
                    return format;
                }
            }
            return new RawFormat();
        } catch (java.nio.file.NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": no such file", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private static void fill(FileChannel channel, ByteBuffer buffer, long start) throws IOException {
        while (buffer.hasRemaining() && channel.read(buffer, start + buffer.position()) > 0) {
            continue;
        }
    }
}
