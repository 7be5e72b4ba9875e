package org.benchtop.virtio.pci;

import static org.benchtop.virtio.pci.VirtioPciCapabilities.CAP_BAR;
import static org.benchtop.virtio.pci.VirtioPciCapabilities.CAP_DATA;
import static org.benchtop.virtio.pci.VirtioPciCapabilities.CAP_DATA_SIZE;
import static org.benchtop.virtio.pci.VirtioPciCapabilities.CAP_LENGTH;
import static org.benchtop.virtio.pci.VirtioPciCapabilities.CAP_OFFSET;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.MessageInterrupts;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciConfigHook;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.virtio.device.VirtioCore;
import org.benchtop.virtio.device.VirtioTransport;

/**
 * The registers of a virtio device on the PCI bus: common configuration, ISR, device configuration and a notification
 * address for each queue in BAR 0, MSI-X in BAR 1.
 *
 * <p>Thread-safe.
 */
final class VirtioPciTransport implements VirtioTransport, RegisterAccess, PciConfigHook, AutoCloseable {
    /** VIRTIO 1.2, 4.1.2. */
    private static final int VIRTIO_VENDOR_ID = 0x1af4;

    private static final int VIRTIO_DEVICE_ID_BASE = 0x1040;
    private static final int SUBSYSTEM_ID = 0x1100;
    private static final int REVISION = 1;

    private static final int REGISTER_BAR = 0;
    private static final int REGISTER_BAR_SIZE = 0x4000;
    private static final int COMMON = 0x0000;
    private static final int ISR = 0x1000;
    private static final int DEVICE = 0x2000;
    private static final int NOTIFY = 0x3000;
    private static final int REGION_SIZE = 0x1000;
    private static final int NOTIFY_MULTIPLIER = 4;

    private static final int MSIX_BAR = 1;
    private static final int MSIX_BAR_SIZE = 0x1000;
    private static final int MSIX_PBA = 0x800;

    private static final int VIRTIO_MSI_NO_VECTOR = 0xffff;
    private static final int ISR_QUEUE = 1;
    private static final int ISR_CONFIG = 2;

    private static final int PCI_COMMAND = 4;
    private static final int WINDOW_CAPABILITY = 4;

    private final String id;
    private final VirtioCore core;
    private final RegisterMap<CommonRegister> common;
    private final RegisterMap<CommonRegister> commonInWindow;
    private final PciFunction function;
    private final MessageInterrupts msix;
    private final int windowOffset;
    private final List<IoEvent> ioEvents = new ArrayList<>();

    private final AtomicInteger isr = new AtomicInteger();
    private volatile int configVector = VIRTIO_MSI_NO_VECTOR;
    private final AtomicIntegerArray queueVectors;

    /** Puts a device on the bus. */
    VirtioPciTransport(VirtioCore core, DeviceContext context, VirtioPciOptions options) {
        this.id = context.id();
        this.core = core;
        this.common = new RegisterMap<>("common", CommonRegister.class, new CommonHandler(true));
        this.commonInWindow = new RegisterMap<>("common", CommonRegister.class, new CommonHandler(false));
        int queues = core.queues();
        this.queueVectors = new AtomicIntegerArray(queues);
        forgetVectors();
        PciFunctionSpec spec = new PciFunctionSpec(
                        VIRTIO_VENDOR_ID, VIRTIO_DEVICE_ID_BASE + core.device().deviceId())
                .revision(REVISION)
                .classCode(core.device().pciClassCode())
                .subsystem(VIRTIO_VENDOR_ID, SUBSYSTEM_ID)
                .interruptPin(1)
                .address(options.address())
                .bar(Bar.memory32(REGISTER_BAR, REGISTER_BAR_SIZE, this))
                .bar(Bar.memory32(MSIX_BAR, MSIX_BAR_SIZE, new Nothing()))
                .msix(queues + 1, MSIX_BAR, 0, MSIX_PBA)
                .capability(VirtioPciCapabilities.structure(
                        VirtioPciCapabilities.VIRTIO_PCI_CAP_COMMON_CFG, REGISTER_BAR, COMMON, CommonRegister.SIZE))
                .capability(VirtioPciCapabilities.notify(
                        REGISTER_BAR, NOTIFY, NOTIFY_MULTIPLIER * queues, NOTIFY_MULTIPLIER))
                .capability(VirtioPciCapabilities.structure(
                        VirtioPciCapabilities.VIRTIO_PCI_CAP_ISR_CFG, REGISTER_BAR, ISR, 1))
                .capability(VirtioPciCapabilities.structure(
                        VirtioPciCapabilities.VIRTIO_PCI_CAP_DEVICE_CFG, REGISTER_BAR, DEVICE, REGION_SIZE))
                .capability(VirtioPciCapabilities.window())
                .hook(this);
        this.function = context.pci().add(spec);
        this.msix = function.msix();
        this.windowOffset = function.capabilityOffset(WINDOW_CAPABILITY);
        if (options.ioeventfd()) {
            for (int i = 0; i < queues; i++) {
                ioEvents.add(function.ioEvent(
                        REGISTER_BAR,
                        NOTIFY + (long) NOTIFY_MULTIPLIER * i,
                        IoEventMatch.anyValue(0),
                        core.pump(i).doorbell()));
            }
        }
    }

