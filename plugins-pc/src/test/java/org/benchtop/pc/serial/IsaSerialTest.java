package org.benchtop.pc.serial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Set;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeChardev;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

class IsaSerialTest implements DeviceContract {
    private static final int COM1 = 0x3f8;
    private static final int IRQ = 4;

    private final FakeDeviceContext context = new FakeDeviceContext();
    private final FakeChardev line = new FakeChardev();

    private static IsaSerialOptions options(Optional<String> chardev, IsaSerialOptions.Carrier carrier) {
        return new IsaSerialOptions(chardev, 1, Optional.empty(), Optional.empty(), carrier);
    }

    private Device attached(IsaSerialOptions.Carrier carrier) {
        context.chardev("tty0", line);
        Device device = IsaSerial.type().create(options(Optional.of("tty0"), carrier), context);
        device.attach(context);
        device.reset();
        out(4, Uart16550.MCR_OUT2);
        return device;
    }

    private Device attached() {
        return attached(IsaSerialOptions.Carrier.ALWAYS);
    }

    private int in(int register) {
        return (int) context.pioRead(COM1 + register, 1);
    }

    private void out(int register, int value) {
        context.pioWrite(COM1 + register, 1, value);
    }

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext().chardev("tty0", new FakeChardev());
        return Subject.of(
                IsaSerial.type().create(options(Optional.of("tty0"), IsaSerialOptions.Carrier.ALWAYS), own), own);
    }

    @Override
    public Set<String> variableRegisters() {
        return Set.of();
    }

    @Test
    void outputReachesTheChardevWithinTheWrite() {
        attached();
        for (char c : "hello".toCharArray()) {
            assertEquals(Uart16550.LSR_THRE, in(5) & Uart16550.LSR_THRE);
            out(0, c);
        }

        assertEquals("hello", line.text());
        assertEquals(5, context.stats().value("tx-bytes"));
    }

    @Test
    void slowChardevLosesNothingAndGuestSeesBusy() {
        attached();
        out(2, 1);
        line.capacity(3);
        StringBuilder written = new StringBuilder();
        StringBuilder read = new StringBuilder();
        for (int i = 0; written.length() < 300 && i < 10_000; i++) {
            if ((in(5) & Uart16550.LSR_THRE) != 0) {
                for (int k = 0; k < 16; k++) {
                    char c = (char) ('a' + written.length() % 26);
                    written.append(c);
                    out(0, c);
                }
            } else {
                read.append(new String(line.drain(), java.nio.charset.StandardCharsets.ISO_8859_1));
                context.runPending();
            }
        }
        for (int i = 0; i < 1000 && read.length() < written.length(); i++) {
            read.append(new String(line.drain(), java.nio.charset.StandardCharsets.ISO_8859_1));
            context.runPending();
        }

        assertEquals(written.toString(), read.toString());
        assertTrue(context.stats().value("tx-stalls") > 0);
        assertEquals(0, context.stats().value("tx-overruns"));
    }

    @Test
    void transmitInterruptGivesAnEdgeForEachCharacterEvenWithoutReadingIdentification() {
        attached();
        out(1, Uart16550.IER_THRI);
        long before = context.irqs().raises(IRQ);

        out(0, 'a');
        out(0, 'b');

        assertTrue(context.irqs().asserted(IRQ));
        assertEquals(before + 2, context.irqs().raises(IRQ));
    }

    @Test
    void identificationReadLowersTheLine() {
        attached();
        out(1, Uart16550.IER_THRI);
        assertTrue(context.irqs().asserted(IRQ));

        in(2);

        assertFalse(context.irqs().asserted(IRQ));
    }

    @Test
    void inputBeyondTheFifoWaitsInTheChardev() {
        attached();
        out(2, 1);
        line.type("0123456789abcdefXYZ");
        context.runPending();
        assertEquals(3, line.heldInputBytes());

        StringBuilder read = new StringBuilder();
        while ((in(5) & Uart16550.LSR_DR) != 0) {
            read.append((char) in(0));
            context.runPending();
        }

        assertEquals("0123456789abcdefXYZ", read.toString());
        assertEquals(0, in(5) & Uart16550.LSR_OE);
    }

    @Test
    void characterTimeoutInterruptsAfterFourCharacterTimes() {
        attached();
        out(2, 0xc1);
        out(1, Uart16550.IER_RDI);
        line.type("x");
        context.runPending();
        assertFalse(context.irqs().asserted(IRQ));

        // 9600 baud after reset, 7 bits per character with 5 data bits: 4 * 7 / 9600 s.
        context.advance(2_900_000);
        assertFalse(context.irqs().asserted(IRQ));
        context.advance(50_000);

        assertTrue(context.irqs().asserted(IRQ));
        assertEquals(Uart16550.IIR_FIFO | Uart16550.IIR_CTI, in(2));
    }

    @Test
    void readingRestartsTheCharacterTimeout() {
        attached();
        out(2, 0xc1);
        out(1, Uart16550.IER_RDI);
        line.type("xy");
        context.runPending();
        context.advance(2_000_000);
        in(0);

        context.advance(2_000_000);
        assertFalse(context.irqs().asserted(IRQ));
        context.advance(1_000_000);

        assertTrue(context.irqs().asserted(IRQ));
    }

    @Test
    void carrierFollowsTheOtherSideWhereAsked() {
        attached(IsaSerialOptions.Carrier.CONNECTED);
        assertEquals(0, in(6) & Uart16550.MSR_DCD);

        line.event(ChardevEvent.OPENED);
        assertEquals(Uart16550.MSR_DCD | 0x08, in(6) & 0x88);
        line.event(ChardevEvent.CLOSED);

        assertEquals(0x08, in(6) & 0x88);
    }

    @Test
    void breakFromOutsideReachesTheGuest() {
        attached();
        line.event(ChardevEvent.BREAK);

        assertEquals(Uart16550.LSR_BI | Uart16550.LSR_DR, in(5) & 0x11);
    }

    @Test
    void pausedPortTakesNoInputAndSendsNothing() {
        Device device = attached();
        line.capacity(0);
        out(0, 'a');
        device.pause();
        line.capacity(100);
        line.drain();
        line.type("in");
        context.runPending();
        assertEquals("", line.text());
        assertEquals(2, line.heldInputBytes());

        device.resume();
        context.runPending();

        assertEquals("a", line.text());
        assertEquals('i', in(0));
    }

    @Test
    void portWithoutChardevDropsOutput() {
        Device device = IsaSerial.type().create(options(Optional.empty(), IsaSerialOptions.Carrier.ALWAYS), context);
        device.attach(context);
        device.reset();

        out(0, 'x');

        assertEquals(Uart16550.LSR_THRE | Uart16550.LSR_TEMT, in(5) & 0x60);
    }

    @Test
    void indexGivesPortAndInterrupt() {
        IsaSerialOptions com4 = new IsaSerialOptions(
                Optional.empty(), 4, Optional.empty(), Optional.empty(), IsaSerialOptions.Carrier.ALWAYS);

        assertEquals(0x2e8, com4.port());
        assertEquals(3, com4.interrupt());
    }

    @Test
    void secondPortAtTheSameAddressIsRefused() {
        attached();
        Device second = IsaSerial.type().create(options(Optional.empty(), IsaSerialOptions.Carrier.ALWAYS), context);

        assertThrows(BenchtopException.class, () -> second.attach(context));
    }

    @Test
    void outputAllocatesNothing() {
        attached();
        line.capacity(Integer.MAX_VALUE);
        Device device = IsaSerial.type()
                .create(
                        new IsaSerialOptions(
                                Optional.empty(),
                                2,
                                Optional.empty(),
                                Optional.empty(),
                                IsaSerialOptions.Carrier.ALWAYS),
                        context);
        device.attach(context);
        device.reset();
        long bytes = AllocationMeter.bytesPerRound(20_000, () -> {
            context.pioWrite(0x2f8, 1, 'x');
            context.pioRead(0x2fd, 1);
        });

        assertEquals(0, bytes);
    }
}
