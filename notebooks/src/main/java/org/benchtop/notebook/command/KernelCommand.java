package org.benchtop.notebook.command;

import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop kernel}. */
@Command(
        name = "kernel",
        description = "Tell Jupyter about Benchtop's kernel.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            KernelCommand.InstallCommand.class,
            KernelCommand.UninstallCommand.class,
            KernelCommand.StartCommand.class
        })
public final class KernelCommand {
    /** Which of Jupyter's data folders. */
    static final class Where {
        @ArgGroup(exclusive = true)
        @Nullable
        Choice choice;

        @Option(
                names = "--name",
                paramLabel = "NAME",
                description = "The kernel's name in Jupyter (default: benchtop).")
        String name = KernelSpec.NAME;

        static final class Choice {
            @Option(names = "--user", description = "For this user (default).")
            boolean user;

            @Option(names = "--prefix", paramLabel = "FOLDER", description = "Below FOLDER/share/jupyter.")
            @Nullable
            Path prefix;

            @Option(
                    names = "--sys-prefix",
                    description = "For the Python installation or virtual environment that python3 is.")
            boolean sysPrefix;
        }

        KernelSpec spec() {
            return KernelSpec.in(data(), name);
        }

        private Path data() {
            Choice where = choice;
            if (where == null || where.user) {
                return KernelSpec.userData();
            }
            Path prefix = where.prefix;
            return KernelSpec.prefixData(prefix == null ? pythonPrefix() : prefix);
        }
    }

    private static Path pythonPrefix() {
        try {
            Process python = new ProcessBuilder("python3", "-c", "import sys; print(sys.prefix)")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try (BufferedReader out = python.inputReader(StandardCharsets.UTF_8)) {
                Optional<String> prefix = Optional.ofNullable(out.readLine()).filter(line -> !line.isBlank());
                if (python.waitFor(10, TimeUnit.SECONDS) && python.exitValue() == 0 && prefix.isPresent()) {
                    return Path.of(prefix.get());
                }
            } finally {
                python.destroy();
            }
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, "--sys-prefix: python3 cannot be run: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw BenchtopException.host("--sys-prefix: python3 does not tell its prefix; use --prefix FOLDER");
    }

    /** The launcher, which is what Jupyter starts. */
    static Path launcher() {
        @Nullable String home = System.getProperty("benchtop.home");
        Path launcher = Path.of(home == null ? "" : home, "benchtop").toAbsolutePath();
        if (!Files.isExecutable(launcher)) {
            throw BenchtopException.host(launcher + ": no such program; start this command by ./benchtop");
        }
        return launcher;
    }

    static String displayName() {
        return "Benchtop (Java " + Runtime.version().feature() + ")";
    }

    /** What kernels are started with unless told otherwise: an old build rather than a wait for a new one. */
    static Map<String, String> usualEnvironment() {
        return new LinkedHashMap<>(Map.of("BENCHTOP_NO_BUILD", "1"));
    }

    /** {@code benchtop kernel install}. */
    @Command(name = "install", description = "Add the kernel to Jupyter's list, or bring it up to date.")
    static final class InstallCommand implements Callable<Integer> {
        @Spec
        CommandSpec command;

        @Mixin
        Where where = new Where();

        @Option(names = "--display-name", paramLabel = "TEXT", description = "What front ends show.")
        @Nullable
        String displayName;

        @Option(names = "--java-home", paramLabel = "FOLDER", description = "The JDK for the kernel (25 or newer).")
        @Nullable
        Path javaHome;

        @Option(
                names = "--jvm-option",
                paramLabel = "OPTION",
                description = "An option for the kernel's JVM, such as -Xmx4g; may be repeated.")
        List<String> jvmOptions = new ArrayList<>();

        @Option(
                names = "--env",
                paramLabel = "NAME=VALUE",
                description = "A variable of the kernel's environment; may be repeated.")
        Map<String, String> variables = new LinkedHashMap<>();

        @Override
        public Integer call() {
            Map<String, String> environment = usualEnvironment();
            if (javaHome != null) {
                if (!Files.isExecutable(javaHome.resolve("bin/java"))) {
                    throw BenchtopException.config("--java-home " + javaHome + ": there is no bin/java");
                }
                environment.put("JAVA_HOME", javaHome.toAbsolutePath().toString());
            }
            if (!jvmOptions.isEmpty()) {
                environment.put("BENCHTOP_JAVA_OPTS", String.join(" ", jvmOptions));
            }
            environment.putAll(variables);
            JsonObject content =
                    KernelSpec.content(launcher(), displayName == null ? displayName() : displayName, environment);
            KernelSpec spec = where.spec();
            spec.install(content);
            command.commandLine().getOut().println("installed the kernel in " + spec.folder());
            return 0;
        }
    }

    /** {@code benchtop kernel uninstall}. */
    @Command(name = "uninstall", description = "Take the kernel off Jupyter's list.")
    static final class UninstallCommand implements Callable<Integer> {
        @Spec
        CommandSpec command;

        @Mixin
        Where where = new Where();

        @Override
        public Integer call() {
            KernelSpec spec = where.spec();
            if (!spec.uninstall()) {
                throw BenchtopException.config("there is no kernel in " + spec.folder());
            }
            command.commandLine().getOut().println("removed " + spec.folder());
            return 0;
        }
    }

    /** {@code benchtop kernel start}; the launcher takes a shorter way. */
    @Command(name = "start", description = "Run a kernel; this is what Jupyter calls.")
    static final class StartCommand implements Callable<Integer> {
        @Parameters(paramLabel = "CONNECTION-FILE", description = "Where Jupyter expects the kernel.")
        Path file = Path.of("");

        @Override
        public Integer call() {
            return KernelMain.run(file);
        }
    }
}
