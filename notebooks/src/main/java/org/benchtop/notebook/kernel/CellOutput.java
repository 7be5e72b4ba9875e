package org.benchtop.notebook.kernel;

import com.google.gson.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.benchtop.notebook.wire.Channels;
import org.benchtop.notebook.wire.Json;
import org.jspecify.annotations.Nullable;

/**
 * Gathers what cells print into few messages: at most one every {@value #INTERVAL_MILLIS} ms or {@value #MAX_BYTES}
 * bytes. Thread-safe. The order of standard output and standard error is kept.
 */
final class CellOutput implements AutoCloseable {
    private static final int INTERVAL_MILLIS = 40;
    private static final int MAX_BYTES = 32 << 10;
    private static final int MAX_CODE_POINT_BYTES = 4;

    private final Channels channels;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final Thread flusher;
    private @Nullable Cell cell;
    private String stream = "";
    private boolean closed;

    CellOutput(Channels channels) {
        this.channels = channels;
        flusher = Thread.ofPlatform().daemon().name("jupyter-output").start(this::flushRegularly);
    }

    /** A print stream whose text is shown as {@code stdout} or {@code stderr} of the printing thread's cell. */
    PrintStream printStream(String name) {
        return new PrintStream(
                new OutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        write(new byte[] {(byte) b}, 0, 1);
                    }

                    @Override
                    public void write(byte[] data, int offset, int length) throws IOException {
                        append(name, data, offset, length);
                    }
                },
                false,
                StandardCharsets.UTF_8);
    }

    private void append(String name, byte[] data, int offset, int length) throws IOException {
        @Nullable Cell owner = Cell.current();
        boolean full;
        synchronized (this) {
            if (bytes.size() > 0 && (owner != cell || !name.equals(stream))) {
                emit(true);
            }
            if (bytes.size() == 0) {
                notifyAll();
            }
            cell = owner;
            stream = name;
            bytes.write(data, offset, length);
            full = bytes.size() >= MAX_BYTES;
            if (full) {
                emit(false);
            }
        }
        if (full) {
            try {
                channels.awaitRoom();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("printing was interrupted");
            }
        }
    }

    /** Sends what has been printed so far. */
    synchronized void flush() {
        emit(true);
    }

    /** Sends what is complete; the start of a character whose end is not written yet waits, unless all is wanted. */
    private void emit(boolean all) {
        if (bytes.size() == 0) {
            return;
        }
        byte[] data = bytes.toByteArray();
        int length = all ? data.length : completeLength(data);
        bytes.reset();
        bytes.write(data, length, data.length - length);
        JsonObject parent = cell == null ? new JsonObject() : cell.header();
        channels.publish(
                "stream",
                parent,
                Json.object("name", stream, "text", new String(data, 0, length, StandardCharsets.UTF_8)));
    }

    private static int completeLength(byte[] data) {
        for (int back = 1; back <= Math.min(MAX_CODE_POINT_BYTES - 1, data.length); back++) {
            int lead = data[data.length - back] & 0xff;
            if (lead < 0x80) {
                break;
            }
            if (lead >= 0xc0) {
                int needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
                return needed > back ? data.length - back : data.length;
            }
        }
        return data.length;
    }

    private void flushRegularly() {
        try {
            while (true) {
                synchronized (this) {
                    while (bytes.size() == 0 && !closed) {
                        wait();
                    }
                    if (closed) {
                        return;
                    }
                }
                TimeUnit.MILLISECONDS.sleep(INTERVAL_MILLIS);
                try {
                    synchronized (this) {
                        emit(false);
                    }
                } catch (OutOfMemoryError e) {
                    // A cell has eaten the heap; what it printed follows when there is room again.
                    TimeUnit.MILLISECONDS.sleep(INTERVAL_MILLIS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            emit(true);
            closed = true;
            notifyAll();
        }
        flusher.interrupt();
    }
}
