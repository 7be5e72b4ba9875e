package org.benchtop.softcpu;

import org.benchtop.spi.Option;

/**
 * Options of {@code accel: {type: soft}}.
 *
 * @param icount whether guest time is the number of executed instructions, one vCPU runs at a time, and equal inputs give
 *     equal executions
 * @param jit whether hot code is translated to JVM bytecode
 */
public record SoftOptions(
        @Option(
                doc = "Guest time from the instruction count, one vCPU at a time: equal inputs give equal executions.",
                value = "off")
        boolean icount,

        @Option(doc = "Translates hot code to JVM bytecode.", value = "on")
        boolean jit) {}
