package org.benchtop.shell.image;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
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

/** {@code benchtop image map}. */
@Command(name = "map", description = "Show where the bytes of a disk are.")
final class MapCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(names = "--output", paramLabel = "HOW", defaultValue = "human", description = "human or json.")
    String output = "human";

    @Option(
            names = {"-s", "--start-offset"},
            paramLabel = "OFFSET",
            defaultValue = "0",
            description = "Where to start.")
    String start = "0";

    @Option(
            names = {"-l", "--max-length"},
            paramLabel = "LENGTH",
            description = "How much to show.")
    @Nullable
    String length;

    @Option(
            names = {"-U", "--force-share"},
            description = "Look also at an image that is in use.")
    boolean share;

    @Parameters(paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Override
    public Integer call() {
        boolean json = ImageTool.json(output);
        try (ImageTool tool = new ImageTool(command);
                Image image = tool.open(ImageOpen.readOnly(file).lock(!share), format)) {
            long size = image.info().virtualBytes();
            long from = ImageTool.size(start);
            long to = length == null ? size : Math.min(size, from + ImageTool.size(length));
            List<ImageExtent> extents = new ArrayList<>();
            if (from < to) {
                image.extents(from, to - from, extents::add);
            }
            if (json) {
                tool.print(extents.stream().map(MapCommand::json).toList());
            } else {
                human(tool, extents);
            }
            return 0;
        }
    }

    private static Map<String, Object> json(ImageExtent extent) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("start", extent.offsetBytes());
        map.put("length", extent.lengthBytes());
        map.put("depth", extent.depth());
        map.put("present", extent.present());
        map.put("zero", extent.zero());
        map.put("data", extent.data());
        map.put("compressed", extent.compressed());
        extent.hostOffsetBytes().ifPresent(offset -> map.put("offset", offset));
        return map;
    }

    private void human(ImageTool tool, List<ImageExtent> extents) {
        tool.out().printf("%-16s%-16s%-16s%s%n", "Offset", "Length", "Mapped to", "File");
        for (ImageExtent extent : extents) {
            if (!extent.data() || extent.zero()) {
                continue;
            }
            if (extent.compressed()) {
                throw BenchtopException.config(
                        file + ": has compressed data, which is not anywhere as it is: use --output=json");
            }
            tool.out()
                    .printf(
                            "%-16s%-16s%-16s%s%n",
                            "0x" + Long.toHexString(extent.offsetBytes()),
                            "0x" + Long.toHexString(extent.lengthBytes()),
                            "0x" + Long.toHexString(extent.hostOffsetBytes().orElse(0)),
                            extent.file().map(Path::toString).orElse(""));
        }
    }
}
