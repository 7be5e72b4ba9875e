package org.benchtop.pc.firmware;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.device.TextScreen;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryRegion;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/**
 * The firmware configuration device at ports 0x510 and 0x514: items by key, files by name, byte by byte or by DMA (QEMU
 * docs/specs/fw_cfg). Guests only read.
 *
 * <p>Contents are collected at each reset and do not change until the next one.
 */
public final class FwCfgDevice implements Device, FwCfg {
    private static final int PORT = 0x510;
    private static final int DMA_PORT = 0x514;
    private static final long DMA_SIGNATURE = 0x51454d5520434647L;
    private static final int ID_PORTS_AND_DMA = 3;
    private static final int DMA_ERROR = 0x01;
    private static final int DMA_READ = 0x02;
    private static final int DMA_SKIP = 0x04;
    private static final int DMA_SELECT = 0x08;
    private static final int DMA_WRITE = 0x10;
    private static final int E820_RAM = 1;
    private static final int E820_RESERVED = 2;
    /** Pages that CPU engines need for themselves: identity map and task state of KVM. */
    private static final long HYPERVISOR_BASE = 0xfeff_c000L;

    private static final long HYPERVISOR_SIZE = 0x4000;
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

    private final FwCfgOptions options;
    private final TreeMap<String, Supplier<byte[]>> files = new TreeMap<>();
    /** Paths of devices by their boot index; guarded by {@link #files}. */
    private final TreeMap<Integer, String> bootOrder = new TreeMap<>();

    private final Object lock = new Object();
    private final RegisterMap<FwCfgRegister> ports = new RegisterMap<>("fw_cfg", FwCfgRegister.class, new Registers());
    private final Counter transfers;
    private final Counter errors;
    private Optional<DeviceContext> context = Optional.empty();
    private FwCfgItems items = new FwCfgItems(Map.of(), new TreeMap<>());
    private int selector;
    private byte[] current = {};
    private long position;
    private int dmaHigh;

    private FwCfgDevice(FwCfgOptions options, CreateContext createContext) {
        this.options = options;
        transfers = createContext.stats().counter("dma-transfers");
        errors = createContext.stats().counter("dma-errors");
        for (Map.Entry<String, Path> file : options.files().entrySet()) {
            Path path = createContext.resolve(file.getValue());
            if (!Files.isRegularFile(path)) {
                throw BenchtopException.config("fw-cfg file " + file.getKey() + ": " + path + " is no readable file");
            }
            addFile(file.getKey(), () -> readFile(path));
        }
    }

    private static byte[] readFile(Path path) {
        try {
            return Files.readAllBytes(path);
        } catch (IOException e) {
            throw BenchtopException.of(
                    org.benchtop.spi.ErrorKind.HOST, "cannot read " + path + " for fw-cfg: " + e.getMessage(), e);
        }
    }

    /** The type {@code fw-cfg}. */
    public static DeviceType<FwCfgOptions> type() {
        return new DeviceEntry<>(
                "fw-cfg", "configuration device that firmware reads", FwCfgOptions.class, FwCfgDevice::new);
    }

    @Override
    public void addFile(String name, Supplier<byte[]> content) {
        FwCfgItems.checkName(name);
        synchronized (files) {
            if (files.putIfAbsent(name, content) != null) {
                throw BenchtopException.config("fw-cfg file " + name + " is there already");
            }
        }
    }

    @Override
    public BootEntry addBootEntry(int bootIndex, String path) {
        synchronized (files) {
            String other = bootOrder.putIfAbsent(bootIndex, path);
            if (other != null) {
                throw BenchtopException.config("bootindex " + bootIndex + " is taken by " + other);
            }
        }
        return () -> {
            synchronized (files) {
                bootOrder.remove(bootIndex);
            }
        };
    }

    /** Paths by line, ended by a zero byte (SeaBIOS, Runtime_config: bootorder). */
    private byte[] bootOrder() {
        synchronized (files) {
            return (String.join("\n", bootOrder.values()) + "\0").getBytes(StandardCharsets.US_ASCII);
        }
    }

    @Override
    public void attach(DeviceContext deviceContext) {
        context = Optional.of(deviceContext);
        addFile("bootorder", this::bootOrder);
        addFile("etc/e820", () -> e820(deviceContext.memory().regions()));
        deviceContext.pio(PORT, 2, new Ports(0));
        deviceContext.pio(DMA_PORT, 8, new Ports(DMA_PORT - PORT));
        deviceContext.services().provide(FwCfg.class, this);
    }

    private static byte[] e820(List<MemoryRegion> regions) {
        ByteBuffer out = ByteBuffer.allocate(20 * (regions.size() + 1)).order(ByteOrder.LITTLE_ENDIAN);
        for (MemoryRegion region : regions) {
            out.putLong(region.gpa()).putLong(region.sizeBytes()).putInt(E820_RAM);
        }
        out.putLong(HYPERVISOR_BASE).putLong(HYPERVISOR_SIZE).putInt(E820_RESERVED);
        return out.array();
    }

