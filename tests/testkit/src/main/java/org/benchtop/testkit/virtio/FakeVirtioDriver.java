package org.benchtop.testkit.virtio;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.testkit.FakeDeviceContext;

/**
 * A driver of any modern virtio PCI device (VIRTIO 1.2, 4.1), above configuration space and BARs only, so that it works
 * on a fake machine and on a real one. BARs must have been placed.
 */
public final class FakeVirtioDriver {
    /** Status bit. */
    public static final int ACKNOWLEDGE = 1;
    /** Status bit. */
    public static final int DRIVER = 2;
    /** Status bit. */
    public static final int DRIVER_OK = 4;
    /** Status bit. */
    public static final int FEATURES_OK = 8;
    /** Status bit. */
    public static final int DEVICE_NEEDS_RESET = 64;
    /** Status bit. */
    public static final int FAILED = 128;

    /** Feature bit. */
    public static final long VIRTIO_F_INDIRECT_DESC = 1L << 28;
    /** Feature bit. */
    public static final long VIRTIO_F_EVENT_IDX = 1L << 29;
    /** Feature bit. */
    public static final long VIRTIO_F_VERSION_1 = 1L << 32;
    /** Feature bit. */
    public static final long VIRTIO_F_RING_RESET = 1L << 40;

    /** Says that an event has no MSI-X vector. */
    public static final int VIRTIO_MSI_NO_VECTOR = 0xffff;

    /** Offsets in {@code struct virtio_pci_common_cfg}. */
    public static final int DEVICE_FEATURE_SELECT = 0x00;

    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int DEVICE_FEATURE = 0x04;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int DRIVER_FEATURE_SELECT = 0x08;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int DRIVER_FEATURE = 0x0c;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int CONFIG_MSIX_VECTOR = 0x10;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int NUM_QUEUES = 0x12;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int DEVICE_STATUS = 0x14;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int CONFIG_GENERATION = 0x15;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_SELECT = 0x16;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_SIZE = 0x18;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_MSIX_VECTOR = 0x1a;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_ENABLE = 0x1c;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_NOTIFY_OFF = 0x1e;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_DESC = 0x20;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_DRIVER = 0x28;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_DEVICE = 0x30;
    /** See {@link #DEVICE_FEATURE_SELECT}. */
    public static final int QUEUE_RESET = 0x3a;

    private static final int PCI_COMMAND = 0x04;
    private static final int PCI_COMMAND_MEMORY_AND_MASTER = 6;
    private static final int PCI_BAR0 = 0x10;
    private static final int PCI_CAPABILITIES = 0x34;
    private static final int PCI_CAP_VENDOR = 0x09;
    private static final int PCI_CAP_MSIX = 0x11;
    private static final int CAPABILITY_TYPES = 6;
    private static final int COMMON_CFG = 1;
    private static final int NOTIFY_CFG = 2;
    private static final int ISR_CFG = 3;
    private static final int DEVICE_CFG = 4;
    private static final int PCI_CFG = 5;
    private static final int FIRST_INTERRUPT_VECTOR = 0x40;
    private static final long MESSAGE_ADDRESS = 0xfee0_0000L;

    private final PciBus pci;
    private final int devfn;
    private final RegisterAccess space;
    private final GuestHeap heap;
    private final long[] structure = new long[CAPABILITY_TYPES];
    private final int notifyMultiplier;
    private final int windowCapability;
    private final int msixCapability;
    private long accepted;

    /**
     * Finds the device's structures.
     *
     * @param space guest physical addresses outside RAM
     * @param heap RAM for rings and buffers
     */
    public FakeVirtioDriver(PciBus pci, PciAddress address, RegisterAccess space, GuestHeap heap) {
        this.pci = pci;
        this.devfn = address.devfn();
        this.space = space;
        this.heap = heap;
        int multiplier = 0;
        int window = 0;
        int msix = 0;
        int at = (int) config(PCI_CAPABILITIES, 1);
        for (int i = 0; i < 48 && at != 0; i++) {
            int id = (int) config(at, 1);
            if (id == PCI_CAP_MSIX) {
                msix = at;
            } else if (id == PCI_CAP_VENDOR) {
                int type = (int) config(at + 3, 1);
                if (type == PCI_CFG) {
                    window = at;
                } else if (type > 0 && type < CAPABILITY_TYPES && structure[type] == 0) {
                    structure[type] = barAddress((int) config(at + 4, 1)) + config(at + 8, 4);
                    multiplier = type == NOTIFY_CFG ? (int) config(at + 16, 4) : multiplier;
                }
            }
            at = (int) config(at + 1, 1);
        }
        notifyMultiplier = multiplier;
        windowCapability = window;
        msixCapability = msix;
        for (int type = COMMON_CFG; type <= DEVICE_CFG; type++) {
            if (structure[type] == 0) {
                throw new AssertionError("device " + address + " has no virtio capability of type " + type);
            }
        }
    }

