package org.benchtop.testkit;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.Capability;
import org.benchtop.spi.pci.MessageInterrupts;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;
import org.jspecify.annotations.Nullable;

/** A type 0 function on a {@link FakePciBus}: what PCI Local Bus 3.0, chapter 6, says about header, BARs and MSI(-X). */
public final class FakePciFunction implements PciFunction {
    /** Offset of the command register. */
    public static final int COMMAND = 0x04;
    /** Command: respond to I/O. */
    public static final int COMMAND_IO = 1;
    /** Command: respond to memory. */
    public static final int COMMAND_MEMORY = 2;
    /** Command: may be bus master. */
    public static final int COMMAND_BUS_MASTER = 4;
    /** Command: INTx is disabled. */
    public static final int COMMAND_INTX_DISABLE = 0x400;
    /** Offset of the status register. */
    public static final int STATUS = 0x06;
    /** Status: INTx is asserted. */
    public static final int STATUS_INTERRUPT = 8;
    /** Offset of the first BAR. */
    public static final int BAR0 = 0x10;
    /** Offset of the capability pointer. */
    public static final int CAPABILITIES = 0x34;
    /** Capability ID of MSI. */
    public static final int CAP_MSI = 0x05;
    /** Capability ID of MSI-X. */
    public static final int CAP_MSIX = 0x11;

    private static final int CONFIG_SIZE = 256;
    private static final int COMMAND_WRITABLE = 0x0547;
    private static final int FIRST_CAPABILITY = 0x40;
    private static final long MAX_ADDRESS = 1L << 46;
    private static final int MSI_CAPABILITY_SIZE = 24;
    private static final int MSIX_CAPABILITY_SIZE = 12;

    private final FakePciBus bus;
    private final PciAddress address;
    private final PciFunctionSpec spec;
    private final byte[] config = new byte[CONFIG_SIZE];
    private final byte[] writable = new byte[CONFIG_SIZE];
    private final byte[] powerOn;
    private final List<Window> windows = new ArrayList<>();
    private final int[] capabilityOffsets;
    private final FakeMsix msix;
    private final FakeMsi msi;
    private final Intx intx = new Intx();
    private boolean closed;

    FakePciFunction(FakePciBus bus, PciAddress address, PciFunctionSpec spec) {
        this.bus = bus;
        this.address = address;
        this.spec = spec;
        put(0x00, 2, spec.vendorId());
        put(0x02, 2, spec.deviceId());
        put(0x08, 4, (long) spec.classCode() << 8 | spec.revision());
        put(0x0e, 1, spec.multifunction() ? 0x80 : 0);
        put(0x2c, 2, spec.subsystemVendorId());
        put(0x2e, 2, spec.subsystemId());
        put(0x3d, 1, spec.interruptPin());
        writable(COMMAND, 2, COMMAND_WRITABLE);
        writable(0x0c, 2, 0xffff);
        writable(0x3c, 1, 0xff);
        for (Bar bar : spec.bars()) {
            int offset = BAR0 + 4 * bar.index();
            put(offset, 4, typeBits(bar));
            long mask = -bar.sizeBytes();
            writable(offset, 4, mask & (bar.kind() == Bar.Kind.IO ? 0xffff_fffcL : 0xffff_fff0L));
            if (bar.kind() == Bar.Kind.MEMORY_64) {
                writable(offset + 4, 4, mask >>> 32);
            }
            windows.add(new Window(bar));
        }
        int next = FIRST_CAPABILITY;
        int pointer = CAPABILITIES;
        int msixOffset = 0;
        int msiOffset = 0;
        if (spec.msixVectors() > 0) {
            msixOffset = next;
            pointer = link(pointer, next, CAP_MSIX);
            put(next + 2, 2, spec.msixVectors() - 1);
            put(next + 4, 4, spec.msixTableOffset() | spec.msixBar());
            put(next + 8, 4, spec.msixPbaOffset() | spec.msixBar());
            writable(next + 2, 2, 0xc000);
            next += MSIX_CAPABILITY_SIZE;
        }
        if (spec.msiVectors() > 0) {
            msiOffset = next;
            pointer = link(pointer, next, CAP_MSI);
            put(next + 2, 2, 0x180 | Integer.numberOfTrailingZeros(spec.msiVectors()) << 1);
            writable(next + 2, 2, 0x71);
            writable(next + 4, 4, 0xffff_fffcL);
            writable(next + 8, 4, 0xffff_ffffL);
            writable(next + 12, 2, 0xffff);
            writable(next + 16, 4, spec.msiVectors() == 32 ? -1L : (1L << spec.msiVectors()) - 1);
            next += MSI_CAPABILITY_SIZE;
        }
        List<Capability> capabilities = spec.capabilities();
        capabilityOffsets = new int[capabilities.size()];
        for (int i = 0; i < capabilityOffsets.length; i++) {
            Capability capability = capabilities.get(i);
            if (next + 2 + capability.body().length > CONFIG_SIZE) {
                throw new IllegalArgumentException("the capabilities of " + address + " do not fit into 256 bytes");
            }
            capabilityOffsets[i] = next;
            pointer = link(pointer, next, capability.id());
            System.arraycopy(capability.body(), 0, config, next + 2, capability.body().length);
            System.arraycopy(capability.writableMask(), 0, writable, next + 2, capability.writableMask().length);
            next = next + 2 + capability.body().length + 3 & ~3;
        }
        msix = new FakeMsix(msixOffset);
        msi = new FakeMsi(msiOffset);
        powerOn = config.clone();
    }

