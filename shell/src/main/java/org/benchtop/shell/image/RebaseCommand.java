package org.benchtop.shell.image;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageExtent;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image rebase}. */
@Command(
        name = "rebase",
        description = "Put another image, or none, below an image; its content stays the same unless -u is given.")
final class RebaseCommand implements Callable<Integer> {
    private static final int STEP_BYTES = 1 << 20;

    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(
            names = {"-b", "--backing"},
            paramLabel = "FILE",
            required = true,
            description = "The new image below; \"\" for none.")
    String backing = "";

    @Option(
            names = {"-F", "--backing-format"},
            paramLabel = "FMT",
            description = "The format of the new image below.")
    @Nullable
    String backingFormat;

    @Option(
            names = {"-u", "--unsafe"},
            description = "Change the name only.")
    boolean unsafe;

    @Option(
            names = {"-p", "--progress"},
            description = "Show how far it is.")
    boolean progress;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Parameters(paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Override
    public Integer call() {
        Optional<ImageBacking> below = backing.isEmpty()
                ? Optional.empty()
                : Optional.of(new ImageBacking(
                        backing,
                        Optional.of(Optional.ofNullable(backingFormat)
                                .orElseThrow(() -> BenchtopException.config(
                                        "a backing file needs its format: give -F (such as -F qcow2 or -F raw)")))));
        try (ImageTool tool = new ImageTool(command)) {
            if (!unsafe) {
                copyDifferences(tool, below);
            }
            try (Image image = tool.open(ImageOpen.readOnly(file).writable(true).backing(false), format)) {
                image.changeBacking(below);
            }
            return 0;
        }
    }

    /** Writes what comes from below now and would be different afterwards. */
    private void copyDifferences(ImageTool tool, Optional<ImageBacking> below) {
        try (Image image = tool.open(ImageOpen.readOnly(file).writable(true), format);
                LinuxEventLoop loop = LinuxEventLoop.start("rebase")) {
            @Nullable
            Image newBelow = below.isEmpty()
                    ? null
                    : tool.open(
                            ImageOpen.readOnly(file.resolveSibling(below.get().file())),
                            below.get().format().orElse(null));
            try (Waiting disk = new Waiting(image, loop)) {
                copyDifferences(tool, image, disk, newBelow, loop);
            } finally {
                if (newBelow != null) {
                    newBelow.close();
                }
            }
        }
    }

    private void copyDifferences(
            ImageTool tool, Image image, Waiting disk, @Nullable Image newBelow, LinuxEventLoop loop) {
        long size = image.capabilities().sizeBytes();
        long newSize = newBelow == null ? 0 : newBelow.capabilities().sizeBytes();
        MemorySegment now = ImageTool.memory(STEP_BYTES);
        MemorySegment then = ImageTool.memory(STEP_BYTES);
        Progress shown = new Progress(tool.out(), progress && !quiet, size);
        @Nullable Waiting other = newBelow == null ? null : new Waiting(newBelow, loop);
        long cluster = image.info().clusterBytes().orElse(512);
        try {
            for (long at = 0; at < size; ) {
                ImageExtent extent = image.extent(at, size - at);
                boolean own = extent.present() && extent.depth() == 0;
                long length = own ? extent.lengthBytes() : Math.min(extent.lengthBytes(), STEP_BYTES);
                if (!own) {
                    require(disk, at, now, length);
                    then.asSlice(0, length).fill((byte) 0);
                    long inside = Math.clamp(newSize - at, 0, length);
                    if (other != null && inside > 0) {
                        require(other, at, then, inside);
                    }
                    writeDifferences(disk, at, length, now, then, cluster);
                }
                at += length;
                shown.at(at);
            }
            disk.require("flush", new BlockRequest.Flush());
            shown.finish();
        } finally {
            if (other != null) {
                other.close();
            }
        }
    }

    private static void require(Waiting from, long at, MemorySegment into, long length) {
        if (!from.read(at, into, length)) {
            throw BenchtopException.host(from.describe() + ": read at " + at + " failed");
        }
    }

    private static void writeDifferences(
            Waiting disk, long at, long length, MemorySegment now, MemorySegment then, long cluster) {
        for (long part = 0; part < length; ) {
            long end = Math.min(length, ((at + part) / cluster + 1) * cluster - at);
            if (MemorySegment.mismatch(now, part, end, then, part, end) >= 0) {
                BlockRequest.Write write = new BlockRequest.Write();
                write.buffer().add(now, part, end - part);
                disk.require("write at " + (at + part), write.at(at + part));
            }
            part = end;
        }
    }
}
