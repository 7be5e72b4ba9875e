package org.benchtop.spi.cpu;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.time.VirtualTime;

/** One VM of an engine. Control plane; any thread; closed after its vCPUs. */
public interface CpuVm extends AutoCloseable {
    /** What this VM brings along. */
    CpuVmFeatures features();

    /**
     * Maps host memory into the guest; an existing slot of that number is replaced.
     *
     * @param slot a small number chosen by the caller
     * @param gpa page-aligned
     * @param memory page-aligned
     */
    void mapMemory(int slot, long gpa, MemorySegment memory, MemoryAccess access);

    /** Unmaps a slot. */
    void unmapMemory(int slot);

    /** Creates a vCPU in its power-on state. */
    Vcpu createVcpu(int index);

    /** The engine's interrupt controllers, where {@link CpuVmFeatures#irqChip}. */
    Optional<IrqChip> irqChip();

    /**
     * Lets the engine ring a doorbell for matching writes without an exit; empty when it cannot.
     *
     * @throws BenchtopException if the same event exists already
     */
    Optional<AutoCloseable> addIoEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell);

    /** Starts or stops logging of pages written by vCPUs. */
    void logDirty(boolean enabled);

    /** Adds the pages of a slot written since the last call to {@code bitmap} (bit = 4 KiB page) and forgets them. */
    void collectDirty(int slot, long[] bitmap);

    /** A device has written RAM in place: engines that cache decoded code drop what they have of it. Hot; any thread. */
    void written(long gpa, long lengthBytes);

    /** Guest time stops and continues with the vCPUs; called when none is running. */
    default void paused(boolean paused) {}

    /**
     * Interrupt controllers and timers of the engine go to their power-on state; lines stay as their devices drive them.
     * Called when no vCPU is running, before the vCPUs' own {@link Vcpu#reset}.
     */
    default void reset() {}

    /**
     * Calls back before the instruction at an address, on every vCPU, until the result is closed. Code elsewhere runs as
     * fast as without. No vCPU may be running.
     *
     * @param virtualAddress linear address
     * @throws BenchtopException if the engine cannot
     */
    default AutoCloseable onExec(long virtualAddress, ExecHook hook) {
        throw noHooks();
    }

    /**
     * Calls back before accesses to a range, until the result is closed. Memory of other pages is accessed as fast as
     * without. No vCPU may be running.
     *
     * @param virtualAddress linear address
     * @throws BenchtopException if the engine cannot
     */
    default AutoCloseable onAccess(
            long virtualAddress, long lengthBytes, boolean reads, boolean writes, AccessHook hook) {
        throw noHooks();
    }

    /**
     * Calls back before every instruction, until the result is closed. No vCPU may be running.
     *
     * @throws BenchtopException if the engine cannot
     */
    default AutoCloseable trace(ExecHook hook) {
        throw noHooks();
    }

    /**
     * Starts to count instructions by opcode, or ends it. No vCPU may be running.
     *
     * @return what was counted since the start
     * @throws BenchtopException if the engine cannot
     */
    default List<InstructionCount> countInstructions(boolean enabled) {
        throw noHooks();
    }

    private static BenchtopException noHooks() {
        return BenchtopException.of(
                ErrorKind.UNSUPPORTED, "this CPU engine does not show single instructions; accel: soft does");
    }

    /** Guest time, where this VM counts it in instructions; the machine then lives by it. */
    default Optional<VirtualTime> virtualTime() {
        return Optional.empty();
    }

    /** What the guest can observe of the VM besides memory and vCPUs. Called when no vCPU is running. */
    default SavedState saveState() {
        return SavedState.EMPTY;
    }

    /** Sets what {@link #saveState} gave. Called when no vCPU is running. */
    default void restoreState(SavedState state) {}

    @Override
    void close();
}
