package org.benchtop.engine.linux;

import java.io.File;
import java.util.Objects;

/** Counts what this process holds of the host, for leak tests. */
final class HostResources {
    private HostResources() {}

    static int openDescriptors() {
        return Objects.requireNonNull(new File("/proc/self/fd").list()).length;
    }

    static int threads() {
        return Objects.requireNonNull(new File("/proc/self/task").list()).length;
    }
}
