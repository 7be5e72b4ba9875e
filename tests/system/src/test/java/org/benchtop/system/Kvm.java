package org.benchtop.system;

import java.util.Optional;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.cpu.CpuProbe;
import org.junit.jupiter.api.Assumptions;

/** Skips tests where KVM is not usable, saying why. */
final class Kvm {
    private Kvm() {}

    static void assume() {
        try (PluginRegistry plugins = PluginRegistry.builtIn()) {
            Optional<CpuProbe> probe = plugins.cpuEngines().stream()
                    .filter(e -> e.name().equals("kvm"))
                    .map(CpuEngine::probe)
                    .findFirst();
            Assumptions.assumeTrue(
                    probe.map(CpuProbe::usable).orElse(false),
                    () -> "needs KVM: " + probe.map(CpuProbe::reason).orElse("the engine is not there"));
        }
    }
}
