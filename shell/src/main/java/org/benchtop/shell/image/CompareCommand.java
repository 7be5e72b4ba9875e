package org.benchtop.shell.image;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageExtent;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image compare}. */
@Command(
        name = "compare",
        description = "Compare what two images hold, whatever their formats are.",
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {" 0:identical", " 1:different", " 2 and more:an error"})
final class CompareCommand implements Callable<Integer> {
    private static final int CHUNK_BYTES = 1 << 20;

    @Spec
    CommandSpec command;

    @Option(names = "-f", paramLabel = "FMT", description = "The first image's format.")
    @Nullable
    String firstFormat;

    @Option(names = "-F", paramLabel = "FMT", description = "The second image's format.")
    @Nullable
    String secondFormat;

    @Option(
            names = {"-s", "--strict"},
            description = "Different sizes or allocation are a difference too.")
    boolean strict;

    @Option(
            names = {"-p", "--progress"},
            description = "Show how far it is.")
    boolean progress;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Option(
            names = {"-U", "--force-share"},
            description = "Read images that are in use.")
    boolean share;

    @Parameters(index = "0", paramLabel = "FILE1", description = "An image.")
    Path first = Path.of("");

    @Parameters(index = "1", paramLabel = "FILE2", description = "Another one.")
    Path second = Path.of("");

    @Override
    public Integer call() {
        try (ImageTool tool = new ImageTool(command);
                Image a = tool.open(ImageOpen.readOnly(first).lock(!share), firstFormat);
                Image b = tool.open(ImageOpen.readOnly(second).lock(!share), secondFormat);
                LinuxEventLoop loop = LinuxEventLoop.start("compare")) {
            String difference = difference(tool, a, b, loop);
            if (!quiet) {
                tool.out().println(difference.isEmpty() ? "Images are identical." : difference);
            }
            return difference.isEmpty() ? 0 : 1;
        }
    }

    private String difference(ImageTool tool, Image a, Image b, LinuxEventLoop loop) {
        long sizeA = a.info().virtualBytes();
        long sizeB = b.info().virtualBytes();
        long common = Math.min(a.capabilities().sizeBytes(), b.capabilities().sizeBytes());
        long all = Math.max(a.capabilities().sizeBytes(), b.capabilities().sizeBytes());
        if (strict && sizeA != sizeB) {
            return "Strict mode: Image size mismatch!";
        }
        Progress shown = new Progress(tool.out(), progress && !quiet, all);
        MemorySegment left = ImageTool.memory(CHUNK_BYTES);
        MemorySegment right = ImageTool.memory(CHUNK_BYTES);
        try (Waiting first = new Waiting(a, loop);
                Waiting second = new Waiting(b, loop)) {
            long at = 0;
            while (at < all) {
                long limit = at < common ? common : all;
                ImageExtent inA = at < a.capabilities().sizeBytes() ? a.extent(at, limit - at) : null;
                ImageExtent inB = at < b.capabilities().sizeBytes() ? b.extent(at, limit - at) : null;
                long length = Math.min(
                        inA == null ? Long.MAX_VALUE : inA.lengthBytes(),
                        inB == null ? Long.MAX_VALUE : inB.lengthBytes());
                if (strict && inA != null && inB != null && inA.data() != inB.data()) {
                    return "Strict mode: Offset " + at + " block status mismatch!";
                }
                boolean zeroA = inA == null || inA.zero();
                boolean zeroB = inB == null || inB.zero();
                if (!zeroA || !zeroB) {
                    length = Math.min(length, CHUNK_BYTES);
                    fill(first, zeroA, left, at, length);
                    fill(second, zeroB, right, at, length);
                    long mismatch = MemorySegment.mismatch(left, 0, length, right, 0, length);
                    if (mismatch >= 0) {
                        return "Content mismatch at offset " + (at + mismatch) + "!";
                    }
                }
                at += length;
                shown.at(at);
            }
        }
        shown.finish();
        if (sizeA != sizeB && !quiet) {
            tool.out().println("Warning: Image size mismatch!");
        }
        return "";
    }

    private static void fill(Waiting from, boolean zero, MemorySegment into, long at, long length) {
        if (zero) {
            into.asSlice(0, length).fill((byte) 0);
        } else if (!from.read(at, into, length)) {
            throw BenchtopException.host(from.describe() + ": read at " + at + " failed");
        }
    }
}
