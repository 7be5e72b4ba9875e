package org.benchtop.notebook.command;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop notebook}. */
@Command(
        name = "notebook",
        description = "Start Jupyter with Benchtop's kernel.",
        footer = {
            "",
            "Options for Jupyter follow after --, such as: benchtop notebook -- --port 9000",
        })
public final class NotebookCommand implements Callable<Integer> {
    private static final String APT =
            "apt-get install -y --no-install-recommends jupyter-notebook jupyter-nbconvert jupyter-client";

    @Spec
    CommandSpec command;

    @Option(names = "--lab", description = "Start JupyterLab instead of the classic notebook.")
    boolean lab;

    @Parameters(
            arity = "0..*",
            paramLabel = "ARGUMENTS",
            description = "A notebook or folder to open, and options for Jupyter.")
    List<String> arguments = new ArrayList<>();

    /** For picocli. */
    public NotebookCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        JsonObject content = KernelSpec.content(
                KernelCommand.launcher(), KernelCommand.displayName(), KernelCommand.usualEnvironment());
        KernelSpec spec = KernelSpec.in(KernelSpec.userData(), KernelSpec.NAME);
        if (!spec.says(content)) {
            spec.install(content);
            command.commandLine().getErr().println("benchtop: installed the kernel in " + spec.folder());
        }
        Path program = find(lab ? "jupyter-lab" : "jupyter-notebook")
                .orElseThrow(() -> BenchtopException.host((lab ? "JupyterLab" : "Jupyter")
                        + " is not installed; on Debian or Ubuntu: " + (lab ? "pip install jupyterlab" : APT)));
        List<String> words = new ArrayList<>(List.of(program.toString()));
        words.addAll(arguments);
        try {
            Process jupyter = new ProcessBuilder(words).inheritIO().start();
            // Ctrl-C reaches Jupyter itself, which asks before it ends; this command ends when Jupyter does.
            Signals.onInterrupt(() -> {});
            Signals.onTerminate(jupyter::destroy);
            return jupyter.waitFor();
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, program + ": cannot be started: " + e.getMessage(), e);
        }
    }

    private static Optional<Path> find(String program) {
        @Nullable String path = System.getenv("PATH");
        for (String folder : (path == null ? "" : path).split(java.io.File.pathSeparator)) {
            Path candidate = Path.of(folder, program);
            if (!folder.isEmpty() && Files.isExecutable(candidate)) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }
}
