package org.benchtop.engine.linux;

/**
 * Something that completes work for a loop in its own way (io_uring, Linux AIO) and is waited for together with
 * everything else. All methods are called on the loop's thread.
 */
interface CompletionSource {
    /** Hands what has been batched since the last call to the kernel. Called when handlers have run. */
    void flush();

    /** Runs the completions that are there, without waiting; returns whether there were any. */
    boolean reap();

    /** Frees everything; called when the loop ends. */
    void close();
}
