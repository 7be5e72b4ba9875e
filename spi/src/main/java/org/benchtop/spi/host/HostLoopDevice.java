package org.benchtop.spi.host;

import java.nio.file.Path;

/** A file that the host shows as a block device. */
public interface HostLoopDevice extends AutoCloseable {
    /** The device, such as {@code /dev/loop0}. */
    Path path();

    /** Detaches it once nobody has it open any more. */
    @Override
    void close();
}
