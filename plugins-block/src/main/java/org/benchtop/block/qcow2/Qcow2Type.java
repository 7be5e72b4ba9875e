package org.benchtop.block.qcow2;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.benchtop.block.ImageFile;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageOpen;

/** {@code type: qcow2}. */
public final class Qcow2Type implements BlockBackendType<Qcow2Options> {
    @Override
    public String name() {
        return "qcow2";
    }

    @Override
    public String summary() {
        return "A qcow2 image: copy-on-write, snapshots, compression, backing files.";
    }

    @Override
    public Class<Qcow2Options> optionsType() {
        return Qcow2Options.class;
    }

    @Override
    public BlockBackend create(Qcow2Options options, BlockContext context) {
        Path path = context.resolve(
                options.file().orElseGet(() -> Path.of(options.backend().orElse(""))));
        ImageOpen how = new ImageOpen(
                path,
                !options.readOnly(),
                options.cache(),
                options.aio(),
                options.threads(),
                options.lock(),
                options.discard() == Qcow2Options.Discard.UNMAP,
                true,
                options.backingFormat(),
                false,
                false);
        Qcow2Format format = new Qcow2Format();
        if (options.backend().isPresent()) {
            BlockBackend below = context.drive(options.backend().get());
            ImageFile file = ImageFile.over(path, new BorrowedBackend(below));
            return sized(format.open(file, how, context, options.l2CacheSize(), options.refcountCacheSize()), options);
        }
        if (options.create() && !Files.exists(path)) {
            format.create(new ImageCreation(path, options.size().orElseThrow(), Optional.empty(), Map.of()), context);
        }
        return sized(format.open(how, context, options.l2CacheSize(), options.refcountCacheSize()), options);
    }

    /** Brings the disk to the wanted size. */
    private static Image sized(Image image, Qcow2Options options) {
        long now = image.info().virtualBytes();
        long wanted = options.size().orElse(now);
        if (wanted == now) {
            return image;
        }
        try {
            String sizes = image.info().file() + " is a disk of " + now + " bytes, size asks for " + wanted;
            if (wanted < now) {
                throw BenchtopException.config(sizes + ": cut it with \"benchtop image resize --shrink\"");
            }
            if (options.readOnly()) {
                throw BenchtopException.config(sizes + ": a read-only disk cannot be resized");
            }
            image.resize(wanted);
            return image;
        } catch (RuntimeException e) {
            image.close();
            throw e;
        }
    }
}
