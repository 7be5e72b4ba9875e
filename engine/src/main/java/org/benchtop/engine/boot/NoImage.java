package org.benchtop.engine.boot;

import org.benchtop.spi.memory.GuestMemory;

/** Nothing to start: vCPU 0 begins at the reset vector with whatever is there. */
record NoImage() implements BootImage {
    @Override
    public String description() {
        return "nothing";
    }

    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        return CpuStates.reset();
    }
}
