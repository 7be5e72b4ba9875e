package org.benchtop.block.filter;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;

/** {@code type: throttle}: limits requests and bytes per second. */
public final class ThrottleType implements BlockBackendType<ThrottleOptions> {
    @Override
    public String name() {
        return "throttle";
    }

    @Override
    public String summary() {
        return "Limits the requests and bytes per second of another drive, with bursts.";
    }

    @Override
    public Class<ThrottleOptions> optionsType() {
        return ThrottleOptions.class;
    }

    @Override
    public BlockBackend create(ThrottleOptions options, BlockContext context) {
        return new ThrottleBackend(options, context.drive(options.drive()), context.clock(), context.stats());
    }
}