    /** A BAR that holds only MSI-X. */
    private static final class Nothing implements RegisterAccess {
        @Override
        public long read(long offset, int size) {
            return 0;
        }

        @Override
        public void write(long offset, int size, long value) {}
    }

    /** The common configuration registers. */
    RegisterMap<CommonRegister> common() {
        return common;
    }

    // Accesses of the driver.

    @Override
    public long read(long offset, int size) {
        return switch ((int) offset / REGION_SIZE * REGION_SIZE) {
            case COMMON -> common.read(offset, size);
            case ISR -> offset == ISR ? readIsr() : 0;
            case DEVICE -> core.readConfig(offset - DEVICE, size);
            default -> 0;
        };
    }

    @Override
    public void write(long offset, int size, long value) {
        if (offset >= NOTIFY) {
            core.notified((int) (offset - NOTIFY) / NOTIFY_MULTIPLIER, true);
        } else if (offset >= DEVICE) {
            core.writeConfig(offset - DEVICE, size, value);
        } else if (offset < ISR) {
            common.write(offset, size, value);
        }
    }

    /** As {@link #write}, from within configuration space, where the calling thread must not wait or lend a turn. */
    private void writeInWindow(long offset, int size, long value) {
        if (offset >= NOTIFY) {
            core.notified((int) (offset - NOTIFY) / NOTIFY_MULTIPLIER, false);
        } else if (offset < ISR) {
            commonInWindow.write(offset, size, value);
        } else {
            write(offset, size, value);
        }
    }

    private long readIsr() {
        int value = isr.getAndSet(0);
        function.intx().lower();
        if (isr.get() != 0) {
            // Another interrupt came between the two steps, and its assertion may have been undone.
            function.intx().raise();
        }
        return value;
    }

    private final class CommonHandler implements RegisterMap.Handler<CommonRegister> {
        private final boolean mayWait;

        CommonHandler(boolean mayWait) {
            this.mayWait = mayWait;
        }

        @Override
        public long read(CommonRegister register) {
            return peek(register);
        }

