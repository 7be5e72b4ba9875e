package org.benchtop.xen;

/** A backend's end of an event channel. Any thread. */
interface EventChannel extends AutoCloseable {
    /** The guest's port. */
    int port();

    /** Signals the guest; does nothing if it has closed its port. Allocates nothing. */
    void signal();

    /** Unbinds; the guest's port waits for another backend then. */
    @Override
    void close();
}
