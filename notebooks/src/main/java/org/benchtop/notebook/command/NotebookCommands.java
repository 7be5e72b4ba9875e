package org.benchtop.notebook.command;

import java.util.LinkedHashMap;
import java.util.Map;
import org.benchtop.shell.MoreCommands;

/** Adds {@code notebook} and {@code kernel} to the command line. */
public final class NotebookCommands implements MoreCommands {
    /** For {@link java.util.ServiceLoader}. */
    public NotebookCommands() {}

    @Override
    public Map<String, Class<?>> commands() {
        Map<String, Class<?>> commands = new LinkedHashMap<>();
        commands.put("notebook", NotebookCommand.class);
        commands.put("kernel", KernelCommand.class);
        return commands;
    }
}
