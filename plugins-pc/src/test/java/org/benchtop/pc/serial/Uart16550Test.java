package org.benchtop.pc.serial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The PC16550D data sheet, and what drivers/tty/serial/8250 expects. */
class Uart16550Test {
    private static final int DATA = 0;
    private static final int IER = 1;
    private static final int IIR = 2;
    private static final int FCR = 2;
    private static final int LCR = 3;
    private static final int MCR = 4;
    private static final int LSR = 5;
    private static final int MSR = 6;
    private static final int SCR = 7;

    private final Uart16550 uart = new Uart16550();

    @BeforeEach
    void connectInterruptGate() {
        out(MCR, Uart16550.MCR_OUT2);
    }

    private int in(int register) {
        return (int) uart.read(register, 1);
    }

    private void out(int register, int value) {
        uart.write(register, 1, value);
    }

    private void fifo(int triggerBits) {
        out(FCR, Uart16550.FCR_ENABLE | triggerBits);
    }

    private int send() {
        int value = uart.nextToTransmit();
        uart.transmitted();
        return value;
    }

    @Test
    void resetValuesAreThoseOfTableOne() {
        uart.reset();

        assertEquals(0, in(IER));
        assertEquals(Uart16550.IIR_NO_INT, in(IIR));
        assertEquals(0, in(LCR));
        assertEquals(0, in(MCR));
        assertEquals(Uart16550.LSR_THRE | Uart16550.LSR_TEMT, in(LSR));
        assertFalse(uart.interrupt());
    }

    @Test
    void unusedBitsReadAsZero() {
        out(IER, 0xff);
        out(MCR, 0xff);
        out(SCR, 0xa5);

        assertEquals(0x0f, in(IER));
        assertEquals(0x1f, in(MCR));
        assertEquals(0xa5, in(SCR));
    }

    @Test
    void divisorLatchHidesDataAndInterruptEnable() {
        out(IER, Uart16550.IER_RDI);
        out(LCR, Uart16550.LCR_DLAB | 3);
        out(DATA, 0x01);
        out(IER, 0x02);

        assertEquals(0x01, in(DATA));
        assertEquals(0x02, in(IER));
        out(LCR, 3);
        assertEquals(Uart16550.IER_RDI, in(IER));
        assertEquals(-1, uart.nextToTransmit(), "a divisor byte must not be sent");
    }

    @Test
    void wideAccessReachesNeighbouringRegisters() {
        uart.write(SCR - 1, 2, 0x5a00);

        assertEquals(0x5a, in(SCR));
        assertEquals(0x5a, uart.read(LSR, 4) >> 16 & 0xff);
    }

    @Test
    void fifoBitsShowInIdentificationOnlyWhileEnabled() {
        fifo(0);
        assertEquals(Uart16550.IIR_FIFO | Uart16550.IIR_NO_INT, in(IIR));

        out(FCR, 0xc0);

        assertEquals(Uart16550.IIR_NO_INT, in(IIR), "without bit 0 the other bits are ignored");
    }

    @Test
    void enablingTransmitInterruptWithEmptyHoldingRegisterInterruptsAtOnce() {
        out(IER, Uart16550.IER_THRI);

        assertTrue(uart.interrupt());
        assertEquals(Uart16550.IIR_THRI, in(IIR));
    }

    @Test
    void readingIdentificationClearsTransmitInterrupt() {
        out(IER, Uart16550.IER_THRI);
        in(IIR);

        assertFalse(uart.interrupt());
        assertEquals(Uart16550.IIR_NO_INT, in(IIR));
    }

    @Test
    void reenablingTransmitInterruptAssertsItAgain() {
        // serial8250_do_startup: without this Linux falls back to a timer (UART_BUG_THRE).
        out(IER, Uart16550.IER_THRI);
        in(IIR);
        out(IER, 0);
        out(IER, Uart16550.IER_THRI);

        assertEquals(Uart16550.IIR_THRI, in(IIR));
    }

    @Test
    void otherInterruptsDoNotClearTransmitInterruptWhenRead() {
        out(IER, Uart16550.IER_THRI | Uart16550.IER_RDI);
        uart.receive((byte) 'a');

        assertEquals(Uart16550.IIR_RDI, in(IIR));
        in(DATA);

        assertEquals(Uart16550.IIR_THRI, in(IIR), "the transmit interrupt must still be there");
    }

    @Test
    void writtenCharacterIsTransmittedAndInterruptsAgain() {
        out(IER, Uart16550.IER_THRI);
        in(IIR);
        out(DATA, 'x');

        assertEquals('x', uart.nextToTransmit());
        assertEquals(Uart16550.LSR_THRE, in(LSR) & (Uart16550.LSR_THRE | Uart16550.LSR_TEMT));
        uart.transmitted();
        assertEquals(Uart16550.LSR_THRE | Uart16550.LSR_TEMT, in(LSR));
        assertTrue(uart.interrupt());
    }

