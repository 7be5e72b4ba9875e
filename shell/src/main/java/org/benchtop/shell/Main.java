package org.benchtop.shell;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
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
        },
        subcommands = {
            RunCommand.class,
            BenchCommand.class,
            ValidateCommand.class,
            SchemaCommand.class,
            PluginsCommand.class,
            GuestCommand.class,
        })
public final class Main {
    @Option(
            names = "--debug",
            scope = ScopeType.INHERIT,
            description = "Show stack traces and debug messages.")
    void debug(boolean on) {
        if (on) {
            ConsoleLog.level(System.Logger.Level.DEBUG);
        }
    }

    private Main() {}

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
        command.setOut(out);
        command.setErr(err);
        command.setUsageHelpWidth(Math.min(120, terminal.columns()));
        command.setColorScheme(CommandLine.Help.defaultColorScheme(
                terminal.out() && System.getenv("NO_COLOR") == null
                        ? CommandLine.Help.Ansi.ON
                        : CommandLine.Help.Ansi.OFF));
        command.setCaseInsensitiveEnumValuesAllowed(true);
        command.setParameterExceptionHandler((e, _) -> {
            CommandLine wrong = e.getCommandLine();
            String text = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            err.println(wrong.getColorScheme().errorText("benchtop:") + " " + text + " (try "
                    + wrong.getCommandSpec().qualifiedName() + " --help)");
            return ErrorKind.CONFIG.exitCode();
        });
        boolean debug = java.util.List.of(args).contains("--debug");
        command.setExecutionExceptionHandler((e, failed, _) -> ErrorReport.print(e, failed, debug));
        try {
            return command.execute(args);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return ErrorReport.print(e, command, debug);
        }
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
