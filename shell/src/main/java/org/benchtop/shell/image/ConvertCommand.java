package org.benchtop.shell.image;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageExtent;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image convert}. */
@Command(
        name = "convert",
        description = "Copy an image into another format.",
        footer = {"", "The target appears under its name when it is complete."})
final class ConvertCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The source's format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(
            names = {"-O", "--target-format"},
            paramLabel = "FMT",
            defaultValue = "raw",
            description = "The target's format (default: raw).")
    String targetFormat = "raw";

    @Option(names = "-o", paramLabel = "OPTIONS", description = "Options for the target: NAME=VALUE,…")
    List<String> options = new ArrayList<>();

    @Option(
            names = {"-B", "--backing"},
            paramLabel = "FILE",
            description = "Image below the target; only what differs from it is written.")
    @Nullable
    String backing;

    @Option(
            names = {"-F", "--backing-format"},
            paramLabel = "FMT",
            description = "The format of the image below.")
    @Nullable
    String backingFormat;

    @Option(
            names = {"-c", "--compress"},
            description = "Compress (qcow2).")
    boolean compress;

    @Option(
            names = {"-p", "--progress"},
            description = "Show how far it is.")
    boolean progress;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Option(
            names = {"-n", "--no-create"},
            description = "Write into an image that exists.")
    boolean noCreate;

    @Option(
            names = {"-W", "--out-of-order"},
            description = "Accepted; writes are always out of order.")
    boolean outOfOrder;

    @Option(
            names = {"-S", "--sparse-size"},
            paramLabel = "SIZE",
            defaultValue = "4k",
            description = "Zeroes of that length become holes; 0 writes everything (default: 4k).")
    String sparse = "4k";

    @Option(
            names = {"-m", "--coroutines"},
            paramLabel = "N",
            defaultValue = "8",
            description = "Transfers in flight, 1 to 64 (default: 8).")
    int parallel = 8;

    @Option(
            names = {"-t", "--target-cache"},
            paramLabel = "CACHE",
            defaultValue = "unsafe",
            description = "Cache mode for the target (default: unsafe, which does not wait for the disk).")
    String targetCache = "unsafe";

    @Option(
            names = {"-T", "--source-cache"},
            paramLabel = "CACHE",
            defaultValue = "writeback",
            description = "Cache mode for the source (default: writeback).")
    String sourceCache = "writeback";

    @Option(
            names = {"-U", "--force-share"},
            description = "Read a source that is in use.")
    boolean share;

    @Option(
            names = {"-l", "--snapshot"},
            paramLabel = "SNAPSHOT",
            description = "Copy this internal snapshot of the source, by name or id, instead of its present state.")
    @Nullable
    String snapshot;

    @Parameters(index = "0", paramLabel = "SOURCE", description = "The image to read.")
    Path source = Path.of("");

    @Parameters(index = "1", paramLabel = "TARGET", description = "The image to write.")
    Path target = Path.of("");

    @Override
    public Integer call() {
        if (parallel < 1 || parallel > 64) {
            throw BenchtopException.config("-m " + parallel + ": allowed: 1 to 64");
        }
        try (ImageTool tool = new ImageTool(command)) {
            ImageFormat kind = tool.format(targetFormat);
            ImageOpen from = ImageOpen.readOnly(source)
                    .cache(ImageTool.cache(sourceCache))
                    .lock(!share);
            try (Image input = tool.open(from, format)) {
                if (snapshot != null) {
                    // Also in the form of qemu-img: snapshot.id=1, snapshot.name=before.
                    input.viewSnapshot(snapshot.replaceFirst("^snapshot\\.(id|name)=", ""));
                }
                if (noCreate || Files.exists(target) && !Files.isRegularFile(target)) {
                    convert(tool, kind, input, target, false);
                } else {
                    convertToNew(tool, kind, input);
                }
            }
            return 0;
        }
    }

    private void convertToNew(ImageTool tool, ImageFormat kind, Image input) {
        if (sameFile(source, target)) {
            throw BenchtopException.config(target + ": source and target are the same file");
        }
        Map<String, String> given = ImageTool.options(options);
        Optional<String> below = ImageTool.optional(backing).or(() -> Optional.ofNullable(given.get("backing_file")));
        Optional<String> belowFormat =
                ImageTool.optional(backingFormat).or(() -> Optional.ofNullable(given.get("backing_fmt")));
        given.remove("backing_file");
        given.remove("backing_fmt");
        if (below.isPresent() && belowFormat.isEmpty()) {
            throw BenchtopException.config("a backing file needs its format: give -F (such as -F qcow2 or -F raw)");
        }
        Path unfinished = ImageTool.unfinished(target);
        try {
            kind.create(
                    new ImageCreation(
                            unfinished,
                            input.info().virtualBytes(),
                            below.map(name -> new ImageBacking(name, belowFormat)),
                            given),
                    tool);
            convert(tool, kind, input, unfinished, true);
            Files.move(unfinished, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            ImageTool.delete(unfinished);
            throw BenchtopException.of(ErrorKind.HOST, target + ": cannot be written: " + e.getMessage(), e);
        } catch (RuntimeException | Error e) {
            ImageTool.delete(unfinished);
            throw e;
        }
    }

    private static boolean sameFile(Path a, Path b) {
        try {
            return Files.exists(b) && Files.isSameFile(a, b);
        } catch (IOException e) {
            return false;
        }
    }

    private void convert(ImageTool tool, ImageFormat kind, Image input, Path file, boolean isNew) {
        ImageOpen to = ImageOpen.readOnly(file)
                .writable(true)
                .cache(ImageTool.cache(targetCache))
                .compress(compress);
        long size = input.capabilities().sizeBytes();
        try (Image output = kind.open(to, tool)) {
            long room = output.capabilities().sizeBytes();
            if (room < size) {
                throw BenchtopException.config(file + ": has room for " + room + " bytes, the source has " + size);
            }
            boolean hasBacking = output.backing().isPresent();
            if (compress && !kind.name().equals("qcow2")) {
                throw BenchtopException.config("format " + kind.name() + " cannot compress");
            }
            int sparseBytes = Math.toIntExact(Math.min(ImageTool.size(sparse), Copier.CHUNK_BYTES)) & -512;
            Progress shown = new Progress(tool.out(), progress && !quiet, size);
            boolean keepsZeroes = ImageTool.size(sparse) == 0;
            int step = compress
                    ? (int) Math.min(
                            Copier.CHUNK_BYTES, output.info().clusterBytes().orElse(sparseBytes))
                    : sparseBytes;
            try (Copier copier = new Copier(
                    input,
                    output,
                    parallel,
                    keepsZeroes ? 0 : step,
                    isNew && !hasBacking && !keepsZeroes,
                    hasBacking)) {
                input.extents(0, size, extent -> {
                    transfer(copier, extent, keepsZeroes);
                    shown.at(copier.doneBytes());
                });
                copier.finish(shown);
            }
            shown.finish();
        }
    }

    private static void transfer(Copier copier, ImageExtent extent, boolean keepsZeroes) {
        if (extent.zero() && !keepsZeroes) {
            copier.zero(extent.offsetBytes(), extent.lengthBytes());
        } else {
            copier.copy(extent.offsetBytes(), extent.lengthBytes());
        }
    }
}
