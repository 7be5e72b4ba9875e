package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.pci.PciWindows;

/**
 * PCI bus 0 as a small reference implementation of PCI Local Bus 3.0, so that tests run the sequences of real drivers:
 * configuration space by devfn, BAR sizing, placement and decoding, INTx, MSI and MSI-X.
 *
 * <p>Unless a bridge says otherwise, INTx pins are routed to GSI 16 + (device + pin) mod 4, and BARs are placed at
 * ports 0xc000…0xffff, at 0xe0000000…0xfebfffff and at 0x800000000 on.
 */
public final class FakePciBus implements PciBus {
    private volatile java.util.function.Predicate<PciFunction> hidden = function -> false;
    private static final PciWindows DEFAULT_WINDOWS =
            new PciWindows(0xc000, 0x4000, 0xe000_0000L, 0x1ec0_0000L, 0x8_0000_0000L, 0x8_0000_0000L);

    private final FakeBus pio;
    private final FakeBus mmio;
    private final FakeMemoryMap memoryMap;
    private final IrqChip irqChip;
    private final TreeMap<Integer, FakePciFunction> functions = new TreeMap<>();
    private volatile IntxRouter router = (device, pin) -> 16 + (device + pin) % 4;
    private PciWindows windows = DEFAULT_WINDOWS;

    FakePciBus(FakeBus pio, FakeBus mmio, FakeMemoryMap memoryMap, IrqChip irqChip) {
        this.pio = pio;
        this.mmio = mmio;
        this.memoryMap = memoryMap;
        this.irqChip = irqChip;
    }

    @Override
    public synchronized PciFunction add(PciFunctionSpec spec) {
        int devfn = spec.address().map(PciAddress::devfn).orElseGet(this::lowestFree);
        if (functions.containsKey(devfn)) {
            throw BenchtopException.config(
                    "PCI address " + new PciAddress(devfn >> 3, devfn & 7) + " is already taken");
        }
        FakePciFunction function = new FakePciFunction(this, new PciAddress(devfn >> 3, devfn & 7), spec);
        functions.put(devfn, function);
        return function;
    }

    private int lowestFree() {
        for (int device = 0; device < 32; device++) {
            int devfn = device << 3;
            if (functions.subMap(devfn, devfn + 8).isEmpty()) {
                return devfn;
            }
        }
        throw BenchtopException.config("the PCI bus is full: 32 devices");
    }

    @Override
    public synchronized List<PciFunction> functions() {
        return List.copyOf(functions.values());
    }

    /** The function at an address; fails the test if there is none. */
    public synchronized FakePciFunction function(PciAddress address) {
        FakePciFunction function = functions.get(address.devfn());
        if (function == null) {
            throw new AssertionError("no PCI function at " + address);
        }
        return function;
    }

    /** The only function on the bus; fails the test if there is none or more than one. */
    public synchronized FakePciFunction only() {
        if (functions.size() != 1) {
            throw new AssertionError("expected one PCI function, found " + functions.keySet());
        }
        return functions.firstEntry().getValue();
    }

    private synchronized @org.jspecify.annotations.Nullable FakePciFunction at(int bus, int devfn) {
        return bus == 0 ? functions.get(devfn) : null;
    }

    @Override
    public long configRead(int bus, int devfn, int offset, int size) {
        FakePciFunction function = at(bus, devfn);
        if (function == null || hidden.test(function) || offset < 0 || offset + size > 256) {
            return FakeBus.mask(size);
        }
        if (offset % size != 0 || size > 4) {
            long value = 0;
            for (int i = 0; i < size; i++) {
                value |= function.guestRead(offset + i, 1) << 8 * i;
            }
            return value;
        }
        return function.guestRead(offset, size);
    }

    @Override
    public void configWrite(int bus, int devfn, int offset, int size, long value) {
        FakePciFunction function = at(bus, devfn);
        if (function == null || offset < 0 || offset + size > 256) {
            return;
        }
        if (offset % size != 0 || size > 4) {
            for (int i = 0; i < size; i++) {
                function.guestWrite(offset + i, 1, value >>> 8 * i & 0xff);
            }
            return;
        }
        function.guestWrite(offset, size, value & FakeBus.mask(size));
    }

    @Override
    public void intxRouter(IntxRouter newRouter) {
        router = newRouter;
        intxRoutesChanged();
    }

    @Override
    public synchronized void hide(java.util.function.Predicate<PciFunction> wanted) {
        hidden = wanted;
    }

    @Override
    public void intxRoutesChanged() {
        List<FakePciFunction> all;
        synchronized (this) {
            all = List.copyOf(functions.values());
        }
        all.forEach(FakePciFunction::updateIntx);
    }

    @Override
    public synchronized void windows(PciWindows newWindows) {
        windows = newWindows;
    }

    @Override
    public synchronized void assignResources() {
        record Placement(FakePciFunction function, Bar bar) {}
        List<Placement> placements = new ArrayList<>();
        for (FakePciFunction function : functions.values()) {
            function.spec().bars().forEach(bar -> placements.add(new Placement(function, bar)));
        }
        placements.sort(Comparator.comparingLong((Placement p) -> -p.bar.sizeBytes()));
        long io = windows.ioBase();
        long low = windows.memory32Base();
        long high = windows.memory64Base();
        for (Placement placement : placements) {
            long size = placement.bar.sizeBytes();
            switch (placement.bar.kind()) {
                case IO -> {
                    io = align(io, size);
                    placement.function.place(placement.bar, io);
                    io += size;
                }
                case MEMORY_32 -> {
                    low = align(low, Math.max(size, 4096));
                    placement.function.place(placement.bar, low);
                    low += size;
                }
                case MEMORY_64 -> {
                    high = align(high, Math.max(size, 4096));
                    placement.function.place(placement.bar, high);
                    high += size;
                }
            }
        }
        if (io > windows.ioBase() + (long) windows.ioSizeBytes()
                || low > windows.memory32Base() + windows.memory32SizeBytes()
                || high > windows.memory64Base() + windows.memory64SizeBytes()) {
            throw BenchtopException.config("PCI BARs do not fit into " + windows);
        }
        functions.values().forEach(FakePciFunction::enableDecoding);
    }

    private static long align(long address, long alignment) {
        return (address + alignment - 1) / alignment * alignment;
    }

    FakeBus bus(AddressSpace space) {
        return switch (space) {
            case PIO -> pio;
            case MMIO -> mmio;
        };
    }

    FakeMemoryMap memoryMap() {
        return memoryMap;
    }

    IrqChip irqChip() {
        return irqChip;
    }

    int gsi(int device, int pin) {
        return router.gsi(device, pin);
    }

    synchronized void remove(FakePciFunction function) {
        functions.remove(function.address().devfn(), function);
    }
}