    @Test
    void interruptLineDropsWhenHoldingRegisterIsWrittenInsteadOfIdentificationRead() {
        out(IER, Uart16550.IER_THRI);
        assertTrue(uart.interrupt());

        out(DATA, 'x');
        send();

        assertTrue(uart.interrupt());
        assertTrue(uart.takeInterruptGap(), "an edge-triggered input needs the edge");
        assertFalse(uart.takeInterruptGap());
    }

    @Test
    void stuckLineKeepsSixteenCharactersInOrderAndShowsBusy() {
        fifo(0);
        out(DATA, 'A');
        assertEquals('A', uart.nextToTransmit());
        for (int i = 1; i <= 16; i++) {
            out(DATA, 'A' + i);
        }

        assertEquals(0, in(LSR) & Uart16550.LSR_THRE, "the FIFO is full");
        StringBuilder sent = new StringBuilder();
        for (int next = uart.nextToTransmit(); next >= 0; next = uart.nextToTransmit()) {
            sent.append((char) next);
            uart.transmitted();
        }
        assertEquals("ABCDEFGHIJKLMNOPQ", sent.toString());
        assertEquals(0, uart.overruns());
    }

    @Test
    void writeToFullTransmitFifoIsLostAndCounted() {
        fifo(0);
        out(DATA, 'a');
        uart.nextToTransmit();
        for (int i = 0; i < 17; i++) {
            out(DATA, 'b');
        }

        assertEquals(1, uart.overruns());
    }

    @Test
    void transmitFifoResetEmptiesIt() {
        fifo(0);
        out(DATA, 'a');
        out(DATA, 'b');
        out(FCR, Uart16550.FCR_ENABLE | Uart16550.FCR_CLEAR_TX);

        assertEquals(-1, uart.nextToTransmit());
        assertEquals(Uart16550.LSR_THRE | Uart16550.LSR_TEMT, in(LSR));
    }

    @Test
    void receivedDataInterruptsAtTriggerLevel() {
        fifo(0x80);
        out(IER, Uart16550.IER_RDI);
        for (int i = 0; i < 7; i++) {
            uart.receive((byte) i);
            assertFalse(uart.interrupt(), "at " + (i + 1) + " of 8");
        }
        uart.receive((byte) 7);

        assertEquals(Uart16550.IIR_FIFO | Uart16550.IIR_RDI, in(IIR));
        assertEquals(0, in(DATA));
        assertFalse(uart.interrupt(), "below the trigger level the interrupt goes away");
    }

    @Test
    void triggerLevelsAreOneFourEightFourteen() {
        int[] levels = {1, 4, 8, 14};
        for (int i = 0; i < levels.length; i++) {
            out(FCR, Uart16550.FCR_ENABLE | Uart16550.FCR_CLEAR_RX | i << 6);
            out(IER, Uart16550.IER_RDI);
            int count = 0;
            while (!uart.interrupt()) {
                uart.receive((byte) 0);
                count++;
            }
            assertEquals(levels[i], count);
        }
    }

    @Test
    void characterTimeoutInterruptsBelowTriggerLevelUntilRead() {
        fifo(0xc0);
        out(IER, Uart16550.IER_RDI);
        uart.receive((byte) 'q');
        assertTrue(uart.awaitsTimeout());

        uart.characterTimeout();

        assertEquals(Uart16550.IIR_FIFO | Uart16550.IIR_CTI, in(IIR));
        assertEquals('q', in(DATA));
        assertEquals(Uart16550.IIR_FIFO | Uart16550.IIR_NO_INT, in(IIR));
    }

    @Test
    void characterTimeoutNeedsFifoAndAWaitingCharacter() {
        out(IER, Uart16550.IER_RDI);
        uart.characterTimeout();
        assertFalse(uart.interrupt());

        fifo(0xc0);
        uart.characterTimeout();

        assertFalse(uart.interrupt());
    }

    @Test
    void timeoutIsFourCharacterTimes() {
        out(LCR, Uart16550.LCR_DLAB);
        out(DATA, 1);
        out(IER, 0);
        out(LCR, 3);

        // 115200 baud, start + 8 + stop = 10 bits, 4 characters.
        assertEquals(40_000_000_000L / 115_200, uart.timeoutNanos());
        out(LCR, 3 | Uart16550.LCR_PARITY | Uart16550.LCR_STOP);
        assertEquals(48_000_000_000L / 115_200, uart.timeoutNanos());
    }

    @Test
    void unbufferedReceiverKeepsTheNewestCharacterOnOverrun() {
        out(MCR, Uart16550.MCR_LOOP);
        out(DATA, 'a');
        out(DATA, 'b');

        assertEquals(Uart16550.LSR_DR | Uart16550.LSR_OE, in(LSR) & 0x1f);
        assertEquals('b', in(DATA));
        assertEquals(0, in(LSR) & Uart16550.LSR_OE, "reading clears the error");
    }

    @Test
    void bufferedReceiverKeepsTheOldestCharactersOnOverrun() {
        fifo(0);
        out(MCR, Uart16550.MCR_LOOP);
        for (int i = 0; i < 17; i++) {
            out(DATA, i);
        }

        assertEquals(Uart16550.LSR_OE, in(LSR) & Uart16550.LSR_OE);
        for (int i = 0; i < 16; i++) {
            assertEquals(i, in(DATA));
        }
        assertEquals(0, in(LSR) & Uart16550.LSR_DR);
    }

