package org.benchtop.block.image;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;

/** Formats {@code vhd}, {@code vhdx} and {@code vmdk} for the image tool: to look at, to compare and to convert from. */
public final class ReadOnlyImageFormat implements ImageFormat {
    private final ReadOnlyImageType type;
    private final List<String> magics;

    private ReadOnlyImageFormat(ReadOnlyImageType.Format format, String... magics) {
        this.type = new ReadOnlyImageType(format);
        this.magics = List.of(magics);
    }

    /**
     * All of them. A fixed VHD has its mark only at its end, where any raw disk may have the same bytes: it is never
     * guessed.
     */
    public static List<ImageFormat> all() {
        return List.of(
                new ReadOnlyImageFormat(ReadOnlyImageType.Format.VHD, "conectix"),
                new ReadOnlyImageFormat(ReadOnlyImageType.Format.VHDX, "vhdxfile"),
                new ReadOnlyImageFormat(ReadOnlyImageType.Format.VMDK, "KDMV", VmdkDescriptor.FIRST_LINE));
    }

    @Override
    public String name() {
        return type.name();
    }

    @Override
    public String summary() {
        return type.summary();
    }

    @Override
    public boolean matches(MemorySegment head, MemorySegment tail) {
        for (String magic : magics) {
            byte[] bytes = magic.getBytes(StandardCharsets.US_ASCII);
            if (head.byteSize() >= bytes.length
                    && new String(
                                    head.asSlice(0, bytes.length).toArray(ValueLayout.JAVA_BYTE),
                                    StandardCharsets.ISO_8859_1)
                            .equals(magic)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public Image open(ImageOpen how, BlockContext context) {
        if (how.writable()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    how.file() + ": format " + name() + " is read-only (convert it to qcow2 or raw to change it)");
        }
        return type.open(new ReadOnlyImageOptions(how.file(), how.aio(), how.lock()), context);
    }
}
