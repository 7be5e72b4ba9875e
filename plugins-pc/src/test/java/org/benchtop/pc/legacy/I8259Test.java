package org.benchtop.pc.legacy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;

class I8259Test implements DeviceContract {
    private static final int EOI = 0x20;
    private final FakeDeviceContext context = new FakeDeviceContext();
    private final List<Boolean> levels = new ArrayList<>();

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(I8259.type().create(new NoOptions(), own), own);
    }

    private LegacyInterrupts initialised() {
        return initialised(0x01, 0x01);
    }

    private LegacyInterrupts initialised(int masterWord4, int slaveWord4) {
        Device device = I8259.type().create(new NoOptions(), context);
        device.attach(context);
        device.reset();
        LegacyInterrupts pics = context.services().find(LegacyInterrupts.class).orElseThrow();
        pics.onOutput(levels::add);
        out(0x20, 0x11);
        out(0x21, 0x20);
        out(0x21, 0x04);
        out(0x21, masterWord4);
        out(0xa0, 0x11);
        out(0xa1, 0x28);
        out(0xa1, 0x02);
        out(0xa1, slaveWord4);
        out(0x21, 0);
        out(0xa1, 0);
        return pics;
    }

    private void out(int port, int value) {
        context.pioWrite(port, 1, value);
    }

    private int in(int port) {
        return (int) context.pioRead(port, 1);
    }

    private static void pulse(LegacyInterrupts pics, int irq) {
        pics.input(irq, true);
        pics.input(irq, false);
    }

    @Test
    void outputFollowsRequestsAndTellsItsListeners() {
        LegacyInterrupts pics = initialised();
        assertFalse(pics.output());

        pics.input(3, true);
        assertTrue(pics.output());
        assertTrue(levels.getLast());
        assertEquals(0x23, pics.acknowledge());

        assertFalse(pics.output());
        assertFalse(levels.getLast());
    }

    @Test
    void secondControllerComesThroughTheCascade() {
        LegacyInterrupts pics = initialised();
        pics.input(12, true);

        assertEquals(0x2c, pics.acknowledge());
        out(0x20, 0x0b);
        out(0xa0, 0x0b);
        assertEquals(0x04, in(0x20), "the first serves its cascade input");
        assertEquals(0x10, in(0xa0));
        out(0xa0, EOI);
        out(0x20, EOI);

        assertEquals(0, in(0x20));
        assertEquals(0, in(0xa0));
    }

    @Test
    void requestsBehindTheCascadeAreServedOneAfterTheOther() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 14);
        pulse(pics, 15);
        assertEquals(0x2e, pics.acknowledge());
        out(0xa0, EOI);
        out(0x20, EOI);

        assertTrue(pics.output());
        assertEquals(0x2f, pics.acknowledge());
    }

    @Test
    void lowerPriorityWaitsForTheEndOfHigher() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 1);
        assertEquals(0x21, pics.acknowledge());
        pulse(pics, 3);
        assertFalse(pics.output());
        pulse(pics, 0);
        assertTrue(pics.output(), "0 is higher");
        assertEquals(0x20, pics.acknowledge());
        out(0x20, EOI);
        assertFalse(pics.output());
        out(0x20, EOI);

        assertEquals(0x23, pics.acknowledge());
    }

    @Test
    void maskedRequestWaitsUntilItIsUnmasked() {
        LegacyInterrupts pics = initialised();
        out(0x21, 0xff);
        pulse(pics, 4);
        assertFalse(pics.output());
        assertEquals(0xff, in(0x21));
        out(0x20, 0x0a);
        assertEquals(0x10, in(0x20));

        out(0x21, 0xef);

        assertEquals(0x24, pics.acknowledge());
    }

    @Test
    void requestThatHasGoneIsSpuriousSevenAndNotInService() {
        LegacyInterrupts pics = initialised();
        pics.edgeLevel(1 << 5);
        pics.input(5, true);
        pics.input(5, false);

        assertEquals(0x27, pics.acknowledge());
        out(0x20, 0x0b);
        assertEquals(0, in(0x20));
    }

    @Test
    void spuriousFromTheSecondControllerServesTheCascade() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 10);
        out(0xa1, 0xff);

        assertEquals(0x2f, pics.acknowledge());
        out(0x20, 0x0b);
        assertEquals(0x04, in(0x20));
    }

    @Test
    void levelInputRequestsAgainAfterTheEnd() {
        LegacyInterrupts pics = initialised();
        pics.edgeLevel(1 << 11);
        pics.input(11, true);
        assertEquals(0x2b, pics.acknowledge());
        out(0xa0, EOI);
        out(0x20, EOI);
        assertTrue(pics.output());
        assertEquals(0x2b, pics.acknowledge());
        pics.input(11, false);
        out(0xa0, EOI);
        out(0x20, EOI);

        assertFalse(pics.output());
    }

    @Test
    void edgeInputNeedsANewRise() {
        LegacyInterrupts pics = initialised();
        pics.input(6, true);
        assertEquals(0x26, pics.acknowledge());
        out(0x20, EOI);
        assertFalse(pics.output());
        pics.input(6, false);
        pics.input(6, true);

        assertEquals(0x26, pics.acknowledge());
    }

    @Test
    void automaticEndLeavesNothingInService() {
        LegacyInterrupts pics = initialised(0x03, 0x01);
        pulse(pics, 2 + 1);

        assertEquals(0x23, pics.acknowledge());

        out(0x20, 0x0b);
        assertEquals(0, in(0x20));
    }

    @Test
    void rotationMakesTheServedInputTheLowest() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 3);
        assertEquals(0x23, pics.acknowledge());
        out(0x20, 0xa0);
        pulse(pics, 3);
        pulse(pics, 4);
        assertEquals(0x24, pics.acknowledge(), "4 is the highest now");
        out(0x20, EOI);

        assertEquals(0x23, pics.acknowledge());
    }

    @Test
    void automaticEndCanRotate() {
        LegacyInterrupts pics = initialised(0x03, 0x01);
        out(0x20, 0x80);
        pulse(pics, 0);
        assertEquals(0x20, pics.acknowledge());
        pulse(pics, 0);
        pulse(pics, 1);

        assertEquals(0x21, pics.acknowledge());
        assertEquals(0x20, pics.acknowledge());
    }

    @Test
    void priorityCanBeSetAndEndsCanBeSpecific() {
        LegacyInterrupts pics = initialised();
        out(0x20, 0xc4);
        pulse(pics, 0);
        pulse(pics, 5);
        assertEquals(0x25, pics.acknowledge(), "5 is the highest after 4 became the lowest");
        out(0x20, 0x65);

        assertEquals(0x20, pics.acknowledge());
    }

    @Test
    void specialMaskLetsLowerPrioritiesThrough() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 1);
        assertEquals(0x21, pics.acknowledge());
        pulse(pics, 4);
        assertFalse(pics.output());

        out(0x20, 0x68);
        out(0x21, 0x02);

        assertEquals(0x24, pics.acknowledge());
    }

    @Test
    void pollAcknowledgesWithTheNextRead() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 4);
        out(0x20, 0x0c);

        assertEquals(0x84, in(0x20));
        assertFalse(pics.output());
        out(0x20, 0x0c);
        assertEquals(0x07, in(0x20), "nothing pending");
    }

    @Test
    void specialFullyNestedLetsTheCascadeInterruptItself() {
        LegacyInterrupts pics = initialised(0x11, 0x01);
        pulse(pics, 12);
        assertEquals(0x2c, pics.acknowledge());

        pulse(pics, 9);

        assertEquals(0x29, pics.acknowledge());
    }

    @Test
    void withoutSpecialNestingTheCascadeWaits() {
        LegacyInterrupts pics = initialised();
        pulse(pics, 12);
        assertEquals(0x2c, pics.acknowledge());

        pulse(pics, 9);

        assertFalse(pics.output());
    }

    @Test
    void nothingInterruptsWhileInitialisationIsUnfinished() {
        LegacyInterrupts pics = initialised();
        out(0x20, 0x11);

        pulse(pics, 1);

        assertFalse(pics.output());
    }

    @Test
    void cascadeInputIsNotForDevices() {
        LegacyInterrupts pics = initialised();

        pics.input(2, true);

        assertFalse(pics.output());
    }
}
