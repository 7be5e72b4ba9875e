package org.benchtop.spi.cpu;

/** Why {@link Vcpu#run} returned. Port and memory accesses are handled inside and do not show here. */
public sealed interface VcpuExit {
    /** Somebody called {@link Vcpu#kick}. */
    record Kicked() implements VcpuExit {
        /** The one instance. */
        public static final Kicked INSTANCE = new Kicked();
    }

    /** HLT, where the engine does not wait by itself. */
    record Halted() implements VcpuExit {
        /** The one instance. */
        public static final Halted INSTANCE = new Halted();
    }

    /** Triple fault: the machine resets. */
    record Shutdown() implements VcpuExit {
        /** The one instance. */
        public static final Shutdown INSTANCE = new Shutdown();
    }

    /**
     * A breakpoint or single step.
     *
     * @param rip where the vCPU stands
     */
    record Debug(long rip) implements VcpuExit {}

    /**
     * The engine cannot go on.
     *
     * @param reason one line with the engine's own codes
     * @param rip where the vCPU stands
     * @param instructionBytes up to 15 bytes at RIP, for a disassembler; empty if not readable
     */
    record Failed(String reason, long rip, byte[] instructionBytes) implements VcpuExit {}
}
