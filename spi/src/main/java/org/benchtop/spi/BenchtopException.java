package org.benchtop.spi;

import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The one exception type of Benchtop: a kind, one line for people, and named facts for programs.
 *
 * <p>The message names what is wrong, where, and what is allowed. It never spans more than one line.
 */
public final class BenchtopException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorKind kind;
    private final transient Map<String, Object> context;

    private BenchtopException(ErrorKind kind, String message, Map<String, Object> context, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
        this.context = Map.copyOf(context);
    }

    public static BenchtopException of(ErrorKind kind, String message) {
        return new BenchtopException(kind, message, Map.of(), null);
    }

    public static BenchtopException of(ErrorKind kind, String message, Throwable cause) {
        return new BenchtopException(kind, message, Map.of(), cause);
    }

    public static BenchtopException of(
            ErrorKind kind, String message, Map<String, Object> context, @Nullable Throwable cause) {
        return new BenchtopException(kind, message, context, cause);
    }

    /** Shorthand for {@link ErrorKind#CONFIG}. */
    public static BenchtopException config(String message) {
        return of(ErrorKind.CONFIG, message);
    }

    /** Shorthand for {@link ErrorKind#HOST}. */
    public static BenchtopException host(String message) {
        return of(ErrorKind.HOST, message);
    }

    /** The one line, which is always there. */
    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }

    /** Whose mistake this is. */
    public ErrorKind kind() {
        return kind;
    }

    /** Named facts about the error, for programs; empty after serialisation. */
    public Map<String, Object> context() {
        return Optional.ofNullable(context).orElse(Map.of());
    }
}
