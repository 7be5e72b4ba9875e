package org.benchtop.softcpu;

import java.util.List;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.cpu.CpuEngine;

/** Brings the CPU engine {@code soft}. */
public final class SoftCpuPlugin implements Plugin {
    @Override
    public String name() {
        return "softcpu";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<CpuEngine<?>> cpuEngines() {
        return List.of(new SoftEngine());
    }
}
