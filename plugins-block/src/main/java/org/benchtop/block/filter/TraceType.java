package org.benchtop.block.filter;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;

/** {@code type: trace}: writes every request down. */
public final class TraceType implements BlockBackendType<TraceOptions> {
    @Override
    public String name() {
        return "trace";
    }

    @Override
    public String summary() {
        return "Records the requests to another drive in a file, which `benchtop image replay` repeats.";
    }

    @Override
    public Class<TraceOptions> optionsType() {
        return TraceOptions.class;
    }

    @Override
    public BlockBackend create(TraceOptions options, BlockContext context) {
        BlockBackend inner = context.drive(options.drive());
        TraceFile file = TraceFile.create(
                context.resolve(options.file()),
                inner.capabilities(),
                context.stats().counter("dropped"));
        return new TraceBackend(inner, file, context.clock());
    }
}
