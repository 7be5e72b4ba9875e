package org.benchtop.spi.cpu;

import java.util.List;

/**
 * What a probe found.
 *
 * @param usable whether VMs can be created
 * @param reason one line: why not, or what was found
 * @param capabilities names of optional capabilities that are there
 */
public record CpuProbe(boolean usable, String reason, List<String> capabilities) {
    public CpuProbe {
        capabilities = List.copyOf(capabilities);
    }
}
