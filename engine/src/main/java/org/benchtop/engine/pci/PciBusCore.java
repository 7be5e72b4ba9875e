package org.benchtop.engine.pci;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.benchtop.engine.bus.RangeMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryMap;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.pci.PciWindows;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/** Bus 0. Configuration accesses are serialised by the bus. */
public final class PciBusCore {
    private static final int SLOTS = 32;

    private final RangeMap pio;
    private final RangeMap mmio;
    private final IoEvents ioEvents;
    private final MemoryMap memoryMap;
    private final Supplier<IrqChip> irqChip;
    private final TreeMap<Integer, PciFunctionCore> functions = new TreeMap<>();
    private PciBus.IntxRouter router = (device, pin) -> -1;
    private Optional<PciWindows> windows = Optional.empty();
    private final Set<PciFunctionCore> hidden = new HashSet<>();

    /** Registers ioEvents with the CPU engine or the bus. */
    @FunctionalInterface
    public interface IoEvents {
        /** Adds an event. */
        IoEvent add(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell);
    }

    /** An empty bus. {@code irqChip} is asked when interrupts are first used. */
    public PciBusCore(RangeMap pio, RangeMap mmio, IoEvents ioEvents, MemoryMap memoryMap, Supplier<IrqChip> irqChip) {
        this.pio = pio;
        this.mmio = mmio;
        this.ioEvents = ioEvents;
        this.memoryMap = memoryMap;
        this.irqChip = irqChip;
    }

    RangeMap pio() {
        return pio;
    }

    RangeMap mmio() {
        return mmio;
    }

    IoEvents ioEvents() {
        return ioEvents;
    }

    MemoryMap memoryMap() {
        return memoryMap;
    }

    IrqChip irqChip() {
        return irqChip.get();
    }

