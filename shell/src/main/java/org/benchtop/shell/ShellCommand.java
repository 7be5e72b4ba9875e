package org.benchtop.shell;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.prefs.Preferences;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jshell.tool.JavaShellToolBuilder;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.SpecCheck;
import org.benchtop.shell.jshell.ApiSources;
import org.benchtop.shell.jshell.CellExecutionProvider;
import org.benchtop.shell.jshell.JShellScript;
import org.benchtop.shell.lab.Lab;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop shell}. */
@Command(
        name = "shell",
        description = "JShell with the lab imported: build, boot and look into machines line by line.",
        footer = {
            "",
            "VM.yaml becomes the variable vm. A script (or standard input that is no terminal) is run to its end or its",
            "first error, which gives exit code 1. Ctrl-C stops what runs; machines go on. /help explains the tool.",
        })
final class ShellCommand implements Callable<Integer> {
    private static final String STARTUP = "benchtop.jsh";

    @Spec
    CommandSpec command;

    @Parameters(
            paramLabel = "FILE",
            description = "VM.yaml, or scripts to run instead of a terminal session (- for standard input).")
    List<Path> files = new ArrayList<>();

    @Option(names = "--plugin", paramLabel = "JAR", description = "Load plugins from a jar.")
    List<Path> jars = new ArrayList<>();

    @Option(names = "--startup", description = "Print the start-up script, for a plain jshell, and end.")
    boolean printStartup;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = command.commandLine().getOut();
        PrintWriter err = command.commandLine().getErr();
        if (printStartup) {
            out.print(startup());
            out.flush();
            return 0;
        }
        jars.forEach(Lab::plugin);
        List<Path> machines = files.stream().filter(ShellCommand::isYaml).toList();
        List<Path> scripts = files.stream().filter(file -> !isYaml(file)).toList();
        if (machines.size() > 1) {
            throw BenchtopException.config("shell: one VM.yaml at most, got " + machines.size());
        }
        String startup = startup();
        for (Path machine : machines) {
            // Mistakes are shown before the tool starts.
            SpecCheck.check(MachineSpec.load(machine), Lab.registry());
            startup += "var vm = machine(Path.of(\"" + escaped(machine.toString()) + "\"))\n";
        }
        if (!scripts.isEmpty() || System.console() == null || !System.console().isTerminal()) {
            return script(startup, scripts.isEmpty() ? List.of(Path.of("-")) : scripts, err);
        }
        return interactive(startup, out);
    }

    private static boolean isYaml(Path file) {
        String name = file.toString();
        return name.endsWith(".yaml") || name.endsWith(".yml");
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"");
    }

    /** What every session starts with. */
    static String startup() {
        try (InputStream stream = JShellScript.class.getResourceAsStream(STARTUP)) {
            if (stream == null) {
                throw new IllegalStateException(STARTUP + " is missing");
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int script(String startup, List<Path> scripts, PrintWriter err) throws IOException {
        try (JShellScript session = new JShellScript(err)) {
            int code = session.run(startup, STARTUP);
            for (Path script : scripts) {
                if (code != 0 || session.ended()) {
                    break;
                }
                code = script.toString().equals("-")
                        ? session.run(new String(System.in.readAllBytes(), StandardCharsets.UTF_8), "standard input")
                        : session.run(script);
            }
            return code;
        } finally {
            Lab.closeAll();
        }
    }

    private static int interactive(String startup, PrintWriter out) throws Exception {
        ApiSources.offer();
        out.println("Benchtop lab on Java " + Runtime.version().feature()
                + ". Machines: machine(…), boot(…), vms(). Tab completes and explains; /exit ends.");
        out.flush();
        return tool(
                startup,
                JavaShellToolBuilder.builder()
                        .persistence(Preferences.userRoot().node("org/benchtop/shell")));
    }

    /** The JVM passes over what is missing on its class path; the tool does not. */
    private static String classPath() {
        return Stream.of(System.getProperty("java.class.path", "").split(File.pathSeparator))
                .filter(entry -> !entry.isEmpty() && Files.exists(Path.of(entry)))
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** Runs the JDK's tool with cells in this process. */
    static int tool(String startup, JavaShellToolBuilder builder) throws Exception {
        Path file = Files.createTempFile("benchtop", ".jsh");
        try {
            Files.writeString(file, startup);
            return builder.start(
                    "--execution",
                    CellExecutionProvider.NAME,
                    "--class-path",
                    classPath(),
                    "--startup",
                    file.toString(),
                    "--feedback",
                    "benchtop");
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, "shell: " + e.getMessage(), e);
        } finally {
            Files.deleteIfExists(file);
            Lab.closeAll();
        }
    }
}