    private static int typeBits(Bar bar) {
        return switch (bar.kind()) {
            case IO -> 1;
            case MEMORY_32 -> bar.prefetchable() ? 8 : 0;
            case MEMORY_64 -> bar.prefetchable() ? 0xc : 4;
        };
    }

    private int link(int pointer, int offset, int id) {
        put(pointer, 1, offset);
        put(offset, 1, id);
        put(STATUS, 2, 0x10);
        return offset + 1;
    }

    private long take(int offset, int size) {
        long value = 0;
        for (int i = 0; i < size; i++) {
            value |= (config[offset + i] & 0xffL) << 8 * i;
        }
        return value;
    }

    private void put(int offset, int size, long value) {
        for (int i = 0; i < size; i++) {
            config[offset + i] = (byte) (value >>> 8 * i);
        }
    }

    PciFunctionSpec spec() {
        return spec;
    }

    long guestRead(int offset, int size) {
        spec.hook().ifPresent(hook -> hook.beforeRead(offset, size));
        return config(offset, size);
    }

    void guestWrite(int offset, int size, long value) {
        synchronized (this) {
            for (int i = 0; i < size; i++) {
                int mask = writable[offset + i];
                config[offset + i] = (byte) (config[offset + i] & ~mask | (int) (value >>> 8 * i) & mask);
            }
            updateDecoding();
        }
        updateIntx();
        msix.deliverPending();
        msi.deliverPending();
        spec.hook().ifPresent(hook -> hook.afterWrite(offset, size, value));
    }

    private void updateDecoding() {
        for (Window window : windows) {
            window.update();
        }
    }

    @Override
    public PciAddress address() {
        return address;
    }

    @Override
    public synchronized long config(int offset, int size) {
        return take(offset, size);
    }

    @Override
    public void config(int offset, int size, long value) {
        synchronized (this) {
            put(offset, size, value);
            updateDecoding();
        }
        updateIntx();
    }

    @Override
    public synchronized void writable(int offset, int size, long mask) {
        for (int i = 0; i < size; i++) {
            writable[offset + i] |= (byte) (mask >>> 8 * i);
        }
    }

    private int command() {
        return (int) take(COMMAND, 2);
    }

    @Override
    public synchronized boolean busMaster() {
        return (command() & COMMAND_BUS_MASTER) != 0;
    }

