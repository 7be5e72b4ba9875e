package org.benchtop.engine.pci;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.bus.RangeMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.Capability;
import org.benchtop.spi.pci.MessageInterrupts;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.jspecify.annotations.Nullable;

/** One function: header, BAR decoding, capabilities and interrupts. Guarded by the bus's monitor. */
public final class PciFunctionCore implements PciFunction {
    private static final int BARS = 6;

    private final PciBusCore bus;
    private final String owner;
    private final PciAddress address;
    private final PciFunctionSpec spec;
    private final ConfigSpace config = new ConfigSpace();
    private final List<DecodedBar> bars = new ArrayList<>();
    private final List<Integer> capabilityOffsets = new ArrayList<>();
    private final Msix msix;
    private final MsiCapability msi;
    private final Intx intx;
    private final byte[] initial;
    private volatile boolean busMaster;
    private boolean closed;

    PciFunctionCore(
            PciBusCore bus, String owner, Counter exits, Counter interrupts, PciAddress address, PciFunctionSpec spec) {
        this.bus = bus;
        this.owner = owner;
        this.address = address;
        this.spec = spec;
        this.intx = new Intx(bus, this, interrupts);
        config.set(PciRegs.VENDOR_ID, 2, spec.vendorId());
        config.set(PciRegs.DEVICE_ID, 2, spec.deviceId());
        config.set(PciRegs.REVISION_ID, 1, spec.revision());
        config.set(PciRegs.CLASS_PROG, 3, spec.classCode());
        config.set(PciRegs.HEADER_TYPE, 1, spec.multifunction() ? 0x80 : 0);
        config.set(PciRegs.SUBSYSTEM_VENDOR_ID, 2, spec.subsystemVendorId());
        config.set(PciRegs.SUBSYSTEM_ID, 2, spec.subsystemId());
        config.set(PciRegs.INTERRUPT_PIN, 1, spec.interruptPin());
        config.writable(PciRegs.COMMAND, 2, PciRegs.COMMAND_WRITABLE);
        config.clearable(PciRegs.STATUS, 2, PciRegs.STATUS_CLEARABLE);
        config.writable(PciRegs.CACHE_LINE_SIZE, 1, 0xff);
        config.writable(PciRegs.LATENCY_TIMER, 1, 0xff);
        config.writable(PciRegs.INTERRUPT_LINE, 1, 0xff);
        CapabilityList list = new CapabilityList();
        this.msix = new Msix(bus, this, spec, interrupts, spec.msixVectors() > 0 ? list.add(Msix.capability(spec)) : 0);
        this.msi = new MsiCapability(
                bus,
                this,
                interrupts,
                spec.msiVectors(),
                spec.msiVectors() > 0 ? list.add(MsiCapability.capability(spec.msiVectors())) : 0);
        for (Capability capability : spec.capabilities()) {
            capabilityOffsets.add(list.add(capability));
        }
        for (Bar bar : spec.bars()) {
            addBar(bar, exits);
        }
        this.initial = config.copy();
    }

    /** Lays capabilities out one after another. */
    private final class CapabilityList {
        private int next = PciRegs.FIRST_CAPABILITY;
        private int lastPointer = PciRegs.CAPABILITY_LIST;

        int add(Capability capability) {
            int at = next;
            int size = 2 + capability.body().length;
            if (at + size > PciRegs.CONFIG_SIZE) {
                throw BenchtopException.of(ErrorKind.PLUGIN, "capabilities of " + owner + " do not fit into 192 bytes");
            }
            config.set(lastPointer, 1, at);
            config.set(PciRegs.STATUS, 2, config.get(PciRegs.STATUS, 2) | PciRegs.STATUS_CAP_LIST);
            config.set(at, 1, capability.id());
            for (int i = 0; i < capability.body().length; i++) {
                config.set(at + 2 + i, 1, capability.body()[i]);
                config.writable(at + 2 + i, 1, capability.writableMask()[i]);
            }
            lastPointer = at + 1;
            next = at + size + 3 & ~3;
            return at;
        }
    }

    private void addBar(Bar bar, Counter exits) {
        int offset = PciRegs.BASE_ADDRESS_0 + 4 * bar.index();
        switch (bar.kind()) {
            case IO -> {
                config.set(offset, 4, 1);
                config.writable(offset, 4, -bar.sizeBytes() & 0xffff_fffcL);
            }
            case MEMORY_32 -> {
                config.set(offset, 4, bar.prefetchable() ? 8 : 0);
                config.writable(offset, 4, -bar.sizeBytes() & 0xffff_fff0L);
            }
            case MEMORY_64 -> {
                config.set(offset, 4, bar.prefetchable() ? 0xc : 4);
                config.writable(offset, 8, -bar.sizeBytes() & ~0xfL);
            }
        }
        bars.add(new DecodedBar(bar, exits));
    }

