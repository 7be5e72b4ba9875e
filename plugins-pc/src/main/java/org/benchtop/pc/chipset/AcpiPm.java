package org.benchtop.pc.chipset;

import org.benchtop.spi.device.RegisterMap;

/**
 * The ACPI fixed hardware of a PIIX4: PM1 events and control, the PM timer and general purpose events. It knows no bus
 * and no clock; its owner passes the time with every call. Not thread-safe.
 */
final class AcpiPm implements RegisterMap.Handler<PmRegister> {
    static final int TMR_STS = 0x0001;
    static final int GBL_STS = 0x0020;
    static final int PWRBTN_STS = 0x0100;
    static final int WAK_STS = 0x8000;
    /** TMR, GBL, power button, RTC; these exist in both status and enable. */
    static final int EVENTS = 0x0521;

    static final int SCI_EN = 0x0001;
    static final int BM_RLD = 0x0002;
    static final int SLP_TYP_SHIFT = 10;
    static final int SLP_EN = 0x2000;
    /** SLP_TYP of soft off (82371AB 7.2.3). */
    static final int SLP_TYP_S5 = 0;

    private static final int STATUS_BITS = EVENTS | 0x0010 | WAK_STS;
    private static final int CONTROL_KEPT = SCI_EN | BM_RLD | 7 << SLP_TYP_SHIFT;
    private static final long TIMER_HZ = 3_579_545;
    private static final long TIMER_HALF = 1 << 23;
    private static final int TIMER_MASK = (1 << 24) - 1;

    private final RegisterMap<PmRegister> map = new RegisterMap<>("PIIX4 power management", PmRegister.class, this);

    private int status;
    private int enable;
    private int control;
    private int gpeStatus;
    private int gpeEnable;
    private int processorControl;
    private int globalEnable;
    private int globalControl;
    private int deviceControl;
    private int generalOutput;
    private long now;
    private long timerOverflowTicks;
    private Request request = Request.NONE;

    /** What a write to the control register asks of the machine. */
    enum Request {
        NONE,
        POWER_OFF,
    }

    AcpiPm() {
        reset(0);
    }

    void reset(long nowNanos) {
        now = nowNanos;
        status = 0;
        enable = 0;
        control = 0;
        gpeStatus = 0;
        gpeEnable = 0;
        processorControl = 0;
        globalEnable = 0;
        globalControl = 0;
        deviceControl = 0;
        generalOutput = (int) PmRegister.GPOREG.resetValue();
        request = Request.NONE;
        scheduleOverflow();
    }

    RegisterMap<PmRegister> registers() {
        return map;
    }

    long read(long offset, int size, long nowNanos) {
        catchUp(nowNanos);
        return map.read(offset, size);
    }

    void write(long offset, int size, long value, long nowNanos) {
        catchUp(nowNanos);
        map.write(offset, size, value);
    }

    /** What the last write asked for; asking clears it. */
    Request takeRequest() {
        Request taken = request;
        request = Request.NONE;
        return taken;
    }

    /** The SCI: an enabled event while ACPI mode is on. */
    boolean sci() {
        return (control & SCI_EN) != 0 && ((status & enable & EVENTS) != 0 || (gpeStatus & gpeEnable) != 0);
    }

    /** Turns ACPI mode on or off, as the SMI handler of firmware would. */
    void acpiMode(boolean on) {
        control = on ? control | SCI_EN : control & ~SCI_EN;
    }

    void pressPowerButton() {
        status |= PWRBTN_STS;
    }

    /** Brings the timer's status bit up to date. */
    void catchUp(long nowNanos) {
        now = nowNanos;
        if (ticks(now) >= timerOverflowTicks) {
            status |= TMR_STS;
        }
    }

    /** When the timer's status bit will be set and raise the SCI; {@link Long#MAX_VALUE} for never. */
    long nextEventNanos() {
        if ((enable & TMR_STS) == 0 || (control & SCI_EN) == 0 || (status & TMR_STS) != 0) {
            return Long.MAX_VALUE;
        }
        return nanos(timerOverflowTicks);
    }

