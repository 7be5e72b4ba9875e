package org.benchtop.pc.legacy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

class I8254Test implements DeviceContract {
    private static final int COUNTER0 = 0x40;
    private static final int COUNTER2 = 0x42;
    private static final int CONTROL = 0x43;
    private static final int PORT_B = 0x61;
    private static final int OUT2 = 0x20;

    private final FakeDeviceContext context = new FakeDeviceContext();

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(I8254.type().create(new NoOptions(), own), own);
    }

    /** Counters run; the refresh bit toggles. */
    @Override
    public Set<String> variableRegisters() {
        return Set.of("system control.NMI_STATUS", "8254.COUNTER0", "8254.COUNTER1", "8254.COUNTER2");
    }

    private Device started() {
        Device device = I8254.type().create(new NoOptions(), context);
        device.attach(context);
        device.reset();
        return device;
    }

    private void out(int port, int value) {
        context.pioWrite(port, 1, value);
    }

    private int in(int port) {
        return (int) context.pioRead(port, 1);
    }

    private void count(int port, int value) {
        out(port, value & 0xff);
        out(port, value >> 8);
    }

    private int readCount(int port) {
        return in(port) | in(port) << 8;
    }

    /** Moves the clock to the start of a tick of the counters. */
    private void toTick(long tick) {
        context.advance(I8254.nanos(tick) - context.clock().nanoTime());
    }

    @Test
    void comesUpAsASquareWaveOfTheLongestPeriod() {
        started();
        long before = context.irqs().raises(0);

        context.advance(1_000_000_000);

        assertEquals(18, context.irqs().raises(0) - before, "18.2 Hz");
    }

    @Test
    void rateGeneratorInterruptsEveryPeriod() {
        started();
        out(CONTROL, 0x34);
        count(COUNTER0, 11_932);
        long before = context.irqs().raises(0);

        context.advance(1_000_000_000);

        assertEquals(99, context.irqs().raises(0) - before, "99.998 Hz");
    }

    @Test
    void rateGeneratorCountsDownAndReloads() {
        started();
        out(CONTROL, 0x34);
        count(COUNTER0, 1000);

        toTick(1);
        assertEquals(999, readCount(COUNTER0));
        toTick(999);
        assertEquals(1, readCount(COUNTER0));
        toTick(1000);
        assertEquals(1000, readCount(COUNTER0));
        toTick(1001);
        assertEquals(999, readCount(COUNTER0));
    }

    @Test
    void lateTicksAreMergedNotReplayed() {
        started();
        out(CONTROL, 0x34);
        count(COUNTER0, 1193);
        long before = context.irqs().raises(0);

        context.clock().advance(500_000_000);
        context.runPending();
        assertEquals(1, context.irqs().raises(0) - before);
        context.advance(1_000_000);

        assertEquals(2, context.irqs().raises(0) - before);
    }

    @Test
    void shortestPeriodDoesNotFloodTheHost() {
        started();
        out(CONTROL, 0x34);
        count(COUNTER0, 2);
        long before = context.irqs().raises(0);

        context.advance(10_000_000);

        long raised = context.irqs().raises(0) - before;
        assertTrue(raised <= 10_000_000 / 50_000 + 1, "raised " + raised);
        assertTrue(raised > 100, "raised " + raised);
    }

    @Test
    void terminalCountRaisesTheLineOnceAndItStaysHigh() {
        started();
        out(CONTROL, 0x30);
        assertFalse(context.irqs().asserted(0), "the control word takes the output low");
        count(COUNTER0, 500);
        toTick(499);
        assertFalse(context.irqs().asserted(0));

        toTick(500);
        assertTrue(context.irqs().asserted(0));
        context.advance(1_000_000_000);
        long raised = context.irqs().raises(0);
        count(COUNTER0, 500);

        assertFalse(context.irqs().asserted(0), "a new count takes the output low again");
        context.advance(1_000_000);
        assertEquals(raised + 1, context.irqs().raises(0));
    }

    @Test
    void terminalCountWrapsAroundWhenItGoesOn() {
        started();
        out(CONTROL, 0x30);
        count(COUNTER0, 10);

        toTick(11);

        assertEquals(0xffff, readCount(COUNTER0));
    }

    @Test
    void firstByteOfTwoStopsATerminalCount() {
        started();
        out(CONTROL, 0x30);
        count(COUNTER0, 100);
        toTick(50);
        out(COUNTER0, 0x10);
        toTick(200);
        assertFalse(context.irqs().asserted(0));

        out(COUNTER0, 0);
        toTick(215);
        assertFalse(context.irqs().asserted(0));
        toTick(216);

        assertTrue(context.irqs().asserted(0));
    }

    @Test
    void squareWaveCountsInTwos() {
        started();
        out(CONTROL, 0x36);
        count(COUNTER0, 1000);

        toTick(100);
        assertEquals(800, readCount(COUNTER0));
        toTick(600);
        assertEquals(800, readCount(COUNTER0));
    }

    @Test
    void newCountOfAPeriodicCounterTakesEffectAtTheEndOfThePeriod() {
        started();
        out(CONTROL, 0x34);
        count(COUNTER0, 1000);
        toTick(400);
        long before = context.irqs().raises(0);
        count(COUNTER0, 3000);

        toTick(999);
        assertEquals(before, context.irqs().raises(0));
        toTick(1000);
        assertEquals(before + 1, context.irqs().raises(0));
        toTick(3999);
        assertEquals(before + 1, context.irqs().raises(0));
        toTick(4000);

        assertEquals(before + 2, context.irqs().raises(0));
    }

    @Test
    void softwareStrobeIsOnePulse() {
        started();
        out(CONTROL, 0x38);
        count(COUNTER0, 100);
        long before = context.irqs().raises(0);
        toTick(100);
        assertEquals(before, context.irqs().raises(0));

        toTick(101);
        context.advance(1_000_000_000);

        assertEquals(before + 1, context.irqs().raises(0));
    }

    @Test
    void speakerCounterIsGatedByPortB() {
        started();
        out(CONTROL, 0xb0);
        count(COUNTER2, 1000);
        toTick(5000);
        assertEquals(0, in(PORT_B) & OUT2, "the gate is low");
        assertEquals(1000, readCount(COUNTER2));

        out(PORT_B, 1);
        toTick(5600);
        out(PORT_B, 0);
        toTick(9000);
        assertEquals(400, readCount(COUNTER2), "it stands still");
        out(PORT_B, 1);
        toTick(9399);
        assertEquals(0, in(PORT_B) & OUT2);
        toTick(9400);

        assertEquals(OUT2, in(PORT_B) & OUT2);
        assertEquals(1, in(PORT_B) & 0x0f);
    }

    @Test
    void oneShotIsTriggeredByItsGate() {
        started();
        out(CONTROL, 0xb2);
        count(COUNTER2, 1000);
        toTick(10);
        assertEquals(OUT2, in(PORT_B) & OUT2);

        out(PORT_B, 1);
        assertEquals(0, in(PORT_B) & OUT2);
        toTick(1009);
        assertEquals(0, in(PORT_B) & OUT2);
        toTick(1010);

        assertEquals(OUT2, in(PORT_B) & OUT2);
    }

    @Test
    void hardwareStrobeIsLowForOneTickAfterItsTrigger() {
        started();
        out(CONTROL, 0xba);
        count(COUNTER2, 100);
        out(PORT_B, 1);
        toTick(99);
        assertEquals(OUT2, in(PORT_B) & OUT2);
        toTick(100);
        assertEquals(0, in(PORT_B) & OUT2);
        toTick(101);

        assertEquals(OUT2, in(PORT_B) & OUT2);
    }

    @Test
    void latchedCountStaysUntilItIsRead() {
        started();
        out(CONTROL, 0x34);
        count(COUNTER0, 10_000);
        toTick(100);
        out(CONTROL, 0x00);
        toTick(200);
        out(CONTROL, 0x00);
        toTick(300);

        assertEquals(9900, readCount(COUNTER0));
        assertEquals(9700, readCount(COUNTER0));
    }

    @Test
    void readBackLatchesStatusBeforeCount() {
        started();
        out(CONTROL, 0xb4);
        out(CONTROL, 0xe8);
        assertEquals(0xf4, in(COUNTER2), "output high, no count, both bytes, mode 2, binary");
        count(COUNTER2, 500);
        out(CONTROL, 0xc8);

        assertEquals(0xb4, in(COUNTER2));
        assertEquals(500, readCount(COUNTER2));
    }

    @Test
    void singleByteAccess() {
        started();
        out(CONTROL, 0x14);
        out(COUNTER0, 200);
        toTick(50);
        assertEquals(150, in(COUNTER0));
        out(CONTROL, 0x24);
        out(COUNTER0, 0x12);
        toTick(51);

        assertEquals(0x11, in(COUNTER0), "the high byte of 0x11ff");
    }

    @Test
    void decimalCounterCountsInDecimal() {
        started();
        out(CONTROL, 0x35);
        count(COUNTER0, 0x1000);
        toTick(1);
        assertEquals(0x0999, readCount(COUNTER0));
        out(CONTROL, 0x31);
        count(COUNTER0, 0);
        toTick(2);

        assertEquals(0x9999, readCount(COUNTER0), "0 stands for 10000");
    }

    @Test
    void savedCounterGoesOnWhereItWas() {
        Device device = started();
        out(CONTROL, 0x34);
        count(COUNTER0, 1000);
        toTick(300);
        device.pause();
        SavedState saved = device.saveState();
        FakeDeviceContext other = new FakeDeviceContext();
        Device second = I8254.type().create(new NoOptions(), other);
        second.attach(other);
        second.reset();
        other.advance(123_456_789);
        long before = other.irqs().raises(0);

        second.restoreState(saved);

        other.advance(I8254.nanos(699) - 2_000);
        assertEquals(before, other.irqs().raises(0));
        other.advance(I8254.nanos(3));
        assertEquals(before + 1, other.irqs().raises(0));
    }
}