        @Override
        public long peek(CommonRegister register) {
            int queue = core.queueSelect();
            return switch (register) {
                case DEVICE_FEATURE_SELECT -> core.deviceFeatureSelect();
                case DEVICE_FEATURE -> VirtioCore.half(core.offeredFeatures(), core.deviceFeatureSelect());
                case DRIVER_FEATURE_SELECT -> core.driverFeatureSelect();
                case DRIVER_FEATURE -> VirtioCore.half(core.driverFeatures(), core.driverFeatureSelect());
                case CONFIG_MSIX_VECTOR -> configVector;
                case NUM_QUEUES -> core.queues();
                case DEVICE_STATUS -> core.status();
                case CONFIG_GENERATION -> core.configGeneration();
                case QUEUE_SELECT -> queue;
                case QUEUE_SIZE -> core.queueSize(queue);
                case QUEUE_MSIX_VECTOR -> queueVector(queue);
                case QUEUE_ENABLE -> core.queueEnabled(queue) ? 1 : 0;
                case QUEUE_NOTIFY_OFF -> queue < core.queues() ? queue : 0;
                case QUEUE_DESC -> core.queueAddress(queue, VirtioCore.Ring.DESCRIPTOR);
                case QUEUE_DESC_HIGH -> core.queueAddress(queue, VirtioCore.Ring.DESCRIPTOR) >>> 32;
                case QUEUE_DRIVER -> core.queueAddress(queue, VirtioCore.Ring.DRIVER);
                case QUEUE_DRIVER_HIGH -> core.queueAddress(queue, VirtioCore.Ring.DRIVER) >>> 32;
                case QUEUE_DEVICE -> core.queueAddress(queue, VirtioCore.Ring.DEVICE);
                case QUEUE_DEVICE_HIGH -> core.queueAddress(queue, VirtioCore.Ring.DEVICE) >>> 32;
                case QUEUE_NOTIFY_DATA -> 0;
                case QUEUE_RESET -> core.queueResetting(queue) ? 1 : 0;
            };
        }

        @Override
        public void write(CommonRegister register, long value) {
            int queue = core.queueSelect();
            switch (register) {
                case DEVICE_FEATURE_SELECT -> core.deviceFeatureSelect((int) value);
                case DRIVER_FEATURE_SELECT -> core.driverFeatureSelect((int) value);
                case DRIVER_FEATURE -> core.driverFeatures(core.driverFeatureSelect(), (int) value);
                case CONFIG_MSIX_VECTOR -> configVector = validVector((int) value);
                case DEVICE_STATUS -> core.status((int) value, mayWait);
                case QUEUE_SELECT -> core.queueSelect((int) value);
                case QUEUE_SIZE -> core.queueSize(queue, (int) value);
                case QUEUE_MSIX_VECTOR -> {
                    if (queue < core.queues()) {
                        queueVectors.set(queue, validVector((int) value));
                    }
                }
                case QUEUE_ENABLE -> {
                    if (value == 1) {
                        core.enableQueue(queue);
                    }
                }
                case QUEUE_DESC -> core.queueAddress(queue, VirtioCore.Ring.DESCRIPTOR, false, (int) value);
                case QUEUE_DESC_HIGH -> core.queueAddress(queue, VirtioCore.Ring.DESCRIPTOR, true, (int) value);
                case QUEUE_DRIVER -> core.queueAddress(queue, VirtioCore.Ring.DRIVER, false, (int) value);
                case QUEUE_DRIVER_HIGH -> core.queueAddress(queue, VirtioCore.Ring.DRIVER, true, (int) value);
                case QUEUE_DEVICE -> core.queueAddress(queue, VirtioCore.Ring.DEVICE, false, (int) value);
                case QUEUE_DEVICE_HIGH -> core.queueAddress(queue, VirtioCore.Ring.DEVICE, true, (int) value);
                case QUEUE_RESET -> {
                    if (value == 1) {
                        core.resetQueue(queue, mayWait);
                    }
                }
                case DEVICE_FEATURE, NUM_QUEUES, CONFIG_GENERATION, QUEUE_NOTIFY_OFF, QUEUE_NOTIFY_DATA -> {
                    // Read-only: the register map does not let writes through.
                }
            }
        }

        private int queueVector(int queue) {
            return queue < core.queues() ? queueVectors.get(queue) : VIRTIO_MSI_NO_VECTOR;
        }

        private int validVector(int vector) {
            return vector < msix.vectors() ? vector : VIRTIO_MSI_NO_VECTOR;
        }
    }

    // Configuration space: called with the bus's lock held, so nothing here may wait.

    @Override
    public void beforeRead(int offset, int size) {
        if (!inWindowData(offset, size)) {
            return;
        }
        int length = windowLength();
        if (length > 0) {
            long value = read(function.config(windowOffset + CAP_OFFSET, 4), length);
            function.config(windowOffset + CAP_DATA, length, value);
        }
    }

