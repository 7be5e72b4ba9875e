package com.acme.benchtop;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceType;

final class AcmeCounterType implements DeviceType<AcmeCounterOptions> {
    @Override
    public String name() {
        return "acme-counter";
    }

    @Override
    public String summary() {
        return "A PCI counter with a limit interrupt and a doorbell that writes the count to guest memory.";
    }

    @Override
    public Class<AcmeCounterOptions> optionsType() {
        return AcmeCounterOptions.class;
    }

    @Override
    public Device create(AcmeCounterOptions options, CreateContext context) {
        return new AcmeCounter(options);
    }
}
