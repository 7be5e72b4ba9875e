package com.acme.benchtop;

import java.util.List;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.device.DeviceType;

/** What this jar adds to Benchtop; named in {@code META-INF/services/org.benchtop.spi.Plugin}. */
public final class AcmePlugin implements Plugin {
    @Override
    public String name() {
        return "acme";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(new AcmeCounterType());
    }

    @Override
    public List<BlockBackendType<?>> blockBackendTypes() {
        return List.of(new AcmeLatencyType());
    }
}
