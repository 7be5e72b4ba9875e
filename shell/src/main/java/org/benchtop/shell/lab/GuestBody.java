package org.benchtop.shell.lab;

import java.io.Serializable;

/**
 * A guest program's entry as a lambda or method reference: it is never called here, but compiled to bare-metal x86-64.
 * Serializable, because that is how a lambda tells which method it is.
 */
@FunctionalInterface
public interface GuestBody extends Serializable {
    /** Runs in the guest; the result is its exit code, 0 to 255. */
    int run();
}