    private void scheduleOverflow() {
        timerOverflowTicks = (ticks(now) / TIMER_HALF + 1) * TIMER_HALF;
    }

    private static long ticks(long nanos) {
        return nanos / 1_000_000_000L * TIMER_HZ + nanos % 1_000_000_000L * TIMER_HZ / 1_000_000_000L;
    }

    private static long nanos(long ticks) {
        return ticks / TIMER_HZ * 1_000_000_000L + (ticks % TIMER_HZ * 1_000_000_000L + TIMER_HZ - 1) / TIMER_HZ;
    }

    @Override
    public long read(PmRegister register) {
        return peek(register);
    }

    @Override
    public long peek(PmRegister register) {
        return switch (register) {
            case PMSTS -> status & 0xff;
            case PMSTS_HIGH -> status >> 8;
            case PMEN -> enable;
            case PMCNTRL -> control;
            case PMTMR -> ticks(now) & TIMER_MASK;
            case GPSTS -> gpeStatus & 0xff;
            case GPSTS_HIGH -> gpeStatus >> 8;
            case GPEN -> gpeEnable;
            case PCNTRL -> processorControl;
            case GLBSTS, DEVSTS, GPIREG -> 0;
            case GLBEN -> globalEnable;
            case GLBCTL -> globalControl;
            case DEVCTL -> deviceControl;
            case GPOREG -> generalOutput;
        };
    }

    @Override
    public void write(PmRegister register, long value) {
        int v = (int) value;
        switch (register) {
            case PMSTS -> clearStatus(v);
            case PMSTS_HIGH -> clearStatus(v << 8);
            case PMEN -> enable = v & EVENTS;
            case PMCNTRL -> writeControl(v);
            case GPSTS -> gpeStatus &= ~v;
            case GPSTS_HIGH -> gpeStatus &= ~(v << 8);
            case GPEN -> gpeEnable = v;
            case PCNTRL -> processorControl = v & 0x3e1e;
            case GLBEN -> globalEnable = v;
            case GLBCTL -> globalControl = v;
            case DEVCTL -> deviceControl = v;
            case GPOREG -> generalOutput = v;
            case PMTMR, GLBSTS, DEVSTS, GPIREG -> {
                // The table makes these read-only, so writes never get here.
            }
        }
    }

    private void clearStatus(int bits) {
        status &= ~bits;
        if ((bits & TMR_STS) != 0) {
            scheduleOverflow();
        }
    }

    private void writeControl(int value) {
        control = value & CONTROL_KEPT;
        if ((value & SLP_EN) == 0) {
            return;
        }
        if ((value >> SLP_TYP_SHIFT & 7) == SLP_TYP_S5) {
            request = Request.POWER_OFF;
        } else {
            // The other states are not offered; a guest that enters one all the same wakes up at once.
            status |= WAK_STS;
        }
    }

    /** Everything that survives a save. */
    record State(
            int status,
            int enable,
            int control,
            int gpeStatus,
            int gpeEnable,
            int processorControl,
            int globalEnable,
            int globalControl,
            int deviceControl,
            int generalOutput,
            long timerOverflowTicks) {}

    State save() {
        return new State(
                status,
                enable,
                control,
                gpeStatus,
                gpeEnable,
                processorControl,
                globalEnable,
                globalControl,
                deviceControl,
                generalOutput,
                timerOverflowTicks);
    }

    void restore(State state, long nowNanos) {
        now = nowNanos;
        status = state.status & STATUS_BITS;
        enable = state.enable & EVENTS;
        control = state.control & CONTROL_KEPT;
        gpeStatus = state.gpeStatus & 0xffff;
        gpeEnable = state.gpeEnable & 0xffff;
        processorControl = state.processorControl;
        globalEnable = state.globalEnable & 0xffff;
        globalControl = state.globalControl;
        deviceControl = state.deviceControl;
        generalOutput = state.generalOutput;
        timerOverflowTicks = state.timerOverflowTicks;
        request = Request.NONE;
    }
}
