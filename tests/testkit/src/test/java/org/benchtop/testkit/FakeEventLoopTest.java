package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class FakeEventLoopTest {
    private final FakeEventLoop loop = new FakeEventLoop();
    private final List<String> log = new ArrayList<>();

    @Test
    void ringsCoalesceUntilTheHandlerRuns() {
        var doorbell = loop.doorbell("d", () -> log.add("rung"));
        doorbell.ring();
        doorbell.ring();

        loop.runPending();
        doorbell.ring();
        loop.runPending();

        assertEquals(List.of("rung", "rung"), log);
    }

    @Test
    void closedDoorbellStaysSilent() {
        var doorbell = loop.doorbell("d", () -> log.add("rung"));
        doorbell.ring();

        doorbell.close();
        doorbell.ring();
        loop.runPending();

        assertEquals(List.of(), log);
        assertEquals(0, loop.openHandles());
    }

    @Test
    void timersSeeTheTimeTheyAskedFor() {
        var second = loop.timer(loop.clock(), () -> log.add("b" + loop.clock().nanoTime()));
        var first = loop.timer(loop.clock(), () -> log.add("a" + loop.clock().nanoTime()));
        second.armAt(20);
        first.armAt(10);

        loop.advance(15);
        assertEquals(List.of("a10"), log);
        loop.advance(15);

        assertEquals(List.of("a10", "b20"), log);
        assertEquals(30, loop.clock().nanoTime());
    }

    @Test
    void armingAgainReplacesTheDeadline() {
        var timer = loop.timer(loop.clock(), () -> log.add("fired"));
        timer.armAt(10);
        timer.armAt(50);

        loop.advance(49);
        assertEquals(List.of(), log);
        loop.advance(1);

        assertEquals(List.of("fired"), log);
    }

    @Test
    void callIsInTheLoopAndPlainCodeIsNot() {
        assertFalse(loop.inLoop());
        loop.call(() -> assertTrue(loop.inLoop()));
        loop.execute(() -> assertTrue(loop.inLoop()));
        loop.runPending();
    }

    @Test
    void throwingHandlerFailsTheTestAfterTheOthersRan() {
        loop.execute(() -> {
            throw new IllegalStateException("boom");
        });
        loop.execute(() -> log.add("ran"));

        AssertionError error = assertThrows(AssertionError.class, loop::runPending);

        assertTrue(error.toString().contains("boom"));
        assertEquals(List.of("ran"), log);
    }

    @Test
    void watchesRunAsFarAsTheyAreInterested() {
        var watch = loop.watch(7, (readable, writable) -> log.add(readable + "/" + writable));
        loop.ready(7, true, true);
        watch.interest(true, false);
        loop.ready(7, true, true);
        loop.ready(8, true, true);

        assertEquals(List.of("true/false"), log);
    }
}
