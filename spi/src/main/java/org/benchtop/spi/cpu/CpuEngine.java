package org.benchtop.spi.cpu;

import org.benchtop.spi.PluginType;

/**
 * A way to execute guest code, chosen with {@code accel:}.
 *
 * @param <O> the options record
 */
public interface CpuEngine<O extends Record> extends PluginType<O> {
    /** Whether this engine works on this host, and if not, why. Cheap; may be asked often. */
    CpuProbe probe();

    /** {@code accel: auto} takes the usable engine of the highest preference. */
    int preference();

    /**
     * Whether operating systems run on this host: some hypervisors lack instructions in the most privileged mode. Asked
     * only of usable engines; may create a VM to find out. {@code accel: auto} prefers engines that say yes when a
     * machine starts a kernel.
     */
    default boolean runsKernels() {
        return true;
    }

    /** Creates a VM without memory and vCPUs. */
    CpuVm createVm(O options, CpuVmConfig config, CpuHost host);
}
