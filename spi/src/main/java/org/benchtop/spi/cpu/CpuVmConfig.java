package org.benchtop.spi.cpu;

/**
 * What a VM is created with.
 *
 * @param machineName for messages and thread names
 * @param cpus the number of vCPUs that will be created
 * @param model the CPU to show to the guest
 */
public record CpuVmConfig(String machineName, int cpus, CpuModel model) {}
