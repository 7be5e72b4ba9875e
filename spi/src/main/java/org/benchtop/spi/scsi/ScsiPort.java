package org.benchtop.spi.scsi;

/**
 * One event loop's way to a target. Every method is called on that loop, without a lock that the completion needs, except
 * where it says otherwise.
 */
public interface ScsiPort extends AutoCloseable {
    /**
     * Says what a command will move, without starting it: {@link ScsiCommand#direction},
     * {@link ScsiCommand#expectedBytes} and {@link ScsiCommand#mediumTransfer}. For adapters that must know before they
     * have buffers; others go straight to {@link #execute}. The data lists are not looked at. A command that can be seen
     * to fail moves nothing.
     */
    void prepare(ScsiCommand command);

    /**
     * Starts a command. The completion is called exactly once, on this loop: later, or before this method returns. Until
     * then the command and its data belong to the target. Never throws for what the command asks.
     *
     * <p>Several commands may be in flight. READ and WRITE allocate nothing once warm.
     */
    void execute(ScsiCommand command, ScsiCompletion completion);

    /** Ends a burst: what was started is with the drive when this returns. */
    void kick();

    /**
     * Task management (SAM-5, 7). Commands that it aborts complete as {@link ScsiCommand.Outcome#ABORTED} first, on their
     * own loops; then {@code done} is called on this loop, later or before this method returns. After that nothing of an
     * aborted command is read, written or reported any more.
     *
     * @param lun as in {@link ScsiCommand#begin}; ignored for functions of the target or nexus
     * @param tag for ABORT TASK and QUERY TASK
     * @param initiator who asks
     */
    void manage(ScsiTaskManagement function, int lun, long tag, int initiator, Done done);

    /** The owner waits for everything in flight: whoever delays requests on purpose lets these go. */
    void drain();

    /** Frees the port. Nothing is in flight. Any thread. */
    @Override
    void close();

    /** Told when task management is done. */
    @FunctionalInterface
    interface Done {
        /** The function has ended. */
        void done(ScsiTaskManagement.Result result);
    }
}
