package org.benchtop.virtio.blk;

import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;

/** A fake machine with one virtio-blk-pci device and its driver. */
final class BlkMachine {
    static final long DISK_BYTES = 1 << 20;
    static final long ALL_FEATURES = -1L;

    final FakeDeviceContext context;
    final Device device;
    FakeVirtioDriver driver;
    List<FakeVirtQueue> queues = List.of();
    FakeVirtQueue queue;
    FakeBlkRequests requests;

    private BlkMachine(FakeDeviceContext context, VirtioBlkPciOptions options) {
        this.context = context;
        device = new VirtioBlkPciType().create(options, context);
        device.attach(context);
        device.reset();
        driver = FakeVirtioDriver.of(context);
        queue = new FakeVirtQueue(driver.heap(), 8, false, () -> {});
        requests = new FakeBlkRequests(driver.heap(), queue);
    }

    /** A machine whose driver has not started. */
    static BlkMachine stopped(BlockBackend backend, VirtioBlkPciOptions options) {
        FakeDeviceContext context = new FakeDeviceContext("blk0", FakeGuestMemory.ofSize(16 << 20))
                .drive("disk0", backend)
                .iothread("io0");
        return new BlkMachine(context, options);
    }

    /** A running driver with all features, MSI-X, and queues of 16 entries. */
    static BlkMachine running(BlockBackend backend, VirtioBlkPciOptions options) {
        return stopped(backend, options).start(ALL_FEATURES, 16);
    }

    static BlkMachine running(BlockBackend backend) {
        return running(backend, VirtioBlkPciOptions.of("disk0"));
    }

    BlkMachine start(long features, int size) {
        driver.enableMsix();
        queues = driver.start(features, (int) driver.common(FakeVirtioDriver.NUM_QUEUES, 2), size);
        queue = queues.getFirst();
        requests = new FakeBlkRequests(driver.heap(), queue);
        context.runPending();
        context.irqs().drainMessages();
        return this;
    }

    /** Notifies and lets the device work. */
    void go() {
        queue.kick();
        context.runPending();
        requests.collect();
    }

    /** Sends a request alone and gives its status. */
    int status(FakeBlkRequests.Request request) {
        go();
        return request.status();
    }

    boolean needsReset() {
        return (driver.status() & FakeVirtioDriver.DEVICE_NEEDS_RESET) != 0;
    }

    static byte[] pattern(int bytes, long seed) {
        byte[] data = new byte[bytes];
        new Random(seed).nextBytes(data);
        return data;
    }

    static BlockCapabilities capabilities(boolean readOnly, CacheMode mode, int maxSegments, long maxTransferBytes) {
        return new BlockCapabilities(DISK_BYTES, 512, 512, readOnly, true, true, mode, maxSegments, maxTransferBytes);
    }

    static HeldBlockBackend disk() {
        return new HeldBlockBackend(DISK_BYTES);
    }

    static Options options() {
        return new Options();
    }

    /** Changes single options. */
    static final class Options {
        int queues = 1;
        int queueSize = 256;
        Optional<Integer> segMax = Optional.empty();
        String serial = "";
        boolean readOnly;
        boolean configWce = true;
        boolean discard = true;
        boolean writeZeroes = true;
        boolean ioeventfd = true;
        boolean eventIdx = true;
        boolean indirectDesc = true;
        Optional<String> iothread = Optional.empty();
        Optional<String> addr = Optional.empty();
        Optional<Integer> logicalBlockSize = Optional.empty();
        Optional<Integer> physicalBlockSize = Optional.empty();
        List<VirtioBlkPciOptions.IothreadMapping> iothreadVqMapping = List.of();
        ErrorPolicy rerror = ErrorPolicy.REPORT;
        ErrorPolicy werror = ErrorPolicy.ENOSPC;

        VirtioBlkPciOptions build() {
            return new VirtioBlkPciOptions(
                    "disk0",
                    iothread,
                    queues,
                    queueSize,
                    segMax,
                    serial,
                    readOnly,
                    configWce,
                    discard,
                    writeZeroes,
                    ioeventfd,
                    eventIdx,
                    indirectDesc,
                    addr,
                    logicalBlockSize,
                    physicalBlockSize,
                    iothreadVqMapping,
                    rerror,
                    werror,
                    Optional.empty());
        }

        Options with(java.util.function.Consumer<Options> change) {
            change.accept(this);
            return this;
        }
    }
}
