package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.Capability;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.junit.jupiter.api.Test;

final class FakePciFunctionTest {
    private static final int DEVFN = 3 << 3;

    private final FakeDeviceContext context = new FakeDeviceContext();
    private final List<String> accesses = new ArrayList<>();
    private final RegisterAccess registers = new RegisterAccess() {
        @Override
        public long read(long offset, int size) {
            accesses.add("read " + offset + "/" + size);
            return 0x1122334455667788L;
        }

        @Override
        public void write(long offset, int size, long value) {
            accesses.add("write " + offset + "/" + size + "=" + Long.toHexString(value));
        }
    };
    private final PciFunction function = context.pci()
            .add(new PciFunctionSpec(0x1af4, 0x1042)
                    .address(new PciAddress(3, 0))
                    .classCode(0x010000)
                    .interruptPin(1)
                    .bar(Bar.io(0, 0x20, registers))
                    .bar(Bar.memory32(1, 0x1000, registers))
                    .bar(Bar.memory64(4, 0x4000, registers))
                    .msix(3, 1, 0x800, 0xc00)
                    .capability(new Capability(9, new byte[] {16, 1, 2}, new byte[] {0, -1, 0})));

    private long read(int offset, int size) {
        return context.pci().configRead(0, DEVFN, offset, size);
    }

    private void write(int offset, int size, long value) {
        context.pci().configWrite(0, DEVFN, offset, size, value);
    }

    @Test
    void headerShowsTheSpec() {
        assertEquals(0x1042_1af4L, read(0, 4));
        assertEquals(0x010000_00L, read(8, 4));
        assertEquals(1, read(0x3d, 1));
        assertEquals(0x10, read(FakePciFunction.STATUS, 2));
    }

    @Test
    void absentFunctionReadsAllOnes() {
        assertEquals(0xffff_ffffL, context.pci().configRead(0, 4 << 3, 0, 4));
        assertEquals(0xffff, context.pci().configRead(1, DEVFN, 0, 2));
    }

    @Test
    void barSizingShowsSizeAndType() {
        for (int offset = 0x10; offset < 0x28; offset += 4) {
            write(offset, 4, 0xffff_ffffL);
        }

        assertEquals(0xffff_ffe1L, read(0x10, 4));
        assertEquals(0xffff_f000L, read(0x14, 4));
        assertEquals(0, read(0x18, 4));
        assertEquals(0xffff_c00cL, read(0x20, 4));
        assertEquals(0xffff_ffffL, read(0x24, 4));
    }

    @Test
    void sizingWhileDecodingIsEnabledMapsNothing() {
        write(FakePciFunction.COMMAND, 2, 3);

        write(0x14, 4, 0xffff_ffffL);
        write(0x10, 4, 0xffff_ffffL);

        assertEquals(-1, function.barAddress(0));
        assertEquals(-1, function.barAddress(1));
    }

    @Test
    void barsAnswerWhereTheGuestPutThem() {
        write(0x14, 4, 0xf000_0000L);
        write(0x20, 4, 0x1000_0000L);
        write(0x24, 4, 0x2);
        write(0x10, 4, 0xc100);
        write(FakePciFunction.COMMAND, 2, FakePciFunction.COMMAND_IO | FakePciFunction.COMMAND_MEMORY);

        assertEquals(0x5566_7788L, context.mmioRead(0xf000_0010L, 4));
        context.mmioWrite(0x2_1000_3ff8L, 8, 1);
        context.pioWrite(0xc11f, 1, 0x1ff);
        write(0x14, 4, 0xf100_0000L);

        assertEquals(List.of("read 16/4", "write 16376/8=1", "write 31/1=ff"), accesses);
        assertEquals(0xffff_ffffL, context.mmioRead(0xf000_0010L, 4));
        assertEquals(0xf100_0000L, function.barAddress(1));
    }

    @Test
    void assignResourcesPlacesBarsWithoutOverlap() {
        context.pci().assignResources();

        assertTrue(function.barAddress(0) >= 0xc000);
        assertEquals(0, function.barAddress(1) % 0x1000);
        assertTrue(function.barAddress(4) >= 1L << 32);
        assertFalse(function.busMaster());
    }

    @Test
    void maskedVectorBecomesPendingAndFiresWhenUnmasked() {
        context.pci().assignResources();
        long table = function.barAddress(1) + 0x800;
        int capability = context.pci().only().findCapability(FakePciFunction.CAP_MSIX);
        assertEquals(2, read(capability + 2, 2));
        context.mmioWrite(table + 16, 4, 0xfee0_1000L);
        context.mmioWrite(table + 24, 4, 0x41);
        write(capability + 2, 2, 0x8000);

        function.msix().signal(1);

        assertEquals(List.of(), context.irqs().messages());
        assertEquals(2, context.mmioRead(function.barAddress(1) + 0xc00, 8));
        context.mmioWrite(table + 28, 4, 0);
        assertEquals(
                List.of(new FakeIrqChip.Message(0xfee0_1000L, 0x41)),
                context.irqs().messages());
        assertEquals(0, context.mmioRead(function.barAddress(1) + 0xc00, 8));
        assertEquals(List.of(), accesses);
    }

