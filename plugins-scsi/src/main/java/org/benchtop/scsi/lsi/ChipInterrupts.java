package org.benchtop.scsi.lsi;

/**
 * Interrupt conditions of the DMA and SCSI cores (53C895A manual, 2.2.16). What happens while a condition of the same core
 * is pending is stacked behind it, so that a read of DSTAT or SIST takes one set and shows the next.
 */
final class ChipInterrupts {
    static final int DSTAT_DFE = 0x80;
    static final int DSTAT_BF = 0x20;
    static final int DSTAT_ABRT = 0x10;
    static final int DSTAT_SSI = 0x08;
    static final int DSTAT_SIR = 0x04;
    static final int DSTAT_IID = 0x01;

    static final int SIST_MA = 0x80;
    static final int SIST_CMP = 0x40;
    static final int SIST_SEL = 0x20;
    static final int SIST_RSL = 0x10;
    static final int SIST_UDC = 0x04;
    static final int SIST_RST = 0x02;
    static final int SIST_STO = 0x0400;
    static final int SIST_GEN = 0x0200;
    static final int SIST_HTH = 0x0100;

    /** Conditions that do not stop SCRIPTS, nor show in ISTAT, while they are masked. */
    private static final int NOT_FATAL = SIST_CMP | SIST_SEL | SIST_RSL | SIST_GEN | SIST_HTH;

    private int dstat;
    private int dstatNext;
    private int sist;
    private int sistNext;
    private boolean onTheFly;

    void reset() {
        dstat = 0;
        dstatNext = 0;
        sist = 0;
        sistNext = 0;
        onTheFly = false;
    }

    /** A condition of the DMA core. */
    void raiseDma(int bits) {
        if (dstat == 0) {
            dstat = bits;
        } else {
            dstatNext |= bits & ~dstat;
        }
    }

    /** A condition of the SCSI core; {@code enabled} is SIEN. Returns whether SCRIPTS must stop. */
    boolean raiseScsi(int bits, int enabled) {
        if (scsiPending(enabled)) {
            sistNext |= bits & ~sist;
        } else {
            sist |= bits;
        }
        return (bits & (enabled | ~NOT_FATAL)) != 0;
    }

    /** INTFLY. */
    void raiseOnTheFly() {
        onTheFly = true;
    }

    void clearOnTheFly() {
        onTheFly = false;
    }

    boolean onTheFly() {
        return onTheFly;
    }

    /** DSTAT's conditions without taking them. */
    int dstat() {
        return dstat;
    }

    /** SIST without taking it. */
    int sist() {
        return sist;
    }

    /** Reads DSTAT's conditions. */
    int takeDstat() {
        int taken = dstat;
        dstat = 0;
        return taken;
    }

    /** Reads one byte of SIST. */
    int takeSist(int half) {
        int shift = 8 * half;
        int taken = sist >> shift & 0xff;
        sist &= ~(0xff << shift);
        return taken;
    }

    /** After an access: shows the next conditions where the earlier ones were taken. */
    void unstack() {
        if (dstat == 0) {
            dstat = dstatNext;
            dstatNext = 0;
        }
        if (sist == 0) {
            sist = sistNext;
            sistNext = 0;
        }
    }

    /** ISTAT0.DIP. */
    boolean dmaPending() {
        return dstat != 0;
    }

    /** ISTAT0.SIP. */
    boolean scsiPending(int enabled) {
        return (sist & (enabled | ~NOT_FATAL)) != 0;
    }

    /** Whether the pin is driven, as far as the masks go. */
    boolean asserted(int dien, int sien) {
        return onTheFly || (dstat & dien) != 0 || (sist & sien) != 0;
    }

    /** Saved state. */
    record State(int dstat, int dstatNext, int sist, int sistNext, boolean onTheFly) {}

    State save() {
        return new State(dstat, dstatNext, sist, sistNext, onTheFly);
    }

    void restore(State saved) {
        dstat = saved.dstat;
        dstatNext = saved.dstatNext;
        sist = saved.sist;
        sistNext = saved.sistNext;
        onTheFly = saved.onTheFly;
    }
}
