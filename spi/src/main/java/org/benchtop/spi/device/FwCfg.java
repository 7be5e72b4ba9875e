package org.benchtop.spi.device;

import java.util.function.Supplier;

/** The firmware configuration device: files that firmware reads. */
public interface FwCfg {
    /** Adds a file, such as {@code etc/e820}; the supplier is asked at each reset. */
    void addFile(String name, Supplier<byte[]> content);
}
