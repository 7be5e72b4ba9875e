package com.acme.benchtop;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;

final class AcmeLatencyType implements BlockBackendType<AcmeLatencyOptions> {
    @Override
    public String name() {
        return "acme-latency";
    }

    @Override
    public String summary() {
        return "A filter that makes another drive slower by a fixed time per request.";
    }

    @Override
    public Class<AcmeLatencyOptions> optionsType() {
        return AcmeLatencyOptions.class;
    }

    @Override
    public BlockBackend create(AcmeLatencyOptions options, BlockContext context) {
        return new AcmeLatency(options, context.drive(options.drive()), context.clock(), context.stats());
    }
}
