package org.benchtop.notebook.command;

import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** Waits for the first of several things that end a kernel. */
final class KernelEnd {
    private final CountDownLatch latch = new CountDownLatch(1);
    private volatile @Nullable String reason;

    void request(String by) {
        reason = by;
        latch.countDown();
    }

    @Nullable
    String await() {
        while (true) {
            try {
                latch.await();
                return reason;
            } catch (InterruptedException e) {
                // Only a request ends the kernel.
                Thread.interrupted();
            }
        }
    }
}
