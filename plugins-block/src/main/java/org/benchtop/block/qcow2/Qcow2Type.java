package org.benchtop.block.qcow2;

import java.nio.file.Path;
import org.benchtop.block.ImageFile;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
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
            return format.open(file, how, context, options.l2CacheSize(), options.refcountCacheSize());
        }
        return format.open(how, context, options.l2CacheSize(), options.refcountCacheSize());
    }
}
