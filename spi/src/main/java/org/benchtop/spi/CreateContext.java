package org.benchtop.spi;

import java.nio.file.Path;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.stats.Stats;

/** What the engine hands to every factory method. Usable from any thread. */
public interface CreateContext {
    /** The entry's unique name in its machine, such as {@code disk0} or {@code virtio-blk-pci.0}. */
    String id();

    /** Resolves a path against the folder of the YAML file. */
    Path resolve(Path path);

    /** Named counters of this entry. */
    Stats stats();

    /** Logs under this entry's name. */
    System.Logger logger();

    /** Files, terminals and other things of the host. */
    HostServices host();
}
