package org.benchtop.shell;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.benchtop.engine.OutputFile;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.guest.GuestProgramType;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop guest}. */
@Command(
        name = "guest",
        description = "Show and export embedded guest programs, make Debian guests, check what programs wrote.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            GuestCommand.ListCommand.class,
            GuestCommand.ExportCommand.class,
            DebianCommand.class,
            CheckPatternCommand.class
        })
final class GuestCommand {
    /** {@code benchtop guest list}. */
    @Command(name = "list", description = "List programs and what they understand on their command line.")
    static final class ListCommand implements Callable<Integer> {
        @Spec
        CommandSpec command;

        @Mixin
        Plugins plugins = new Plugins();

        @Override
        public Integer call() {
            PrintWriter out = command.commandLine().getOut();
            try (PluginRegistry registry = plugins.load(List.of())) {
                for (GuestProgramType program : registry.guestPrograms()) {
                    out.println(command.commandLine().getColorScheme().commandText(program.name()) + "  "
                            + program.summary());
                    TextTable table = new TextTable();
                    for (GuestProgramType.Parameter parameter : program.parameters()) {
                        table.row(parameter.name() + "=" + parameter.defaultValue(), parameter.doc());
                    }
                    out.print(table.render("    "));
                }
            }
            out.flush();
            return 0;
        }
    }

    /** {@code benchtop guest export}. */
    @Command(name = "export", description = "Write a program as an ELF file that any PVH loader can start.")
    static final class ExportCommand implements Callable<Integer> {
        @Spec
        CommandSpec command;

        @Parameters(paramLabel = "NAME", description = "A program of guest list.")
        String name = "";

        @Option(
                names = "--elf",
                required = true,
                paramLabel = "FILE",
                description = "Where to write (qemu-system-x86_64 -kernel FILE starts it).")
        Path file = Path.of("");

        @Mixin
        Plugins plugins = new Plugins();

        @Override
        public Integer call() {
            try (PluginRegistry registry = plugins.load(List.of())) {
                byte[] elf = registry.guestProgram(name).elf();
                OutputFile.write(file, elf);
                command.commandLine().getOut().println(file + ": " + elf.length + " bytes");
            }
            return 0;
        }
    }
}
