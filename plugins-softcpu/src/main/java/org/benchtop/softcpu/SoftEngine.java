package org.benchtop.softcpu;

import java.util.List;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuProbe;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmConfig;

/** Runs guest code with an x86-64 processor written in Java. Works wherever Java does. Stateless; any thread. */
public final class SoftEngine implements CpuEngine<SoftOptions> {
    private static final int PREFERENCE = 10;

    @Override
    public String name() {
        return "soft";
    }

    @Override
    public String summary() {
        return "Runs guest code with an x86-64 processor written in Java; needs nothing from the host.";
    }

    @Override
    public Class<SoftOptions> optionsType() {
        return SoftOptions.class;
    }

    @Override
    public CpuProbe probe() {
        return new CpuProbe(true, "software CPU", List.of());
    }

    @Override
    public int preference() {
        return PREFERENCE;
    }

    @Override
    public CpuVm createVm(SoftOptions options, CpuVmConfig config, CpuHost host) {
        return new SoftVm(options, config, host);
    }
}
