package org.benchtop.spi.scsi;

/** Task management functions (SAM-5, 7.1). */
public enum ScsiTaskManagement {
    /** Aborts one command. */
    ABORT_TASK,
    /** Aborts an initiator's commands to a logical unit. */
    ABORT_TASK_SET,
    /** Aborts everybody's commands to a logical unit. */
    CLEAR_TASK_SET,
    /** Ends an auto contingent allegiance; there is never one. */
    CLEAR_ACA,
    /** Forgets an initiator: aborts its commands and releases its reservations. */
    I_T_NEXUS_RESET,
    /** Resets a logical unit. */
    LOGICAL_UNIT_RESET,
    /** Resets all logical units of a target. */
    TARGET_RESET,
    /** Resets all logical units of a target because the bus was reset; an adapter asks every target of its bus. */
    BUS_RESET,
    /** Asks whether a command is in flight. */
    QUERY_TASK,
    /** Asks whether any command of an initiator is in flight. */
    QUERY_TASK_SET;

    /** How a function ended. */
    public enum Result {
        /** Done; or the command that is asked for is not there. */
        COMPLETE,
        /** Done; and what is asked for is there. */
        SUCCEEDED,
        /** Not supported. */
        REJECTED,
        /** No such logical unit. */
        INCORRECT_LUN,
    }
}
