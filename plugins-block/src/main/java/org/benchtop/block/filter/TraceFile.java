package org.benchtop.block.filter;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.stats.Counter;

/**
 * A trace as it is written: text, one line per request in the order of completion, {@code START LATENCY QUEUE KIND OFFSET
 * LENGTH STATUS}, times in nanoseconds. Lines are formatted where requests complete and written by a thread of their own,
 * so that event loops never wait for the disk; when that thread is far behind, records are dropped and counted.
 */
final class TraceFile implements AutoCloseable {
    static final String HEADER = "# benchtop block trace 1";

    private static final System.Logger LOG = System.getLogger("org.benchtop.block");
    private static final int BUFFER_BYTES = 4 << 20;
    /** More than the longest line. */
    private static final int LINE_BYTES = 160;

    private static final byte[] DIGITS = "0123456789".getBytes(StandardCharsets.US_ASCII);

    private final Path path;
    private final OutputStream out;
    private final Counter dropped;
    private final Thread writer;
    /** Filled under the monitor. */
    private byte[] filling = new byte[BUFFER_BYTES];

    private byte[] spare = new byte[BUFFER_BYTES];
    private int used;
    private long lost;
    private boolean closed;

    private TraceFile(Path path, OutputStream out, Counter dropped) {
        this.path = path;
        this.out = out;
        this.dropped = dropped;
        this.writer = Thread.ofPlatform().name("benchtop-trace").daemon(true).unstarted(this::write);
    }

    /** Begins a trace. */
    static TraceFile create(Path path, BlockCapabilities capabilities, Counter dropped) {
        try {
            OutputStream out = Files.newOutputStream(path);
            out.write((HEADER + " size=" + capabilities.sizeBytes() + " block=" + capabilities.logicalBlockSizeBytes()
                            + "\n")
                    .getBytes(StandardCharsets.US_ASCII));
            TraceFile file = new TraceFile(path, out, dropped);
            file.writer.start();
            return file;
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, path + ": the trace cannot be written: " + e.getMessage(), e);
        }
    }

    Path path() {
        return path;
    }

    /** Adds a request. Any thread; allocates nothing. */
    synchronized void record(long startNanos, long latencyNanos, int queue, BlockRequest request, BlockStatus status) {
        if (closed || used > BUFFER_BYTES - LINE_BYTES) {
            lost++;
            dropped.increment();
            return;
        }
        number(startNanos);
        number(latencyNanos);
        number(queue);
        word(kind(request));
        number(request.offsetBytes());
        number(request.lengthBytes());
        word(status.name());
        filling[used - 1] = '\n';
        if (used > BUFFER_BYTES / 64) {
            notifyAll();
        }
    }

    private static String kind(BlockRequest request) {
        return switch (request) {
            case BlockRequest.Read read -> "read";
            case BlockRequest.Write write -> write.durable() ? "write-fua" : "write";
            case BlockRequest.Flush flush -> "flush";
            case BlockRequest.Discard discard -> "discard";
            case BlockRequest.WriteZeroes zeroes -> zeroes.mayUnmap() ? "write-zeroes-unmap" : "write-zeroes";
        };
    }

    private void word(String text) {
        for (int i = 0; i < text.length(); i++) {
            filling[used++] = (byte) text.charAt(i);
        }
        filling[used++] = ' ';
    }

    private void number(long value) {
        long rest = value;
        if (rest < 0) {
            filling[used++] = '-';
            rest = rest == Long.MIN_VALUE ? Long.MAX_VALUE : -rest;
        }
        int digits = 1;
        for (long probe = rest / 10; probe > 0; probe /= 10) {
            digits++;
        }
        for (int i = digits - 1; i >= 0; i--) {
            filling[used + i] = DIGITS[(int) (rest % 10)];
            rest /= 10;
        }
        used += digits;
        filling[used++] = ' ';
    }

    private void write() {
        try (out) {
            while (true) {
                byte[] full;
                int length;
                synchronized (this) {
                    if (used == 0 && !closed) {
                        wait(200);
                    }
                    full = filling;
                    length = used;
                    filling = spare;
                    used = 0;
                    if (length == 0 && closed) {
                        if (lost > 0) {
                            out.write(("# " + lost + " requests are missing: the disk was too slow\n")
                                    .getBytes(StandardCharsets.US_ASCII));
                        }
                        return;
                    }
                }
                out.write(full, 0, length);
                spare = full;
            }
        } catch (IOException e) {
            LOG.log(System.Logger.Level.WARNING, path + ": the trace ends early: " + e.getMessage());
            synchronized (this) {
                closed = true;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Writes what is left. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        boolean interrupted = false;
        while (writer.isAlive()) {
            try {
                writer.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
