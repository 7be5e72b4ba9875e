package org.benchtop.engine.pci;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.bus.RangeMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.Capability;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.pci.PciWindows;
import org.benchtop.spi.state.SavedState;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeIrqChip;
import org.benchtop.testkit.FakeMemoryMap;
import org.benchtop.testkit.FakeStats;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PciBusCoreTest {
    private static final int COMMAND = 4;
    private static final int DEVFN = 3 << 3;
    private static final long MSIX_ENTRY_0 = 0x1000;

    private final RangeMap pio = new RangeMap(AddressSpace.PIO, 0xffff);
    private final RangeMap mmio = new RangeMap(AddressSpace.MMIO, (1L << 52) - 1);
    private final FakeIrqChip irqChip = new FakeIrqChip();
    private final FakeStats stats = new FakeStats();
    private final List<String> ioEvents = new ArrayList<>();
    private final PciBusCore bus = new PciBusCore(pio, mmio, this::ioEvent, new FakeMemoryMap(), () -> irqChip);
    private PciFunction function;

    private IoEvent ioEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
        String text = space + " " + Long.toHexString(address);
        ioEvents.add(text);
        return new IoEvent() {
            @Override
            public boolean accelerated() {
                return true;
            }

            @Override
            public void close() {
                ioEvents.remove(text);
            }
        };
    }

    private static final class Registers implements MmioDevice {
        @Override
        public long read(long offset, int size) {
            return 0x50 + offset;
        }

        @Override
        public void write(long offset, int size, long value) {}
    }

    private PciFunction add(PciFunctionSpec spec) {
        return bus.add("dev", stats.counter("exits"), stats.counter("interrupts"), spec);
    }

    private static PciFunctionSpec spec() {
        return new PciFunctionSpec(0x1af4, 0x1042)
                .classCode(0x018000)
                .subsystem(0x1af4, 0x1100)
                .interruptPin(1)
                .address(new PciAddress(3, 0))
                .bar(Bar.memory32(0, 0x2000, new Registers()))
                .bar(Bar.io(1, 32, new Registers()))
                .bar(Bar.memory64(4, 0x1_0000, new Registers()))
                .msix(2, 0, MSIX_ENTRY_0, 0x1800)
                .capability(Capability.readOnly(9, new byte[] {1, 2, 3}));
    }

    @BeforeEach
    void addFunction() {
        bus.viewOf("bridge", stats.counter("exits"), stats.counter("interrupts"), r -> {})
                .windows(new PciWindows(0xc000, 0x4000, 0xe000_0000L, 0x1000_0000, 0x80_0000_0000L, 0x80_0000_0000L));
        bus.viewOf("bridge", stats.counter("exits"), stats.counter("interrupts"), r -> {})
                .intxRouter((device, pin) -> 10 + pin);
        function = add(spec());
    }

    private long read(int offset, int size) {
        return bus.configRead(0, DEVFN, offset, size);
    }

    private void write(int offset, int size, long value) {
        bus.configWrite(0, DEVFN, offset, size, value);
    }

    @Test
    void headerShowsIdentity() {
        assertEquals(0x1042_1af4L, read(0, 4));
        assertEquals(0x018000L, read(8, 4) >>> 8);
        assertEquals(0x1100_1af4L, read(0x2c, 4));
        assertEquals(1, read(0x3d, 1));
    }

    @Test
    void absentFunctionReadsAsOnes() {
        assertEquals(0xffff_ffffL, bus.configRead(0, 9 << 3, 0, 4));
        assertEquals(0xffff, bus.configRead(1, DEVFN, 0, 2));
        assertEquals(0xff, read(0x100, 1));
    }

    @Test
    void readOnlyBitsKeepTheirValue() {
        write(0, 4, 0xdead_beefL);
        write(0x2c, 4, 0);

        assertEquals(0x1042_1af4L, read(0, 4));
        assertEquals(0x1100_1af4L, read(0x2c, 4));
    }

    @Test
    void sizingReportsTheBarSizeAndKind() {
        for (int bar : new int[] {0x10, 0x14, 0x20, 0x24}) {
            write(bar, 4, 0xffff_ffffL);
        }

        assertEquals(0xffff_e000L, read(0x10, 4));
        assertEquals(0xffff_ffe1L, read(0x14, 4));
        assertEquals(0xffff_000cL, read(0x20, 4));
        assertEquals(0xffff_ffffL, read(0x24, 4));
    }

    @Test
    void barIsDecodedOnlyWhileEnabled() {
        write(0x10, 4, 0xe100_0000L);
        long hidden = mmio.read(0xe100_0004L, 1);
        write(COMMAND, 2, 2);
        long shown = mmio.read(0xe100_0004L, 1);
        write(0x10, 4, 0xe200_0000L);

        assertEquals(0xff, hidden);
        assertEquals(0x54, shown);
        assertEquals(0xff, mmio.read(0xe100_0004L, 1));
        assertEquals(0x54, mmio.read(0xe200_0004L, 1));
        assertEquals(0xe200_0000L, function.barAddress(0));
    }

    @Test
    void sizingWhileEnabledDoesNotDecodeTheTopOfTheSpace() {
        write(COMMAND, 2, 3);
        write(0x10, 4, 0xffff_ffffL);
        write(0x14, 4, 0xffff_ffffL);
        write(0x20, 4, 0xffff_ffffL);
        write(0x24, 4, 0xffff_ffffL);

        assertEquals(-1, function.barAddress(0));
        assertEquals(-1, function.barAddress(1));
        assertEquals(-1, function.barAddress(4));
    }

    @Test
    void assignedBarsAreAlignedDisjointAndEnabled() {
        bus.placeBars();

        for (int bar : new int[] {0, 1, 4}) {
            assertTrue(function.barAddress(bar) > 0, "BAR" + bar);
        }
        assertEquals(0, function.barAddress(4) % 0x1_0000);
        assertEquals(0, function.barAddress(0) % 0x2000);
        assertEquals(10, read(0x3c, 1), "interrupt line");
        assertEquals(3, read(COMMAND, 2) & 3);
    }

    @Test
    void ioEventFollowsItsBar() {
        FakeEventLoop loop = new FakeEventLoop();
        IoEvent event = function.ioEvent(0, 0x100, IoEventMatch.anyValue(2), loop.doorbell("d", () -> {}));
        write(0x10, 4, 0xe100_0000L);
        write(COMMAND, 2, 2);
        List<String> first = List.copyOf(ioEvents);
        write(0x10, 4, 0xe200_0000L);
        List<String> second = List.copyOf(ioEvents);
        write(COMMAND, 2, 0);

        assertEquals(List.of("MMIO e1000100"), first);
        assertEquals(List.of("MMIO e2000100"), second);
        assertEquals(List.of(), ioEvents);
        assertFalse(event.accelerated());
    }

    @Test
    void intxFollowsDisableBitAndStatus() {
        function.intx().raise();
        boolean raised = irqChip.asserted(10);
        long status = read(6, 2) & 8;
        write(COMMAND, 2, 0x400);

        assertTrue(raised);
        assertEquals(8, status);
        assertFalse(irqChip.asserted(10));
        write(COMMAND, 2, 0);
        assertTrue(irqChip.asserted(10));
        function.intx().lower();
        assertFalse(irqChip.asserted(10));
    }

    @Test
    void assertedIntxMovesWhenRoutesChange() {
        function.intx().raise();

        bus.viewOf("bridge", stats.counter("exits"), stats.counter("interrupts"), r -> {})
                .intxRouter((device, pin) -> 11);

        assertFalse(irqChip.asserted(10));
        assertTrue(irqChip.asserted(11));
    }

    private void enableMsix() {
        write(0x10, 4, 0xe100_0000L);
        write(COMMAND, 2, 2);
        long table = 0xe100_0000L + MSIX_ENTRY_0;
        mmio.write(table, 4, 0xfee0_1000L);
        mmio.write(table + 4, 4, 0);
        mmio.write(table + 8, 4, 0x41);
        mmio.write(table + 12, 4, 0);
        write(0x42, 2, 0x8000);
    }

    @Test
    void msixVectorReachesTheGuestsTarget() {
        enableMsix();

        function.msix().signal(0);

        assertEquals(List.of(new FakeIrqChip.Message(0xfee0_1000L, 0x41)), irqChip.messages());
        assertEquals(1, stats.value("interrupts"));
    }

    @Test
    void maskedVectorIsPendingUntilUnmasked() {
        enableMsix();
        long table = 0xe100_0000L + MSIX_ENTRY_0;
        mmio.write(table + 12, 4, 1);

        function.msix().signal(0);
        long pending = mmio.read(0xe100_1800L, 4);
        int before = irqChip.messages().size();
        mmio.write(table + 12, 4, 0);

        assertEquals(1, pending);
        assertEquals(0, before);
        assertEquals(1, irqChip.messages().size());
        assertEquals(0, mmio.read(0xe100_1800L, 4));
    }

    @Test
    void functionMaskHoldsEveryVector() {
        enableMsix();
        write(0x42, 2, 0xc000);

        function.msix().signal(0);
        int before = irqChip.messages().size();
        write(0x42, 2, 0x8000);

        assertEquals(0, before);
        assertEquals(1, irqChip.messages().size());
    }

    @Test
    void disabledOrUnknownVectorsDoNothing() {
        function.msix().signal(0);
        enableMsix();
        function.msix().signal(2);
        function.msix().signal(-1);
        function.msix().signal(1);

        assertEquals(List.of(), irqChip.messages());
    }

    @Test
    void retargetedVectorUsesTheNewTarget() {
        enableMsix();
        function.msix().signal(0);
        mmio.write(0xe100_0000L + MSIX_ENTRY_0 + 8, 4, 0x55);

        function.msix().signal(0);

        assertEquals(0x55, irqChip.messages().getLast().data());
    }

    @Test
    void capabilityListHoldsEverythingInOrder() {
        int first = (int) read(0x34, 1);
        int second = (int) read(first + 1, 1);

        assertEquals(0x11, read(first, 1));
        assertEquals(1, read(first + 2, 2) & 0x7ff, "table size - 1");
        assertEquals(9, read(second, 1));
        assertEquals(0, read(second + 1, 1));
        assertEquals(second, function.capabilityOffset(0));
        assertEquals(0x10, read(6, 2) & 0x10);
    }

    @Test
    void takenSlotIsRefusedNamingBoth() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> add(spec()));

        assertEquals("PCI address 00:03.0 of dev is taken by dev", e.getMessage());
    }

    @Test
    void fullBusIsAClearError() {
        for (int i = 2; i < 32; i++) {
            if (i != 3) {
                add(new PciFunctionSpec(1, i).address(Optional.empty()));
            }
        }

        BenchtopException e = assertThrows(BenchtopException.class, () -> add(new PciFunctionSpec(1, 1)));

        assertEquals("no free PCI slot for dev: bus 0 has 32 devices", e.getMessage());
    }

    @Test
    void resetClearsBarsCommandAndMsix() {
        enableMsix();
        function.intx().raise();

        function.reset();
        function.msix().signal(0);

        assertEquals(0, read(COMMAND, 2));
        assertEquals(0, read(0x10, 4));
        assertEquals(-1, function.barAddress(0));
        assertEquals(List.of(), irqChip.messages());
        assertFalse(irqChip.asserted(10));
    }

    @Test
    void restoredFunctionBehavesAsTheSavedOne() {
        enableMsix();
        mmio.write(0xe100_0000L + MSIX_ENTRY_0 + 12, 4, 1);
        function.msix().signal(0);
        SavedState saved = function.saveState();
        function.reset();

        function.restoreState(saved);
        mmio.write(0xe100_0000L + MSIX_ENTRY_0 + 12, 4, 0);

        assertEquals(0xe100_0000L, function.barAddress(0));
        assertEquals(List.of(new FakeIrqChip.Message(0xfee0_1000L, 0x41)), irqChip.messages());
    }

    @Test
    void msiSendsMaskedVectorsLater() throws Exception {
        PciFunction msi =
                add(new PciFunctionSpec(1, 2).address(new PciAddress(5, 0)).msi(4));
        int devfn = 5 << 3;
        bus.configWrite(0, devfn, 0x44, 4, 0xfee0_0000L);
        bus.configWrite(0, devfn, 0x4c, 2, 0x60);
        bus.configWrite(0, devfn, 0x50, 4, 0b10);
        bus.configWrite(0, devfn, 0x42, 2, 0x21);

        msi.msi().signal(1);
        msi.msi().signal(2);
        List<FakeIrqChip.Message> before = List.copyOf(irqChip.messages());
        bus.configWrite(0, devfn, 0x50, 4, 0);

        assertEquals(List.of(new FakeIrqChip.Message(0xfee0_0000L, 0x62)), before);
        assertEquals(
                new FakeIrqChip.Message(0xfee0_0000L, 0x61), irqChip.messages().getLast());
        msi.close();
        assertEquals(0xffff, bus.configRead(0, devfn, 0, 2));
    }
}
