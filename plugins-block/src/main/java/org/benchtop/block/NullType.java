package org.benchtop.block;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;

/** {@code type: null}: stores nothing. */
final class NullType implements BlockBackendType<NullOptions> {
    @Override
    public String name() {
        return "null";
    }

    @Override
    public String summary() {
        return "Drops writes and reads zeroes, with a chosen latency: measures everything but the storage.";
    }

    @Override
    public Class<NullOptions> optionsType() {
        return NullOptions.class;
    }

    @Override
    public BlockBackend create(NullOptions options, BlockContext context) {
        return new NullBackend(options, context.clock());
    }
}
