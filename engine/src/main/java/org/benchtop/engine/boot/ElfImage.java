package org.benchtop.engine.boot;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.memory.GuestMemory;

/** Being written. */
record ElfImage(String description) implements BootImage {
    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, description);
    }
}
