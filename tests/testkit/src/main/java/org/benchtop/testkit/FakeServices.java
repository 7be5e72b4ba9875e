package org.benchtop.testkit;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Services;

/** A map of services. */
public final class FakeServices implements Services {
    private final Map<Class<?>, Object> byType = new ConcurrentHashMap<>();

    @Override
    public <T> void provide(Class<T> type, T implementation) {
        if (byType.putIfAbsent(type, implementation) != null) {
            throw BenchtopException.config("service " + type.getSimpleName() + " is already provided");
        }
    }

    @Override
    public <T> Optional<T> find(Class<T> type) {
        return Optional.ofNullable(byType.get(type)).map(type::cast);
    }
}
