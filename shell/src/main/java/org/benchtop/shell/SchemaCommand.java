package org.benchtop.shell;

import java.util.List;
import java.util.concurrent.Callable;
import org.benchtop.engine.plugin.MachineSchema;
import org.benchtop.engine.plugin.PluginRegistry;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code benchtop schema}. */
@Command(
        name = "schema",
        description = "Print the JSON Schema of machine YAML, with the options of all plugins, for editors.")
final class SchemaCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Mixin
    Plugins plugins = new Plugins();

    @Override
    public Integer call() {
        try (PluginRegistry registry = plugins.load(List.of())) {
            command.commandLine().getOut().println(MachineSchema.write(registry));
        }
        return 0;
    }
}