    @Test
    void overrunRaisesLineStatusInterruptAboveAllOthers() {
        out(MCR, Uart16550.MCR_LOOP | Uart16550.MCR_OUT2);
        out(IER, 0x0f);
        out(DATA, 'a');
        out(DATA, 'b');

        assertEquals(Uart16550.IIR_RLSI, in(IIR));
        in(LSR);
        assertEquals(Uart16550.IIR_RDI, in(IIR));
        in(DATA);
        assertEquals(Uart16550.IIR_THRI, in(IIR));
        assertEquals(Uart16550.IIR_MSI, in(IIR));
        in(MSR);
        assertEquals(Uart16550.IIR_NO_INT, in(IIR));
    }

    @Test
    void receivesNothingFromOutsideInLoopback() {
        out(MCR, Uart16550.MCR_LOOP);

        assertEquals(0, uart.receivable());
        out(DATA, 'z');
        assertEquals(-1, uart.nextToTransmit(), "nothing leaves in loopback");
        assertEquals('z', in(DATA));
    }

    @Test
    void loopbackConnectsModemOutputsToInputs() {
        // autoconfig of the 8250 driver: LOOP | OUT2 | RTS must show CTS and DCD.
        uart.modemInputs(Uart16550.MSR_CTS | Uart16550.MSR_DSR | Uart16550.MSR_RI | Uart16550.MSR_DCD);
        out(MCR, Uart16550.MCR_LOOP | 0x0a);
        assertEquals(0x90, in(MSR) & 0xf0);

        out(MCR, Uart16550.MCR_LOOP | Uart16550.MCR_DTR | Uart16550.MCR_OUT1);
        assertEquals(Uart16550.MSR_DSR | Uart16550.MSR_RI, in(MSR) & 0xf0);

        out(MCR, 0);
        assertEquals(0xf0, in(MSR) & 0xf0);
    }

    @Test
    void modemChangesSetDeltaBitsUntilRead() {
        out(IER, Uart16550.IER_MSI);
        uart.modemInputs(Uart16550.MSR_DCD);
        assertTrue(uart.interrupt());

        assertEquals(Uart16550.MSR_DCD | 0x08, in(MSR));
        assertEquals(Uart16550.MSR_DCD, in(MSR));
        assertFalse(uart.interrupt());
    }

    @Test
    void ringIndicatorCountsOnlyItsTrailingEdge() {
        uart.modemInputs(Uart16550.MSR_RI);
        assertEquals(Uart16550.MSR_RI, in(MSR), "no delta on the leading edge");

        uart.modemInputs(0);

        assertEquals(Uart16550.MSR_TERI, in(MSR));
    }

    @Test
    void breakArrivesAsZeroCharacterWithBreakBit() {
        fifo(0);
        out(IER, Uart16550.IER_RLSI);
        uart.receiveBreak();
        uart.receive((byte) 'h');

        assertEquals(Uart16550.IIR_FIFO | Uart16550.IIR_RLSI, in(IIR));
        assertEquals(Uart16550.LSR_BI | Uart16550.LSR_FIFO_ERROR, in(LSR) & 0x9e);
        assertEquals(0, in(LSR) & 0x9e, "the error is seen once");
        assertEquals(0, in(DATA));
        assertEquals('h', in(DATA));
    }

    @Test
    void errorShowsWhenItsCharacterReachesTheTopOfTheFifo() {
        fifo(0);
        uart.receive((byte) 'a');
        uart.receiveBreak();

        assertEquals(Uart16550.LSR_FIFO_ERROR, in(LSR) & 0x9e, "only the summary bit yet");
        in(DATA);
        assertEquals(Uart16550.LSR_BI, in(LSR) & Uart16550.LSR_BI);
    }

    @Test
    void interruptIsGatedByOut2() {
        out(IER, Uart16550.IER_THRI);
        assertTrue(uart.interrupt());

        out(MCR, 0);

        assertFalse(uart.interrupt());
    }

    @Test
    void switchingFifoOnOrOffEmptiesIt() {
        uart.receive((byte) 'a');
        fifo(0);

        assertEquals(0, in(LSR) & Uart16550.LSR_DR);
    }

    @Test
    void restoredStateContinuesWhereItWasSaved() {
        fifo(0x40);
        out(IER, 0x05);
        uart.receive((byte) 'a');
        uart.receiveBreak();
        out(DATA, 'x');
        out(DATA, 'y');
        uart.nextToTransmit();
        Uart16550 other = new Uart16550();

        other.restore(uart.save());

        assertEquals('x', other.nextToTransmit());
        other.transmitted();
        assertEquals('y', other.nextToTransmit());
        assertEquals('a', other.read(DATA, 1));
        assertEquals(Uart16550.LSR_BI, other.read(LSR, 1) & Uart16550.LSR_BI);
    }
}
