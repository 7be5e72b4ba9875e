package org.benchtop.softcpu;

/**
 * An exception of the guest on its way from the instruction that raises it to its delivery. Every vCPU has one, reused and
 * without stack trace: made by {@link Cpu#fault} and its shorthands and thrown at once.
 */
public final class CpuFault extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Divide error. */
    public static final int DE = 0;
    /** Debug. */
    public static final int DB = 1;
    /** Breakpoint. */
    public static final int BP = 3;
    /** Overflow. */
    public static final int OF = 4;
    /** BOUND range exceeded. */
    public static final int BR = 5;
    /** Invalid opcode. */
    public static final int UD = 6;
    /** Device not available. */
    public static final int NM = 7;
    /** Double fault. */
    public static final int DF = 8;
    /** Invalid TSS. */
    public static final int TS = 10;
    /** Segment not present. */
    public static final int NP = 11;
    /** Stack-segment fault. */
    public static final int SS = 12;
    /** General protection. */
    public static final int GP = 13;
    /** Page fault. */
    public static final int PF = 14;
    /** x87 floating-point error. */
    public static final int MF = 16;
    /** Alignment check. */
    public static final int AC = 17;
    /** SIMD floating-point exception. */
    public static final int XM = 19;

    /** The vector. */
    int vector;
    /** Pushed where the vector has one. */
    int errorCode;
    /** An access to {@link #linear}, which is not canonical, made this a #GP; through SS it is to become a #SS. */
    boolean notCanonical;
    /** See {@link #notCanonical}. */
    long linear;

    CpuFault() {
        super(null, null, false, false);
    }

    @Override
    public String getMessage() {
        return "vector " + vector + " error 0x" + Integer.toHexString(errorCode);
    }
}
