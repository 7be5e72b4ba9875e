package org.benchtop.notebook.kernel;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import jdk.jshell.spi.ExecutionControl;
import org.jspecify.annotations.Nullable;

/**
 * Gives the compiler free while a cell runs, so that completion and documentation are answered meanwhile; and knows in
 * which field a variable lives, so that values nobody can reach any more are let go.
 */
final class CompilerLock implements ExecutionControl {
    private final ExecutionControl execution;
    private final ReentrantLock lock;
    private final ClassLoader cells;
    private final Map<String, Variable> variables = new HashMap<>();
    private @Nullable String locating;

    /** The field of a variable. */
    private record Variable(String className, String field) {}

    /**
     * Wraps.
     *
     * @param lock held by whoever evaluates
     * @param cells the loader of cells' classes
     */
    CompilerLock(ExecutionControl execution, ReentrantLock lock, ClassLoader cells) {
        this.execution = execution;
        this.lock = lock;
        this.cells = cells;
    }

    /** Remembers the field of a variable, which {@code ask} makes JShell name; lets go what the variable held elsewhere. */
    void locate(String snippetId, Runnable ask) {
        locating = snippetId;
        try {
            ask.run();
        } finally {
            locating = null;
        }
    }

    /** Lets the value of a variable go that was dropped. */
    void release(String snippetId) {
        @Nullable Variable variable = variables.remove(snippetId);
        if (variable != null) {
            release(variable);
        }
    }

    private void release(Variable variable) {
        field(variable).ifPresent(field -> {
            try {
                field.set(null, null);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException("variables of cells are public", e);
            }
        });
    }

    /** The value of a variable; empty if it is not an object or not known. */
    Optional<Object> value(String snippetId) {
        return Optional.ofNullable(variables.get(snippetId))
                .flatMap(this::field)
                .flatMap(field -> {
                    try {
                        return Optional.ofNullable(field.get(null));
                    } catch (IllegalAccessException e) {
                        throw new IllegalStateException("variables of cells are public", e);
                    }
                });
    }

    private Optional<Field> field(Variable variable) {
        try {
            Field field = Class.forName(variable.className, false, cells).getDeclaredField(variable.field);
            field.setAccessible(true);
            return field.getType().isPrimitive() || Modifier.isFinal(field.getModifiers())
                    ? Optional.empty()
                    : Optional.of(field);
        } catch (ReflectiveOperationException | LinkageError e) {
            return Optional.empty();
        }
    }

    @Override
    public String invoke(String className, String methodName)
            throws RunException, EngineTerminationException, InternalException {
        int held = lock.getHoldCount();
        for (int i = 0; i < held; i++) {
            lock.unlock();
        }
        try {
            return execution.invoke(className, methodName);
        } finally {
            for (int i = 0; i < held; i++) {
                lock.lock();
            }
        }
    }

    @Override
    public String varValue(String className, String varName)
            throws RunException, EngineTerminationException, InternalException {
        @Nullable String snippet = locating;
        if (snippet != null) {
            Variable now = new Variable(className, varName);
            @Nullable Variable before = variables.put(snippet, now);
            // A new declaration of the same name may or may not live in the field of the old one.
            if (before != null && !before.equals(now)) {
                release(before);
            }
            return "";
        }
        return execution.varValue(className, varName);
    }

    @Override
    public void load(ClassBytecodes[] classes)
            throws ClassInstallException, NotImplementedException, EngineTerminationException {
        execution.load(classes);
    }

    @Override
    public void redefine(ClassBytecodes[] classes)
            throws ClassInstallException, NotImplementedException, EngineTerminationException {
        execution.redefine(classes);
    }

    @Override
    public void addToClasspath(String path) throws EngineTerminationException, InternalException {
        execution.addToClasspath(path);
    }

    @Override
    public void stop() throws EngineTerminationException, InternalException {
        execution.stop();
    }

    @Override
    public Object extensionCommand(String command, Object argument)
            throws RunException, EngineTerminationException, InternalException {
        return execution.extensionCommand(command, argument);
    }

    @Override
    public void close() {
        execution.close();
    }
}
