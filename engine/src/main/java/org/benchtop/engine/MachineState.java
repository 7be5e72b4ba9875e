package org.benchtop.engine;

/** Where a machine is in its life. */
public enum MachineState {
    /** Assembled, never started. */
    CREATED,
    /** vCPUs are running. */
    RUNNING,
    /** vCPUs stand still, devices are idle, guest time stands. */
    PAUSED,
    /** The guest has ended or was stopped; it can be inspected. */
    STOPPED,
    /** Everything is released. */
    CLOSED,
}
