package org.benchtop.spi.block;

/** What a device does with a request that its drive could not carry out. Names and meaning as QEMU's rerror, werror. */
public enum ErrorPolicy {
    /** The guest gets the error. */
    REPORT,
    /** The machine stops; when it goes on, the request is tried again. */
    STOP,
    /** The guest is told that all is well. */
    IGNORE,
    /** Stops for {@link BlockStatus#NO_SPACE} and reports everything else. */
    ENOSPC;

    /** What to do about one request. */
    public enum Action {
        /** Tell the guest. */
        REPORT,
        /** Keep the request, stop the machine, and submit the request again when it goes on. */
        STOP,
        /** Complete the request as if it had succeeded. */
        IGNORE,
    }

    /**
     * The action for a request that ended with {@code status}. Only what the host failed to do is a matter of policy: a
     * request that could never succeed is always reported.
     */
    public Action action(BlockStatus status) {
        boolean hostFailed = status == BlockStatus.IO_ERROR || status == BlockStatus.NO_SPACE;
        if (!hostFailed) {
            return Action.REPORT;
        }
        return switch (this) {
            case REPORT -> Action.REPORT;
            case STOP -> Action.STOP;
            case IGNORE -> Action.IGNORE;
            case ENOSPC -> status == BlockStatus.NO_SPACE ? Action.STOP : Action.REPORT;
        };
    }
}
