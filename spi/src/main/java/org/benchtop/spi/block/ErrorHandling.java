package org.benchtop.spi.block;

import java.util.function.Consumer;

/**
 * What one disk device does with requests that its drive could not carry out: its two policies, and how it stops the
 * machine. Shared by all kinds of disk. Thread-safe.
 *
 * <p>A device that is answered {@link ErrorPolicy.Action#STOP} keeps the request out of the guest's sight and not in
 * flight, so that the machine can be paused, then calls {@link #stop}; its {@code resume} begins the request again, its
 * {@code reset} forgets it, and its saved state contains it.
 */
public final class ErrorHandling {
    private final String deviceId;
    private final BlockBackend backend;
    private final ErrorPolicy rerror;
    private final ErrorPolicy werror;
    private final Consumer<String> stopMachine;

    /**
     * Error handling of one device.
     *
     * @param deviceId for the reason of a pause
     * @param rerror for reads
     * @param werror for writes, flushes, discards and write-zeroes
     * @param stopMachine pauses the machine for the given reason, such as {@code MachineControl::requestPause}
     */
    public ErrorHandling(
            String deviceId,
            BlockBackend backend,
            ErrorPolicy rerror,
            ErrorPolicy werror,
            Consumer<String> stopMachine) {
        this.deviceId = deviceId;
        this.backend = backend;
        this.rerror = rerror;
        this.werror = werror;
        this.stopMachine = stopMachine;
    }

    /** What to do about a request that has ended with {@code status}, which is not {@link BlockStatus#OK}. */
    public ErrorPolicy.Action onError(boolean read, BlockStatus status) {
        return (read ? rerror : werror).action(status);
    }

    /**
     * Pauses the machine because of a request.
     *
     * @param request what was asked for, such as {@code write 4096 bytes at sector 8}
     */
    public void stop(String request, BlockStatus why) {
        stopMachine.accept(deviceId + ": " + (why == BlockStatus.NO_SPACE ? "no space left for " : "I/O error in ")
                + request + " (" + backend.describe() + ")");
    }
}
