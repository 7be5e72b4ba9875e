package org.benchtop.xen;

import java.lang.System.Logger.Level;
import java.util.Optional;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;

/**
 * The platform PCI device of HVM domains and the ports by which a guest asks for emulated disks and NICs to go
 * (docs/misc/hvm-emulated-unplug.pandoc of Xen).
 */
final class PlatformPci implements AutoCloseable {
    private static final int XEN = 0x5853;
    private static final int PLATFORM = 0x0001;
    /** Unassigned class, as the device has had since Xen 3. */
    private static final int CLASS_OTHER = 0xff8000;

    private static final long MEMORY_BYTES = 16 << 20;

    /** Class and subclass in configuration space. */
    private static final int CLASS = 0x0a;

    private static final int CLASS_IDE = 0x0101;
    private static final int CLASS_AHCI = 0x0106;
    private static final int CLASS_NVME = 0x0108;
    private static final int CLASS_ETHERNET = 0x0200;

    private static final int IDE_DISKS = 1;
    private static final int NICS = 1 << 1;
    private static final int AUX_IDE_DISKS = 1 << 2;
    private static final int NVME_DISKS = 1 << 3;

    private static final int PORTS = 0x10;
    private static final int MAGIC = 0x49d2;
    private static final int PROTOCOL_VERSION = 1;

    private final DeviceContext context;
    private final Optional<PciFunction> function;
    private final Optional<BusRange> ports;
    private volatile int unplugged;

    PlatformPci(String id, XenOptions options, DeviceContext context) {
        this.context = context;
        if (options.mode() == XenOptions.Mode.PVH) {
            function = Optional.empty();
            ports = Optional.empty();
            return;
        }
        function = Optional.of(context.pci()
                .add(new PciFunctionSpec(XEN, PLATFORM)
                        .revision(1)
                        .classCode(CLASS_OTHER)
                        .subsystem(XEN, PLATFORM)
                        .interruptPin(1)
                        .bar(Bar.io(0, 256, new Empty()))
                        .bar(Bar.memory32(1, MEMORY_BYTES, new Empty()))));
        ports = Optional.of(context.pio(PORTS, 16, new UnplugPorts()));
    }

    Optional<PciFunction> function() {
        return function;
    }

    /** Everything is plugged in again. */
    void reset() {
        if (unplugged != 0) {
            unplugged = 0;
            context.pci().hide(other -> false);
        }
        function.ifPresent(PciFunction::reset);
    }

    /** Registers that nobody uses. */
    private static final class Empty implements PioDevice, org.benchtop.spi.bus.MmioDevice {
        @Override
        public long read(long offset, int size) {
            return size == 8 ? -1 : (1L << 8 * size) - 1;
        }

        @Override
        public void write(long offset, int size, long value) {}
    }

    private final class UnplugPorts implements PioDevice {
        @Override
        public long read(long offset, int size) {
            if (offset == 0 && size == 2) {
                return MAGIC;
            }
            if (offset == 2 && size == 1) {
                return PROTOCOL_VERSION;
            }
            return (1L << 8 * size) - 1;
        }

        @Override
        public void write(long offset, int size, long value) {
            // Others are the driver's product and version number, and a log.
            if (offset == 0 && size == 2) {
                unplug((int) value & 0xffff);
            }
        }
    }

    private void unplug(int mask) {
        int before = unplugged;
        unplugged |= mask;
        if (unplugged != before) {
            context.logger().log(Level.DEBUG, "the guest unplugs 0x{0}", Integer.toHexString(mask));
            context.pci().hide(other -> asked(unplugged, (int) other.config(CLASS, 2)));
        }
    }

    /** Whether a mask asks for a function of a class to go. Disks go with their controller. */
    static boolean asked(int mask, int classCode) {
        return switch (classCode) {
            case CLASS_IDE, CLASS_AHCI -> (mask & (IDE_DISKS | AUX_IDE_DISKS)) != 0;
            case CLASS_ETHERNET -> (mask & NICS) != 0;
            case CLASS_NVME -> (mask & NVME_DISKS) != 0;
            default -> false;
        };
    }

    @Override
    public void close() {
        ports.ifPresent(BusRange::close);
        function.ifPresent(PciFunction::close);
    }
}
