package org.benchtop.spi.device;

import java.util.List;
import java.util.Map;
import org.benchtop.spi.cpu.CpuVmFeatures;

/** A board for the {@code machine:} key: the devices that are there without being listed. */
public interface MachineType {
    /** The name in YAML. */
    String name();

    /** One sentence. */
    String summary();

    /** The board's devices, in the order of attachment. */
    List<PlatformDevice> platformDevices(Request request);

    /** RAM below 4 GiB ends here at most; more RAM continues at 4 GiB. */
    long memoryHoleBase();

    /**
     * What the devices depend on.
     *
     * @param cpus number of vCPUs
     * @param memoryBytes RAM
     * @param cpuFeatures what the CPU engine brings along
     * @param firmware whether firmware starts the guest
     */
    record Request(int cpus, long memoryBytes, CpuVmFeatures cpuFeatures, boolean firmware) {}

    /**
     * One device of the board; a device of the same {@code id} under {@code devices:} replaces it.
     *
     * @param id unique name
     * @param type device type
     * @param options as in YAML
     */
    record PlatformDevice(String id, String type, Map<String, Object> options) {}
}
