package org.benchtop.shell.image;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageCheck;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.image.ImageOpen;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image check}. */
@Command(
        name = "check",
        description = "Look for faults in an image, and repair them if asked.",
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            " 0:without faults (now)",
            " 1:could not be checked",
            " 2:corrupt",
            " 3:leaked clusters, nothing worse",
            "63:the format has nothing to check"
        })
final class CheckCommand implements Callable<Integer> {
    private static final int CORRUPT = 2;
    private static final int LEAKS = 3;
    private static final int UNSUPPORTED = 63;

    @Spec
    CommandSpec command;

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(
            names = {"-r", "--repair"},
            arity = "0..1",
            paramLabel = "WHAT",
            fallbackValue = "all",
            description = "Repair leaks, or all.")
    @Nullable
    String repair;

    @Option(names = "--output", paramLabel = "HOW", defaultValue = "human", description = "human or json.")
    String output = "human";

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Option(
            names = {"-U", "--force-share"},
            description = "Look also at an image that is in use.")
    boolean share;

    @Parameters(paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Override
    public Integer call() {
        boolean json = ImageTool.json(output);
        ImageCheck.Repair how = repair();
        try (ImageTool tool = new ImageTool(command)) {
            ImageFormat kind = tool.format(file, format);
            ImageCheck check;
            try (Image image = kind.open(
                    ImageOpen.readOnly(file)
                            .writable(how != ImageCheck.Repair.NONE)
                            .backing(false)
                            .lock(!share)
                            .flawed(true),
                    tool)) {
                check = image.check(how);
            } catch (BenchtopException e) {
                if (e.kind() == ErrorKind.UNSUPPORTED && kind.name().equals("raw")) {
                    tool.err().println("benchtop: " + e.getMessage());
                    return UNSUPPORTED;
                }
                throw e;
            }
            if (json) {
                tool.print(json(kind.name(), check));
            } else if (!quiet) {
                human(tool.out(), check);
            }
            return exitCode(check);
        }
    }

    private ImageCheck.Repair repair() {
        return switch (repair) {
            case null -> ImageCheck.Repair.NONE;
            case "leaks" -> ImageCheck.Repair.LEAKS;
            case "all" -> ImageCheck.Repair.ALL;
            default -> throw BenchtopException.config("--repair=" + repair + ": allowed: leaks, all");
        };
    }

    private static int exitCode(ImageCheck check) {
        if (check.errors() > 0) {
            return 1;
        }
        if (check.corruptions() > check.corruptionsFixed()) {
            return CORRUPT;
        }
        return check.leaks() > check.leaksFixed() ? LEAKS : 0;
    }

    private Map<String, Object> json(String name, ImageCheck check) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("image-end-offset", check.imageEndBytes());
        map.put("total-clusters", check.totalClusters());
        map.put("check-errors", check.errors());
        long corruptions = check.corruptions() - check.corruptionsFixed();
        long leaks = check.leaks() - check.leaksFixed();
        if (corruptions > 0) {
            map.put("corruptions", corruptions);
        }
        if (leaks > 0) {
            map.put("leaks", leaks);
        }
        if (check.corruptionsFixed() > 0) {
            map.put("corruptions-fixed", check.corruptionsFixed());
        }
        if (check.leaksFixed() > 0) {
            map.put("leaks-fixed", check.leaksFixed());
        }
        map.put("allocated-clusters", check.allocatedClusters());
        map.put("fragmented-clusters", check.fragmentedClusters());
        map.put("compressed-clusters", check.compressedClusters());
        map.put("filename", file.toString());
        map.put("format", name);
        return map;
    }

    private static void human(PrintWriter out, ImageCheck check) {
        check.messages().forEach(out::println);
        long corruptions = check.corruptions() - check.corruptionsFixed();
        long leaks = check.leaks() - check.leaksFixed();
        if (check.corruptionsFixed() + check.leaksFixed() > 0) {
            out.println(
                    "Repaired: " + check.corruptionsFixed() + " errors, " + check.leaksFixed() + " leaked clusters");
        }
        if (corruptions == 0 && leaks == 0 && check.errors() == 0) {
            out.println("No errors were found on the image.");
        }
        if (corruptions > 0) {
            out.println(corruptions + " errors were found on the image: data may be lost, or mixed up on writing.");
        }
        if (leaks > 0) {
            out.println(leaks + " leaked clusters were found on the image: space is wasted, no data is at risk.");
        }
        if (check.errors() > 0) {
            out.println(check.errors() + " parts could not be checked.");
        }
        if (check.totalClusters() > 0) {
            out.printf(
                    "%d/%d = %.2f%% allocated, %.2f%% fragmented, %.2f%% compressed clusters%n",
                    check.allocatedClusters(),
                    check.totalClusters(),
                    percent(check.allocatedClusters(), check.totalClusters()),
                    percent(check.fragmentedClusters(), check.allocatedClusters()),
                    percent(check.compressedClusters(), check.allocatedClusters()));
        }
        out.println("Image end offset: " + check.imageEndBytes());
    }

    private static double percent(long part, long whole) {
        return whole == 0 ? 0 : 100.0 * part / whole;
    }
}
