package org.benchtop.pc.serial;

import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.device.RegisterMap;

/**
 * A PC16550D: registers, FIFOs and interrupt logic. It knows no bus, no thread and no clock, and is not thread-safe.
 *
 * <p>The owner moves output with {@link #nextToTransmit} and {@link #transmitted}, brings input with {@link #receive},
 * tells when four character times have passed with {@link #characterTimeout}, and drives its interrupt line from {@link
 * #interrupt}. The line is infinitely fast: a character is sent as soon as the owner takes it.
 */
final class Uart16550 {
    static final int IER_RDI = 0x01;
    static final int IER_THRI = 0x02;
    static final int IER_RLSI = 0x04;
    static final int IER_MSI = 0x08;

    static final int IIR_NO_INT = 0x01;
    static final int IIR_MSI = 0x00;
    static final int IIR_THRI = 0x02;
    static final int IIR_RDI = 0x04;
    static final int IIR_RLSI = 0x06;
    static final int IIR_CTI = 0x0c;
    static final int IIR_FIFO = 0xc0;

    static final int FCR_ENABLE = 0x01;
    static final int FCR_CLEAR_RX = 0x02;
    static final int FCR_CLEAR_TX = 0x04;
    static final int FCR_KEPT = 0xc9;

    static final int LCR_STOP = 0x04;
    static final int LCR_PARITY = 0x08;
    static final int LCR_BREAK = 0x40;
    static final int LCR_DLAB = 0x80;

    static final int MCR_DTR = 0x01;
    static final int MCR_RTS = 0x02;
    static final int MCR_OUT1 = 0x04;
    static final int MCR_OUT2 = 0x08;
    static final int MCR_LOOP = 0x10;

    static final int LSR_DR = 0x01;
    static final int LSR_OE = 0x02;
    static final int LSR_BI = 0x10;
    static final int LSR_ERRORS = 0x1e;
    static final int LSR_THRE = 0x20;
    static final int LSR_TEMT = 0x40;
    static final int LSR_FIFO_ERROR = 0x80;

    static final int MSR_CTS = 0x10;
    static final int MSR_DSR = 0x20;
    static final int MSR_RI = 0x40;
    static final int MSR_DCD = 0x80;
    static final int MSR_TERI = 0x04;
    static final int MSR_DELTAS = 0x0f;

    /** The crystal of a PC: 1.8432 MHz, divided by 16. */
    private static final long BASE_BAUD = 115_200;

    private static final int[] TRIGGER_LEVELS = {1, 4, 8, 14};

    private final RegisterMap<UartRegister> plainMap;
    private final RegisterMap<UartRegister> divisorMap;

    private final ReceiveFifo rx = new ReceiveFifo();
    private final byte[] tx = new byte[ReceiveFifo.DEPTH];
    private int txHead;
    private int txCount;
    private int shiftRegister;

    private int ier;
    private int fcr;
    private int lcr;
    private int mcr;
    private int scr;
    private int divisor;
    private int lineErrors;
    private int modemInputs;
    private int modemDeltas;
    private boolean holdingEmptyPending;
    private boolean timeoutPending;
    private boolean interruptGap;
    private long overruns;

    Uart16550() {
        Registers handler = new Registers();
        List<UartRegister> common = List.of(
                UartRegister.IIR_FCR,
                UartRegister.LCR,
                UartRegister.MCR,
                UartRegister.LSR,
                UartRegister.MSR,
                UartRegister.SCR);
        plainMap = new RegisterMap<>("16550A", concat(UartRegister.RBR_THR, UartRegister.IER, common), handler);
        divisorMap = new RegisterMap<>("16550A, DLAB=1", concat(UartRegister.DLL, UartRegister.DLM, common), handler);
        reset();
    }

    private static List<UartRegister> concat(UartRegister first, UartRegister second, List<UartRegister> rest) {
        UartRegister[] all = new UartRegister[rest.size() + 2];
        all[0] = first;
        all[1] = second;
        for (int i = 0; i < rest.size(); i++) {
            all[i + 2] = rest.get(i);
        }
        return List.of(all);
    }

