package org.benchtop.engine.linux;

/**
 * Something that completes work for a loop in its own way (io_uring, Linux AIO) and is waited for together with
 * everything else. All methods are called on the loop's thread.
 */
interface CompletionSource {
    /**
     * Hands what has been batched since the last call to the kernel. Called when handlers have run. Returns whether the
     * loop must come back at once.
     *
     * @param waitFollows the loop calls its {@link LoopWaiter} next; if that is the source, it can submit there
     */
    boolean flush(boolean waitFollows);

    /** Runs the completions that are there, without waiting; returns whether the loop must come back at once. */
    boolean reap();

    /** Frees everything; called when the loop ends. */
    void close();
}
