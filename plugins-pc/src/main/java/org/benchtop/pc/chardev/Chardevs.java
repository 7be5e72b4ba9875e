package org.benchtop.pc.chardev;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.spi.host.HostStream;

/** The character backends of this plugin. */
public final class Chardevs {
    private Chardevs() {}

    /** All types. */
    public static List<ChardevType<?>> types() {
        return List.of(
                new ChardevEntry<>("stdio", "this process's terminal or pipes", StdioOptions.class, Chardevs::stdio),
                new ChardevEntry<>("file", "a file for output, and one for input", FileOptions.class, FileChardev::new),
                new ChardevEntry<>("pty", "a new pseudo-terminal", PtyOptions.class, Chardevs::pty),
                new ChardevEntry<>("socket", "a TCP or Unix socket", SocketOptions.class, SocketChardev::new),
                new ChardevEntry<>(
                        "memory", "a buffer that scripts read and type into", MemoryOptions.class, MemoryChardev::new),
                new ChardevEntry<>(
                        "null",
                        "drops output and has no input",
                        NoOptions.class,
                        (options, context) -> new NullChardev()));
    }

    private static Chardev stdio(StdioOptions options, ChardevContext context) {
        HostStream stream = context.host().stdio(true);
        boolean keys = switch (options.escape()) {
            case AUTO -> stream.terminal();
            case ON -> true;
            case OFF -> false;
        };
        StreamChardev.InputFilter filter = keys
                ? new TerminalKeys(options.signal(), context::requestStop, context::requestResume)
                : StreamChardev.noFilter();
        return new StreamChardev(
                stream,
                stream.terminal() ? "stdio (Ctrl-A h for help)" : "stdio",
                options.patience(),
                filter,
                Optional.empty(),
                context);
    }

    private static Chardev pty(PtyOptions options, ChardevContext context) {
        HostStream stream = context.host().openPty();
        Optional<Path> link = options.link().map(context::resolve);
        if (link.isPresent()) {
            try {
                if (Files.isSymbolicLink(link.get())) {
                    Files.delete(link.get());
                }
                Files.createSymbolicLink(link.get(), Path.of(stream.name()));
            } catch (IOException e) {
                stream.close();
                throw HostErrors.of("cannot make the link " + link.get() + " to " + stream.name(), e);
            }
        }
        context.logger().log(System.Logger.Level.INFO, "{0} is at {1}", context.id(), stream.name());
        return new StreamChardev(
                stream, "pty " + stream.name(), options.patience(), StreamChardev.noFilter(), link, context);
    }
}