    /** Master reset (table I); the modem inputs keep their levels and the divisor is that of 9600 baud. */
    void reset() {
        rx.clear();
        txHead = 0;
        txCount = 0;
        shiftRegister = -1;
        ier = 0;
        fcr = 0;
        lcr = 0;
        mcr = 0;
        scr = 0;
        divisor = 12;
        lineErrors = 0;
        modemDeltas = 0;
        holdingEmptyPending = false;
        timeoutPending = false;
        interruptGap = false;
    }

    /** The register tables without and with DLAB. */
    List<RegisterMap<?>> registers() {
        return List.of(plainMap, divisorMap);
    }

    long read(long offset, int size) {
        return (divisorLatchAccess() ? divisorMap : plainMap).read(offset, size);
    }

    void write(long offset, int size, long value) {
        (divisorLatchAccess() ? divisorMap : plainMap).write(offset, size, value);
    }

    private boolean divisorLatchAccess() {
        return (lcr & LCR_DLAB) != 0;
    }

    /** The INTR output, gated by OUT2 as on a PC. */
    boolean interrupt() {
        return (mcr & MCR_OUT2) != 0 && identification() != IIR_NO_INT;
    }

    /** Whether INTR has dropped on a write since the last call, though it may be up again. */
    boolean takeInterruptGap() {
        boolean gap = interruptGap;
        interruptGap = false;
        return gap;
    }

    private int identification() {
        if ((ier & IER_RLSI) != 0 && lineErrors != 0) {
            return IIR_RLSI;
        }
        if ((ier & IER_RDI) != 0) {
            if (rx.count() >= triggerLevel()) {
                return IIR_RDI;
            }
            if (timeoutPending) {
                return IIR_CTI;
            }
        }
        if ((ier & IER_THRI) != 0 && holdingEmptyPending) {
            return IIR_THRI;
        }
        if ((ier & IER_MSI) != 0 && modemDeltas != 0) {
            return IIR_MSI;
        }
        return IIR_NO_INT;
    }

    private int triggerLevel() {
        return fifoEnabled() ? TRIGGER_LEVELS[fcr >> 6] : 1;
    }

    private boolean fifoEnabled() {
        return (fcr & FCR_ENABLE) != 0;
    }

    private boolean loopback() {
        return (mcr & MCR_LOOP) != 0;
    }

    // Transmitter.

    /** The character that is on its way out, or -1 if there is nothing to send. */
    int nextToTransmit() {
        if (shiftRegister < 0 && txCount > 0) {
            shiftRegister = tx[txHead] & 0xff;
            txHead = txHead + 1 & tx.length - 1;
            txCount--;
            if (txCount == 0) {
                holdingEmptyPending = true;
            }
        }
        return shiftRegister;
    }

    /** The character of {@link #nextToTransmit} is gone. */
    void transmitted() {
        shiftRegister = -1;
    }

    private void writeHolding(int value) {
        boolean before = interrupt();
        holdingEmptyPending = false;
        if (before && !interrupt()) {
            interruptGap = true;
        }
        if (loopback()) {
            accept((byte) value, 0);
            holdingEmptyPending = true;
            return;
        }
        int depth = fifoEnabled() ? tx.length : 1;
        if (txCount >= depth) {
            overruns++;
            if (!fifoEnabled()) {
                tx[txHead] = (byte) value;
            }
            return;
        }
        tx[txHead + txCount & tx.length - 1] = (byte) value;
        txCount++;
    }

    /** How many characters the guest wrote to a full transmitter. */
    long overruns() {
        return overruns;
    }

    // Receiver.

    /** How many characters from outside can be received without overrun. */
    int receivable() {
        if (loopback()) {
            return 0;
        }
        return (fifoEnabled() ? ReceiveFifo.DEPTH : 1) - rx.count();
    }

    /** A character from outside. */
    void receive(byte value) {
        accept(value, 0);
    }

    /** A break condition from outside: one zero character with the break bit. */
    void receiveBreak() {
        if (!loopback()) {
            accept((byte) 0, LSR_BI);
        }
    }

