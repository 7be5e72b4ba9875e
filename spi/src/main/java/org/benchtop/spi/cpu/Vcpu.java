package org.benchtop.spi.cpu;

import java.util.OptionalLong;
import org.benchtop.spi.state.SavedState;

/**
 * One virtual CPU. {@link #run} and the register methods are called on its own thread, or on any thread while {@link
 * #run} is known not to be running; {@link #kick} anywhere.
 */
public interface Vcpu extends AutoCloseable {
    /** The number of this vCPU, from 0; also its APIC ID. */
    int index();

    /** Executes guest code until something happens that the engine does not handle by itself. */
    VcpuExit run();

    /** Makes a running or the next {@link #run} return {@link VcpuExit.Kicked} soon. */
    void kick();

    /** Back to the power-on state (vCPU 0) or to waiting for INIT/SIPI (others, with an interrupt controller). */
    void reset();

    /** General registers. */
    Registers registers();

    /** Sets general registers. */
    void registers(Registers registers);

    /** Segments, control registers and tables. */
    SpecialRegisters specialRegisters();

    /** Sets segments, control registers and tables. */
    void specialRegisters(SpecialRegisters registers);

    /** An MSR; empty if the vCPU has none of that number. */
    OptionalLong msr(int index);

    /** Sets an MSR; false if refused. */
    boolean msr(int index, long value);

    /**
     * x87, SSE and AVX registers: an XSAVE area in standard format (Intel SDM vol. 1, 13.4); its first 512 bytes alone
     * where there is no more, empty if the engine does not show them.
     */
    default byte[] extendedState() {
        return new byte[0];
    }

    /** DR0 to DR3, DR6 and DR7; empty if the engine does not show them. */
    default long[] debugRegisters() {
        return new long[0];
    }

    /** Walks the guest's page tables as a supervisor read would; empty if unmapped. Has no side effect. */
    OptionalLong translate(long virtualAddress);

    /** The frequency of the time-stamp counter in kHz, if the engine knows it exactly. */
    default OptionalLong tscKilohertz() {
        return OptionalLong.empty();
    }

    /** Makes {@link #run} return {@link VcpuExit.Debug} after each instruction. */
    void singleStep(boolean enabled);

    /** Sets the instruction breakpoints (virtual addresses); engines without software breakpoints allow 4. */
    void breakpoints(long[] virtualAddresses);

    /**
     * Sets the data watchpoints of the whole VM: {@link #run} returns {@link VcpuExit.Debug} behind an instruction that
     * touches one.
     *
     * @param ranges pairs of virtual address and length; empty for none
     * @param reads whether reads count, too
     * @throws org.benchtop.spi.BenchtopException if the engine has no watchpoints
     */
    default void watchpoints(long[] ranges, boolean reads) {
        throw org.benchtop.spi.BenchtopException.of(
                org.benchtop.spi.ErrorKind.UNSUPPORTED, "this CPU engine has no watchpoints");
    }

    /** Queues a non-maskable interrupt. Any thread. */
    void injectNmi();

    /** Connects an emulated local APIC; for VMs without {@link CpuVmFeatures#irqChip}. Before the first run. */
    void connect(LocalApic apic);

    /** An emulated local APIC has a new interrupt: look again. Any thread. */
    void interruptChanged();

    /** An emulated local APIC received INIT. Any thread. */
    void init();

    /** An emulated local APIC received a start-up IPI. Any thread. */
    void startup(int vector);

    /** How many instructions this vCPU has executed, if the engine counts them. Any thread; may lag while running. */
    default OptionalLong instructions() {
        return OptionalLong.empty();
    }

    /**
     * Makes {@link #run} return {@link VcpuExit.Debug} once exactly so many instructions have been executed.
     *
     * @param instructions as {@link #instructions()} counts; {@link Long#MAX_VALUE} for never
     * @throws org.benchtop.spi.BenchtopException if the engine does not run by instruction count
     */
    default void stopAfter(long instructions) {
        throw org.benchtop.spi.BenchtopException.of(
                org.benchtop.spi.ErrorKind.UNSUPPORTED, "this CPU engine does not run by instruction count");
    }

    /** How often this vCPU left guest mode, by reason. Any thread. */
    ExitCounts exits();

    /** Everything the guest can observe of this vCPU. */
    SavedState saveState();

    /** Sets what {@link #saveState} gave. */
    void restoreState(SavedState state);

    @Override
    void close();
}
