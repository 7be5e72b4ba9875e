package org.benchtop.engine.kvm;

import java.util.List;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.cpu.CpuEngine;

/** Brings the CPU engine {@code kvm}. */
public final class KvmPlugin implements Plugin {
    private static final List<CpuEngine<?>> ENGINES = List.of(new KvmEngine());

    @Override
    public String name() {
        return "kvm";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<CpuEngine<?>> cpuEngines() {
        return ENGINES;
    }
}
