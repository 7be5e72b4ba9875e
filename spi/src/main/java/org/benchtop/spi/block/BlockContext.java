package org.benchtop.spi.block;

import org.benchtop.spi.CreateContext;

/** What a block backend is created with. */
public interface BlockContext extends CreateContext {
    /**
     * Another entry of {@code drives:}, for filters. The filter becomes its only user; the engine closes it after the
     * filter.
     */
    BlockBackend drive(String name);
}