    /**
     * A driver of the only PCI function of a fake machine, after placing its BARs; rings and buffers go to the upper
     * half of RAM.
     */
    public static FakeVirtioDriver of(FakeDeviceContext context) {
        context.pci().assignResources();
        GuestMemory memory = context.memory();
        long half = memory.regions().getFirst().sizeBytes() / 2;
        RegisterAccess space = new RegisterAccess() {
            @Override
            public long read(long address, int size) {
                return context.mmioRead(address, size);
            }

            @Override
            public void write(long address, int size, long value) {
                context.mmioWrite(address, size, value);
            }
        };
        FakeVirtioDriver driver = new FakeVirtioDriver(
                context.pci(), context.pci().only().address(), space, new GuestHeap(memory, half, half));
        driver.busMaster(true);
        return driver;
    }

    /** RAM for rings and buffers. */
    public GuestHeap heap() {
        return heap;
    }

    // Configuration space.

    /** Reads configuration space. */
    public long config(int offset, int size) {
        return pci.configRead(0, devfn, offset, size);
    }

    /** Writes configuration space. */
    public void config(int offset, int size, long value) {
        pci.configWrite(0, devfn, offset, size, value);
    }

    private long barAddress(int bar) {
        long low = config(PCI_BAR0 + 4 * bar, 4);
        boolean wide = (low & 6) == 4;
        return low & ~0xfL | (wide ? config(PCI_BAR0 + 4 * bar + 4, 4) << 32 : 0);
    }

    /** Decodes memory, and lets the device use RAM or not. */
    public void busMaster(boolean enabled) {
        long command = config(PCI_COMMAND, 2) | PCI_COMMAND_MEMORY_AND_MASTER;
        config(PCI_COMMAND, 2, enabled ? command : command & ~4);
    }

    /** Reads a register through the window in configuration space (4.1.4.9). */
    public long windowRead(int bar, int offset, int size) {
        aimWindow(bar, offset, size);
        return config(windowCapability + 16, size);
    }

    /** Writes a register through the window in configuration space. */
    public void windowWrite(int bar, int offset, int size, long value) {
        aimWindow(bar, offset, size);
        config(windowCapability + 16, size, value);
    }

    private void aimWindow(int bar, int offset, int size) {
        config(windowCapability + 4, 1, bar);
        config(windowCapability + 8, 4, offset);
        config(windowCapability + 12, 4, size);
    }

    /**
     * Enables MSI-X: vector 0 for configuration changes, 1 + n for queue n; their messages carry {@link
     * #messageVector}.
     */
    public void enableMsix() {
        if (msixCapability == 0) {
            throw new AssertionError("device has no MSI-X");
        }
        int vectors = ((int) config(msixCapability + 2, 2) & 0x7ff) + 1;
        long location = config(msixCapability + 4, 4);
        long table = barAddress((int) location & 7) + (location & ~7L);
        for (int vector = 0; vector < vectors; vector++) {
            long entry = table + 16L * vector;
            space.write(entry, 4, MESSAGE_ADDRESS);
            space.write(entry + 4, 4, 0);
            space.write(entry + 8, 4, messageVector(vector));
            space.write(entry + 12, 4, 0);
        }
        config(msixCapability + 2, 2, 0x8000);
    }

    /** Masks or unmasks all vectors. */
    public void maskMsix(boolean masked) {
        config(msixCapability + 2, 2, masked ? 0xc000 : 0x8000);
    }

    /** The interrupt vector that the message of an MSI-X entry carries. */
    public static int messageVector(int msixVector) {
        return FIRST_INTERRUPT_VECTOR + msixVector;
    }

    // Structures.

    /** Reads the common configuration structure. */
    public long common(int offset, int size) {
        return space.read(structure[COMMON_CFG] + offset, size);
    }

    /** Writes the common configuration structure. */
    public void common(int offset, int size, long value) {
        space.write(structure[COMMON_CFG] + offset, size, value);
    }

    /** Reads the device-specific configuration structure. */
    public long deviceConfig(int offset, int size) {
        return space.read(structure[DEVICE_CFG] + offset, size);
    }

    /** Writes the device-specific configuration structure. */
    public void deviceConfig(int offset, int size, long value) {
        space.write(structure[DEVICE_CFG] + offset, size, value);
    }

    /** Reads and so clears the interrupt status. */
    public int isr() {
        return (int) space.read(structure[ISR_CFG], 1);
    }

