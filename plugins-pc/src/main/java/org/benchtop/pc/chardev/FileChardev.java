package org.benchtop.pc.chardev;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.EventLoop;

/** Writes guest output to a file and may type another file to the guest. A file that cannot be written loses output. */
final class FileChardev implements Chardev {
    private static final int INPUT_BYTES = 4096;
    private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(5);

    private final Path path;
    private final FrontendLink link;
    private final OutputQueue output;
    private final FileChannel channel;
    private final OutputPump pump;
    private final Optional<Thread> typist;
    private final Optional<InputStream> input;

    FileChardev(FileOptions options, ChardevContext context) {
        path = context.resolve(options.path());
        link = new FrontendLink(context.id(), INPUT_BYTES, context.stats().counter("input-bytes", "B"));
        output = new OutputQueue(link, Duration.ZERO, context.stats(), context.logger());
        link.otherSide(true);
        input = options.input().map(p -> openInput(context.resolve(p)));
        Set<OpenOption> how = new HashSet<>(Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE));
        how.add(options.append() ? StandardOpenOption.APPEND : StandardOpenOption.TRUNCATE_EXISTING);
        try {
            channel = FileChannel.open(path, how);
        } catch (IOException e) {
            closeInput();
            throw HostErrors.of("cannot open " + path + " for guest output", e);
        }
        pump = new OutputPump(context.id(), output, channel::write, e -> {
            context.logger()
                    .log(System.Logger.Level.ERROR, "guest output is lost from now on: " + HostErrors.reason(e), e);
            output.nobody(true);
        });
        typist = input.map(stream -> Thread.ofPlatform()
                .daemon()
                .name("chardev " + context.id() + " input")
                .start(() -> type(stream, context.logger())));
    }

    private static InputStream openInput(Path path) {
        try {
            if (Files.isDirectory(path)) {
                throw BenchtopException.host("cannot type " + path + " to the guest: it is a directory");
            }
            return Files.newInputStream(path);
        } catch (IOException e) {
            throw HostErrors.of("cannot open " + path + " as guest input", e);
        }
    }

    private void type(InputStream stream, System.Logger logger) {
        byte[] chunk = new byte[1024];
        try {
            int n = stream.read(chunk);
            while (n >= 0 && link.send(chunk, 0, n)) {
                n = stream.read(chunk);
            }
        } catch (IOException e) {
            logger.log(System.Logger.Level.WARNING, "guest input ends early: " + HostErrors.reason(e), e);
        }
    }

    private void closeInput() {
        input.ifPresent(stream -> {
            try {
                stream.close();
            } catch (IOException e) {
                throw HostErrors.of("cannot close the input of " + path, e);
            }
        });
    }

    @Override
    public void connect(ChardevFrontend frontend, EventLoop loop) {
        link.connect(frontend, loop);
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
        return "file " + path;
    }

    @Override
    public void close() {
        link.disconnect();
        link.close();
        output.close();
        pump.join(FLUSH_TIMEOUT);
        pump.stop();
        try {
            channel.close();
            typist.ifPresent(FileChardev::join);
            closeInput();
        } catch (IOException e) {
            throw HostErrors.of("cannot close " + path, e);
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join(Duration.ofSeconds(1));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
