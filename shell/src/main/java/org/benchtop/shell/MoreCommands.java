package org.benchtop.shell;

import java.util.Map;

/** Commands of modules that stand on this one; found by {@link java.util.ServiceLoader}. */
public interface MoreCommands {
    /** Annotated command classes with public constructors, by name, in the order of the help text. */
    Map<String, Class<?>> commands();
}
