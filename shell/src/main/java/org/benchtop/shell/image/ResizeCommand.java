package org.benchtop.shell.image;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image resize}. */
@Command(name = "resize", description = "Change the size of a disk: SIZE, +SIZE or -SIZE.")
final class ResizeCommand implements Callable<Integer> {
    private static final long ZERO_STEP_BYTES = 1L << 30;

    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(names = "--shrink", description = "Allow a smaller size, which cuts data off.")
    boolean shrink;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Parameters(index = "0", paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Parameters(index = "1", paramLabel = "SIZE", description = "The new size, or a change of it.")
    String size = "";

    @Override
    public Integer call() {
        try (ImageTool tool = new ImageTool(command);
                Image image = tool.open(ImageOpen.readOnly(file).writable(true), format)) {
            long before = image.info().virtualBytes();
            long after = wanted(before);
            if (after <= 0 || after % 512 != 0) {
                throw BenchtopException.config(
                        file + ": a size of " + after + " bytes: allowed: positive multiples of 512");
            }
            if (after < before && !shrink) {
                throw BenchtopException.config(file + ": " + after + " bytes is less than the " + before
                        + " bytes that it has: --shrink cuts off what is behind");
            }
            if (after != before) {
                image.resize(after);
                if (after > before) {
                    zero(image, before, after);
                }
            }
            if (!quiet) {
                tool.out().println("Image resized.");
            }
            return 0;
        }
    }

    private long wanted(long before) {
        if (size.startsWith("+")) {
            return Math.addExact(before, ImageTool.size(size.substring(1)));
        }
        return size.startsWith("-") ? before - ImageTool.size(size.substring(1)) : ImageTool.size(size);
    }

    /** What was behind the end, in the last cluster or in what is below, must not show. */
    private static void zero(Image image, long before, long after) {
        long cluster = image.info().clusterBytes().orElse(512);
        long below = image.backing()
                .map(backing -> backing.capabilities().sizeBytes())
                .orElse(0L);
        long start = before + 511 & -512;
        long end = Math.min(after, Math.max(below, (before + cluster - 1) / cluster * cluster));
        try (LinuxEventLoop loop = LinuxEventLoop.start("resize");
                Waiting disk = new Waiting(image, loop)) {
            for (long at = start; at < end; at += ZERO_STEP_BYTES) {
                disk.require(
                        "zeroing the new part",
                        new BlockRequest.WriteZeroes().at(at, Math.min(ZERO_STEP_BYTES, end - at), true));
            }
        }
    }
}
