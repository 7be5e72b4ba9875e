package org.benchtop.shell.lab;

import java.io.Serializable;

/** Like {@link GuestBody}, for programs without a result; they exit with 0. */
@FunctionalInterface
public interface GuestAction extends Serializable {
    /** Runs in the guest. */
    void run();
}
