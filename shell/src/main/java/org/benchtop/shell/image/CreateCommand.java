package org.benchtop.shell.image;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.spi.image.ImageOption;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image create}. */
@Command(name = "create", description = "Make an image. -o help lists a format's options.")
final class CreateCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            defaultValue = "raw",
            description = "The format (default: raw).")
    String format = "raw";

    @Option(
            names = {"-b", "--backing"},
            paramLabel = "FILE",
            description = "The image below.")
    @Nullable
    String backing;

    @Option(
            names = {"-F", "--backing-format"},
            paramLabel = "FMT",
            description = "The format of the image below.")
    @Nullable
    String backingFormat;

    @Option(names = "-o", paramLabel = "OPTIONS", description = "Options of the format: NAME=VALUE,…")
    List<String> options = new ArrayList<>();

    @Option(
            names = {"-u", "--unsafe"},
            description = "Do not look at the image below; then the size must be given.")
    boolean unsafe;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Parameters(index = "0", paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Parameters(index = "1", arity = "0..1", paramLabel = "SIZE", description = "The disk's size, such as 20G.")
    @Nullable
    String size;

    @Override
    public Integer call() {
        try (ImageTool tool = new ImageTool(command)) {
            ImageFormat kind = tool.format(format);
            if (options.contains("help") || options.contains("?")) {
                tool.out().println("Options of " + kind.name() + ":");
                for (ImageOption option : kind.createOptions()) {
                    tool.out()
                            .println("  " + option.name() + " - " + option.doc()
                                    + (option.defaultText().isEmpty()
                                            ? ""
                                            : " (default: " + option.defaultText() + ")"));
                }
                return 0;
            }
            ImageCreation creation = creation(tool);
            kind.create(creation, tool);
            if (!quiet) {
                tool.out()
                        .println("Formatting '" + file + "', fmt=" + kind.name() + " size=" + creation.sizeBytes()
                                + creation.backing()
                                        .map(below -> " backing_file=" + below.file()
                                                + below.format()
                                                        .map(f -> " backing_fmt=" + f)
                                                        .orElse(""))
                                        .orElse("")
                                + options(creation.options()));
            }
            return 0;
        }
    }

    private static String options(Map<String, String> options) {
        StringBuilder text = new StringBuilder();
        options.forEach(
                (name, value) -> text.append(' ').append(name).append('=').append(value));
        return text.toString();
    }

    private ImageCreation creation(ImageTool tool) {
        Map<String, String> given = ImageTool.options(options);
        Optional<String> below =
                ImageTool.optional(backing).or(() -> Optional.ofNullable(given.remove("backing_file")));
        Optional<String> belowFormat =
                ImageTool.optional(backingFormat).or(() -> Optional.ofNullable(given.remove("backing_fmt")));
        given.remove("backing_file");
        given.remove("backing_fmt");
        @Nullable String sizeOption = given.remove("size");
        @Nullable String wanted = size == null ? sizeOption : size;
        if (below.isPresent() && belowFormat.isEmpty()) {
            throw BenchtopException.config("a backing file needs its format: give -F (such as -F qcow2 or -F raw)");
        }
        long bytes;
        Path belowPath = below.map(file::resolveSibling).orElse(file);
        if (wanted != null) {
            bytes = ImageTool.size(wanted);
            if (below.isPresent() && !unsafe) {
                backingBytes(tool, belowPath, belowFormat);
            }
        } else if (below.isPresent() && !unsafe) {
            bytes = backingBytes(tool, belowPath, belowFormat);
        } else {
            throw BenchtopException.config(file + ": give the size of the disk");
        }
        return new ImageCreation(file, bytes, below.map(name -> new ImageBacking(name, belowFormat)), given);
    }

    private static long backingBytes(ImageTool tool, Path path, Optional<String> format) {
        try (Image image = tool.open(ImageOpen.readOnly(path), format.orElse("raw"))) {
            return image.info().virtualBytes();
        }
    }
}
