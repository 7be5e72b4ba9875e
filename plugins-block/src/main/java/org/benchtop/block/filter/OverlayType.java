package org.benchtop.block.filter;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.block.FileOptions;
import org.benchtop.block.FileType;
import org.benchtop.block.MemoryOptions;
import org.benchtop.block.MemoryType;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;

/** {@code type: overlay}: changes to another drive that are thrown away. */
public final class OverlayType implements BlockBackendType<OverlayOptions> {
    @Override
    public String name() {
        return "overlay";
    }

    @Override
    public String summary() {
        return "Keeps all changes to another drive in memory or a temporary file and throws them away at the end.";
    }

    @Override
    public Class<OverlayOptions> optionsType() {
        return OverlayOptions.class;
    }

    @Override
    public BlockBackend create(OverlayOptions options, BlockContext context) {
        BlockBackend base = context.drive(options.drive());
        BlockCapabilities capabilities = base.capabilities();
        BlockBackend changes = switch (options.store()) {
            case MEMORY ->
                new MemoryType()
                        .create(
                                new MemoryOptions(
                                        Optional.of(capabilities.sizeBytes()),
                                        Optional.empty(),
                                        false,
                                        capabilities.logicalBlockSizeBytes()),
                                context);
            case FILE -> temporaryFile(options, capabilities, context);
        };
        return new OverlayBackend(base, changes);
    }

    private static BlockBackend temporaryFile(
            OverlayOptions options, BlockCapabilities capabilities, BlockContext context) {
        Path folder = options.folder().map(context::resolve).orElse(Path.of(System.getProperty("java.io.tmpdir")));
        Path file;
        try {
            file = Files.createTempFile(folder, "benchtop-overlay-", ".tmp");
        } catch (IOException e) {
            throw BenchtopException.of(
                    ErrorKind.HOST, folder + ": no temporary file can be made: " + e.getMessage(), e);
        }
        try {
            return new FileType()
                    .create(
                            new FileOptions(
                                    file,
                                    Optional.of(capabilities.sizeBytes()),
                                    false,
                                    false,
                                    false,
                                    CacheMode.UNSAFE,
                                    HostFileOptions.Aio.AUTO,
                                    4,
                                    FileOptions.DiscardMode.UNMAP,
                                    true,
                                    capabilities.logicalBlockSizeBytes(),
                                    Optional.empty()),
                            context);
        } finally {
            // Open, it lives on without a name until the process ends, however that happens.
            delete(file);
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            System.getLogger("org.benchtop.block")
                    .log(System.Logger.Level.WARNING, file + " stays behind: " + e.getMessage());
        }
    }
}
