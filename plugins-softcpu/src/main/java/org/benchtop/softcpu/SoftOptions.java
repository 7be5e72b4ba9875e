package org.benchtop.softcpu;

import org.benchtop.spi.Option;

/**
 * Options of {@code accel: {type: soft}}.
 *
 * @param jit whether hot code is translated to JVM bytecode
 * @param icount whether guest time is counted in instructions, so that runs repeat
 */
public record SoftOptions(
        @Option(doc = "Translates hot code to JVM bytecode.", value = "on")
        boolean jit,

        @Option(
                doc =
                        "Counts guest time in instructions and lets one vCPU run at a time: the same inputs give the same "
                                + "execution.",
                value = "off")
        boolean icount) {}
