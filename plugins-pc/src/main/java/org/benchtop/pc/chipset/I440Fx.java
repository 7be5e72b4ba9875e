package org.benchtop.pc.chipset;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.ConfigRegisters;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.ResetControl;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.device.Services;
import org.benchtop.spi.memory.MemoryRegion;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.spi.pci.PciConfigHook;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.pci.PciWindows;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/**
 * The 82441FX host bridge at 00:00.0: configuration mechanism #1, shadow RAM, and where BARs may lie.
 *
 * <p>Its identity and subsystem are those by which SeaBIOS recognises a virtual machine.
 */
public final class I440Fx implements Device {
    /** Where 32-bit BARs may lie: from the end of RAM at most to the IOAPIC. */
    static final long MEMORY32_BASE = 0xc000_0000L;

    static final long MEMORY32_END = 0xfec0_0000L;
    static final int IO_BASE = 0xc000;
    static final int IO_SIZE = 0x4000;
    static final long MEMORY64_SIZE = 1L << 34;

    private static final long GIB = 1L << 30;
    private static final int CONFIG_PORTS = 0xcf8;
    private static final int RESET_CONTROL_OFFSET = 1;
    private static final int DATA_OFFSET = 4;
    private static final long ENABLE = 0x8000_0000L;
    private static final long ADDRESS_MASK = 0x80ff_fffcL;
    private static final int SMRAM_OPEN = 0x40;
    private static final int SMRAM_CLOSED = 0x20;
    private static final int SMRAM_LOCK = 0x10;
    private static final int SMRAM_WRITABLE = 0x78;
    private static final int SMRAM_FIXED = 0x02;

    private final Counter configAccesses;
    private final Object lock = new Object();
    private volatile long configAddress;
    private int smram = SMRAM_FIXED;
    private Optional<Attached> attached = Optional.empty();

    /** What exists once the device is in a machine. */
    private record Attached(
            PciBus bus,
            PciFunction function,
            RegisterMap<I440FxRegister> table,
            Services services,
            Optional<ShadowRam> shadow) {}

    private I440Fx(NoOptions options, CreateContext context) {
        configAccesses = context.stats().counter("config-accesses");
    }

    /** The type {@code i440fx}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>(
                "i440fx",
                "Intel 440FX host bridge with configuration ports and shadow RAM",
                NoOptions.class,
                I440Fx::new);
    }

    /** Where BARs may be placed in a machine with this RAM. */
    public static PciWindows windows(List<MemoryRegion> ram) {
        long top = 4 * GIB;
        for (MemoryRegion region : ram) {
            top = Math.max(top, region.endGpa());
        }
        long memory64 = (top + GIB - 1) / GIB * GIB;
        return new PciWindows(IO_BASE, IO_SIZE, MEMORY32_BASE, MEMORY32_END - MEMORY32_BASE, memory64, MEMORY64_SIZE);
    }

    @Override
    public void attach(DeviceContext context) {
        PciBus bus = context.pci();
        PciFunction function = bus.add(new PciFunctionSpec(0x8086, 0x1237)
                .revision(2)
                .classCode(0x060000)
                .subsystem(0x1af4, 0x1100)
                .address(new PciAddress(0, 0))
                .hook(new Hook()));
        function.writable(I440FxRegister.PMCCFG.offset(), 2, 0xffff);
        function.writable(I440FxRegister.PAM0.offset(), 1, 0x30);
        for (int i = 1; i < ShadowRam.REGISTERS; i++) {
            function.writable(I440FxRegister.PAM0.offset() + i, 1, 0x33);
        }
        function.writable(I440FxRegister.SMRAM.offset(), 1, SMRAM_WRITABLE);
        Optional<ShadowRam> shadow = Optional.empty();
        if (context.machine().firmware()) {
            ShadowRam ram = new ShadowRam(context.memory(), context.memoryMap());
            context.mmio(ShadowRam.BASE, ShadowRam.SIZE, ram);
            shadow = Optional.of(ram);
        }
        bus.windows(windows(context.memory().regions()));
        attached = Optional.of(new Attached(
                bus,
                function,
                ConfigRegisters.table("82441FX", I440FxRegister.class, function),
                context.services(),
                shadow));
        context.pio(CONFIG_PORTS, 8, new ConfigPorts(bus, context.services()));
    }

    private final class Hook implements PciConfigHook {
        @Override
        public void afterWrite(int offset, int size, long value) {
            int smramAt = I440FxRegister.SMRAM.offset();
            if (offset <= smramAt && offset + size > smramAt) {
                writeSmram((int) (value >>> 8 * (smramAt - offset)) & 0xff);
            }
            int pam = I440FxRegister.PAM0.offset();
            if (offset + size > pam && offset < pam + ShadowRam.REGISTERS) {
                applyPam();
            }
        }
    }

