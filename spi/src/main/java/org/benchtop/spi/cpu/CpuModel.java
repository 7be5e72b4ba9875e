package org.benchtop.spi.cpu;

import java.util.Map;

/**
 * Which CPU the guest sees.
 *
 * @param name {@code host}, {@code max}, or a model of the engine
 * @param features Linux-style feature names (as in /proc/cpuinfo) that are forced on or off
 */
public record CpuModel(String name, Map<String, Boolean> features) {
    /** The host's CPU as far as the engine can show it. */
    public static final CpuModel HOST = new CpuModel("host", Map.of());

    public CpuModel {
        features = Map.copyOf(features);
    }
}
