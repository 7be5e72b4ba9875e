package org.benchtop.engine.kvm;

import java.nio.file.Path;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuProbe;
import org.benchtop.spi.cpu.CpuVmConfig;

/** Runs guest code on the host's CPU through Linux KVM. Stateless; any thread. */
public final class KvmEngine implements CpuEngine<KvmOptions> {
    private static final int PREFERENCE = 100;

    @Override
    public String name() {
        return "kvm";
    }

    @Override
    public String summary() {
        return "Runs guest code on the host's CPU through Linux KVM.";
    }

    @Override
    public Class<KvmOptions> optionsType() {
        return KvmOptions.class;
    }

    @Override
    public int preference() {
        return PREFERENCE;
    }

    @Override
    public CpuProbe probe() {
        return probe(KvmOptions.DEFAULTS.device());
    }

    /** {@link #probe()} of another device; creates a VM and drops it again, because only that shows that it works. */
    CpuProbe probe(Path device) {
        try (KvmSystem system = KvmSystem.open(device)) {
            system.closeFd(system.createVm());
            return new CpuProbe(true, system.describe(), system.capabilities());
        } catch (BenchtopException e) {
            return new CpuProbe(false, String.valueOf(e.getMessage()), List.of());
        }
    }

    @Override
    public boolean runsKernels() {
        return KernelCheck.passes(KvmOptions.DEFAULTS.device());
    }

    @Override
    public KvmVm createVm(KvmOptions options, CpuVmConfig config, CpuHost host) {
        return KvmVm.create(options, config, host);
    }
}
