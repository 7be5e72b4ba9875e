package org.benchtop.system;

import java.nio.file.Path;
import org.benchtop.block.BlockPlugin;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.testkit.FakeCreateContext;

/** Opens backends of the built-in types on the real host. */
final class BlockTypes {
    private BlockTypes() {}

    static FakeCreateContext context(Path folder) {
        return new FakeCreateContext("disk0").folder(folder).host(new LinuxHost());
    }

    static <O extends Record> BlockBackend open(String type, O options, FakeCreateContext context) {
        for (BlockBackendType<?> candidate : new BlockPlugin().blockBackendTypes()) {
            if (candidate.name().equals(type)) {
                @SuppressWarnings("unchecked")
                BlockBackendType<O> found = (BlockBackendType<O>) candidate;
                return found.create(options, context);
            }
        }
        throw new AssertionError("no type " + type);
    }
}
