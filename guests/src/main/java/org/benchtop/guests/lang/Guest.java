package org.benchtop.guests.lang;

/**
 * The machine as guest code sees it: every method here compiles to a few instructions in place.
 *
 * <p>Guest code is ordinary static Java over {@code int}, {@code long}, {@code byte}, {@code short}, {@code char} and
 * {@code boolean}; {@code String} literals and {@link CpuTask} method references may be passed around but not looked
 * into. The compiler never reorders, merges or drops a memory, port or register access made through this class: each
 * happens once, in program order, with exactly the width its name says. On the JVM every method throws
 * {@link UnsupportedOperationException}.
 *
 * <p>Programs run in ring 3 with I/O privilege; the few methods that need ring 0 (MSRs, halt, the interrupt
 * flag) enter the monitor by an invalid instruction.
 */
public final class Guest {
    private Guest() {}

    /** Loads a byte, zero-extended. */
    public static int load8(long address) {
        throw notInGuest();
    }

    /** Loads a byte, sign-extended. */
    public static int load8Signed(long address) {
        throw notInGuest();
    }

    /** Loads 16 bits, zero-extended. */
    public static int load16(long address) {
        throw notInGuest();
    }

    /** Loads 32 bits. */
    public static int load32(long address) {
        throw notInGuest();
    }

    /** Loads 32 bits, zero-extended to 64. */
    public static long load32Unsigned(long address) {
        throw notInGuest();
    }

    /** Loads 64 bits. */
    public static long load64(long address) {
        throw notInGuest();
    }

    /** Stores the low 8 bits of a value. */
    public static void store8(long address, int value) {
        throw notInGuest();
    }

    /** Stores the low 16 bits of a value. */
    public static void store16(long address, int value) {
        throw notInGuest();
    }

    /** Stores 32 bits. */
    public static void store32(long address, int value) {
        throw notInGuest();
    }

    /** Stores 64 bits. */
    public static void store64(long address, long value) {
        throw notInGuest();
    }

    /** Loads 16 bits before anything that follows in program order (any x86 load does). */
    public static int load16Acquire(long address) {
        throw notInGuest();
    }

    /** Loads 32 bits before anything that follows in program order (any x86 load does). */
    public static int load32Acquire(long address) {
        throw notInGuest();
    }

    /** Loads 64 bits before anything that follows in program order (any x86 load does). */
    public static long load64Acquire(long address) {
        throw notInGuest();
    }

    /** Stores 16 bits after everything that precedes in program order (any x86 store does). */
    public static void store16Release(long address, int value) {
        throw notInGuest();
    }

    /** Stores 32 bits after everything that precedes in program order (any x86 store does). */
    public static void store32Release(long address, int value) {
        throw notInGuest();
    }

    /** Stores 64 bits after everything that precedes in program order (any x86 store does). */
    public static void store64Release(long address, long value) {
        throw notInGuest();
    }

    /** Stores 32 bits and then orders the store before all later loads (a store and {@link #fence()}). */
    public static void store32Volatile(long address, int value) {
        throw notInGuest();
    }

    /** Stores 64 bits and then orders the store before all later loads (a store and {@link #fence()}). */
    public static void store64Volatile(long address, long value) {
        throw notInGuest();
    }

    /** Full memory fence. */
    public static void fence() {
        throw notInGuest();
    }

    /** Sets 32 bits to {@code value} if they equal {@code expected}, atomically; says whether it did. */
    public static boolean compareAndSet32(long address, int expected, int value) {
        throw notInGuest();
    }

    /** Sets 64 bits to {@code value} if they equal {@code expected}, atomically; says whether it did. */
    public static boolean compareAndSet64(long address, long expected, long value) {
        throw notInGuest();
    }

    /** Adds atomically and returns the former value. */
    public static int fetchAdd32(long address, int delta) {
        throw notInGuest();
    }

    /** Adds atomically and returns the former value. */
    public static long fetchAdd64(long address, long delta) {
        throw notInGuest();
    }

    /** Exchanges atomically and returns the former value. */
    public static int exchange32(long address, int value) {
        throw notInGuest();
    }

    /** Exchanges atomically and returns the former value. */
    public static long exchange64(long address, long value) {
        throw notInGuest();
    }

    /** Copies bytes upwards; the areas may overlap only if the target is below the source. */
    public static void copy(long target, long source, long sizeBytes) {
        throw notInGuest();
    }

    /** Fills bytes with the low 8 bits of a value. */
    public static void fill8(long target, int value, long sizeBytes) {
        throw notInGuest();
    }

