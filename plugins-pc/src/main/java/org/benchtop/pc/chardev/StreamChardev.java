package org.benchtop.pc.chardev;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.host.HostStream;

/** A chardev on a non-blocking stream of the host, moved by the machine's event loop. */
final class StreamChardev implements Chardev {
    private static final int CHUNK_BYTES = 4096;
    private static final int INPUT_BYTES = 4096;
    private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(1);

    private final HostStream stream;
    private final String description;
    private final InputFilter filter;
    private final Optional<Path> linkFile;
    private final FrontendLink link;
    private final OutputQueue output;
    private final Doorbell flush;
    private final EventLoop loop;
    private final System.Logger logger;
    private final byte[] outBuffer = new byte[CHUNK_BYTES];
    private final byte[] inBuffer = new byte[CHUNK_BYTES];
    private Optional<FdWatch> watch = Optional.empty();
    private boolean wantReadable = true;
    private boolean wantWritable;
    private boolean inputEnded;
    private boolean broken;
    private boolean closed;
    private final AtomicBoolean closing = new AtomicBoolean();

    /** Looks at host input before the guest gets it. */
    interface InputFilter {
        /** Filters in place; returns the number of bytes that are left for the guest. */
        int filter(byte[] buffer, int lengthBytes);

        /** Hands over what the filter needs to act on the chardev. */
        default void bind(FrontendLink link, OutputQueue output) {}
    }

    /** @param linkFile a symbolic link to remove at the end */
    StreamChardev(
            HostStream stream,
            String description,
            Duration patience,
            InputFilter filter,
            Optional<Path> linkFile,
            ChardevContext context) {
        this.stream = stream;
        this.linkFile = linkFile;
        this.description = description;
        this.filter = filter;
        loop = context.eventLoop();
        logger = context.logger();
        link = new FrontendLink(context.id(), INPUT_BYTES, context.stats().counter("input-bytes", "B"));
        output = new OutputQueue(link, patience, context.stats(), context.logger());
        filter.bind(link, output);
        flush = loop.doorbell("chardev " + context.id() + " output", this::flush);
        output.onData(flush::ring);
        link.onRoom(() -> loop.execute(this::resumeReading));
        link.otherSide(true);
        loop.call(this::updateInterest);
    }

    private void ready(boolean readable, boolean writable) {
        if (closed) {
            return;
        }
        if (readable && wantReadable) {
            readInput();
        }
        if (writable && wantWritable) {
            flush();
        }
    }

    private void readInput() {
        int room = Math.min(link.room(), inBuffer.length);
        if (room == 0) {
            wantReadable = false;
            updateInterest();
            return;
        }
        int n;
        try {
            n = stream.read(inBuffer, 0, room);
        } catch (BenchtopException e) {
            logger.log(System.Logger.Level.WARNING, "no more input: {0}", e.getMessage());
            n = -1;
        }
        if (n < 0) {
            inputEnded = true;
            wantReadable = false;
            updateInterest();
            return;
        }
        int left = filter.filter(inBuffer, n);
        link.offer(inBuffer, 0, left);
    }

    private void resumeReading() {
        if (!closed && !inputEnded && !wantReadable) {
            wantReadable = true;
            updateInterest();
        }
    }

    /** Moves queued output on until it is gone or the stream takes no more. */
    private void flush() {
        while (!closed && !broken) {
            int n = output.peek(outBuffer);
            if (n == 0) {
                break;
            }
            int written;
            try {
                written = stream.write(outBuffer, 0, n);
            } catch (BenchtopException e) {
                logger.log(System.Logger.Level.WARNING, "no more output: {0}", e.getMessage());
                written = -1;
            }
            if (written < 0) {
                broken = true;
                output.nobody(true);
                link.otherSide(false);
                break;
            }
            output.consumed(written);
            if (written < n) {
                setWantWritable(true);
                return;
            }
        }
        setWantWritable(false);
    }

    private void setWantWritable(boolean want) {
        if (wantWritable != want) {
            wantWritable = want;
            updateInterest();
        }
    }

    /** Without interest there is no watch: a hang-up, which is always reported, would keep the loop busy. */
    private void updateInterest() {
        if (closed || !wantReadable && !wantWritable) {
            watch.ifPresent(FdWatch::close);
            watch = Optional.empty();
            return;
        }
        if (watch.isEmpty()) {
            watch = Optional.of(stream.watch(loop, this::ready));
        }
        watch.get().interest(wantReadable, wantWritable);
    }

    @Override
    public void connect(ChardevFrontend frontend, EventLoop frontendLoop) {
        link.connect(frontend, frontendLoop);
    }

    @Override
    public void disconnect() {
        link.disconnect();
    }

    @Override
    public int write(byte[] buffer, int offset, int lengthBytes) {
        return output.put(buffer, offset, lengthBytes);
    }

    @Override
    public boolean write(byte value) {
        return output.put(value);
    }

    @Override
    public void resumeInput() {
        link.resumeInput();
    }

    @Override
    public String describe() {
        return description;
    }

    @Override
    public void close() {
        if (closing.getAndSet(true)) {
            return;
        }
        link.disconnect();
        output.close();
        if (!loop.inLoop()) {
            flush.ring();
            output.awaitEmpty(FLUSH_TIMEOUT);
        }
        loop.call(() -> {
            flush();
            closed = true;
            updateInterest();
        });
        flush.close();
        link.close();
        stream.close();
        if (linkFile.isPresent()) {
            try {
                Files.deleteIfExists(linkFile.get());
            } catch (IOException e) {
                throw HostErrors.of("cannot remove the link " + linkFile.get(), e);
            }
        }
    }

    /** A filter that lets everything pass. */
    static InputFilter noFilter() {
        return (buffer, lengthBytes) -> lengthBytes;
    }
}
