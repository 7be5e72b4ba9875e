package org.benchtop.engine.boot;

import java.nio.charset.StandardCharsets;
import org.benchtop.spi.memory.GuestMemory;

/**
 * An embedded guest program: a kernel that is told the frequency of its time-stamp counter, so that its figures do not
 * rest on a calibration that a busy host can spoil.
 */
record GuestProgramImage(KernelImage kernel) implements BootImage {
    private static final String TSC_KEY = "tsc_khz=";

    @Override
    public String description() {
        return kernel.description();
    }

    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        String words = new String(kernel.cmdline(), StandardCharsets.UTF_8);
        if (facts.tscKilohertz().isEmpty() || words.contains(TSC_KEY)) {
            return kernel.apply(memory, facts);
        }
        String told = (words + " " + TSC_KEY + facts.tscKilohertz().getAsLong()).strip();
        return kernel.withCmdline(told).apply(memory, facts);
    }
}
