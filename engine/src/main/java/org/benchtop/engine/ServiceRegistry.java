package org.benchtop.engine;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** What devices of a machine offer to each other. Thread-safe. */
final class ServiceRegistry {
    private record Offer(String owner, Object implementation) {}

    private final Map<Class<?>, Offer> offers = new HashMap<>();

    synchronized <T> AutoCloseable provide(String owner, Class<T> type, T implementation) {
        Offer offer = new Offer(owner, implementation);
        Offer other = offers.putIfAbsent(type, offer);
        if (other != null) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    type.getSimpleName() + " of " + owner + " is provided by " + other.owner
                            + " already: only one device of this kind is allowed");
        }
        return () -> withdraw(type, offer);
    }

    private synchronized void withdraw(Class<?> type, Offer offer) {
        offers.remove(type, offer);
    }

    synchronized <T> Optional<T> find(Class<T> type) {
        return Optional.ofNullable(offers.get(type)).map(o -> type.cast(o.implementation));
    }
}
