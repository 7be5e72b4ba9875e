package org.benchtop.block.filter;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;

/** {@code type: fault}: errors, delays, torn and lost writes by rule. */
public final class FaultType implements BlockBackendType<FaultOptions> {
    @Override
    public String name() {
        return "fault";
    }

    @Override
    public String summary() {
        return "Makes requests of another drive fail, wait, tear or get lost, by rule.";
    }

    @Override
    public Class<FaultOptions> optionsType() {
        return FaultOptions.class;
    }

    @Override
    public BlockBackend create(FaultOptions options, BlockContext context) {
        return new FaultBackend(options, context.drive(options.drive()), context.clock(), context.stats());
    }
}
