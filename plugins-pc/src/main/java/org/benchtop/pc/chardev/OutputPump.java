package org.benchtop.pc.chardev;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.function.Consumer;

/** A thread that moves an output queue into something that blocks. */
final class OutputPump {
    private static final int CHUNK_BYTES = 8192;

    private final OutputQueue output;
    private final Sink sink;
    private final Consumer<IOException> onFailure;
    private final Thread thread;
    private volatile boolean stopped;

    /** Where output goes. */
    @FunctionalInterface
    interface Sink {
        /** Writes some or all of the buffer, waiting. */
        void write(ByteBuffer buffer) throws IOException;
    }

    /**
     * Starts pumping.
     *
     * @param onFailure told once if the sink fails, on the pump's thread, which then ends
     */
    OutputPump(String name, OutputQueue output, Sink sink, Consumer<IOException> onFailure) {
        this.output = output;
        this.sink = sink;
        this.onFailure = onFailure;
        thread =
                Thread.ofPlatform().daemon().name("chardev " + name + " output").start(this::run);
    }

    private void run() {
        byte[] chunk = new byte[CHUNK_BYTES];
        try {
            while (!stopped) {
                int n = output.awaitPeek(chunk, this::isStopped);
                if (n < 0) {
                    return;
                }
                ByteBuffer buffer = ByteBuffer.wrap(chunk, 0, n);
                while (buffer.hasRemaining() && !stopped) {
                    int before = buffer.position();
                    sink.write(buffer);
                    output.consumed(buffer.position() - before);
                }
            }
        } catch (IOException e) {
            if (!stopped) {
                onFailure.accept(e);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isStopped() {
        return stopped;
    }

    /** Stops without waiting for what is queued; the sink must have been closed if it may block. */
    void stop() {
        stopped = true;
        output.wake();
        join(Duration.ofSeconds(5));
    }

    /** Waits for the thread; false if it has not ended. */
    boolean join(Duration timeout) {
        if (Thread.currentThread() == thread) {
            return true;
        }
        try {
            return thread.join(timeout);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
