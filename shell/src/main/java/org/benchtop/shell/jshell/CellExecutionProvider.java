package org.benchtop.shell.jshell;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import jdk.jshell.spi.ExecutionControlProvider;
import jdk.jshell.spi.ExecutionEnv;
import org.jspecify.annotations.Nullable;

/**
 * Offers {@link CellExecution} to JShell under the name {@code benchtop}; found by {@link java.util.ServiceLoader}, or
 * given to {@code JShell.builder().executionEngine(provider, null)} by a front end that wants the execution itself.
 */
public final class CellExecutionProvider implements ExecutionControlProvider {
    /** The name for {@code jshell --execution}. */
    public static final String NAME = "benchtop";

    /** The parameter that says whether loops can be stopped: {@code true} (default) or {@code false}. */
    public static final String STOPPABLE = "stoppable";

    /** The parameter that says whether results become text for JShell: {@code true} (default) or {@code false}. */
    public static final String TEXTS = "texts";

    private volatile @Nullable CellExecution last;

    /** For {@link java.util.ServiceLoader}. */
    public CellExecutionProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Map<String, String> defaultParameters() {
        return new TreeMap<>(Map.of(STOPPABLE, "true", TEXTS, "true"));
    }

    @Override
    public CellExecution generate(ExecutionEnv environment, @Nullable Map<String, String> parameters) {
        Map<String, String> all = defaultParameters();
        if (parameters != null) {
            all.putAll(parameters);
        }
        CellExecution execution = new CellExecution(
                CellExecutionProvider.class.getClassLoader(),
                Boolean.parseBoolean(all.get(STOPPABLE)),
                Boolean.parseBoolean(all.get(TEXTS)));
        last = execution;
        return execution;
    }

    /** The execution that was made last, if any. */
    public Optional<CellExecution> last() {
        return Optional.ofNullable(last);
    }
}
