package org.benchtop.pc.apic;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.LegacyInterrupts;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.state.SavedState;

/**
 * The IOAPIC at 0xFEC00000 (82093AA with the EOI register of later ones), and with it the machine's {@link IrqChip}.
 *
 * <p>Lines are wired as on a PC: ISA interrupts reach the 8259s and the pin of their number, but 0 (the timer) reaches
 * pin 2, because input 2 of the 8259s is their cascade; 16 to 23 reach the IOAPIC only. Pin 0 gets the output of the
 * 8259s. Lines and messages need no lock of the IOAPIC.
 */
public final class IoApic implements Device, IrqChip {
    static final long BASE = 0xfec0_0000L;
    static final long MASKED = IoApicPin.MASKED;
    static final int PINS = 24;

    private static final int ISA_LINES = 16;
    private static final int TIMER = 0;
    private static final int CASCADE = 2;
    private static final int WINDOW_BYTES = 0x100;
    private static final int ID_WRITABLE = 0x0f00_0000;

    private final Object lock = new Object();
    private final RegisterMap<IoApicRegister> ports =
            new RegisterMap<>("IOAPIC", IoApicRegister.class, new PortHandler());
    private final RegisterMap<IoApicIndexed> indexed =
            new RegisterMap<>("IOAPIC registers", IoApicIndexed.class, new IndexedHandler());
    private final List<GsiLine> lines = new ArrayList<>();
    private IoApicPin[] pins = {};
    private Optional<ApicBus> bus = Optional.empty();
    private Optional<LegacyInterrupts> legacy = Optional.empty();
    private int select;
    private int id;

    private IoApic(NoOptions options, CreateContext context) {}

    /** The type {@code ioapic}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "ioapic", "IOAPIC with 24 inputs, and the way of all interrupts", NoOptions.class, IoApic::new);
    }

    @Override
    public void attach(DeviceContext context) {
        ApicBus found = context.services()
                .find(ApicBus.class)
                .orElseThrow(() -> BenchtopException.config("ioapic needs local-apic before it"));
        bus = Optional.of(found);
        legacy = context.services().find(LegacyInterrupts.class);
        IoApicPin[] made = new IoApicPin[PINS];
        for (int i = 0; i < PINS; i++) {
            made[i] = new IoApicPin(found);
        }
        pins = made;
        for (int gsi = 0; gsi < PINS; gsi++) {
            Optional<LegacyInterrupts> isa = gsi < ISA_LINES && gsi != CASCADE ? legacy : Optional.empty();
            Optional<IoApicPin> pin =
                    gsi == CASCADE ? Optional.empty() : Optional.of(made[gsi == TIMER ? CASCADE : gsi]);
            lines.add(new GsiLine(gsi, isa, pin));
        }
        legacy.ifPresent(l -> l.onOutput(made[0]::input));
        found.onEoi(this::endOfInterrupt);
        context.mmio(BASE, WINDOW_BYTES, ports);
        context.installIrqChip(this);
    }

    private void endOfInterrupt(int vector) {
        for (IoApicPin pin : pins) {
            pin.endOfInterrupt(vector);
        }
    }

    @Override
    public IrqLine line(int gsi) {
        if (gsi < 0 || gsi >= lines.size()) {
            throw BenchtopException.of(
                    org.benchtop.spi.ErrorKind.INTERNAL,
                    "global system interrupt " + gsi + " is outside 0–" + (PINS - 1));
        }
        return lines.get(gsi).newSource();
    }

    @Override
    public Msi newMsi() {
        return new ApicMsi(bus.orElseThrow(() -> BenchtopException.config("ioapic is not attached")));
    }

    @Override
    public boolean supportsMsi() {
        return true;
    }

    private final class PortHandler implements RegisterMap.Handler<IoApicRegister> {
        @Override
        public long read(IoApicRegister register) {
            return peek(register);
        }

        @Override
        public void write(IoApicRegister register, long value) {
            switch (register) {
                case IOREGSEL -> {
                    synchronized (lock) {
                        select = (int) value & 0xff;
                    }
                }
                case IOWIN -> {
                    int selected;
                    synchronized (lock) {
                        selected = select;
                    }
                    indexed.write(4L * selected, 4, value);
                }
                case EOIR -> endOfInterrupt((int) value & 0xff);
            }
        }

        @Override
        public long peek(IoApicRegister register) {
            int selected;
            synchronized (lock) {
                selected = select;
            }
            return switch (register) {
                case IOREGSEL -> selected;
                case IOWIN -> indexed.read(4L * selected, 4);
                case EOIR -> 0;
            };
        }
    }

    private final class IndexedHandler implements RegisterMap.Handler<IoApicIndexed> {
        @Override
        public long read(IoApicIndexed register) {
            return peek(register);
        }

        @Override
        public void write(IoApicIndexed register, long value) {
            if (register == IoApicIndexed.IOAPICID) {
                synchronized (lock) {
                    id = (int) value & ID_WRITABLE;
                }
            } else if (register.ordinal() >= IoApicIndexed.IOREDTBL0.ordinal() && pins.length > 0) {
                pins[register.ordinal() - IoApicIndexed.IOREDTBL0.ordinal()].write(value);
            }
        }

        @Override
        public long peek(IoApicIndexed register) {
            return switch (register) {
                case IOAPICID, IOAPICARB -> {
                    synchronized (lock) {
                        yield id;
                    }
                }
                case IOAPICVER -> IoApicIndexed.VERSION_VALUE;
                default ->
                    pins.length > 0 ? pins[register.ordinal() - IoApicIndexed.IOREDTBL0.ordinal()].entry() : MASKED;
            };
        }
    }

    @Override
    public void reset() {
        synchronized (lock) {
            select = 0;
            id = 0;
        }
        for (IoApicPin pin : pins) {
            pin.reset();
        }
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param select the selected register
     * @param id the identification register
     * @param entries the redirection table with the levels of the inputs
     */
    record State(int select, int id, long[] entries) {}

    @Override
    public SavedState saveState() {
        long[] entries = new long[pins.length];
        for (int i = 0; i < pins.length; i++) {
            entries[i] = pins[i].save();
        }
        synchronized (lock) {
            return new SavedState(1, new State(select, id, entries));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "ioapic");
        synchronized (lock) {
            select = content.select & 0xff;
            id = content.id & ID_WRITABLE;
        }
        for (int i = 0; i < pins.length; i++) {
            pins[i].restore(i < content.entries.length ? content.entries[i] : MASKED);
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(ports, indexed);
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> all = new LinkedHashMap<>();
        for (int i = 0; i < pins.length; i++) {
            long entry = pins[i].entry();
            if ((entry & MASKED) == 0) {
                all.put(
                        "pin " + i,
                        String.format(
                                "vector 0x%02x %s to 0x%02x%s",
                                entry & 0xff,
                                (entry & IoApicPin.LEVEL) != 0 ? "level" : "edge",
                                entry >>> 56,
                                (entry & IoApicPin.REMOTE_IRR) != 0 ? ", in service" : ""));
            }
        }
        return all;
    }

    @Override
    public void close() {}
}