    /** The lock bit freezes the register until reset; closed and open exclude each other. */
    private void writeSmram(int value) {
        int now;
        synchronized (lock) {
            if ((smram & SMRAM_LOCK) == 0) {
                smram = value & SMRAM_WRITABLE | SMRAM_FIXED;
                if ((smram & (SMRAM_LOCK | SMRAM_CLOSED)) != 0) {
                    smram &= ~SMRAM_OPEN;
                }
            } else {
                smram = smram & ~SMRAM_CLOSED | value & SMRAM_CLOSED;
            }
            now = smram;
        }
        attached.ifPresent(a -> a.function.config(I440FxRegister.SMRAM.offset(), 1, now));
    }

    private void applyPam() {
        if (attached.isEmpty() || attached.get().shadow.isEmpty()) {
            return;
        }
        int[] pam = new int[ShadowRam.REGISTERS];
        for (int i = 0; i < pam.length; i++) {
            pam[i] = (int) attached.get().function.config(I440FxRegister.PAM0.offset() + i, 1);
        }
        attached.get().shadow.get().set(pam);
    }

    /** Ports 0xCF8 to 0xCFF (PCI Local Bus 3.0, 3.2.2.3.2). */
    private final class ConfigPorts implements PioDevice {
        private final PciBus bus;
        private final Services services;

        ConfigPorts(PciBus bus, Services services) {
            this.bus = bus;
            this.services = services;
        }

        @Override
        public long read(long offset, int size) {
            if (offset == 0 && size == 4) {
                return configAddress;
            }
            if (offset == RESET_CONTROL_OFFSET && size == 1) {
                return services.find(ResetControl.class)
                        .map(ResetControl::resetControl)
                        .orElse(0xff);
            }
            if (offset < DATA_OFFSET) {
                return -1;
            }
            configAccesses.increment();
            long address = configAddress;
            if ((address & ENABLE) == 0) {
                return -1;
            }
            int register = (int) (address & 0xfc) + (int) (offset - DATA_OFFSET);
            if (size <= 4 && (register & size - 1) == 0) {
                return bus.configRead(bus(address), devfn(address), register, size);
            }
            long value = 0;
            for (int i = 0; i < size; i++) {
                value |= (bus.configRead(bus(address), devfn(address), register + i & 0xff, 1) & 0xff) << 8 * i;
            }
            return value;
        }

        @Override
        public void write(long offset, int size, long value) {
            if (offset == 0 && size == 4) {
                configAddress = value & ADDRESS_MASK;
                return;
            }
            if (offset == RESET_CONTROL_OFFSET && size == 1) {
                services.find(ResetControl.class).ifPresent(control -> control.resetControl((int) value & 0xff));
                return;
            }
            if (offset < DATA_OFFSET) {
                return;
            }
            configAccesses.increment();
            long address = configAddress;
            if ((address & ENABLE) == 0) {
                return;
            }
            int register = (int) (address & 0xfc) + (int) (offset - DATA_OFFSET);
            if (size <= 4 && (register & size - 1) == 0) {
                bus.configWrite(bus(address), devfn(address), register, size, value);
                return;
            }
            for (int i = 0; i < size; i++) {
                bus.configWrite(bus(address), devfn(address), register + i & 0xff, 1, value >>> 8 * i & 0xff);
            }
        }

        private static int bus(long address) {
            return (int) (address >> 16 & 0xff);
        }

        private static int devfn(long address) {
            return (int) (address >> 8 & 0xff);
        }
    }

    @Override
    public void reset() {
        configAddress = 0;
        synchronized (lock) {
            smram = SMRAM_FIXED;
        }
        attached.ifPresent(a -> {
            a.function.reset();
            // Memory and bus mastering are hard-wired on in this bridge.
            a.function.config(4, 2, 0x0006);
            ConfigRegisters.reset(a.table, a.function);
        });
        applyPam();
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param configAddress port 0xCF8
     * @param smram the SMRAM register
     * @param function configuration space
     */
    record State(long configAddress, int smram, SavedState function) {}

    @Override
    public SavedState saveState() {
        return new SavedState(
                1,
                new State(
                        configAddress,
                        smram,
                        attached.map(a -> a.function.saveState()).orElse(SavedState.EMPTY)));
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "i440fx");
        configAddress = content.configAddress & ADDRESS_MASK;
        synchronized (lock) {
            smram = content.smram & SMRAM_WRITABLE | SMRAM_FIXED;
        }
        attached.ifPresent(a -> a.function.restoreState(content.function));
        applyPam();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return attached.<List<RegisterMap<?>>>map(a -> List.of(a.table)).orElse(List.of());
    }

    @Override
    public Map<String, Object> inspect() {
        return Map.of("config-address", "0x" + Long.toHexString(configAddress));
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            a.function.close();
            a.shadow.ifPresent(ShadowRam::close);
        });
        attached = Optional.empty();
    }
}
