package org.benchtop.spi.device;

import java.util.List;
import java.util.Map;
import org.benchtop.spi.state.SavedState;

/**
 * A device in a machine.
 *
 * <p>Life: created by its type, {@link #attach}, {@link #reset}, then guest accesses; {@link #close} at any time after
 * creation. Control methods are called one at a time and never while holding a lock that a register access needs.
 * Guest accesses come on vCPU threads; queue work and completions on the device's event loop. The device serialises
 * them itself with one lock, which it does not hold while it calls outward.
 */
public interface Device extends AutoCloseable {
    /** Claims ports, addresses, PCI functions and backends. Throws where they are taken or missing. */
    void attach(DeviceContext context);

    /**
     * Power-on state. vCPUs may be running. Requests in flight are cancelled or awaited <em>before</em> state is
     * cleared; when this returns, none of them touches guest memory or the backend any more.
     */
    void reset();

    /** Stops taking new work and returns when no request is in flight. vCPUs are stopped. */
    void pause();

    /** Goes on after {@link #pause}. */
    void resume();

    /** The state, while paused. */
    SavedState saveState();

    /** Sets the state, while paused, on a device with the same options. */
    void restoreState(SavedState state);

    /** The device's register tables, for inspection. */
    default List<RegisterMap<?>> registers() {
        return List.of();
    }

    /** Other live state for people, such as queues: name to a value or record. */
    default Map<String, Object> inspect() {
        return Map.of();
    }

    /** Releases everything, whatever state it is in. Nothing of the device runs any more when it returns. */
    @Override
    void close();
}
