package org.benchtop.shell;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.Problems;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.SpecCheck;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop validate}. */
@Command(name = "validate", description = "Check YAML files and report every mistake.")
final class ValidateCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Parameters(arity = "1..*", paramLabel = "VM.yaml", description = "Machines to check.")
    List<Path> files = List.of();

    @Mixin
    MachineFile machineFile = new MachineFile();

    @Mixin
    Plugins plugins = new Plugins();

    @Override
    public Integer call() {
        PrintWriter out = command.commandLine().getOut();
        PrintWriter err = command.commandLine().getErr();
        int exitCode = 0;
        try (PluginRegistry registry = plugins.load(List.of())) {
            for (Path file : files) {
                List<String> mistakes = check(file, registry);
                if (mistakes.isEmpty()) {
                    out.println(file + ": ok");
                } else {
                    exitCode = ErrorKind.CONFIG.exitCode();
                    mistakes.forEach(err::println);
                }
            }
        }
        return exitCode;
    }

    private List<String> check(Path file, PluginRegistry registry) {
        try {
            Problems problems = new Problems();
            Optional<MachineSpec> spec = machineFile.spec(file, problems);
            if (spec.isPresent()) {
                try (PluginRegistry all = registry.with(spec.get().plugins())) {
                    SpecCheck.check(spec.get(), all, problems);
                }
            }
            return problems.all().stream().map(Object::toString).toList();
        } catch (BenchtopException e) {
            return List.of(String.valueOf(e.getMessage()));
        }
    }
}
