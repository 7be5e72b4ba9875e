package org.benchtop.shell.image;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.engine.config.Units;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.stats.EntryStats;
import org.benchtop.engine.stats.MachineStats;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;

/** What all commands need: formats, the host, ways to open images and to print. */
final class ImageTool implements BlockContext, AutoCloseable {
    private static final int HEAD_BYTES = 64 << 10;
    private static final int TAIL_BYTES = 512;
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private final CommandSpec command;
    private final PluginRegistry plugins = PluginRegistry.builtIn();
    private final LinuxHost host = new LinuxHost();
    private final EntryStats stats = new MachineStats().entry("image");

    ImageTool(CommandSpec command) {
        this.command = command;
    }

    PrintWriter out() {
        return command.commandLine().getOut();
    }

    PrintWriter err() {
        return command.commandLine().getErr();
    }

    // BlockContext.

    @Override
    public String id() {
        return "image";
    }

    @Override
    public Path resolve(Path path) {
        return path;
    }

    @Override
    public EntryStats stats() {
        return stats;
    }

    @Override
    public System.Logger logger() {
        return System.getLogger("org.benchtop.image");
    }

    @Override
    public HostServices host() {
        return host;
    }

    @Override
    public BlockBackend drive(String name) {
        throw BenchtopException.config("there is no drive \"" + name + "\"");
    }

    // Formats.

    ImageFormat format(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        // As qemu-img calls it.
        return plugins.imageFormat(lower.equals("vpc") ? "vhd" : lower);
    }

    /**
     * The given format, or the one whose magic number the file has. A guess that the file's name does not confirm is
     * said, as whoever can write to a raw image can make it look like something else.
     */
    ImageFormat format(Path file, @Nullable String given) {
        if (given != null) {
            return format(given);
        }
        ImageFormat found = probe(file);
        String name = String.valueOf(file.getFileName());
        if (!found.name().equals("raw") && !name.toLowerCase(Locale.ROOT).contains(found.name())) {
            err().println("benchtop: " + file + ": taken for " + found.name() + " by its content (say -f "
                    + found.name() + " or -f raw)");
        }
        return found;
    }

    private ImageFormat probe(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long size = channel.size();
            ByteBuffer head = ByteBuffer.allocateDirect((int) Math.min(HEAD_BYTES, size));
            ByteBuffer tail = ByteBuffer.allocateDirect((int) Math.min(TAIL_BYTES, size));
            fill(channel, head, 0);
            fill(channel, tail, size - tail.capacity());
            for (ImageFormat format : plugins.imageFormats()) {
                if (!format.name().equals("raw")
                        && format.matches(MemorySegment.ofBuffer(head.flip()), MemorySegment.ofBuffer(tail.flip()))) {
                    return format;
                }
            }
            return format("raw");
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": no such file", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private static void fill(FileChannel channel, ByteBuffer buffer, long start) throws IOException {
        int got = 0;
        while (buffer.hasRemaining() && got >= 0) {
            got = channel.read(buffer, start + buffer.position());
        }
    }

    // Images.

    Image open(ImageOpen how, @Nullable String format) {
        return format(how.file(), format).open(how, this);
    }

    /** The bytes of a file that are on the disk; its size where the host does not say. */
    long allocatedBytes(Path path) {
        try (HostFile file = host.openFile(new HostFileOptions(
                path, false, false, false, false, HostFileOptions.Lock.NONE, HostFileOptions.Aio.THREADS, 1))) {
            long size = file.sizeBytes();
            long sum = 0;
            for (long at = file.nextData(0); at < size; at = file.nextData(at)) {
                long hole = file.nextHole(at);
                sum += hole - at;
                at = hole;
                if (at >= size) {
                    break;
                }
            }
            return sum;
        }
    }

    // Words.

    static long size(String text) {
        OptionalLong bytes = Units.parseSize(text.matches(".*[kKmMgGtTpPeE]") ? text + "iB" : text);
        return bytes.orElseThrow(() -> BenchtopException.config(
                "\"" + text + "\" is not a size: expected a number with an optional suffix k, M, G, T"));
    }

    static CacheMode cache(String text) {
        for (CacheMode mode : CacheMode.values()) {
            if (mode.name().equalsIgnoreCase(text)) {
                return mode;
            }
        }
        throw BenchtopException.config(
                "cache mode \"" + text + "\": allowed: none, writeback, unsafe, directsync, writethrough");
    }

    static HostFileOptions.Aio aio(String text) {
        return switch (text) {
            case "auto" -> HostFileOptions.Aio.AUTO;
            case "threads" -> HostFileOptions.Aio.THREADS;
            case "native" -> HostFileOptions.Aio.NATIVE;
            case "io_uring" -> HostFileOptions.Aio.IO_URING;
            default -> throw BenchtopException.config("aio \"" + text + "\": allowed: auto, threads, native, io_uring");
        };
    }

    /** Options as in {@code -o a=b,c=d}; a comma in a value is written twice. */
    static Map<String, String> options(List<String> lists) {
        Map<String, String> options = new LinkedHashMap<>();
        for (String list : lists) {
            for (String part : split(list)) {
                int equals = part.indexOf('=');
                if (equals < 0) {
                    options.put(part.replace('-', '_'), "on");
                } else {
                    options.put(part.substring(0, equals).replace('-', '_'), part.substring(equals + 1));
                }
            }
        }
        return options;
    }

    private static List<String> split(String list) {
        List<String> parts = new ArrayList<>();
        StringBuilder part = new StringBuilder();
        for (int i = 0; i < list.length(); i++) {
            char c = list.charAt(i);
            if (c != ',') {
                part.append(c);
            } else if (i + 1 < list.length() && list.charAt(i + 1) == ',') {
                part.append(c);
                i++;
            } else {
                parts.add(part.toString());
                part.setLength(0);
            }
        }
        if (!part.isEmpty()) {
            parts.add(part.toString());
        }
        return parts;
    }

    static boolean json(String output) {
        return switch (output) {
            case "human" -> false;
            case "json" -> true;
            default -> throw BenchtopException.config("--output=" + output + ": allowed: human, json");
        };
    }

    void print(Object json) {
        try {
            out().println(JSON.writeValueAsString(json));
            out().flush();
        } catch (JsonProcessingException e) {
            throw BenchtopException.of(ErrorKind.INTERNAL, "cannot write JSON: " + e.getMessage(), e);
        }
    }

    /** A size as qemu-img prints it: {@code 64 MiB}, {@code 196 KiB}. */
    static String humanSize(long bytes) {
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        int unit = 0;
        double value = bytes;
        while (value >= 1000 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        String digits = new java.math.BigDecimal(value)
                .round(new java.math.MathContext(3))
                .stripTrailingZeros()
                .toPlainString();
        return digits + " " + units[unit];
    }

    static Optional<String> optional(@Nullable String text) {
        return Optional.ofNullable(text);
    }

    /** Memory for transfers, kept for the rest of the command. */
    static MemorySegment memory(long bytes) {
        return Arena.global().allocate(bytes, 4096);
    }

    /** The name under which an unfinished image is written. */
    static Path unfinished(Path file) {
        return file.resolveSibling("." + file.getFileName() + ".unfinished");
    }

    static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be removed: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        out().flush();
        plugins.close();
    }
}