    /** Notifies the device of a queue. */
    public void notifyQueue(int queue) {
        common(QUEUE_SELECT, 2, queue);
        long off = common(QUEUE_NOTIFY_OFF, 2);
        space.write(structure[NOTIFY_CFG] + off * notifyMultiplier, 2, queue);
    }

    /** The address at which a queue is notified. */
    public long notifyAddress(int queue) {
        common(QUEUE_SELECT, 2, queue);
        return structure[NOTIFY_CFG] + common(QUEUE_NOTIFY_OFF, 2) * notifyMultiplier;
    }

    /** The device status. */
    public int status() {
        return (int) common(DEVICE_STATUS, 1);
    }

    /** Writes the device status. */
    public void status(int value) {
        common(DEVICE_STATUS, 1, value);
    }

    /** The features that the device offers. */
    public long offeredFeatures() {
        common(DEVICE_FEATURE_SELECT, 4, 0);
        long low = common(DEVICE_FEATURE, 4);
        common(DEVICE_FEATURE_SELECT, 4, 1);
        return low | common(DEVICE_FEATURE, 4) << 32;
    }

    /** Writes the driver's features. */
    public void driverFeatures(long features) {
        common(DRIVER_FEATURE_SELECT, 4, 0);
        common(DRIVER_FEATURE, 4, features & 0xffff_ffffL);
        common(DRIVER_FEATURE_SELECT, 4, 1);
        common(DRIVER_FEATURE, 4, features >>> 32);
        accepted = features;
    }

    /** The features that were negotiated last. */
    public long features() {
        return accepted;
    }

    // Sequences.

    /** Resets the device; fails the test if it is not done at once. */
    public void reset() {
        status(0);
        if (status() != 0) {
            throw new AssertionError("device status is " + status() + " after a reset");
        }
    }

    /** Reset, then everything up to FEATURES_OK, with those of the wanted features that are offered. */
    public long negotiate(long wanted) {
        reset();
        status(ACKNOWLEDGE);
        status(ACKNOWLEDGE | DRIVER);
        driverFeatures(offeredFeatures() & (wanted | VIRTIO_F_VERSION_1));
        status(ACKNOWLEDGE | DRIVER | FEATURES_OK);
        if ((status() & FEATURES_OK) == 0) {
            throw new AssertionError("device refuses features 0x" + Long.toHexString(accepted));
        }
        return accepted;
    }

    /** Sets up and enables a queue of the given size; MSI-X vectors are those of {@link #enableMsix} where enabled. */
    public FakeVirtQueue openQueue(int index, int size) {
        common(QUEUE_SELECT, 2, index);
        if (common(QUEUE_SIZE, 2) < size) {
            throw new AssertionError("queue " + index + " takes only " + common(QUEUE_SIZE, 2) + " entries");
        }
        common(QUEUE_SIZE, 2, size);
        long address = notifyAddress(index);
        FakeVirtQueue queue = new FakeVirtQueue(
                heap, size, (accepted & VIRTIO_F_EVENT_IDX) != 0, () -> space.write(address, 2, index));
        place(index, queue);
        common(QUEUE_ENABLE, 2, 1);
        return queue;
    }

    /** Writes a queue's addresses and vectors. */
    public void place(int index, FakeVirtQueue queue) {
        common(QUEUE_SELECT, 2, index);
        address(QUEUE_DESC, queue.descriptorGpa());
        address(QUEUE_DRIVER, queue.driverGpa());
        address(QUEUE_DEVICE, queue.deviceGpa());
        if (msixEnabled()) {
            common(QUEUE_MSIX_VECTOR, 2, 1 + index);
        }
    }

    /** Writes a 64-bit address of the selected queue. */
    public void address(int offset, long gpa) {
        common(offset, 4, gpa & 0xffff_ffffL);
        common(offset + 4, 4, gpa >>> 32);
    }

    private boolean msixEnabled() {
        return msixCapability != 0 && (config(msixCapability + 2, 2) & 0x8000) != 0;
    }

    /** The last step: the device may use its queues. */
    public void driverOk() {
        if (msixEnabled()) {
            common(CONFIG_MSIX_VECTOR, 2, 0);
        }
        status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    }

    /** Everything from reset to DRIVER_OK, with queues of the same size. */
    public List<FakeVirtQueue> start(long wantedFeatures, int queues, int size) {
        negotiate(wantedFeatures);
        List<FakeVirtQueue> opened = new ArrayList<>();
        for (int i = 0; i < queues; i++) {
            opened.add(openQueue(i, size));
        }
        driverOk();
        return opened;
    }
}
