package org.benchtop.notebook.command;

import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Ends a kernel whose server has died: front ends name their process in {@code JPY_PARENT_PID}. */
final class ParentWatch {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final long PERIOD_MILLIS = 500;

    private ParentWatch() {}

    static void start(Runnable onEnd) {
        @Nullable String pid = System.getenv("JPY_PARENT_PID");
        if (pid == null || pid.isBlank()) {
            return;
        }
        try {
            Optional<ProcessHandle> parent = ProcessHandle.of(Long.parseLong(pid.strip()));
            if (parent.isEmpty()) {
                onEnd.run();
            } else {
                watch(parent.get(), onEnd);
            }
        } catch (NumberFormatException e) {
            LOG.log(Level.WARNING, "JPY_PARENT_PID is not a process id: " + pid);
        }
    }

    /** Looks twice a second: {@code onExit} of a process that is no child looks more and more rarely. */
    static void watch(ProcessHandle parent, Runnable onEnd) {
        Thread.ofPlatform().daemon().name("jupyter-parent").start(() -> {
            try {
                while (parent.isAlive()) {
                    TimeUnit.MILLISECONDS.sleep(PERIOD_MILLIS);
                }
                onEnd.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }
}