    @Override
    public IrqLine intx() {
        return intx;
    }

    /** Whether the line is asserted at the interrupt controller. */
    public synchronized boolean intxAsserted() {
        return intx.delivered;
    }

    @Override
    public MessageInterrupts msix() {
        return msix;
    }

    @Override
    public MessageInterrupts msi() {
        return msi;
    }

    @Override
    public synchronized long barAddress(int index) {
        for (Window window : windows) {
            if (window.bar.index() == index) {
                return window.address;
            }
        }
        return -1;
    }

    @Override
    public int capabilityOffset(int index) {
        return capabilityOffsets[index];
    }

    /** The offset of the first capability with an ID, found as a driver does; 0 if there is none. */
    public synchronized int findCapability(int id) {
        int offset = config[CAPABILITIES] & 0xff;
        for (int i = 0; i < 48 && offset != 0; i++) {
            if ((config[offset] & 0xff) == id) {
                return offset;
            }
            offset = config[offset + 1] & 0xff;
        }
        return 0;
    }

    @Override
    public IoEvent ioEvent(int bar, long offset, IoEventMatch match, Doorbell doorbell) {
        for (Window window : windows) {
            if (window.bar.index() == bar) {
                return window.ioEvent(offset, match, doorbell);
            }
        }
        throw new IllegalArgumentException("function " + address + " has no BAR" + bar);
    }

    /** Places a BAR as firmware does. */
    synchronized void place(Bar bar, long where) {
        int offset = BAR0 + 4 * bar.index();
        put(offset, 4, where & 0xffff_ffffL | typeBits(bar));
        if (bar.kind() == Bar.Kind.MEMORY_64) {
            put(offset + 4, 4, where >>> 32);
        }
    }

    synchronized void enableDecoding() {
        put(COMMAND, 2, command() | COMMAND_IO | COMMAND_MEMORY);
        updateDecoding();
    }

    @Override
    public void reset() {
        synchronized (this) {
            System.arraycopy(powerOn, 0, config, 0, FIRST_CAPABILITY);
            for (int i = FIRST_CAPABILITY; i < CONFIG_SIZE; i++) {
                config[i] = (byte) (config[i] & ~writable[i] | powerOn[i] & writable[i]);
            }
            msix.clear();
            msi.clear();
            updateDecoding();
        }
        updateIntx();
    }

    /** What {@link #saveState} gives. */
    public record State(byte[] config, byte[] msixTable, long[] msixPending, boolean intx) {}

    @Override
    public synchronized SavedState saveState() {
        return new SavedState(1, new State(config.clone(), msix.table.clone(), msix.pending.clone(), intx.level));
    }

