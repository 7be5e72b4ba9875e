package org.benchtop.shell;

import java.time.Duration;
import java.util.OptionalLong;
import org.benchtop.engine.config.Units;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Durations on the command line are written as in YAML. */
final class DurationConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
        OptionalLong nanos = Units.parseNanos(text);
        if (nanos.isEmpty()) {
            throw new TypeConversionException("expected a duration such as 500ms, 30s or 5m, got \"" + text + "\"");
        }
        return Duration.ofNanos(nanos.getAsLong());
    }
}
