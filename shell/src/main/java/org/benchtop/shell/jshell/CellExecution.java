package org.benchtop.shell.jshell;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Optional;
import java.util.function.IntConsumer;
import jdk.jshell.execution.DirectExecutionControl;
import jdk.jshell.spi.ExecutionControl;
import org.jspecify.annotations.Nullable;

/**
 * Runs cells in this process, on the thread that evaluates them.
 *
 * <p>{@link #stop} may be called from any thread; it ends the running cell within milliseconds if that computes in
 * cells' own code or waits in a library that heeds interrupts, as everything of Benchtop does. Threads that a cell has
 * started go on. Cells see the classes of Benchtop itself, so objects pass freely between them and a front end.
 */
public final class CellExecution extends DirectExecutionControl {
    private static final int MAX_TEXT = 1 << 20;

    private final CellLoader loader;
    private final boolean texts;
    private final Object lock = new Object();
    private @Nullable Thread running;
    private boolean stopped;
    private volatile @Nullable Object lastValue;
    private volatile @Nullable Throwable lastThrown;

    /**
     * An execution of its own, with a class loader of its own.
     *
     * @param parent what cells see besides each other
     * @param stoppable whether loops of cells can be stopped; without, loops that the JIT vectorises are up to three
     *     times as fast
     * @param texts whether results are turned into text for JShell; front ends that render {@link #lastValue} do without
     */
    public CellExecution(ClassLoader parent, boolean stoppable, boolean texts) {
        this(new CellLoader(parent, stoppable), texts);
    }

    private CellExecution(CellLoader loader, boolean texts) {
        super(loader);
        this.loader = loader;
        this.texts = texts;
    }

    /** What {@code System.exit} in a cell does, on the cell's thread; without a handler it ends the process. */
    public void onExit(IntConsumer handler) {
        loader.onExit(handler);
    }

    /** The loader of cells' classes; as resources it has their class files as they were compiled. */
    public ClassLoader cellLoader() {
        return loader;
    }

    /** Lets the class files go of classes that no later cell can refer to. */
    public void forgetClasses(Collection<String> names) {
        loader.forget(names);
    }

    /** The object that the last evaluated expression gave; empty after {@code null}, a statement or an exception. */
    public Optional<Object> lastValue() {
        return Optional.ofNullable(lastValue);
    }

    /** What the last cell threw, with its own type, trace and causes; empty if it ended normally or was stopped. */
    public Optional<Throwable> lastThrown() {
        return Optional.ofNullable(lastThrown);
    }

    /** Forgets the last value and exception, so that they can be collected. */
    public void forget() {
        lastValue = null;
        lastThrown = null;
    }

    /** Whether {@link #stop} was called while the last cell ran. */
    public boolean stopped() {
        synchronized (lock) {
            return stopped;
        }
    }

    /** Whether a cell runs now. */
    public boolean running() {
        synchronized (lock) {
            return running != null;
        }
    }

    @Override
    protected String invoke(Method cell) throws Exception {
        Thread thread = Thread.currentThread();
        enter(thread);
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        forget();
        try {
            Object value = cell.invoke(null);
            lastValue = value;
            return texts ? text(value) : "";
        } catch (InvocationTargetException e) {
            return thrown(e.getCause() == null ? e : e.getCause());
        } catch (RuntimeException | Error e) {
            // From toString of the result.
            return thrown(e);
        } finally {
            thread.setContextClassLoader(before);
            leave(thread);
        }
    }

    private String thrown(Throwable cause) throws RunException, InternalException {
        if (stopped()) {
            throw new ExecutionControl.StoppedException();
        }
        lastThrown = cause;
        return throwConvertedInvocationException(cause);
    }

    /** {@code toString} of a value is cell code too: it may throw, never end, or be endless. */
    private static String text(@Nullable Object value) {
        String text = valueString(value);
        return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) + "…" : text;
    }

    private void enter(Thread thread) throws InternalException {
        synchronized (lock) {
            if (running != null) {
                throw new InternalException("a cell is running already on thread " + running.getName());
            }
            running = thread;
            stopped = false;
        }
    }

    private void leave(Thread thread) {
        synchronized (lock) {
            running = null;
            if (stopped) {
                CellChecks.clear(thread);
                // What the stop has left behind; the next cell must not wake up interrupted.
                Thread.interrupted();
            }
        }
    }

    @Override
    public void stop() {
        synchronized (lock) {
            Thread thread = running;
            if (thread != null) {
                stopped = true;
                CellChecks.stop(thread);
                thread.interrupt();
            }
        }
    }

    /** Ends what runs, and lets the class files of libraries go. */
    @Override
    public void close() {
        stop();
        loader.closeQuietly();
    }
}
