package org.benchtop.pc.common;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.state.SavedState;

/** Checks saved state before a device takes it. */
public final class SavedStates {
    private SavedStates() {}

    /**
     * The content of a state of version 1.
     *
     * @throws BenchtopException if it is of a newer version or of another device
     */
    public static <R extends Record> R content(SavedState state, Class<R> type, String device) {
        if (state.version() != 1) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    device + ": saved state has version " + state.version() + ", this build reads version 1");
        }
        if (!type.isInstance(state.content())) {
            throw BenchtopException.config(device + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        return type.cast(state.content());
    }
}
