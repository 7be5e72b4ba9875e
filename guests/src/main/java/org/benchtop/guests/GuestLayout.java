package org.benchtop.guests;

/**
 * Guest-physical addresses that every compiled guest image uses; all of them are identity-mapped.
 *
 * <p>Nothing here moves between images, so the host may look at these places without a symbol table.
 */
public final class GuestLayout {
    /** Where the 16-bit start code of secondary CPUs is copied to (one page, below 1 MiB). */
    public static final long SMP_TRAMPOLINE = 0x8000;

    /** First byte of the ring-0 monitor: page tables, descriptor tables and its code. */
    public static final long MONITOR = 0x10_0000;

    /** Words that monitor and runtime share; offsets below. */
    public static final long SHARED = 0x18_0000;

    /** Physical address of the PVH {@code hvm_start_info}, 8 bytes; 0 if not entered by PVH. */
    public static final long START_INFO = SHARED;

    /** Physical address of the Linux {@code boot_params}, 8 bytes; 0 if entered by PVH. */
    public static final long BOOT_PARAMS = SHARED + 8;

    /** Number of CPUs that have arrived, 4 bytes; also the index of the next one. */
    public static final long CPU_COUNT = SHARED + 16;

    /** Non-zero once a CPU reports an exception, 4 bytes. */
    public static final long TRAP_OWNER = SHARED + 24;

    /** 256 interrupt counters of 8 bytes, one per vector, incremented by the monitor. */
    public static final long INTERRUPT_COUNTERS = SHARED + 0x1000;

    /** Per-CPU stack slots: guard page, ring-3 stack, guard page, ring-0 stack (one page). */
    public static final long STACKS = 0x20_0000;

    /** Size of one CPU's stack slot; slots are aligned to it, which is how code knows its CPU. */
    public static final long STACK_SLOT_SIZE = 0x1_0000;

    /** Largest number of CPUs that a guest uses; further ones are parked. */
    public static final int MAX_CPUS = 16;

    /** Results area that programs fill for the host; its layout is the program's. */
    public static final long RESULTS = 0x30_0000;

    /** Size of the results area in bytes. */
    public static final long RESULTS_SIZE = 0x1_0000;

    /** First byte of compiled code; read-only data, data and reserved memory follow it. */
    public static final long TEXT = 0x40_0000;

    /** I/O port that takes the exit code of the guest. */
    public static final int EXIT_PORT = 0x501;

    private GuestLayout() {}
}