    private FwCfgItems collect(DeviceContext of) {
        Map<Integer, byte[]> fixed = new HashMap<>();
        int cpus = of.machine().cpus();
        fixed.put(FwCfgItems.SIGNATURE, "QEMU".getBytes(StandardCharsets.US_ASCII));
        fixed.put(FwCfgItems.ID, FwCfgItems.little(ID_PORTS_AND_DMA, 4));
        fixed.put(FwCfgItems.UUID, new byte[16]);
        fixed.put(FwCfgItems.RAM_SIZE, FwCfgItems.little(of.memory().sizeBytes(), 8));
        // Without a display, firmware shows its screen on the first serial port.
        boolean display = of.services().find(TextScreen.class).isPresent();
        fixed.put(FwCfgItems.NOGRAPHIC, FwCfgItems.little(display ? 0 : 1, 2));
        fixed.put(FwCfgItems.CPUS, FwCfgItems.little(cpus, 2));
        fixed.put(FwCfgItems.BOOT_MENU, FwCfgItems.little(0, 2));
        fixed.put(FwCfgItems.MAX_CPUS, FwCfgItems.little(cpus, 2));
        fixed.put(FwCfgItems.IRQ0_OVERRIDE, FwCfgItems.little(1, 1));
        TreeMap<String, byte[]> contents = new TreeMap<>();
        synchronized (files) {
            files.forEach((name, supplier) -> contents.put(name, supplier.get()));
        }
        return new FwCfgItems(fixed, contents);
    }

    private final class Ports implements PioDevice {
        private final int base;

        Ports(int base) {
            this.base = base;
        }

        @Override
        public long read(long offset, int size) {
            synchronized (lock) {
                return ports.read(base + offset, size);
            }
        }

        @Override
        public void write(long offset, int size, long value) {
            if (base == 0 && size != 2) {
                // Writing data is a thing of the past; only a whole selector counts.
                return;
            }
            synchronized (lock) {
                ports.write(base + offset, size, value);
            }
        }
    }

    private final class Registers implements RegisterMap.Handler<FwCfgRegister> {
        @Override
        public long read(FwCfgRegister register) {
            return register == FwCfgRegister.SELECTOR_DATA ? (long) nextByte() << 8 : peek(register);
        }

        @Override
        public void write(FwCfgRegister register, long value) {
            switch (register) {
                case SELECTOR_DATA -> select((int) value);
                case DMA_HIGH -> dmaHigh = Integer.reverseBytes((int) value);
                case DMA_LOW -> {
                    long address = Integer.toUnsignedLong(Integer.reverseBytes((int) value)) | (long) dmaHigh << 32;
                    dmaHigh = 0;
                    context.ifPresent(c -> dma(c.memory(), address));
                }
            }
        }

        @Override
        public long peek(FwCfgRegister register) {
            return switch (register) {
                case SELECTOR_DATA -> selector;
                case DMA_HIGH -> Integer.toUnsignedLong(Integer.reverseBytes((int) (DMA_SIGNATURE >>> 32)));
                case DMA_LOW -> Integer.toUnsignedLong(Integer.reverseBytes((int) DMA_SIGNATURE));
            };
        }
    }

    private void select(int key) {
        selector = key;
        current = items.item(key);
        position = 0;
    }

    private int nextByte() {
        return position < current.length ? current[(int) position++] & 0xff : 0;
    }

    /** Executes one DMA command, whose structure is big-endian: control, length, address. */
    private void dma(GuestMemory memory, long command) {
        transfers.increment();
        try {
            int control = Integer.reverseBytes(memory.readInt(command));
            long length = Integer.toUnsignedLong(Integer.reverseBytes(memory.readInt(command + 4)));
            long address = Long.reverseBytes(memory.readLong(command + 8));
            boolean done = execute(memory, control, length, address);
            if (!done) {
                errors.increment();
            }
            memory.writeInt(command, Integer.reverseBytes(done ? 0 : DMA_ERROR));
            memory.written(command, 4);
        } catch (GuestFault e) {
            errors.increment();
        }
    }

    private boolean execute(GuestMemory memory, int control, long length, long address) {
        if ((control & DMA_SELECT) != 0) {
            select(control >>> 16);
        }
        if ((control & DMA_READ) != 0) {
            try {
                MemorySegment target = memory.slice(address, length);
                long available = Math.max(0, Math.min(length, current.length - position));
                MemorySegment.copy(current, (int) Math.min(position, current.length), target, BYTE, 0, (int) available);
                target.asSlice(available).fill((byte) 0);
                memory.written(address, length);
            } catch (GuestFault e) {
                return false;
            }
        } else if ((control & DMA_WRITE) != 0) {
            return false;
        } else if ((control & DMA_SKIP) == 0) {
            return true;
        }
        position = Math.min(position + length, Integer.MAX_VALUE);
        return true;
    }

    @Override
    public void reset() {
        Optional<FwCfgItems> collected = context.map(this::collect);
        synchronized (lock) {
            collected.ifPresent(c -> items = c);
            dmaHigh = 0;
            select(0);
        }
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /**
     * Saved state.
     *
     * @param selector the key
     * @param position where in its item
     * @param dmaHigh the high half of the DMA address
     */
    record State(int selector, long position, int dmaHigh) {}

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            return new SavedState(1, new State(selector, position, dmaHigh));
        }
    }

    @Override
    public void restoreState(SavedState state) {
        State content = SavedStates.content(state, State.class, "fw-cfg");
        synchronized (lock) {
            select(content.selector & 0xffff);
            position = Math.max(0, Math.min(content.position, Integer.MAX_VALUE));
            dmaHigh = content.dmaHigh;
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(ports);
    }

    @Override
    public Map<String, Object> inspect() {
        synchronized (files) {
            return Map.of("files", List.copyOf(files.keySet()), "options", options);
        }
    }

    @Override
    public void close() {}
}