    /** Where a BAR is decoded now, and what follows it around. */
    private final class DecodedBar {
        private final Bar bar;
        private final RangeMap.@Nullable Range range;
        private MemoryMap.@Nullable Mapping mapping;
        private final List<BarIoEvent> ioEvents = new ArrayList<>();
        private long decodedAt = -1;

        DecodedBar(Bar bar, Counter exits) {
            this.bar = bar;
            boolean io = bar.kind() == Bar.Kind.IO;
            boolean holdsMsix = spec.msixVectors() > 0 && spec.msixBar() == bar.index();
            if (bar.memory().isPresent() && !holdsMsix) {
                this.range = null;
            } else {
                var access =
                        holdsMsix ? msix.barAccess(bar.access()) : bar.access().orElseThrow();
                this.range = (io ? bus.pio() : bus.mmio())
                        .addMovable(owner + " BAR" + bar.index(), bar.sizeBytes(), access, exits);
            }
        }

        long register() {
            int offset = PciRegs.BASE_ADDRESS_0 + 4 * bar.index();
            return switch (bar.kind()) {
                case IO -> config.get(offset, 4) & 0xffff_fffcL;
                case MEMORY_32 -> config.get(offset, 4) & 0xffff_fff0L;
                case MEMORY_64 -> config.get(offset, 8) & ~0xfL;
            };
        }

        void update() {
            boolean io = bar.kind() == Bar.Kind.IO;
            long command = config.get(PciRegs.COMMAND, 2);
            boolean enabled = (command & (io ? PciRegs.COMMAND_IO : PciRegs.COMMAND_MEMORY)) != 0;
            long base = register();
            // An address of 0 or all ones is the sizing protocol or an unset BAR, not a place.
            boolean placed = base > 0
                    && base + bar.sizeBytes() > base
                    && (io
                            ? base + bar.sizeBytes() <= 0x1_0000
                            : bar.kind() == Bar.Kind.MEMORY_64 || base + bar.sizeBytes() < 0x1_0000_0000L);
            long now = enabled && placed && !closed ? base : -1;
            if (now == decodedAt) {
                return;
            }
            for (BarIoEvent event : ioEvents) {
                event.unregister();
            }
            decodedAt = now;
            if (range != null) {
                range.place(now < 0 ? 0 : now, now >= 0);
            }
            if (mapping != null) {
                mapping.close();
                mapping = null;
            }
            if (now >= 0) {
                bar.memory()
                        .ifPresent(memory -> mapping = bus.memoryMap()
                                .map(owner + " BAR" + bar.index(), now, memory, MemoryAccess.READ_WRITE));
                for (BarIoEvent event : ioEvents) {
                    event.register();
                }
            }
        }

        void close() {
            update();
            if (range != null) {
                range.close();
            }
        }
    }

    private final class BarIoEvent implements IoEvent {
        private final DecodedBar in;
        private final long offset;
        private final IoEventMatch match;
        private final Doorbell doorbell;
        private Optional<IoEvent> registered = Optional.empty();

        BarIoEvent(DecodedBar in, long offset, IoEventMatch match, Doorbell doorbell) {
            this.in = in;
            this.offset = offset;
            this.match = match;
            this.doorbell = doorbell;
        }

        void register() {
            AddressSpace space = in.bar.kind() == Bar.Kind.IO ? AddressSpace.PIO : AddressSpace.MMIO;
            registered = Optional.of(bus.ioEvents().add(space, in.decodedAt + offset, match, doorbell));
        }

        void unregister() {
            registered.ifPresent(IoEvent::close);
            registered = Optional.empty();
        }

        @Override
        public boolean accelerated() {
            synchronized (bus) {
                return registered.map(IoEvent::accelerated).orElse(false);
            }
        }

        @Override
        public void close() {
            synchronized (bus) {
                unregister();
                in.ioEvents.remove(this);
            }
        }
    }

    /** The device that it belongs to. */
    public String owner() {
        return owner;
    }

    /** What it was made from. */
    public PciFunctionSpec spec() {
        return spec;
    }

    @Override
    public PciAddress address() {
        return address;
    }

    long guestRead(int offset, int size) {
        spec.hook().ifPresent(hook -> hook.beforeRead(offset, size));
        return config.get(offset, size);
    }

    void guestWrite(int offset, int size, long value) {
        config.guestWrite(offset, size, value);
        changed(offset, size);
        spec.hook().ifPresent(hook -> hook.afterWrite(offset, size, value));
    }

