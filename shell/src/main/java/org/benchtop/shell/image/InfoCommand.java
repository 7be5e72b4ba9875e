package org.benchtop.shell.image;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageInfo;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.spi.image.ImageSnapshot;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image info}. */
@Command(name = "info", description = "Show what an image says about itself.")
final class InfoCommand implements Callable<Integer> {
    private static final int MAX_CHAIN = 200;

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

    @Option(names = "--backing-chain", description = "Show the images below as well.")
    boolean chain;

    @Option(
            names = {"-U", "--force-share"},
            description = "Look also at an image that is in use.")
    boolean share;

    @Parameters(paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Override
    public Integer call() {
        boolean json = ImageTool.json(output);
        try (ImageTool tool = new ImageTool(command)) {
            List<ImageInfo> infos = new ArrayList<>();
            Path at = file;
            @Nullable String as = format;
            while (infos.size() < MAX_CHAIN) {
                ImageInfo info;
                try (Image image = tool.open(
                        ImageOpen.readOnly(at).backing(false).lock(!share).flawed(true), as)) {
                    info = image.info();
                }
                infos.add(info);
                Optional<ImageBacking> below = info.backing();
                if (!chain || below.isEmpty()) {
                    break;
                }
                at = at.resolveSibling(below.get().file());
                as = below.get().format().orElse(null);
            }
            if (json) {
                List<Object> maps = new ArrayList<>();
                infos.forEach(info -> maps.add(json(tool, info)));
                tool.print(chain ? maps : maps.getFirst());
            } else {
                for (int i = 0; i < infos.size(); i++) {
                    if (i > 0) {
                        tool.out().println();
                    }
                    human(tool, infos.get(i));
                }
            }
            return 0;
        }
    }

    private static Map<String, Object> json(ImageTool tool, ImageInfo info) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("virtual-size", info.virtualBytes());
        map.put("filename", info.file().toString());
        info.clusterBytes().ifPresent(bytes -> map.put("cluster-size", bytes));
        map.put("format", info.format());
        map.put("actual-size", tool.allocatedBytes(info.file()));
        if (!info.details().isEmpty()) {
            map.put("format-specific", Map.of("type", info.format(), "data", info.details()));
        }
        info.backing().ifPresent(below -> {
            map.put(
                    "full-backing-filename",
                    info.file().resolveSibling(below.file()).toString());
            map.put("backing-filename", below.file());
            below.format().ifPresent(f -> map.put("backing-filename-format", f));
        });
        if (!info.snapshots().isEmpty()) {
            map.put(
                    "snapshots",
                    info.snapshots().stream().map(InfoCommand::json).toList());
        }
        map.put("dirty-flag", info.dirty());
        return map;
    }

    private static Map<String, Object> json(ImageSnapshot snapshot) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("vm-clock-nsec", snapshot.vmClockNanos() % 1_000_000_000);
        map.put("name", snapshot.name());
        map.put("date-sec", snapshot.unixSeconds());
        map.put("date-nsec", snapshot.nanoseconds());
        map.put("vm-clock-sec", snapshot.vmClockNanos() / 1_000_000_000);
        map.put("id", snapshot.id());
        map.put("vm-state-size", snapshot.vmStateBytes());
        return map;
    }

    private static void human(ImageTool tool, ImageInfo info) {
        PrintWriter out = tool.out();
        out.println("image: " + info.file());
        out.println("file format: " + info.format());
        out.println(
                "virtual size: " + ImageTool.humanSize(info.virtualBytes()) + " (" + info.virtualBytes() + " bytes)");
        out.println("disk size: " + ImageTool.humanSize(tool.allocatedBytes(info.file())));
        if (info.dirty()) {
            out.println("cleanly shut down: no");
        }
        info.clusterBytes().ifPresent(bytes -> out.println("cluster_size: " + bytes));
        info.backing().ifPresent(below -> {
            Path full = info.file().resolveSibling(below.file());
            out.println("backing file: " + below.file()
                    + (full.toString().equals(below.file()) ? "" : " (actual path: " + full + ")"));
            below.format().ifPresent(f -> out.println("backing file format: " + f));
        });
        if (!info.snapshots().isEmpty()) {
            out.println("Snapshot list:");
            snapshots(out, info.snapshots());
        }
        if (!info.details().isEmpty()) {
            out.println("Format specific information:");
            info.details().forEach((name, value) -> out.println("    " + name.replace('-', ' ') + ": " + value));
        }
    }

    static void snapshots(PrintWriter out, List<ImageSnapshot> snapshots) {
        DateTimeFormatter time =
                DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss").withZone(ZoneId.systemDefault());
        out.printf("%-10s%-17s%8s%20s%13s%n", "ID", "TAG", "VM SIZE", "DATE", "VM CLOCK");
        for (ImageSnapshot snapshot : snapshots) {
            long millis = snapshot.vmClockNanos() / 1_000_000;
            out.printf(
                    "%-10s%-17s%8s%20s  %02d:%02d:%02d.%03d%n",
                    snapshot.id(),
                    snapshot.name(),
                    ImageTool.humanSize(snapshot.vmStateBytes()),
                    time.format(Instant.ofEpochSecond(snapshot.unixSeconds())),
                    millis / 3_600_000,
                    millis / 60_000 % 60,
                    millis / 1000 % 60,
                    millis % 1000);
        }
    }
}