    @Test
    void functionMaskHoldsAllVectors() {
        context.pci().assignResources();
        int capability = context.pci().only().findCapability(FakePciFunction.CAP_MSIX);
        context.mmioWrite(function.barAddress(1) + 0x800 + 12, 4, 0);
        write(capability + 2, 2, 0xc000);

        function.msix().signal(0);
        assertEquals(0, context.irqs().messageCount());
        write(capability + 2, 2, 0x8000);

        assertEquals(1, context.irqs().messageCount());
    }

    @Test
    void signalWithoutMsixEnabledDoesNothing() {
        function.msix().signal(0);
        function.msix().signal(17);

        assertEquals(0, context.irqs().messageCount());
        assertFalse(function.msix().enabled());
    }

    @Test
    void intxFollowsLevelDisableBitAndMsix() {
        function.intx().set(true);
        assertTrue(context.irqs().asserted(16 + 3));
        assertEquals(8, read(FakePciFunction.STATUS, 2) & 8);

        write(FakePciFunction.COMMAND, 2, FakePciFunction.COMMAND_INTX_DISABLE);
        assertFalse(context.irqs().asserted(16 + 3));
        assertEquals(8, read(FakePciFunction.STATUS, 2) & 8);

        write(FakePciFunction.COMMAND, 2, 0);
        assertTrue(context.irqs().asserted(16 + 3));
        function.intx().set(false);
        assertFalse(context.irqs().asserted(16 + 3));
    }

    @Test
    void assertedIntxMovesWithTheRoute() {
        function.intx().set(true);

        context.pci().intxRouter((device, pin) -> 11);

        assertFalse(context.irqs().asserted(19));
        assertTrue(context.irqs().asserted(11));
    }

    @Test
    void capabilityBodyHonoursItsMask() {
        int offset = function.capabilityOffset(0);
        write(offset + 2, 2, 0xaabb);
        write(offset + 4, 1, 0xcc);

        assertEquals(9, read(offset, 1));
        assertEquals(0xaa10, read(offset + 2, 2));
        assertEquals(2, read(offset + 4, 1));
        assertEquals(offset, context.pci().only().findCapability(9));
    }

    @Test
    void ioEventTakesMatchingWritesOfAMovedBar() {
        context.pci().assignResources();
        var doorbell = context.eventLoop().doorbell("d", () -> accesses.add("rung"));
        function.ioEvent(4, 0x100, IoEventMatch.value(2, 1), doorbell);
        write(0x20, 4, 0x4000);
        long bar = function.barAddress(4);

        context.mmioWrite(bar + 0x100, 2, 1);
        context.mmioWrite(bar + 0x100, 2, 2);
        context.runPending();

        assertEquals(List.of("write 256/2=2", "rung"), accesses);
    }

    @Test
    void resetClearsWhatTheGuestSet() {
        context.pci().assignResources();
        write(0x3c, 1, 11);
        int capability = context.pci().only().findCapability(FakePciFunction.CAP_MSIX);
        write(capability + 2, 2, 0x8000);
        write(function.capabilityOffset(0) + 3, 1, 0x55);

        function.reset();

        assertEquals(-1, function.barAddress(1));
        assertEquals(0, read(0x3c, 1));
        assertFalse(function.msix().enabled());
        assertEquals(1, read(function.capabilityOffset(0) + 3, 1));
    }

    @Test
    void restoredFunctionDecodesAsBefore() {
        context.pci().assignResources();
        long bar = function.barAddress(4);
        var state = function.saveState();
        function.reset();

        function.restoreState(state);

        assertEquals(bar, function.barAddress(4));
        assertEquals(0x88, context.mmioRead(bar, 1));
    }

    @Test
    void closedFunctionIsGone() {
        context.pci().assignResources();
        long bar = function.barAddress(4);
        function.intx().set(true);

        function.close();

        assertEquals(0xffff_ffffL, read(0, 4));
        assertEquals(0xff, context.mmioRead(bar, 1));
        assertFalse(context.irqs().asserted(19));
    }

    @Test
    void takenSlotIsRefused() {
        PciFunctionSpec same = new PciFunctionSpec(1, 2).address(Optional.of(new PciAddress(3, 0)));

        BenchtopException error =
                assertThrows(BenchtopException.class, () -> context.pci().add(same));

        assertTrue(error.toString().contains("00:03.0"), error.toString());
    }

    @Test
    void msiVectorReplacesLowBitsOfData() {
        PciFunction other = context.pci()
                .add(new PciFunctionSpec(1, 2).address(new PciAddress(5, 0)).msi(4));
        int capability = context.pci().function(new PciAddress(5, 0)).findCapability(FakePciFunction.CAP_MSI);
        context.pci().configWrite(0, 5 << 3, capability + 4, 4, 0xfee0_0000L);
        context.pci().configWrite(0, 5 << 3, capability + 12, 2, 0x40);
        context.pci().configWrite(0, 5 << 3, capability + 16, 4, 1);
        context.pci().configWrite(0, 5 << 3, capability + 2, 2, 0x21);

        other.msi().signal(3);
        other.msi().signal(0);
        assertEquals(
                List.of(new FakeIrqChip.Message(0xfee0_0000L, 0x43)),
                context.irqs().drainMessages());
        context.pci().configWrite(0, 5 << 3, capability + 16, 4, 0);

        assertEquals(
                List.of(new FakeIrqChip.Message(0xfee0_0000L, 0x40)),
                context.irqs().messages());
    }
}
