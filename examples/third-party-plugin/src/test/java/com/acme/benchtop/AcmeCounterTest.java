package com.acme.benchtop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeIrqChip;
import org.benchtop.testkit.FakePciFunction;
import org.junit.jupiter.api.Test;

/** The contract of every device, and what a driver of this one relies on. */
final class AcmeCounterTest implements DeviceContract {
    private static final AcmeCounterOptions OPTIONS = new AcmeCounterOptions(1_000_000, Optional.empty());
    private static final int GSI = 16;

    @Override
    public Subject subject() {
        return Subject.of(new AcmeCounter(OPTIONS), new FakeDeviceContext());
    }

    private final FakeDeviceContext machine = new FakeDeviceContext();
    private final AcmeCounter counter = new AcmeCounter(OPTIONS);
    private long bar;

    /** What firmware and a driver's probe do. */
    private FakePciFunction start() {
        counter.attach(machine);
        counter.reset();
        machine.pci().assignResources();
        FakePciFunction function = machine.pci().only();
        bar = function.barAddress(0);
        machine.pci().configWrite(0, 0, FakePciFunction.COMMAND, 2, 6);
        return function;
    }

    private void write(AcmeRegister register, long value) {
        machine.mmioWrite(bar + register.offset(), register.size(), value);
    }

    private long read(AcmeRegister register) {
        return machine.mmioRead(bar + register.offset(), register.size());
    }

    @Test
    void countsWithTheGuestsPeriod() {
        start();
        write(AcmeRegister.PERIOD, 50);
        write(AcmeRegister.CONTROL, 1);

        machine.advance(249_999);

        assertEquals(4, read(AcmeRegister.COUNT));
        write(AcmeRegister.CONTROL, 0);
        machine.advance(1_000_000);
        assertEquals(4, read(AcmeRegister.COUNT));
        assertEquals(4, machine.stats().value("ticks"));
    }

    @Test
    void limitAssertsIntxUntilTheStatusIsCleared() {
        start();
        write(AcmeRegister.LIMIT, 3);
        write(AcmeRegister.CONTROL, 3);

        machine.advance(2_999_999);
        assertFalse(machine.irqs().asserted(GSI));
        machine.advance(1);

        assertTrue(machine.irqs().asserted(GSI));
        assertEquals(0, read(AcmeRegister.COUNT));
        write(AcmeRegister.STATUS, 1);
        assertFalse(machine.irqs().asserted(GSI));
    }

    @Test
    void limitSendsAMessageWhereMsixIsEnabled() {
        FakePciFunction function = start();
        int capability = function.findCapability(FakePciFunction.CAP_MSIX);
        machine.mmioWrite(bar + 0x800, 4, 0xfee0_0000L);
        machine.mmioWrite(bar + 0x808, 4, 0x31);
        machine.mmioWrite(bar + 0x80c, 4, 0);
        machine.pci().configWrite(0, 0, capability + 2, 2, 0x8000);
        write(AcmeRegister.LIMIT, 1);
        write(AcmeRegister.CONTROL, 3);

        machine.advance(1_000_000);

        assertEquals(
                List.of(new FakeIrqChip.Message(0xfee0_0000L, 0x31)), machine.irqs().messages());
        assertFalse(machine.irqs().asserted(GSI));
    }

    @Test
    void doorbellWritesTheCountToGuestMemory() {
        start();
        write(AcmeRegister.CONTROL, 1);
        machine.advance(5_000_000);
        write(AcmeRegister.TARGET, 0x1008);

        write(AcmeRegister.DOORBELL, 1);
        machine.runPending();

        assertArrayEquals(new byte[] {5, 0, 0, 0, 0, 0, 0, 0}, machine.memory().bytes(0x1008, 8));
        assertTrue(machine.memory().wasWritten(0x1008, 8));
        assertEquals(2, read(AcmeRegister.STATUS));
    }

    @Test
    void targetOutsideRamIsAStatusAndNothingElse() {
        start();
        write(AcmeRegister.TARGET, -8);

        write(AcmeRegister.DOORBELL, 1);
        machine.runPending();

        assertEquals(4, read(AcmeRegister.STATUS));
    }

    @Test
    void memoryIsNotTouchedWithoutBusMastering() {
        start();
        machine.pci().configWrite(0, 0, FakePciFunction.COMMAND, 2, 2);

        write(AcmeRegister.DOORBELL, 1);
        machine.runPending();

        assertEquals(0, machine.memory().writtenBytes());
        assertEquals(4, read(AcmeRegister.STATUS));
    }

    @Test
    void pausedCounterStandsStill() {
        start();
        write(AcmeRegister.CONTROL, 1);
        machine.advance(1_000_000);

        counter.pause();
        write(AcmeRegister.DOORBELL, 1);
        machine.runPending();
        assertEquals(0, machine.memory().writtenBytes());
        counter.resume();
        machine.runPending();

        assertEquals(8, machine.memory().writtenBytes());
        assertEquals(1, read(AcmeRegister.COUNT));
    }

    @Test
    void addressIsTakenFromTheOptions() {
        new AcmeCounter(new AcmeCounterOptions(1_000_000, Optional.of("0x1f.0"))).attach(machine);

        assertEquals("00:1f.0", machine.pci().only().address().toString());
        assertThrows(BenchtopException.class, () -> new AcmeCounter(
                        new AcmeCounterOptions(1_000_000, Optional.of("0x1f.0")))
                .attach(machine));
        assertThrows(IllegalArgumentException.class, () -> new AcmeCounterOptions(1_000_000, Optional.of("77")));
    }
}
