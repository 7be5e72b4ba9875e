package org.benchtop.shell;

import picocli.CommandLine.Command;

/** {@code benchtop image}. */
@Command(
        name = "image",
        description = "Work with disk images and other drives without a machine.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {ImageServeCommand.class, ImageReplayCommand.class})
final class ImageCommand {}