    @Override
    public void afterWrite(int offset, int size, long value) {
        if (inWindowData(offset, size)) {
            int length = windowLength();
            if (length > 0) {
                writeInWindow(
                        function.config(windowOffset + CAP_OFFSET, 4),
                        length,
                        function.config(windowOffset + CAP_DATA, length));
            }
        } else if (offset <= PCI_COMMAND && offset + size > PCI_COMMAND && function.busMaster()) {
            // What was notified before the driver let the device use memory has not been looked at.
            core.lookAtAllQueues();
        }
    }

    private boolean inWindowData(int offset, int size) {
        return offset < windowOffset + CAP_DATA + CAP_DATA_SIZE && offset + size > windowOffset + CAP_DATA;
    }

    /** The size of the access that the window is set up for; 0 if it is none that is allowed. */
    private int windowLength() {
        long bar = function.config(windowOffset + CAP_BAR, 1);
        long at = function.config(windowOffset + CAP_OFFSET, 4);
        long length = function.config(windowOffset + CAP_LENGTH, 4);
        boolean allowed = bar == REGISTER_BAR
                && (length == 1 || length == 2 || length == 4)
                && at % length == 0
                && at + length <= REGISTER_BAR_SIZE;
        return allowed ? (int) length : 0;
    }

    // What the device asks.

    /** Where the function sits. */
    PciAddress address() {
        return function.address();
    }

    @Override
    public boolean dmaEnabled() {
        return function.busMaster();
    }

    @Override
    public void interruptQueue(int queue) {
        if (msix.enabled()) {
            signal(queueVectors.get(queue));
        } else {
            isr.getAndUpdate(bits -> bits | ISR_QUEUE);
            function.intx().raise();
        }
    }

    @Override
    public void interruptConfig() {
        isr.getAndUpdate(bits -> bits | ISR_CONFIG);
        if (msix.enabled()) {
            signal(configVector);
        } else {
            function.intx().raise();
        }
    }

    private void signal(int vector) {
        if (vector != VIRTIO_MSI_NO_VECTOR) {
            msix.signal(vector);
        }
    }

    @Override
    public void reset() {
        isr.set(0);
        function.intx().lower();
        forgetVectors();
    }

    private void forgetVectors() {
        configVector = VIRTIO_MSI_NO_VECTOR;
        for (int i = 0; i < queueVectors.length(); i++) {
            queueVectors.set(i, VIRTIO_MSI_NO_VECTOR);
        }
    }

    @Override
    public void resetQueue(int queue) {
        queueVectors.set(queue, VIRTIO_MSI_NO_VECTOR);
    }

    // Life cycle.

    /** The header as after power-on. */
    void resetFunction() {
        function.reset();
    }

    VirtioPciState save() {
        List<Integer> vectors = new ArrayList<>();
        for (int i = 0; i < queueVectors.length(); i++) {
            vectors.add(queueVectors.get(i));
        }
        return new VirtioPciState(core.save(), configVector, vectors, isr.get(), function.saveState());
    }

    void restore(VirtioPciState state) {
        int[] vectors =
                state.queueVectors().stream().mapToInt(Integer::intValue).toArray();
        boolean known = Arrays.stream(vectors).allMatch(this::isVector) && isVector(state.configVector());
        if (vectors.length != queueVectors.length() || !known) {
            throw BenchtopException.config(id + ": saved state has interrupt vectors "
                    + state.queueVectors() + ", this device has " + queueVectors.length() + " queues and "
                    + msix.vectors() + " vectors");
        }
        core.restore(state.core());
        function.restoreState(state.function());
        isr.set(state.isr());
        configVector = state.configVector();
        for (int i = 0; i < vectors.length; i++) {
            queueVectors.set(i, vectors[i]);
        }
    }

    private boolean isVector(int vector) {
        return vector == VIRTIO_MSI_NO_VECTOR || vector >= 0 && vector < msix.vectors();
    }

    @Override
    public void close() {
        ioEvents.forEach(IoEvent::close);
        function.close();
    }
}
