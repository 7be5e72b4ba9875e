package org.benchtop.block;

import java.nio.file.Files;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.host.HostLoopDevice;

/** {@code type: phy}: a block device of the host, or a file behind a loop device. */
final class PhyType implements BlockBackendType<PhyOptions> {
    @Override
    public String name() {
        return "phy";
    }

    @Override
    public String summary() {
        return "A block device of the host, or a file through a loop device.";
    }

    @Override
    public Class<PhyOptions> optionsType() {
        return PhyOptions.class;
    }

    @Override
    public BlockBackend create(PhyOptions options, BlockContext context) {
        if (options.loop().isPresent()) {
            return loop(context.resolve(options.loop().get()), options, context);
        }
        Path device = context.resolve(options.device().orElseThrow());
        if (Files.isRegularFile(device)) {
            throw BenchtopException.config(
                    device + " is a file, not a block device: use type: file, or loop instead of" + " device");
        }
        return new FileType().create(options.onDevice(device), context);
    }

    private static BlockBackend loop(Path file, PhyOptions options, BlockContext context) {
        HostLoopDevice loop = context.host()
                .attachLoop(file, options.readOnly(), options.cache().direct());
        try {
            return new OnLoop(file, loop, new FileType().create(options.onDevice(loop.path()), context));
        } catch (RuntimeException e) {
            loop.close();
            throw e;
        }
    }

    /** A loop device and what is opened on it. */
    private record OnLoop(Path file, HostLoopDevice loop, BlockBackend backend) implements BlockBackend {
        @Override
        public BlockCapabilities capabilities() {
            return backend.capabilities();
        }

        @Override
        public BlockQueue openQueue(EventLoop eventLoop) {
            return backend.openQueue(eventLoop);
        }

        @Override
        public String describe() {
            return file + " on " + backend.describe();
        }

        @Override
        public void close() {
            try (loop) {
                backend.close();
            }
        }
    }
}
