package org.benchtop.notebook.command;

import java.lang.System.Logger.Level;
import java.lang.reflect.Proxy;

/** Signals of the process. By reflection, because the JDK's class for them draws a compiler warning that nothing turns off. */
final class Signals {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");

    private Signals() {}

    /** What Ctrl-C and front ends that interrupt by signal do. */
    static void onInterrupt(Runnable action) {
        on("INT", action);
    }

    /** What {@code kill} does. */
    static void onTerminate(Runnable action) {
        on("TERM", action);
    }

    private static void on(String name, Runnable action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object proxy =
                    Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, (self, method, args) -> {
                        switch (method.getName()) {
                            case "handle" -> action.run();
                            case "hashCode" -> {
                                return System.identityHashCode(self);
                            }
                            case "equals" -> {
                                return self == args[0];
                            }
                            case "toString" -> {
                                return "handler of " + name;
                            }
                            default -> throw new UnsupportedOperationException(method.getName());
                        }
                        return null;
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            LOG.log(Level.WARNING, "signal " + name + " is not heeded: " + e);
        }
    }
}
