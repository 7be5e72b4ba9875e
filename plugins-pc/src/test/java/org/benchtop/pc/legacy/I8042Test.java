package org.benchtop.pc.legacy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class I8042Test implements DeviceContract {
    private static final int DATA = 0x60;
    private static final int COMMAND = 0x64;

    private final FakeDeviceContext context = new FakeDeviceContext();

    @BeforeEach
    void attach() {
        Device device = I8042.type().create(new NoOptions(), context);
        device.attach(context);
        device.reset();
    }

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(I8042.type().create(new NoOptions(), own), own);
    }

    private int status() {
        return (int) context.pioRead(COMMAND, 1);
    }

    private int read() {
        assertTrue((status() & KeyboardController.STATUS_OBF) != 0, "output buffer is empty");
        return (int) context.pioRead(DATA, 1);
    }

    private void command(int value) {
        context.pioWrite(COMMAND, 1, value);
    }

    private void data(int value) {
        context.pioWrite(DATA, 1, value);
    }

    @Test
    void controllerAndKeyboardPassTheirTests() {
        command(0xaa);
        assertEquals(0x55, read());
        command(0xab);
        assertEquals(0x00, read());
    }

    @Test
    void commandByteCanBeReadBack() {
        command(0x60);
        data(0x61);
        command(0x20);

        assertEquals(0x61, read());
    }

    @Test
    void keyboardAnswersReset() {
        // ps2_keyboard_setup of SeaBIOS and atkbd of Linux.
        data(0xff);
        assertEquals(0xfa, read());
        assertEquals(0xaa, read());
        data(0xf5);
        assertEquals(0xfa, read());
        data(0xf0);
        assertEquals(0xfa, read());
        data(0x02);
        assertEquals(0xfa, read());
        data(0xf4);
        assertEquals(0xfa, read());
        assertEquals(0, status() & KeyboardController.STATUS_OBF);
    }

    @Test
    void keyboardIdentifiesItself() {
        data(0xf2);

        assertEquals(0xfa, read());
        assertEquals(0xab, read());
        assertEquals(0x83, read());
    }

    @Test
    void disabledKeyboardHoldsItsBytes() {
        command(0xaa);
        read();
        data(0xf2);
        command(0xad);
        assertEquals(0, status() & KeyboardController.STATUS_OBF);

        command(0xae);

        assertEquals(0xfa, read());
    }

    @Test
    void everyByteGivesAnInterruptEdge() {
        long before = context.irqs().raises(1);
        data(0xf2);
        assertTrue(context.irqs().asserted(1));
        read();
        read();
        read();

        assertEquals(before + 3, context.irqs().raises(1));
        assertFalse(context.irqs().asserted(1));
    }

    @Test
    void secondPortIsAbsent() {
        // i8042_check_aux of Linux: the loop answer must not be marked as the second port's, and the test must fail.
        command(0xd3);
        data(0x5a);
        assertEquals(0, status() & KeyboardController.STATUS_AUX);
        read();
        command(0xa9);
        assertEquals(0x01, read());
    }

    @Test
    void byteForAnAbsentMouseTimesOut() {
        command(0xd4);
        data(0xf2);

        assertEquals(
                KeyboardController.STATUS_AUX | KeyboardController.STATUS_TIMEOUT,
                status() & (KeyboardController.STATUS_AUX | KeyboardController.STATUS_TIMEOUT));
        assertEquals(0xfe, read());
    }

    @Test
    void resetPulseResetsTheMachine() {
        command(0xff);
        assertEquals(List.of(), context.machine().requests());

        command(0xfe);

        assertEquals(List.of("reset"), context.machine().requests());
    }

    @Test
    void outputPortResetsTheMachine() {
        command(0xd1);
        data(0xfe);

        assertEquals(List.of("reset"), context.machine().requests());
    }

    @Test
    void fastResetNeedsARisingBit() {
        context.pioWrite(0x92, 1, 0x02);
        assertEquals(List.of(), context.machine().requests());

        context.pioWrite(0x92, 1, 0x03);
        context.pioWrite(0x92, 1, 0x03);

        assertEquals(List.of("reset"), context.machine().requests());
    }

    @Test
    void a20GateIsOneBitBehindAllItsDoors() {
        context.pioWrite(0x92, 1, 0x00);
        command(0xd0);
        assertEquals(0, read() & 0x02);

        command(0xdf);

        assertEquals(0x02, context.pioRead(0x92, 1) & 0x02);
    }
}
