package org.benchtop.shell.image;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image commit}. */
@Command(name = "commit", description = "Write what an image holds into the image below it, and empty it.")
final class CommitCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(
            names = {"-t", "--cache"},
            paramLabel = "CACHE",
            defaultValue = "writeback",
            description = "Cache mode (default: writeback).")
    String cache = "writeback";

    @Option(names = "-d", description = "Do not empty the image afterwards.")
    boolean keep;

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
        try (ImageTool tool = new ImageTool(command);
                Image top = tool.open(
                        ImageOpen.readOnly(file).writable(!keep).backing(false).cache(ImageTool.cache(cache)),
                        format)) {
            ImageBacking below = top.info()
                    .backing()
                    .orElseThrow(() -> BenchtopException.config(file + ": has no backing file to commit into"));
            Path path = file.resolveSibling(below.file());
            String belowFormat = below.format()
                    .orElseThrow(() -> BenchtopException.config(
                            file + ": does not say which format " + below.file() + " has: see image rebase -u -F"));
            ImageOpen how = ImageOpen.readOnly(path).writable(true).cache(ImageTool.cache(cache));
            try (Image base = tool.open(how, belowFormat)) {
                copy(tool, top, base);
            }
            if (!keep) {
                top.makeEmpty();
            }
            if (!quiet) {
                tool.out().println("Image committed.");
            }
            return 0;
        }
    }

    private void copy(ImageTool tool, Image top, Image base) {
        long size = top.info().virtualBytes();
        if (base.info().virtualBytes() < size) {
            base.resize(size);
        }
        Progress shown = new Progress(tool.out(), progress && !quiet, size);
        try (Copier copier = new Copier(top, base, 8, 0, false, false)) {
            top.extents(0, size, extent -> {
                if (extent.depth() == 0 && extent.present()) {
                    if (extent.zero()) {
                        copier.zero(extent.offsetBytes(), extent.lengthBytes());
                    } else {
                        copier.copy(extent.offsetBytes(), extent.lengthBytes());
                    }
                }
                shown.at(extent.offsetBytes());
            });
            copier.finish(shown);
        }
        shown.finish();
    }
}
