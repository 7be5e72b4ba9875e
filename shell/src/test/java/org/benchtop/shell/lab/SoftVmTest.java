package org.benchtop.shell.lab;

import static org.benchtop.shell.lab.Lab.guest;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.benchtop.engine.MachineState;
import org.junit.jupiter.api.Test;

/** The lab on the CPU in Java. */
class SoftVmTest extends VmContract {
    SoftVmTest() {
        super("soft");
    }

    /** Of KVM, {@code KvmStateTest} tests them in ring 0: not every KVM loads debug registers for programs. */
    @Test
    void breakpointPausesBeforeItsInstruction() throws InterruptedException {
        Vm vm = boot(guest("spin", Programs::spin));
        pauseInPrograms(vm);
        long address = vm.step().get("rip");
        vm.step();
        long before = vm.read64(0x30_0000);
        vm.breakpoints(address);

        vm.resume();
        CpuState stopped = vm.awaitStop(LONG).orElseThrow();

        assertEquals(MachineState.PAUSED, vm.state());
        assertEquals(address, stopped.get("rip"));
        assertTrue(vm.read64(0x30_0000) - before <= 3, "more than one round until it stopped");
        vm.breakpoints();
        vm.resume();
        assertTrue(vm.awaitStop(Duration.ofMillis(50)).isEmpty());
    }
}
