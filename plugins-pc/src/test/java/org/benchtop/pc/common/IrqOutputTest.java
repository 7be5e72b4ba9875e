package org.benchtop.pc.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.benchtop.testkit.FakeIrqLine;
import org.junit.jupiter.api.Test;

class IrqOutputTest {
    @Test
    void unchangedLevelNeedsNoPublishing() {
        IrqOutput irq = new IrqOutput(new FakeIrqLine());

        assertFalse(irq.want(false));
        assertTrue(irq.want(true));
        assertFalse(irq.want(true));
    }

    @Test
    void gapGivesAnotherEdge() {
        FakeIrqLine line = new FakeIrqLine();
        IrqOutput irq = new IrqOutput(line);
        irq.want(true);
        irq.publish();

        irq.publishAfterGap();

        assertTrue(line.asserted());
        assertEquals(2, line.raises());
    }

    @Test
    void lineEndsAtTheLastWantedLevelWhateverTheOrderOfThePublishers() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (int round = 0; round < 200; round++) {
                FakeIrqLine line = new FakeIrqLine();
                IrqOutput irq = new IrqOutput(line);
                Object deviceLock = new Object();
                AtomicBoolean level = new AtomicBoolean();
                List<Future<?>> done = new ArrayList<>();
                for (int thread = 0; thread < 2; thread++) {
                    int seed = thread;
                    done.add(threads.submit(() -> {
                        for (int i = 0; i < 100; i++) {
                            boolean changed;
                            synchronized (deviceLock) {
                                level.set((i + seed) % 3 != 0);
                                changed = irq.want(level.get());
                            }
                            if (changed) {
                                irq.publish();
                            }
                        }
                    }));
                }
                for (Future<?> future : done) {
                    future.get();
                }

                assertEquals(level.get(), line.asserted(), "round " + round);
            }
        }
    }
}