    private void changed(int offset, int size) {
        boolean header = offset < PciRegs.BASE_ADDRESS_0 + 4 * BARS;
        if (header && offset + size > PciRegs.COMMAND) {
            busMaster = (config.get(PciRegs.COMMAND, 2) & PciRegs.COMMAND_MASTER) != 0;
            for (DecodedBar bar : bars) {
                bar.update();
            }
            intx.update();
        }
        msix.configChanged(config);
        msi.configChanged(config);
    }

    @Override
    public long config(int offset, int size) {
        synchronized (bus) {
            return config.get(offset, size);
        }
    }

    @Override
    public void config(int offset, int size, long value) {
        synchronized (bus) {
            config.set(offset, size, value);
            changed(offset, size);
        }
    }

    @Override
    public void writable(int offset, int size, long mask) {
        synchronized (bus) {
            config.writable(offset, size, mask);
        }
    }

    @Override
    public boolean busMaster() {
        return busMaster;
    }

    @Override
    public IrqLine intx() {
        return intx;
    }

    boolean intxDisabled() {
        return (config.get(PciRegs.COMMAND, 2) & PciRegs.COMMAND_INTX_DISABLE) != 0;
    }

    void interruptStatus(boolean pending) {
        long status = config.get(PciRegs.STATUS, 2);
        config.set(PciRegs.STATUS, 2, pending ? status | PciRegs.STATUS_INTERRUPT : status & ~PciRegs.STATUS_INTERRUPT);
    }

    void reroute() {
        intx.update();
    }

    @Override
    public MessageInterrupts msix() {
        return msix;
    }

    @Override
    public MessageInterrupts msi() {
        return msi;
    }

    private DecodedBar decoded(int index) {
        for (DecodedBar bar : bars) {
            if (bar.bar.index() == index) {
                return bar;
            }
        }
        throw BenchtopException.of(ErrorKind.PLUGIN, owner + " has no BAR" + index);
    }

    @Override
    public long barAddress(int index) {
        synchronized (bus) {
            return decoded(index).decodedAt;
        }
    }

    @Override
    public int capabilityOffset(int index) {
        return capabilityOffsets.get(index);
    }

    @Override
    public IoEvent ioEvent(int bar, long offset, IoEventMatch match, Doorbell doorbell) {
        synchronized (bus) {
            DecodedBar decoded = decoded(bar);
            BarIoEvent event = new BarIoEvent(decoded, offset, match, doorbell);
            if (decoded.decodedAt >= 0) {
                event.register();
            }
            decoded.ioEvents.add(event);
            return event;
        }
    }

    void assign(Bar bar, long base) {
        int offset = PciRegs.BASE_ADDRESS_0 + 4 * bar.index();
        int size = bar.kind() == Bar.Kind.MEMORY_64 ? 8 : 4;
        config.set(offset, size, config.get(offset, 4) & 0xf | base);
    }

    void enableAfterAssignment(int gsi) {
        long command = config.get(PciRegs.COMMAND, 2);
        for (DecodedBar bar : bars) {
            command |= bar.bar.kind() == Bar.Kind.IO ? PciRegs.COMMAND_IO : PciRegs.COMMAND_MEMORY;
        }
        config.set(PciRegs.COMMAND, 2, command);
        if (gsi >= 0) {
            config.set(PciRegs.INTERRUPT_LINE, 1, gsi);
        }
        changed(PciRegs.COMMAND, 4);
    }

    @Override
    public void reset() {
        synchronized (bus) {
            intx.set(false);
            config.restore(initial);
            msix.reset();
            changed(0, PciRegs.CONFIG_SIZE);
        }
    }

    /** What is saved of a function. */
    record State(byte[] config, boolean intxLevel, long[] msixTable, long[] msixPending, int msiPending) {}

    @Override
    public SavedState saveState() {
        synchronized (bus) {
            return new SavedState(
                    1, new State(config.copy(), intx.level(), msix.saveTable(), msix.savePending(), msi.savePending()));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != 1 || !(state.content() instanceof State s)) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    "saved PCI state of " + owner + " has version " + state.version() + ", allowed: 1");
        }
        synchronized (bus) {
            config.restore(s.config);
            msix.restore(s.msixTable, s.msixPending);
            changed(0, PciRegs.CONFIG_SIZE);
            msi.restorePending(s.msiPending);
            intx.set(s.intxLevel);
        }
    }

    @Override
    public void close() {
        synchronized (bus) {
            if (closed) {
                return;
            }
            closed = true;
            intx.set(false);
            for (DecodedBar bar : bars) {
                bar.close();
            }
            msix.close();
            msi.close();
            bus.remove(this);
        }
    }
}
