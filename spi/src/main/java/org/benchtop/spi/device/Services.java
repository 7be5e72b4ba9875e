package org.benchtop.spi.device;

import java.util.Optional;

/** Interfaces that devices of a machine offer to each other and to boot loaders. Thread-safe. */
public interface Services {
    /** Offers an implementation; throws if there is one already. Withdrawn when the device is closed. */
    <T> void provide(Class<T> type, T implementation);

    /** The implementation, if a device attached earlier offers one. */
    <T> Optional<T> find(Class<T> type);
}