    /** Fills 64-bit words. */
    public static void fill64(long target, long value, long words) {
        throw notInGuest();
    }

    /** Divides the unsigned 128-bit number {@code high:low}; a quotient beyond 64 bits is exception 0. */
    public static long divide128(long high, long low, long divisor) {
        throw notInGuest();
    }

    /** Reads an 8-bit port, zero-extended. */
    public static int in8(int port) {
        throw notInGuest();
    }

    /** Reads a 16-bit port, zero-extended. */
    public static int in16(int port) {
        throw notInGuest();
    }

    /** Reads a 32-bit port. */
    public static int in32(int port) {
        throw notInGuest();
    }

    /** Writes an 8-bit port. */
    public static void out8(int port, int value) {
        throw notInGuest();
    }

    /** Writes a 16-bit port. */
    public static void out16(int port, int value) {
        throw notInGuest();
    }

    /** Writes a 32-bit port. */
    public static void out32(int port, int value) {
        throw notInGuest();
    }

    /** Reads {@code words} 16-bit words from a port into memory. */
    public static void inWords(int port, long target, long words) {
        throw notInGuest();
    }

    /** Writes {@code words} 16-bit words from memory to a port. */
    public static void outWords(int port, long source, long words) {
        throw notInGuest();
    }

    /** The time-stamp counter, not ordered with other instructions. */
    public static long tsc() {
        throw notInGuest();
    }

    /** The time-stamp counter, read after all earlier loads have completed. */
    public static long tscOrdered() {
        throw notInGuest();
    }

    /** Tells the CPU that this is a spin loop. */
    public static void pause() {
        throw notInGuest();
    }

    /** Executes CPUID and returns one register: {@code register} is the constant 0 for EAX, 1 EBX, 2 ECX, 3 EDX. */
    public static int cpuid(int leaf, int subleaf, int register) {
        throw notInGuest();
    }

    /** Reads a model-specific register, through the monitor. */
    public static long readMsr(int index) {
        throw notInGuest();
    }

    /** Writes a model-specific register, through the monitor. */
    public static void writeMsr(int index, long value) {
        throw notInGuest();
    }

    /** Lets interrupts in. */
    public static void enableInterrupts() {
        throw notInGuest();
    }

    /** Keeps interrupts out. */
    public static void disableInterrupts() {
        throw notInGuest();
    }

    /**
     * Halts until an interrupt, unless the 64-bit word at {@code address} differs from {@code seen} already.
     *
     * <p>Check and halt are one step as far as interrupts are concerned, so none is lost. Returns after any interrupt; the
     * caller looks again.
     */
    public static void waitWhileEqual(long address, long seen) {
        throw notInGuest();
    }

    /** Makes this CPU see changes of its page table. */
    public static void flushTlb() {
        throw notInGuest();
    }

    /** Stops this CPU for good. */
    public static void park() {
        throw notInGuest();
    }

    /** The index of this CPU, 0 for the first. */
    public static int cpu() {
        throw notInGuest();
    }

    /** Reserves zeroed memory in the image; every call in the source is one area. Both arguments are constants. */
    public static long reserve(int sizeBytes, int alignment) {
        throw notInGuest();
    }

    /** Like {@link #reserve(int, int)}, and exports the area as an ELF symbol named by a literal. */
    public static long reserve(String symbol, int sizeBytes, int alignment) {
        throw notInGuest();
    }

    /** The address of a symbol of the image, named by a literal (see {@code GuestImage.symbols()}). */
    public static long symbol(String symbol) {
        throw notInGuest();
    }

    /** The address of the bytes (Latin-1) of a text. */
    public static long textAddress(String text) {
        throw notInGuest();
    }

    /** The number of bytes of a text. */
    public static int textLength(String text) {
        throw notInGuest();
    }

    /** The address of a task, for handing it to another CPU. */
    public static long taskAddress(CpuTask task) {
        throw notInGuest();
    }

    /** Calls a task by its address. */
    public static void callTask(long address, int cpu) {
        throw notInGuest();
    }

    /** Runs the class initialisers of the program; for the runtime only. */
    public static void callInitializers() {
        throw notInGuest();
    }

    /** Calls the program's entry method and returns its exit code; for the runtime only. */
    public static int callEntry() {
        throw notInGuest();
    }

    private static UnsupportedOperationException notInGuest() {
        return new UnsupportedOperationException("guest code runs only in a guest");
    }
}
