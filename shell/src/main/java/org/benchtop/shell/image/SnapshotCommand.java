package org.benchtop.shell.image;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.spi.image.ImageSnapshot;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image snapshot}. */
@Command(name = "snapshot", description = "List, make, apply or delete states inside an image.")
final class SnapshotCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @ArgGroup(exclusive = true)
    Action action = new Action();

    /** What to do. */
    static final class Action {
        @Option(names = "-l", description = "List (the default).")
        boolean list;

        @Option(names = "-c", paramLabel = "NAME", description = "Make one.")
        @Nullable
        String create;

        @Option(names = "-a", paramLabel = "SNAPSHOT", description = "Go back to one.")
        @Nullable
        String apply;

        @Option(names = "-d", paramLabel = "SNAPSHOT", description = "Delete one.")
        @Nullable
        String delete;
    }

    @Option(
            names = {"-f", "--format"},
            paramLabel = "FMT",
            description = "The format; guessed from the content unless given.")
    @Nullable
    String format;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing.")
    boolean quiet;

    @Parameters(paramLabel = "FILE", description = "The image.")
    Path file = Path.of("");

    @Override
    public Integer call() {
        boolean changes = action.create != null || action.apply != null || action.delete != null;
        try (ImageTool tool = new ImageTool(command);
                Image image =
                        tool.open(ImageOpen.readOnly(file).writable(changes).backing(false), format)) {
            if (action.create != null) {
                image.createSnapshot(action.create);
            } else if (action.apply != null) {
                image.applySnapshot(action.apply);
            } else if (action.delete != null) {
                image.deleteSnapshot(action.delete);
            } else {
                List<ImageSnapshot> snapshots = image.snapshots();
                if (!snapshots.isEmpty() && !quiet) {
                    tool.out().println("Snapshot list:");
                    InfoCommand.snapshots(tool.out(), snapshots);
                }
            }
            return 0;
        }
    }
}
