package org.benchtop.shell;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/** {@code benchtop bench}. */
@Command(name = "bench", description = "Run an experiment matrix and report it.")
final class BenchCommand implements Callable<Integer> {
    private final Terminal terminal;

    BenchCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        return terminal.columns();
    }
}
