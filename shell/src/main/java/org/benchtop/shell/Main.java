package org.benchtop.shell;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.shell.image.ImageCommand;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The {@code benchtop} command. */
@Command(
        name = "benchtop",
        description = "A virtual-machine lab for the JVM.",
        synopsisSubcommandLabel = "COMMAND",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        versionProvider = Main.Version.class,
        sortOptions = false,
        usageHelpAutoWidth = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            " 0:all went well",
            " 1:a defect in Benchtop",
            " 2:wrong input: command line, YAML, image or plugin",
            " 3:the host lacks something",
            " 4:the guest failed",
            "130:interrupted",
        })
public final class Main {
    @Option(names = "--debug", scope = ScopeType.INHERIT, description = "Show stack traces and debug messages.")
    void debug(boolean on) {
        if (on) {
            ConsoleLog.level(System.Logger.Level.DEBUG);
        }
    }

    /** By name, in the order of the help text. Reading a command's annotations takes time, so only what is needed is. */
    private static final Map<String, Class<?>> COMMANDS = commands();

    private Main() {}

    private static Map<String, Class<?>> commands() {
        Map<String, Class<?>> commands = new LinkedHashMap<>();
        commands.put("run", RunCommand.class);
        commands.put("shell", ShellCommand.class);
        commands.put("bench", BenchCommand.class);
        commands.put("validate", ValidateCommand.class);
        commands.put("schema", SchemaCommand.class);
        commands.put("plugins", PluginsCommand.class);
        commands.put("guest", GuestCommand.class);
        commands.put("image", ImageCommand.class);
        commands.put("from-qemu", FromQemuCommand.class);
        return commands;
    }

    /** Prints what is running. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            @Nullable String version = Main.class.getPackage().getImplementationVersion();
            return new String[] {
                "benchtop " + (version == null ? "(unpackaged)" : version) + " (SPI "
                        + new SpiVersion(Spi.MAJOR, Spi.MINOR) + ", Java " + Runtime.version() + ")"
            };
        }
    }

    /** Runs a command line and ends the process with its exit code. */
    public static void main(String[] args) {
        int exitCode = run(
                new PrintWriter(System.out, true, StandardCharsets.UTF_8),
                new PrintWriter(System.err, true, StandardCharsets.UTF_8),
                Terminal.detect(),
                args);
        System.out.flush();
        System.exit(exitCode);
    }

    /** Runs a command line. */
    static int run(PrintWriter out, PrintWriter err, Terminal terminal, String... args) {
        CommandLine command = new CommandLine(new Main(), new Commands(terminal));
        Map<String, Class<?>> commands = new LinkedHashMap<>(COMMANDS);
        boolean known = args.length > 0 && COMMANDS.containsKey(args[0]);
        if (!known) {
            ServiceLoader.load(MoreCommands.class).forEach(more -> commands.putAll(more.commands()));
        }
        Set<String> wanted = known ? Set.of(args[0]) : commands.keySet();
        commands.forEach((name, type) -> {
            if (wanted.contains(name)) {
                command.addSubcommand(name, type);
            }
        });
        command.setOut(out);
        command.setErr(err);
        // Picocli refuses less than 55.
        command.setUsageHelpWidth(Math.clamp(terminal.columns(), 55, 120));
        command.setColorScheme(CommandLine.Help.defaultColorScheme(
                terminal.out() && System.getenv("NO_COLOR") == null
                        ? CommandLine.Help.Ansi.ON
                        : CommandLine.Help.Ansi.OFF));
        command.setCaseInsensitiveEnumValuesAllowed(true);
        command.setParameterExceptionHandler((e, words) -> {
            CommandLine wrong = e.getCommandLine();
            err.println(wrong.getColorScheme().errorText("benchtop:") + " " + problem(e) + " (try "
                    + wrong.getCommandSpec().qualifiedName() + " --help)");
            return ErrorKind.CONFIG.exitCode();
        });
        boolean debug = List.of(args).contains("--debug");
        command.setExecutionExceptionHandler((e, failed, words) -> ErrorReport.print(e, failed, debug));
        try {
            return command.execute(args);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return ErrorReport.print(e, command, debug);
        }
    }

    private static String problem(CommandLine.ParameterException e) {
        if (e instanceof CommandLine.UnmatchedArgumentException unmatched) {
            CommandLine.Model.CommandSpec spec = e.getCommandLine().getCommandSpec();
            String word = unmatched.getUnmatched().getFirst();
            if (word.startsWith("-")) {
                return "unknown option " + word
                        + Suggestions.hint(word, spec.optionsMap().keySet());
            }
            if (!spec.subcommands().isEmpty()) {
                return "unknown command " + word
                        + Suggestions.hint(word, spec.subcommands().keySet());
            }
        }
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }

    /** Creates commands, telling those that ask about the terminal. */
    private record Commands(Terminal terminal) implements CommandLine.IFactory {
        @Override
        public <K> K create(Class<K> type) throws Exception {
            if (type == RunCommand.class) {
                return type.cast(new RunCommand(terminal));
            }
            if (type == BenchCommand.class) {
                return type.cast(new BenchCommand(terminal));
            }
            return CommandLine.defaultFactory().create(type);
        }
    }
}
