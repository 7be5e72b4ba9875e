package org.benchtop.softcpu;

import org.benchtop.spi.Option;

/**
 * Options of {@code accel: {type: soft}}.
 *
 * @param jit whether hot code is translated to JVM bytecode
 */
public record SoftOptions(
        @Option(doc = "Translates hot code to JVM bytecode.", value = "on")
        boolean jit) {}