    private void accept(byte value, int errorBits) {
        timeoutPending = false;
        if (rx.count() >= (fifoEnabled() ? ReceiveFifo.DEPTH : 1)) {
            lineErrors |= LSR_OE;
            if (!fifoEnabled()) {
                rx.replaceNewest(value, errorBits);
                lineErrors |= errorBits;
            }
            return;
        }
        rx.add(value, errorBits);
        if (rx.count() == 1) {
            lineErrors |= errorBits;
        }
    }

    private int readBuffer() {
        timeoutPending = false;
        int value = rx.take() & 0xff;
        lineErrors |= rx.headErrors();
        return value;
    }

    /** Whether a character waits below the trigger level, so that {@link #characterTimeout} is due some time. */
    boolean awaitsTimeout() {
        return fifoEnabled()
                && (ier & IER_RDI) != 0
                && rx.count() > 0
                && rx.count() < triggerLevel()
                && !timeoutPending;
    }

    /** Four character times have passed without a character arriving or being read. */
    void characterTimeout() {
        if (awaitsTimeout()) {
            timeoutPending = true;
        }
    }

    /** Four character times at the current line settings. */
    long timeoutNanos() {
        int halfBits = 2 * (1 + 5 + (lcr & 3));
        if ((lcr & LCR_PARITY) != 0) {
            halfBits += 2;
        }
        if ((lcr & LCR_STOP) == 0) {
            halfBits += 2;
        } else {
            halfBits += (lcr & 3) == 0 ? 3 : 4;
        }
        return 4L * halfBits * Math.max(divisor, 1) * 1_000_000_000L / (2 * BASE_BAUD);
    }

    long baud() {
        return BASE_BAUD / Math.max(divisor, 1);
    }

    /** Characters that the guest has not read. */
    int waitingInput() {
        return rx.count();
    }

    /** Characters that have not left, including the one in the shift register. */
    int waitingOutput() {
        return txCount + (shiftRegister >= 0 ? 1 : 0);
    }

    // Modem lines.

    /** The levels of CTS, DSR, RI and DCD at the connector, as {@code MSR_…} bits. */
    void modemInputs(int levels) {
        int before = modemStatus();
        modemInputs = levels & 0xf0;
        noteModemChange(before);
    }

    private int modemStatus() {
        if (!loopback()) {
            return modemInputs;
        }
        return ((mcr & MCR_RTS) != 0 ? MSR_CTS : 0)
                | ((mcr & MCR_DTR) != 0 ? MSR_DSR : 0)
                | ((mcr & MCR_OUT1) != 0 ? MSR_RI : 0)
                | ((mcr & MCR_OUT2) != 0 ? MSR_DCD : 0);
    }

    private void noteModemChange(int before) {
        int now = modemStatus();
        int changed = before ^ now;
        modemDeltas |= changed >> 4 & (MSR_DELTAS & ~MSR_TERI);
        if ((before & MSR_RI) != 0 && (now & MSR_RI) == 0) {
            modemDeltas |= MSR_TERI;
        }
    }

    // Other registers.

    private void writeFcr(int value) {
        boolean enable = (value & FCR_ENABLE) != 0;
        boolean toggled = enable != fifoEnabled();
        if (toggled || enable && (value & FCR_CLEAR_RX) != 0) {
            rx.clear();
            timeoutPending = false;
        }
        if (toggled || enable && (value & FCR_CLEAR_TX) != 0) {
            if (txCount > 0) {
                holdingEmptyPending = true;
            }
            txCount = 0;
        }
        fcr = enable ? value & FCR_KEPT : 0;
    }

    private void writeIer(int value) {
        int before = ier;
        ier = value & 0x0f;
        if ((before & IER_THRI) == 0 && (ier & IER_THRI) != 0 && txCount == 0) {
            holdingEmptyPending = true;
        }
    }

    private void writeLcr(int value) {
        boolean breakStarts = (value & LCR_BREAK) != 0 && (lcr & LCR_BREAK) == 0;
        lcr = value;
        if (breakStarts && loopback()) {
            accept((byte) 0, LSR_BI);
        }
    }

    private void writeMcr(int value) {
        int before = modemStatus();
        mcr = value & 0x1f;
        noteModemChange(before);
    }

    private int readIir() {
        int id = identification();
        if (id == IIR_THRI) {
            holdingEmptyPending = false;
        }
        return id | (fifoEnabled() ? IIR_FIFO : 0);
    }

