package org.benchtop.shell.image;

import org.benchtop.shell.ImageReplayCommand;
import org.benchtop.shell.ImageServeCommand;
import picocli.CommandLine.Command;

/** {@code benchtop image}. */
@Command(
        name = "image",
        description = "Make, convert, check and change disk images; options as in qemu-img.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            CreateCommand.class,
            InfoCommand.class,
            CheckCommand.class,
            ConvertCommand.class,
            CompareCommand.class,
            MapCommand.class,
            SnapshotCommand.class,
            ResizeCommand.class,
            RebaseCommand.class,
            CommitCommand.class,
            BenchImageCommand.class,
            ImageServeCommand.class,
            ImageReplayCommand.class
        })
public final class ImageCommand {}