    /** Puts a function of the device {@code owner} on the bus. */
    public synchronized PciFunctionCore add(String owner, Counter exits, Counter interrupts, PciFunctionSpec spec) {
        PciAddress address = spec.address().orElseGet(() -> freeSlot(owner));
        PciFunctionCore taken = functions.get(address.devfn());
        if (taken != null) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG, "PCI address " + address + " of " + owner + " is taken by " + taken.owner());
        }
        PciFunctionCore function = new PciFunctionCore(this, owner, exits, interrupts, address, spec);
        functions.put(address.devfn(), function);
        return function;
    }

    private PciAddress freeSlot(String owner) {
        for (int device = 2; device < SLOTS; device++) {
            if (functions.subMap(device << 3, device + 1 << 3).isEmpty()) {
                return new PciAddress(device, 0);
            }
        }
        throw BenchtopException.of(ErrorKind.CONFIG, "no free PCI slot for " + owner + ": bus 0 has 32 devices");
    }

    synchronized void remove(PciFunctionCore function) {
        functions.remove(function.address().devfn(), function);
        hidden.remove(function);
    }

    /** All functions by address. */
    public synchronized List<PciFunctionCore> functions() {
        return List.copyOf(functions.values());
    }

    private synchronized void hide(Predicate<PciFunction> wanted) {
        hidden.clear();
        for (PciFunctionCore function : functions.values()) {
            if (wanted.test(function)) {
                function.guestWrite(PciRegs.COMMAND, 2, 0);
                hidden.add(function);
            }
        }
    }

    /** The function that the guest sees at an address. */
    private @Nullable PciFunctionCore visible(int bus, int devfn) {
        PciFunctionCore function = bus == 0 ? functions.get(devfn) : null;
        return function == null || hidden.contains(function) ? null : function;
    }

    /** See {@link PciBus#configRead}. */
    public synchronized long configRead(int bus, int devfn, int offset, int size) {
        PciFunctionCore function = visible(bus, devfn);
        if (function == null || offset < 0 || offset + size > PciRegs.CONFIG_SIZE) {
            return size >= 8 ? -1 : (1L << 8 * size) - 1;
        }
        return function.guestRead(offset, size);
    }

    /** See {@link PciBus#configWrite}. */
    public synchronized void configWrite(int bus, int devfn, int offset, int size, long value) {
        PciFunctionCore function = visible(bus, devfn);
        if (function != null && offset >= 0 && offset + size <= PciRegs.CONFIG_SIZE) {
            function.guestWrite(offset, size, value);
        }
    }

    synchronized void router(PciBus.IntxRouter value) {
        router = value;
        routesChanged();
    }

    synchronized void routesChanged() {
        for (PciFunctionCore function : functions.values()) {
            function.reroute();
        }
    }

    synchronized int route(PciAddress address, int pin) {
        return pin == 0 ? -1 : router.gsi(address.device(), pin - 1);
    }

    synchronized void windows(PciWindows value) {
        windows = Optional.of(value);
    }

    private record Wanted(PciFunctionCore function, Bar bar) {}

    synchronized void assignResources() {
        PciWindows w = windows.orElseThrow(() -> BenchtopException.of(
                ErrorKind.INTERNAL, "PCI BARs cannot be placed: no host bridge has set the windows"));
        List<Wanted> all = new ArrayList<>();
        for (PciFunctionCore function : functions.values()) {
            for (Bar bar : function.spec().bars()) {
                all.add(new Wanted(function, bar));
            }
        }
        // Largest first keeps natural alignment without holes.
        all.sort(Comparator.comparingLong((Wanted x) -> -x.bar.sizeBytes()));
        Cursor io = new Cursor("I/O", w.ioBase(), w.ioSizeBytes());
        Cursor memory32 = new Cursor("32-bit memory", w.memory32Base(), w.memory32SizeBytes());
        Cursor memory64 = new Cursor("64-bit memory", w.memory64Base(), w.memory64SizeBytes());
        for (Wanted x : all) {
            Cursor cursor = switch (x.bar.kind()) {
                case IO -> io;
                case MEMORY_32 -> memory32;
                // Small 64-bit BARs stay low, so that guests without large page tables reach them.
                case MEMORY_64 ->
                    memory32.fits(x.bar.sizeBytes()) && x.bar.sizeBytes() <= 1L << 26 ? memory32 : memory64;
            };
            x.function.assign(x.bar, cursor.take(x.bar.sizeBytes(), x.function.owner()));
        }
        for (PciFunctionCore function : functions.values()) {
            function.enableAfterAssignment(
                    route(function.address(), function.spec().interruptPin()));
        }
    }

    private static final class Cursor {
        private final String name;
        private final long end;
        private long next;

        Cursor(String name, long base, long size) {
            this.name = name;
            this.next = base;
            this.end = base + size;
        }

        private long aligned(long size) {
            return next + size - 1 & -size;
        }

        boolean fits(long size) {
            return aligned(size) + size <= end;
        }

        long take(long size, String owner) {
            long at = aligned(size);
            if (at + size > end) {
                throw BenchtopException.of(
                        ErrorKind.CONFIG,
                        "no room for a BAR of 0x" + Long.toHexString(size) + " bytes of " + owner + " in the PCI "
                                + name + " window");
            }
            next = at + size;
            return at;
        }
    }

    /** The bus as one device sees it: functions that it adds belong to it. */
    public PciBus viewOf(String owner, Counter exits, Counter interrupts, Consumer<AutoCloseable> resources) {
        return new PciBus() {
            @Override
            public PciFunction add(PciFunctionSpec spec) {
                PciFunctionCore function = PciBusCore.this.add(owner, exits, interrupts, spec);
                resources.accept(function);
                return function;
            }

            @Override
            public List<PciFunction> functions() {
                return List.copyOf(PciBusCore.this.functions());
            }

            @Override
            public long configRead(int bus, int devfn, int offset, int size) {
                return PciBusCore.this.configRead(bus, devfn, offset, size);
            }

            @Override
            public void configWrite(int bus, int devfn, int offset, int size, long value) {
                PciBusCore.this.configWrite(bus, devfn, offset, size, value);
            }

            @Override
            public void intxRouter(IntxRouter value) {
                PciBusCore.this.router(value);
            }

            @Override
            public void hide(Predicate<PciFunction> wanted) {
                PciBusCore.this.hide(wanted);
            }

            @Override
            public void intxRoutesChanged() {
                PciBusCore.this.routesChanged();
            }

            @Override
            public void windows(PciWindows value) {
                PciBusCore.this.windows(value);
            }

            @Override
            public void assignResources() {
                PciBusCore.this.assignResources();
            }
        };
    }

    /** See {@link PciBus#assignResources}. */
    public void placeBars() {
        assignResources();
    }
}
