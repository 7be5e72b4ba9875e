package org.benchtop.shell.image;

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
            BenchImageCommand.class
        })
public final class ImageCommand {}
