package org.benchtop.shell.jshell;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What woven cell code calls; public only because cells are in another class loader.
 *
 * <p>Asked at the start of every method and before every jump backwards: one volatile read while nothing is stopped.
 */
public final class CellChecks {
    private static final Set<Thread> STOPPING = ConcurrentHashMap.newKeySet();
    private static final StackWalker CALLER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private static volatile boolean anyStopping;

    private CellChecks() {}

    /** Throws {@link CellStopped} on a thread whose cell is to stop. */
    public static void stopCheck() {
        if (anyStopping) {
            stopIfAsked();
        }
    }

    private static void stopIfAsked() {
        if (STOPPING.contains(Thread.currentThread())) {
            throw new CellStopped();
        }
    }

    static synchronized void stop(Thread thread) {
        STOPPING.add(thread);
        anyStopping = true;
    }

    static synchronized void clear(Thread thread) {
        STOPPING.remove(thread);
        anyStopping = !STOPPING.isEmpty();
    }

    /** What {@code System.exit} in a cell does. */
    public static void systemExit(int code) {
        exit(CALLER.getCallerClass(), code);
    }

    /** What {@code Runtime.exit} and {@code Runtime.halt} in a cell do. */
    public static void runtimeExit(Runtime runtime, int code) {
        exit(CALLER.getCallerClass(), code);
    }

    private static void exit(Class<?> cell, int code) {
        if (cell.getClassLoader() instanceof CellLoader loader) {
            loader.exit(code);
        } else {
            System.exit(code);
        }
    }
}