    private int lineStatus() {
        int value = lineErrors;
        if (rx.count() > 0) {
            value |= LSR_DR;
        }
        if (txCount == 0) {
            value |= LSR_THRE;
            if (shiftRegister < 0) {
                value |= LSR_TEMT;
            }
        }
        if (fifoEnabled() && rx.anyBad()) {
            value |= LSR_FIFO_ERROR;
        }
        return value;
    }

    private int readLsr() {
        int value = lineStatus();
        lineErrors = 0;
        rx.forgetHeadErrors();
        return value;
    }

    private int readMsr() {
        int value = modemStatus() | modemDeltas;
        modemDeltas = 0;
        return value;
    }

    private final class Registers implements RegisterMap.Handler<UartRegister> {
        @Override
        public long read(UartRegister register) {
            return switch (register) {
                case RBR_THR -> readBuffer();
                case IIR_FCR -> readIir();
                case LSR -> readLsr();
                case MSR -> readMsr();
                case IER, LCR, MCR, SCR, DLL, DLM -> peek(register);
            };
        }

        @Override
        public void write(UartRegister register, long value) {
            int v = (int) value;
            switch (register) {
                case RBR_THR -> writeHolding(v);
                case IER -> writeIer(v);
                case IIR_FCR -> writeFcr(v);
                case LCR -> writeLcr(v);
                case MCR -> writeMcr(v);
                case SCR -> scr = v;
                case DLL -> divisor = divisor & 0xff00 | v;
                case DLM -> divisor = divisor & 0xff | v << 8;
                case LSR, MSR -> {
                    // The table makes these read-only, so writes never get here.
                }
            }
        }

        @Override
        public long peek(UartRegister register) {
            return switch (register) {
                case RBR_THR -> rx.peek() & 0xff;
                case IER -> ier;
                case IIR_FCR -> identification() | (fifoEnabled() ? IIR_FIFO : 0);
                case LCR -> lcr;
                case MCR -> mcr;
                case LSR -> lineStatus();
                case MSR -> modemStatus() | modemDeltas;
                case SCR -> scr;
                case DLL -> divisor & 0xff;
                case DLM -> divisor >> 8;
            };
        }
    }

    /** Everything that survives a save. */
    record State(
            int ier,
            int fcr,
            int lcr,
            int mcr,
            int scr,
            int divisor,
            int lineErrors,
            int modemInputs,
            int modemDeltas,
            boolean holdingEmptyPending,
            boolean timeoutPending,
            byte[] received,
            byte[] receivedErrors,
            byte[] toTransmit,
            int shiftRegister) {}

    State save() {
        byte[] toTransmit = new byte[txCount];
        for (int i = 0; i < txCount; i++) {
            toTransmit[i] = tx[txHead + i & tx.length - 1];
        }
        return new State(
                ier,
                fcr,
                lcr,
                mcr,
                scr,
                divisor,
                lineErrors,
                modemInputs,
                modemDeltas,
                holdingEmptyPending,
                timeoutPending,
                rx.dataCopy(),
                rx.errorsCopy(),
                toTransmit,
                shiftRegister);
    }

    void restore(State state) {
        ier = state.ier & 0x0f;
        fcr = state.fcr & FCR_KEPT;
        lcr = state.lcr & 0xff;
        mcr = state.mcr & 0x1f;
        scr = state.scr & 0xff;
        divisor = state.divisor & 0xffff;
        lineErrors = state.lineErrors & LSR_ERRORS;
        modemInputs = state.modemInputs & 0xf0;
        modemDeltas = state.modemDeltas & MSR_DELTAS;
        holdingEmptyPending = state.holdingEmptyPending;
        timeoutPending = state.timeoutPending;
        rx.set(state.received, state.receivedErrors);
        txHead = 0;
        txCount = Math.min(tx.length, state.toTransmit.length);
        Arrays.fill(tx, (byte) 0);
        System.arraycopy(state.toTransmit, 0, tx, 0, txCount);
        shiftRegister = state.shiftRegister < 0 ? -1 : state.shiftRegister & 0xff;
        interruptGap = false;
    }
}
