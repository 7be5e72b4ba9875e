package org.benchtop.shell.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callbacks of cells on the software CPU. */
@Timeout(200)
class CodeHooksTest {
    private static final String HELLO = """
            name: hooked
            accel: soft
            memory: 64MiB
            boot: { guest: hello }
            """;

    private final Vm vm = Lab.machine(HELLO);

    @AfterEach
    void close() {
        vm.close();
    }

    @Test
    void traceShowsTheFirstInstructionsOfTheGuest() throws Exception {
        List<GuestExecution> trace = new CopyOnWriteArrayList<>();
        try (AutoCloseable hook = vm.trace(e -> {
            if (trace.size() < 100) {
                trace.add(e);
            }
        })) {
            assertFalse(hook.toString().isEmpty());
            vm.start();
            vm.awaitExit(Duration.ofSeconds(180));
        }

        assertEquals(100, trace.size());
        assertTrue(trace.stream().allMatch(e -> e.instruction().valid()), trace.toString());
        assertTrue(
                trace.getFirst().toString().startsWith("vcpu0 0x"),
                trace.getFirst().toString());
    }

    @Test
    void callbackOfAnAddressIsCalledAndAFailingOneIsLeftOut() throws Exception {
        vm.step();
        long entry = vm.regs().get("rip");
        List<Long> seen = new CopyOnWriteArrayList<>();
        AutoCloseable failing = vm.onExec(entry, e -> {
            throw new IllegalStateException("of a test");
        });
        AutoCloseable working = vm.onExec(entry, e -> seen.add(e.rip()));

        vm.resume();
        vm.awaitExit(Duration.ofSeconds(180));

        assertEquals(entry, seen.getFirst());
        failing.close();
        working.close();
    }

    @Test
    void mixCountsMnemonics() throws InterruptedException {
        vm.countInstructions();
        vm.start();
        vm.awaitExit(Duration.ofSeconds(180));

        InstructionMix mix = vm.instructionMix();

        assertTrue(mix.byMnemonic().containsKey("mov"), mix.toString());
        assertEquals(
                mix.total(),
                mix.byMnemonic().values().stream().mapToLong(Long::longValue).sum());
    }
}