    @Override
    public void restoreState(SavedState saved) {
        State state = (State) saved.content();
        synchronized (this) {
            System.arraycopy(state.config(), 0, config, 0, CONFIG_SIZE);
            System.arraycopy(state.msixTable(), 0, msix.table, 0, msix.table.length);
            System.arraycopy(state.msixPending(), 0, msix.pending, 0, msix.pending.length);
            intx.level = state.intx();
            updateDecoding();
        }
        updateIntx();
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            windows.forEach(Window::close);
            put(COMMAND, 2, 0);
            msix.close();
            msi.close();
        }
        updateIntx();
        bus.remove(this);
    }

    void updateIntx() {
        int pin = spec.interruptPin();
        int gsi = pin == 0 ? -1 : bus.gsi(address.device(), pin - 1);
        synchronized (this) {
            if (intx.level) {
                config[STATUS] |= STATUS_INTERRUPT;
            } else {
                config[STATUS] &= ~STATUS_INTERRUPT;
            }
            boolean wanted = intx.level
                    && gsi >= 0
                    && !closed
                    && (command() & COMMAND_INTX_DISABLE) == 0
                    && !msix.enabled()
                    && !msi.enabled();
            if (intx.line != null && intx.gsi != gsi) {
                intx.line.set(false);
                intx.line = null;
            }
            if (intx.line == null && gsi >= 0) {
                intx.line = bus.irqChip().line(gsi);
                intx.gsi = gsi;
            }
            if (intx.line != null) {
                intx.line.set(wanted);
            }
            intx.delivered = wanted;
        }
    }

    private final class Intx implements IrqLine {
        private boolean level;
        private boolean delivered;
        private int gsi = -1;
        private @Nullable IrqLine line;

        @Override
        public void set(boolean asserted) {
            synchronized (FakePciFunction.this) {
                if (level == asserted) {
                    return;
                }
                level = asserted;
            }
            updateIntx();
        }
    }

    /** A BAR on the bus. */
    private final class Window implements RegisterAccess {
        private final Bar bar;
        private final FakeBus.Range range;
        private final List<BarEvent> events = new ArrayList<>();
        private MemoryMap.@Nullable Mapping mapping;
        private long address = -1;

        Window(Bar bar) {
            this.bar = bar;
            AddressSpace space = bar.kind() == Bar.Kind.IO ? AddressSpace.PIO : AddressSpace.MMIO;
            this.range = bus.bus(space)
                    .overlay("BAR" + bar.index() + " of " + FakePciFunction.this.address, bar.sizeBytes(), this);
        }

        private void update() {
            long now = decoded();
            if (now == address) {
                return;
            }
            address = now;
            range.enable(false);
            if (now >= 0) {
                range.move(now);
                range.enable(true);
            }
            if (bar.memory().isPresent()) {
                remap(now, bar.memory().get());
            }
        }

        private void remap(long now, MemorySegment memory) {
            if (mapping != null) {
                mapping.close();
                mapping = null;
            }
            if (now >= 0) {
                mapping = bus.memoryMap().map("BAR" + bar.index(), now, memory, MemoryAccess.READ_WRITE);
            }
        }

        private long decoded() {
            int offset = BAR0 + 4 * bar.index();
            long low = take(offset, 4);
            int enable = bar.kind() == Bar.Kind.IO ? COMMAND_IO : COMMAND_MEMORY;
            if ((command() & enable) == 0 || closed) {
                return -1;
            }
            long base = switch (bar.kind()) {
                case IO -> low & ~3L;
                case MEMORY_32 -> low & ~15L;
                case MEMORY_64 -> take(offset + 4, 4) << 32 | low & ~15L;
            };
            long limit = switch (bar.kind()) {
                case IO -> 0x1_0000L;
                case MEMORY_32 -> 0xffff_ffffL;
                case MEMORY_64 -> MAX_ADDRESS;
            };
            return base <= 0 || base > limit - bar.sizeBytes() ? -1 : base;
        }

        private void close() {
            update();
            range.close();
        }

        @Override
        public long read(long offset, int size) {
            if (msix.covers(bar.index(), offset)) {
                return msix.read(offset, size);
            }
            if (bar.memory().isPresent()) {
                long value = 0;
                for (int i = 0; i < size; i++) {
                    value |= (bar.memory().get().get(ValueLayout.JAVA_BYTE, offset + i) & 0xffL) << 8 * i;
                }
                return value;
            }
            return bar.access().isPresent() ? bar.access().get().read(offset, size) : 0;
        }

        @Override
        public void write(long offset, int size, long value) {
            if (msix.covers(bar.index(), offset)) {
                msix.write(offset, size, value);
                return;
            }
            Doorbell doorbell = matching(offset, size, value);
            if (doorbell != null) {
                doorbell.ring();
            } else if (bar.memory().isPresent()) {
                for (int i = 0; i < size; i++) {
                    bar.memory().get().set(ValueLayout.JAVA_BYTE, offset + i, (byte) (value >>> 8 * i));
                }
            } else if (bar.access().isPresent()) {
                bar.access().get().write(offset, size, value);
            }
        }

        private @Nullable Doorbell matching(long offset, int size, long value) {
            synchronized (FakePciFunction.this) {
                for (int i = 0; i < events.size(); i++) {
                    BarEvent event = events.get(i);
                    IoEventMatch match = event.match;
                    if (event.offset == offset
                            && (match.sizeBytes() == 0 || match.sizeBytes() == size)
                            && (match.value().isEmpty() || (match.value().getAsLong() & FakeBus.mask(size)) == value)) {
                        return event.doorbell;
                    }
                }
                return null;
            }
        }

        private IoEvent ioEvent(long offset, IoEventMatch match, Doorbell doorbell) {
            BarEvent event = new BarEvent(this, offset, match, doorbell);
            synchronized (FakePciFunction.this) {
                events.add(event);
            }
            return event;
        }
    }

    private final class BarEvent implements IoEvent {
        private final Window window;
        private final long offset;
        private final IoEventMatch match;
        private final Doorbell doorbell;

        BarEvent(Window window, long offset, IoEventMatch match, Doorbell doorbell) {
            this.window = window;
            this.offset = offset;
            this.match = match;
            this.doorbell = doorbell;
        }

        @Override
        public boolean accelerated() {
            return false;
        }

        @Override
        public void close() {
            synchronized (FakePciFunction.this) {
                window.events.remove(this);
            }
        }
    }

    /** The number of I/O events in all BARs. */
    public synchronized int ioEvents() {
        return windows.stream().mapToInt(window -> window.events.size()).sum();
    }

    /** MSI-X: PCI Local Bus 3.0, 6.8.2. */
    private final class FakeMsix implements MessageInterrupts {
        private final int capability;
        private final int vectors = spec.msixVectors();
        private final byte[] table = new byte[vectors * 16];
        private final long[] pending = new long[(vectors + 63) / 64];
        private final Msi[] routes = new Msi[vectors];

        FakeMsix(int capability) {
            this.capability = capability;
            Arrays.setAll(routes, i -> bus.irqChip().newMsi());
            clear();
        }

        private void clear() {
            Arrays.fill(table, (byte) 0);
            Arrays.fill(pending, 0);
            for (int i = 0; i < vectors; i++) {
                table[i * 16 + 12] = 1;
            }
        }

        private void close() {
            for (Msi route : routes) {
                route.close();
            }
        }

        private int control() {
            return capability == 0 ? 0 : (int) take(capability + 2, 2);
        }

        @Override
        public int vectors() {
            return vectors;
        }

        @Override
        public boolean enabled() {
            synchronized (FakePciFunction.this) {
                return !closed && (control() & 0x8000) != 0;
            }
        }

        @Override
        public boolean masked(int vector) {
            synchronized (FakePciFunction.this) {
                return (control() & 0x4000) != 0 || (table[vector * 16 + 12] & 1) != 0;
            }
        }

        @Override
        public void signal(int vector) {
            synchronized (FakePciFunction.this) {
                if (vector < 0 || vector >= vectors || !enabled()) {
                    return;
                }
                if (masked(vector)) {
                    pending[vector / 64] |= 1L << vector % 64;
                } else {
                    send(vector);
                }
            }
        }

        private void send(int vector) {
            int entry = vector * 16;
            routes[vector].target(field(entry) & 0xffff_ffffL | (long) field(entry + 4) << 32, field(entry + 8));
            routes[vector].signal();
        }

        private int field(int at) {
            return table[at] & 0xff
                    | (table[at + 1] & 0xff) << 8
                    | (table[at + 2] & 0xff) << 16
                    | (table[at + 3] & 0xff) << 24;
        }

        private void deliverPending() {
            synchronized (FakePciFunction.this) {
                if (!enabled()) {
                    return;
                }
                for (int i = 0; i < vectors; i++) {
                    if ((pending[i / 64] & 1L << i % 64) != 0 && !masked(i)) {
                        pending[i / 64] &= ~(1L << i % 64);
                        send(i);
                    }
                }
            }
        }

        private boolean covers(int bar, long offset) {
            return vectors > 0
                    && bar == spec.msixBar()
                    && (inTable(offset)
                            || offset >= spec.msixPbaOffset() && offset < spec.msixPbaOffset() + pending.length * 8L);
        }

        private boolean inTable(long offset) {
            return offset >= spec.msixTableOffset() && offset < spec.msixTableOffset() + table.length;
        }

        private long read(long offset, int size) {
            synchronized (FakePciFunction.this) {
                long value = 0;
                for (int i = 0; i < size; i++) {
                    value |= (readByte(offset + i) & 0xffL) << 8 * i;
                }
                return value;
            }
        }

        private int readByte(long offset) {
            if (inTable(offset)) {
                return table[(int) (offset - spec.msixTableOffset())];
            }
            long at = offset - spec.msixPbaOffset();
            return at < 0 || at >= pending.length * 8L ? 0 : (int) (pending[(int) at / 8] >>> 8 * (at % 8));
        }

        private void write(long offset, int size, long value) {
            synchronized (FakePciFunction.this) {
                for (int i = 0; i < size; i++) {
                    if (inTable(offset + i)) {
                        int at = (int) (offset + i - spec.msixTableOffset());
                        int mask = at % 16 < 12 ? 0xff : at % 16 == 12 ? 1 : 0;
                        table[at] = (byte) (value >>> 8 * i & mask);
                    }
                }
            }
            deliverPending();
        }
    }

    /** MSI with 64-bit addresses and per-vector masking: PCI Local Bus 3.0, 6.8.1. */
    private final class FakeMsi implements MessageInterrupts {
        private final int capability;
        private final Msi[] routes = new Msi[spec.msiVectors()];

        FakeMsi(int capability) {
            this.capability = capability;
            Arrays.setAll(routes, i -> bus.irqChip().newMsi());
        }

        private void close() {
            for (Msi route : routes) {
                route.close();
            }
        }

        private void clear() {
            if (capability != 0) {
                put(capability + 20, 4, 0);
            }
        }

        @Override
        public int vectors() {
            return spec.msiVectors();
        }

        @Override
        public boolean enabled() {
            synchronized (FakePciFunction.this) {
                return !closed && capability != 0 && (take(capability + 2, 2) & 1) != 0;
            }
        }

        @Override
        public boolean masked(int vector) {
            synchronized (FakePciFunction.this) {
                return capability != 0 && (take(capability + 16, 4) & 1L << vector) != 0;
            }
        }

        @Override
        public void signal(int vector) {
            synchronized (FakePciFunction.this) {
                if (vector < 0 || vector >= spec.msiVectors() || !enabled()) {
                    return;
                }
                int allocated = 1 << Math.min(5, (int) take(capability + 2, 2) >> 4 & 7);
                int actual = vector & Math.min(allocated, spec.msiVectors()) - 1;
                if (masked(actual)) {
                    put(capability + 20, 4, take(capability + 20, 4) | 1L << actual);
                } else {
                    send(actual, allocated);
                }
            }
        }

        private void send(int vector, int allocated) {
            long messageAddress = take(capability + 4, 4) | take(capability + 8, 4) << 32;
            int data = (int) take(capability + 12, 2);
            routes[vector].target(messageAddress, data & -allocated | vector);
            routes[vector].signal();
        }

        private void deliverPending() {
            synchronized (FakePciFunction.this) {
                if (!enabled()) {
                    return;
                }
                int allocated = 1 << Math.min(5, (int) take(capability + 2, 2) >> 4 & 7);
                long pendingBits = take(capability + 20, 4);
                for (int i = 0; i < spec.msiVectors(); i++) {
                    if ((pendingBits & 1L << i) != 0 && !masked(i)) {
                        put(capability + 20, 4, take(capability + 20, 4) & ~(1L << i));
                        send(i, allocated);
                    }
                }
            }
        }
    }
}
