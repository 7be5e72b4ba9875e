package org.benchtop.shell;

import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.engine.config.OptionField;
import org.benchtop.engine.config.OptionType;
import org.benchtop.engine.plugin.LoadedPlugin;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.TypeDescription;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop plugins}. */
@Command(
        name = "plugins",
        description = "Show loaded plugins, their types and options.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {PluginsCommand.ListCommand.class, PluginsCommand.DescribeCommand.class})
final class PluginsCommand {
    /** {@code benchtop plugins list}. */
    @Command(name = "list", description = "List plugins and their types.")
    static final class ListCommand implements Callable<Integer> {
        @Spec
        CommandSpec command;

        @Mixin
        Plugins plugins = new Plugins();

        @Override
        public Integer call() {
            PrintWriter out = command.commandLine().getOut();
            try (PluginRegistry registry = plugins.load(List.of())) {
                List<TypeDescription> types = registry.describeAll();
                for (LoadedPlugin plugin : registry.plugins()) {
                    out.println(command.commandLine().getColorScheme().commandText(plugin.name()) + "  "
                            + plugin.origin() + ", SPI " + plugin.spiVersion());
                    TextTable table = new TextTable();
                    types.stream()
                            .filter(type -> type.plugin().equals(plugin))
                            .forEach(type -> table.row(type.kind().label(), type.name(), type.summary()));
                    out.print(table.render("  "));
                }
            }
            out.flush();
            return 0;
        }
    }

    /** {@code benchtop plugins describe}. */
    @Command(name = "describe", description = "Show the options of a type.")
    static final class DescribeCommand implements Callable<Integer> {
        @Spec
        CommandSpec command;

        @Parameters(paramLabel = "TYPE", description = "A type's name, such as virtio-blk-pci.")
        String type = "";

        @Mixin
        Plugins plugins = new Plugins();

        @Override
        public Integer call() {
            PrintWriter out = command.commandLine().getOut();
            try (PluginRegistry registry = plugins.load(List.of())) {
                for (TypeDescription description : registry.describe(type)) {
                    out.println(command.commandLine().getColorScheme().commandText(description.name()) + ": "
                            + description.kind().label() + " of plugin " + description.plugin());
                    out.println("  " + description.summary());
                    TextTable table = new TextTable();
                    rows(table, "", description.options());
                    out.print(table.render("  "));
                }
            }
            out.flush();
            return 0;
        }

        private static void rows(TextTable table, String prefix, List<OptionField> fields) {
            for (OptionField field : fields) {
                String range = field.type().range();
                table.row(
                        prefix + field.name(),
                        field.type().text() + (range.isEmpty() ? "" : " " + range),
                        field.required()
                                ? "required"
                                : field.defaultText()
                                        .map(text -> text.isEmpty() ? "\"\"" : text)
                                        .orElse("-"),
                        field.doc());
                nested(field.type()).ifPresent(inner -> rows(table, prefix + field.name() + ".", inner));
            }
        }

        private static Optional<List<OptionField>> nested(OptionType type) {
            return switch (type) {
                case OptionType.Nested nested -> Optional.of(nested.shape().fields());
                case OptionType.Maybe maybe -> nested(maybe.value());
                case OptionType.ListOf list -> nested(list.item());
                case OptionType.MapOf map -> nested(map.value());
                case OptionType.Flag flag -> Optional.empty();
                case OptionType.Whole whole -> Optional.empty();
                case OptionType.Real real -> Optional.empty();
                case OptionType.Text text -> Optional.empty();
                case OptionType.FilePath path -> Optional.empty();
                case OptionType.Time time -> Optional.empty();
                case OptionType.Choice choice -> Optional.empty();
            };
        }
    }
}
