package org.benchtop.pc.chardev;

import java.util.function.BooleanSupplier;
import org.benchtop.testkit.FakeEventLoop;

/** Waits for other threads while it runs the loop. */
final class Await {
    private Await() {}

    static void until(FakeEventLoop loop, String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (!condition.getAsBoolean()) {
            loop.runPending();
            if (System.nanoTime() > deadline) {
                throw new AssertionError("waited too long for " + what);
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
