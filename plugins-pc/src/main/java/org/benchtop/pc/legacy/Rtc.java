package org.benchtop.pc.legacy;

import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.AcpiNamespace;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.IrqOutput;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.memory.MemoryRegion;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.time.Clock;

/**
 * Plugs an {@link Mc146818} into ports 0x70 to 0x71 and interrupt 8 and fills CMOS memory with what firmware wants to
 * know about the machine.
 *
 * <p>Time and memory survive a reset of the machine, as behind a battery; the sizes are written again.
 */
public final class Rtc implements Device {
    private static final int PORT = 0x70;
    private static final int IRQ = 8;
    private static final int INDEX_MASK = 0x7f;
    private static final int NMI_OFF = 0x80;
    private static final long KIB = 1024;
    private static final long MIB = 1 << 20;
    private static final long GIB = 1 << 30;
    private static final IsaDescription DESCRIPTION =
            new IsaDescription("RTC0", "PNP0B00", 0, List.of(new IsaDescription.Ports(PORT, 2)), IRQ);

    private final RtcOptions options;
    private final Object lock = new Object();
    private final Mc146818 rtc = new Mc146818();
    private final Counter interrupts;
    private int index;
    private boolean nmiOff;
    private Optional<Attached> attached = Optional.empty();

    private record Attached(DeviceContext context, Clock clock, IrqOutput irq, Timer timer) {}

    private Rtc(RtcOptions options, CreateContext context) {
        this.options = options;
        interrupts = context.stats().counter("interrupts");
    }

    /** The type {@code rtc}. */
    public static DeviceType<RtcOptions> type() {
        return new DeviceEntry<>("rtc", "MC146818 real-time clock with CMOS memory", RtcOptions.class, Rtc::new);
    }

    @Override
    public void attach(DeviceContext context) {
        attached = Optional.of(new Attached(
                context, context.clock(), new IrqOutput(context.irqLine(IRQ)), context.timer(this::timerExpired)));
        context.pio(PORT, 2, new Ports());
        context.services().find(AcpiNamespace.class).ifPresent(acpi -> acpi.add(DESCRIPTION));
    }

    private final class Ports implements PioDevice {
        @Override
        public long read(long offset, int size) {
            if (offset == 0 && size == 1) {
                return -1;
            }
            long value;
            synchronized (lock) {
                catchUp();
                value = rtc.read(index);
            }
            update();
            return offset == 0 ? value << 8 | 0xff : value;
        }

        @Override
        public void write(long offset, int size, long value) {
            synchronized (lock) {
                catchUp();
                if (offset == 0) {
                    index = (int) value & INDEX_MASK;
                    nmiOff = (value & NMI_OFF) != 0;
                }
                if (offset == 1 || size > 1) {
                    rtc.write(index, (int) (offset == 1 ? value : value >> 8) & 0xff);
                }
            }
            update();
        }
    }

    private void catchUp() {
        if (attached.isPresent()) {
            Instant wall = attached.get().clock.wallTime();
            long seconds = wall.getEpochSecond();
            if (options.base() == RtcOptions.Base.LOCALTIME) {
                seconds += ZoneId.systemDefault().getRules().getOffset(wall).getTotalSeconds();
            }
            rtc.time(attached.get().clock.nanoTime(), seconds * 1_000_000_000L + wall.getNano());
        }
    }

    private void timerExpired() {
        synchronized (lock) {
            catchUp();
        }
        update();
    }

    private void update() {
        if (attached.isEmpty()) {
            return;
        }
        Attached a = attached.get();
        boolean changed;
        long next;
        synchronized (lock) {
            changed = a.irq.want(rtc.interrupt());
            next = rtc.nextEventNanos();
        }
        if (next != Long.MAX_VALUE) {
            a.timer.armAt(next);
        }
        if (changed) {
            if (a.irq.level()) {
                interrupts.increment();
            }
            a.irq.publish();
        }
    }

    @Override
    public void reset() {
        synchronized (lock) {
            catchUp();
            rtc.reset();
            index = 0;
            nmiOff = false;
            attached.ifPresent(a -> describeMachine(a.context));
        }
        update();
    }

    private void describeMachine(DeviceContext context) {
        long below4G = 0;
        long above4G = 0;
        for (MemoryRegion region : context.memory().regions()) {
            if (region.gpa() < 4 * GIB) {
                below4G = Math.max(below4G, region.endGpa());
            } else {
                above4G += region.sizeBytes();
            }
        }
        set16(CmosRegister.BASE_MEMORY_LOW, CmosRegister.BASE_MEMORY_HIGH, Math.min(640, below4G / KIB));
        long extended = Math.min(0xffff, Math.max(0, below4G - MIB) / KIB);
        set16(CmosRegister.EXTENDED_MEMORY_LOW, CmosRegister.EXTENDED_MEMORY_HIGH, extended);
        set16(CmosRegister.EXTENDED_MEMORY2_LOW, CmosRegister.EXTENDED_MEMORY2_HIGH, extended);
        set16(
                CmosRegister.HIGH_MEMORY_LOW,
                CmosRegister.HIGH_MEMORY_HIGH,
                Math.min(0xffff, Math.max(0, below4G - 16 * MIB) / (64 * KIB)));
        long above = above4G / (64 * KIB);
        rtc.preset(CmosRegister.MEMORY_4G_LOW, (int) above & 0xff);
        rtc.preset(CmosRegister.MEMORY_4G_MIDDLE, (int) (above >> 8) & 0xff);
        rtc.preset(CmosRegister.MEMORY_4G_HIGH, (int) (above >> 16) & 0xff);
        rtc.preset(CmosRegister.CPUS, Math.min(255, context.machine().cpus() - 1));
        rtc.preset(CmosRegister.EQUIPMENT, (int) CmosRegister.EQUIPMENT.resetValue());
    }

    private void set16(CmosRegister low, CmosRegister high, long value) {
        rtc.preset(low, (int) value & 0xff);
        rtc.preset(high, (int) (value >> 8) & 0xff);
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            catchUp();
            return new SavedState(1, rtc.save(nmiOff ? index | NMI_OFF : index));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        Mc146818.State content = SavedStates.content(state, Mc146818.State.class, "rtc");
        synchronized (lock) {
            rtc.restore(content);
            index = content.index() & INDEX_MASK;
            nmiOff = (content.index() & NMI_OFF) != 0;
            catchUp();
        }
        update();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(rtc.registers());
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (lock) {
            return Map.of("index", index, "nmi-off", nmiOff, "interrupt", rtc.interrupt());
        }
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            a.timer.close();
            if (a.irq.want(false)) {
                a.irq.publish();
            }
        });
        attached = Optional.empty();
    }
}
