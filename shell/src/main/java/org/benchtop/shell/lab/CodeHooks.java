package org.benchtop.shell.lab;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.asm.Disassembler;
import org.benchtop.engine.asm.Instruction;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.ExecHook;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;

/** Callbacks of cells for what a guest executes and accesses. */
final class CodeHooks {
    private static final System.Logger LOG = System.getLogger(CodeHooks.class.getName());

    private final Machine machine;

    CodeHooks(Machine machine) {
        this.machine = machine;
    }

    private static int bits(Vcpu vcpu) {
        SpecialRegisters special = vcpu.specialRegisters();
        return special.cs().longMode() ? 64 : special.cs().db() ? 32 : 16;
    }

    static Instruction decode(Vcpu vcpu, long rip, byte[] code) {
        return Disassembler.decode(code.length == 0 ? new byte[1] : code, 0, rip, bits(vcpu));
    }

    /** A hook that cannot hurt the vCPU: what fails is reported once. */
    private final class Guarded<T> {
        private final Consumer<T> action;
        private boolean failed;

        Guarded(Consumer<T> action) {
            this.action = action;
        }

        void accept(T event) {
            if (failed) {
                return;
            }
            try {
                action.accept(event);
            } catch (RuntimeException | StackOverflowError e) {
                failed = true;
                LOG.log(Level.WARNING, machine.name() + ": a callback failed and is not called any more", e);
            }
        }
    }

    private AutoCloseable held(Supplier<AutoCloseable> attach) {
        AutoCloseable attached = machine.whileHeld(attach);
        return () -> {
            if (machine.state() != MachineState.CLOSED) {
                machine.whileHeld(() -> {
                    try {
                        attached.close();
                    } catch (Exception e) {
                        throw BenchtopException.of(ErrorKind.INTERNAL, machine.name() + ": a callback stays: " + e, e);
                    }
                    return attached;
                });
            }
        };
    }

    private static ExecHook executions(Guarded<GuestExecution> guarded) {
        return (vcpu, rip, code) ->
                guarded.accept(new GuestExecution(vcpu.index(), rip, vcpu.registers(), decode(vcpu, rip, code)));
    }

    AutoCloseable onExec(long address, Consumer<GuestExecution> action) {
        ExecHook hook = executions(new Guarded<>(action));
        return held(() -> machine.cpuVm().onExec(address, hook));
    }

    AutoCloseable onAccess(long address, long length, boolean reads, boolean writes, Consumer<GuestAccess> action) {
        Guarded<GuestAccess> guarded = new Guarded<>(action);
        return held(() -> machine.cpuVm()
                .onAccess(
                        address,
                        length,
                        reads,
                        writes,
                        (vcpu, rip, at, size, write) ->
                                guarded.accept(new GuestAccess(vcpu.index(), rip, at, size, write))));
    }

    AutoCloseable trace(Consumer<GuestExecution> action) {
        ExecHook hook = executions(new Guarded<>(action));
        return held(() -> machine.cpuVm().trace(hook));
    }

    void count() {
        machine.whileHeld(() -> machine.cpuVm().countInstructions(true));
    }

    InstructionMix mix() {
        return machine.whileHeld(
                () -> InstructionMix.of(machine.name(), machine.cpuVm().countInstructions(false)));
    }

    InstructionMix mix(Duration time) throws InterruptedException {
        count();
        try {
            machine.awaitExit(time);
        } catch (InterruptedException e) {
            mix();
            throw e;
        }
        return mix();
    }
}
