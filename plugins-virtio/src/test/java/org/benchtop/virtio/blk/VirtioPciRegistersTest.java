package org.benchtop.virtio.blk;

import static org.benchtop.testkit.virtio.FakeVirtioDriver.ACKNOWLEDGE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.CONFIG_GENERATION;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.CONFIG_MSIX_VECTOR;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DEVICE_FEATURE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DEVICE_FEATURE_SELECT;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DEVICE_STATUS;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DRIVER;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DRIVER_FEATURE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DRIVER_FEATURE_SELECT;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.DRIVER_OK;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.FEATURES_OK;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.NUM_QUEUES;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_DESC;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_ENABLE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_MSIX_VECTOR;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_NOTIFY_OFF;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_RESET;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_SELECT;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.QUEUE_SIZE;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.VIRTIO_F_EVENT_IDX;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.VIRTIO_F_INDIRECT_DESC;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.VIRTIO_F_RING_RESET;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.VIRTIO_F_VERSION_1;
import static org.benchtop.testkit.virtio.FakeVirtioDriver.VIRTIO_MSI_NO_VECTOR;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** VIRTIO 1.2, 4.1: what a driver finds on the PCI bus, in good and bad order. */
final class VirtioPciRegistersTest {
    private final HeldBlockBackend disk = BlkMachine.disk().automatic();

    private BlkMachine stopped() {
        return BlkMachine.stopped(disk, VirtioBlkPciOptions.of("disk0"));
    }

    @Test
    void functionLooksLikeAModernBlockDevice() {
        FakeVirtioDriver driver = stopped().driver;

        assertEquals(0x1af4, driver.config(0x00, 2));
        assertEquals(0x1042, driver.config(0x02, 2));
        assertTrue(driver.config(0x08, 1) >= 1, "revision");
        assertEquals(0x010000, driver.config(0x08, 4) >>> 8, "class");
        assertTrue(driver.config(0x2e, 2) >= 0x40, "subsystem");
        assertEquals(1, driver.config(0x3d, 1), "pin");
    }

    @Test
    void addressOptionChoosesTheSlot() {
        BlkMachine machine = BlkMachine.stopped(
                disk,
                BlkMachine.options().with(o -> o.addr = Optional.of("0x1f.3")).build());

        assertEquals(new PciAddress(0x1f, 3), machine.context.pci().only().address());
    }

    @Test
    void offeredFeaturesAreThoseOfTheOptions() {
        long everything = stopped().driver.offeredFeatures();
        long nothing = BlkMachine.stopped(
                        new HeldBlockBackend(BlkMachine.capabilities(true, CacheMode.NONE, 128, 1 << 20)),
                        BlkMachine.options()
                                .with(o -> {
                                    o.eventIdx = false;
                                    o.indirectDesc = false;
                                    o.configWce = false;
                                    o.discard = false;
                                    o.writeZeroes = false;
                                })
                                .build())
                .driver
                .offeredFeatures();

        long always = VIRTIO_F_VERSION_1
                | VIRTIO_F_RING_RESET
                | VirtioBlk.VIRTIO_BLK_F_SEG_MAX
                | VirtioBlk.VIRTIO_BLK_F_GEOMETRY
                | VirtioBlk.VIRTIO_BLK_F_BLK_SIZE
                | VirtioBlk.VIRTIO_BLK_F_FLUSH
                | VirtioBlk.VIRTIO_BLK_F_TOPOLOGY;
        assertEquals(always | VirtioBlk.VIRTIO_BLK_F_RO, nothing);
        assertEquals(
                always
                        | VIRTIO_F_EVENT_IDX
                        | VIRTIO_F_INDIRECT_DESC
                        | VirtioBlk.VIRTIO_BLK_F_CONFIG_WCE
                        | VirtioBlk.VIRTIO_BLK_F_DISCARD
                        | VirtioBlk.VIRTIO_BLK_F_WRITE_ZEROES,
                everything);
    }

    @ParameterizedTest
    @ValueSource(longs = {2, 3, 0x8000_0000L, 0xffff_ffffL})
    void featureSelectorsBeyondTheEndShowNothing(long select) {
        FakeVirtioDriver driver = stopped().driver;

        driver.common(DEVICE_FEATURE_SELECT, 4, select);
        driver.common(DRIVER_FEATURE_SELECT, 4, select);
        driver.common(DRIVER_FEATURE, 4, 0xffff_ffffL);

        assertEquals(0, driver.common(DEVICE_FEATURE, 4));
        assertEquals(0, driver.common(DRIVER_FEATURE, 4));
        assertEquals(select, driver.common(DEVICE_FEATURE_SELECT, 4));
    }

    @Test
    void featuresThatAreNotOfferedAreRefused() {
        FakeVirtioDriver driver = stopped().driver;
        driver.status(ACKNOWLEDGE | DRIVER);

        driver.driverFeatures(driver.offeredFeatures() | 1L << 50);
        driver.status(ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assertEquals(ACKNOWLEDGE | DRIVER, driver.status());
        driver.driverFeatures(driver.offeredFeatures());
        driver.status(ACKNOWLEDGE | DRIVER | FEATURES_OK);

        assertEquals(ACKNOWLEDGE | DRIVER | FEATURES_OK, driver.status());
    }

    @Test
    void driverWithoutVersion1IsRefused() {
        FakeVirtioDriver driver = stopped().driver;
        driver.status(ACKNOWLEDGE | DRIVER);
        driver.driverFeatures(driver.offeredFeatures() & ~VIRTIO_F_VERSION_1);

        driver.status(ACKNOWLEDGE | DRIVER | FEATURES_OK);

        assertEquals(ACKNOWLEDGE | DRIVER, driver.status());
    }

    @Test
    void featuresAreFixedOnceSettled() {
        FakeVirtioDriver driver = stopped().driver;
        long settled = driver.negotiate(-1L);

        driver.driverFeatures(VIRTIO_F_VERSION_1);

        driver.common(DRIVER_FEATURE_SELECT, 4, 0);
        assertEquals(settled & 0xffff_ffffL, driver.common(DRIVER_FEATURE, 4));
    }

    @Test
    void queueThatDoesNotExistReadsAsZeroAndSwallowsWrites() {
        FakeVirtioDriver driver = stopped().driver;
        for (int queue : new int[] {1, 64, 0x7fff, 0xffff}) {
            driver.common(QUEUE_SELECT, 2, queue);
            assertEquals(0, driver.common(QUEUE_SIZE, 2));
            driver.common(QUEUE_SIZE, 2, 16);
            driver.address(QUEUE_DESC, 0x1000);
            driver.common(QUEUE_MSIX_VECTOR, 2, 0);
            driver.common(QUEUE_ENABLE, 2, 1);
            driver.common(QUEUE_RESET, 2, 1);
            assertEquals(0, driver.common(QUEUE_SIZE, 2));
            assertEquals(0, driver.common(QUEUE_DESC, 8));
            assertEquals(0, driver.common(QUEUE_ENABLE, 2));
            assertEquals(0, driver.common(QUEUE_RESET, 2));
            assertEquals(0, driver.common(QUEUE_NOTIFY_OFF, 2));
            assertEquals(VIRTIO_MSI_NO_VECTOR, driver.common(QUEUE_MSIX_VECTOR, 2));
        }
    }

    @Test
    void queueSizeStaysAPowerOfTwo() {
        FakeVirtioDriver driver = stopped().driver;
        driver.common(QUEUE_SELECT, 2, 0);
        assertEquals(256, driver.common(QUEUE_SIZE, 2));
        for (int bad : new int[] {0, 3, 100, 257, 512, 0x8000, 0xffff}) {
            driver.common(QUEUE_SIZE, 2, bad);
            assertEquals(256, driver.common(QUEUE_SIZE, 2), "after writing " + bad);
        }

        driver.common(QUEUE_SIZE, 2, 64);

        assertEquals(64, driver.common(QUEUE_SIZE, 2));
    }

    @Test
    void addressesCanBeWrittenAndReadInHalvesOrWhole() {
        FakeVirtioDriver driver = stopped().driver;
        driver.common(QUEUE_SELECT, 2, 0);

        driver.common(QUEUE_DESC, 8, 0x1234_5678_9abc_def0L);

        assertEquals(0x1234_5678_9abc_def0L, driver.common(QUEUE_DESC, 8));
        assertEquals(0x9abc_def0L, driver.common(QUEUE_DESC, 4));
        assertEquals(0x1234_5678L, driver.common(QUEUE_DESC + 4, 4));
    }

    @Test
    void registersTakeOddSizes() {
        FakeVirtioDriver driver = stopped().driver;
        driver.status(ACKNOWLEDGE);

        assertEquals(ACKNOWLEDGE, driver.common(DEVICE_STATUS, 2) & 0xff);
        assertEquals(ACKNOWLEDGE, driver.common(NUM_QUEUES, 4) >>> 16 & 0xff);
        assertEquals(1, driver.common(NUM_QUEUES, 1));
        driver.common(QUEUE_SELECT, 1, 0xff);
        assertEquals(0xff, driver.common(QUEUE_SELECT, 2));
        driver.common(QUEUE_SELECT + 1, 1, 0x12);
        assertEquals(0x12ff, driver.common(QUEUE_SELECT, 2));
        driver.common(DEVICE_STATUS, 4, 0x0007_0003);
        assertEquals(ACKNOWLEDGE | DRIVER, driver.status());
        assertEquals(7, driver.common(QUEUE_SELECT, 2));
    }

    @Test
    void configurationSpaceTakesOddSizesAndOffsets() {
        FakeVirtioDriver driver = stopped().driver;
        long sectors = BlkMachine.DISK_BYTES / 512;

        assertEquals(sectors, driver.deviceConfig(0, 8));
        assertEquals(sectors, driver.deviceConfig(0, 4));
        assertEquals(sectors >>> 8, driver.deviceConfig(1, 1));
        assertEquals(sectors >>> 8, driver.deviceConfig(1, 4));
        assertEquals(512L << 8, driver.deviceConfig(0x13, 4) & 0xffff_ff00L);
        assertEquals(0, driver.deviceConfig(0x3c, 8));
        assertEquals(0, driver.deviceConfig(0xffc, 4));
        driver.deviceConfig(0, 8, -1);
        driver.deviceConfig(0xffc, 4, -1);
        assertEquals(sectors, driver.deviceConfig(0, 8));
    }

    @Test
    void configurationDescribesTheDrive() {
        HeldBlockBackend big = new HeldBlockBackend(
                new BlockCapabilities(8L << 30, 512, 4096, false, true, true, CacheMode.NONE, 100, 1 << 20));
        FakeVirtioDriver driver = BlkMachine.stopped(big, VirtioBlkPciOptions.of("disk0")).driver;

        assertEquals((8L << 30) / 512, driver.deviceConfig(0x00, 8), "capacity");
        assertEquals(100, driver.deviceConfig(0x0c, 4), "seg_max");
        assertEquals((8L << 30) / 512 / (16 * 63), driver.deviceConfig(0x10, 2), "cylinders");
        assertEquals(16, driver.deviceConfig(0x12, 1), "heads");
        assertEquals(63, driver.deviceConfig(0x13, 1), "sectors");
        assertEquals(512, driver.deviceConfig(0x14, 4), "blk_size");
        assertEquals(3, driver.deviceConfig(0x18, 1), "physical_block_exp");
        assertEquals(8, driver.deviceConfig(0x1a, 2), "min_io_size");
        assertEquals(1 << 22, driver.deviceConfig(0x24, 4), "max_discard_sectors");
        assertEquals(16, driver.deviceConfig(0x28, 4), "max_discard_seg");
        assertEquals(8, driver.deviceConfig(0x2c, 4), "discard_sector_alignment");
        assertEquals(1, driver.deviceConfig(0x38, 1), "write_zeroes_may_unmap");
    }

    @Test
    void blockSizeOptionsOverrideTheDrive() {
        BlkMachine machine = BlkMachine.stopped(
                disk,
                BlkMachine.options()
                        .with(o -> {
                            o.logicalBlockSize = Optional.of(4096);
                            o.physicalBlockSize = Optional.of(8192);
                        })
                        .build());

        assertEquals(4096, machine.driver.deviceConfig(0x14, 4));
        assertEquals(1, machine.driver.deviceConfig(0x18, 1));
    }

    @ParameterizedTest
    @CsvSource({"512,4096,4096,logical-block-size 512 is smaller", "8192,4096,8192,physical-block-size 4096 is smaller"
    })
    void blockSizesThatCannotBeAreRefused(int logical, int physical, int ofDrive, String message) {
        HeldBlockBackend drive = new HeldBlockBackend(new BlockCapabilities(
                1 << 20, ofDrive == 4096 ? 4096 : 512, 4096, false, true, true, CacheMode.NONE, 100, 1 << 20));
        VirtioBlkPciOptions options = BlkMachine.options()
                .with(o -> {
                    o.logicalBlockSize = Optional.of(logical);
                    o.physicalBlockSize = Optional.of(physical);
                })
                .build();
        FakeDeviceContext context =
                new FakeDeviceContext("blk0", FakeGuestMemory.ofSize(1 << 20)).drive("disk0", drive);
        Device device = new VirtioBlkPciType().create(options, context);

        BenchtopException e = assertThrows(BenchtopException.class, () -> device.attach(context));

        assertTrue(String.valueOf(e.getMessage()).startsWith("blk0: " + message), e.getMessage());
        device.close();
        assertEquals(0, drive.openQueues());
    }

    @Test
    void takenSlotIsRefusedAndEverythingReleased() {
        VirtioBlkPciOptions options =
                BlkMachine.options().with(o -> o.addr = Optional.of("3")).build();
        BlkMachine first = BlkMachine.stopped(disk, options);
        HeldBlockBackend other = BlkMachine.disk();
        FakeDeviceContext context = first.context.device("blk1").drive("disk0", other);
        int handles = first.context.eventLoop().openHandles();
        Device second = new VirtioBlkPciType().create(options, context);

        assertThrows(BenchtopException.class, () -> second.attach(context));

        assertEquals(0, other.openQueues());
        assertEquals(handles, first.context.eventLoop().openHandles());
        second.close();
    }

    @Test
    void vectorsOutsideTheTableAreReportedAsUnmapped() {
        FakeVirtioDriver driver = stopped().driver;
        driver.common(QUEUE_SELECT, 2, 0);
        assertEquals(VIRTIO_MSI_NO_VECTOR, driver.common(CONFIG_MSIX_VECTOR, 2));

        driver.common(CONFIG_MSIX_VECTOR, 2, 1);
        driver.common(QUEUE_MSIX_VECTOR, 2, 0);
        assertEquals(1, driver.common(CONFIG_MSIX_VECTOR, 2));
        assertEquals(0, driver.common(QUEUE_MSIX_VECTOR, 2));
        driver.common(CONFIG_MSIX_VECTOR, 2, 2);
        driver.common(QUEUE_MSIX_VECTOR, 2, 0xfffe);

        assertEquals(VIRTIO_MSI_NO_VECTOR, driver.common(CONFIG_MSIX_VECTOR, 2));
        assertEquals(VIRTIO_MSI_NO_VECTOR, driver.common(QUEUE_MSIX_VECTOR, 2));
    }

    @Test
    void queuesHaveNotificationAddressesOfTheirOwn() {
        FakeVirtioDriver driver = BlkMachine.stopped(
                        disk, BlkMachine.options().with(o -> o.queues = 3).build())
                .driver;

        assertNotEquals(driver.notifyAddress(0), driver.notifyAddress(1));
        assertNotEquals(driver.notifyAddress(1), driver.notifyAddress(2));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ioeventfdOptionDecidesWhetherDoorbellsAreRegistered(boolean on) {
        BlkMachine machine = BlkMachine.running(
                disk,
                BlkMachine.options()
                        .with(o -> {
                            o.ioeventfd = on;
                            o.queues = 2;
                        })
                        .build());

        assertEquals(on ? 2 : 0, machine.context.pci().only().ioEvents());
        assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, machine.status(machine.requests.read(0, 512)));
    }

    @Test
    void windowInConfigurationSpaceReachesTheRegisters() {
        FakeVirtioDriver driver = stopped().driver;
        driver.windowWrite(0, DEVICE_STATUS, 1, ACKNOWLEDGE);
        assertEquals(ACKNOWLEDGE, driver.status());
        assertEquals(ACKNOWLEDGE, driver.windowRead(0, DEVICE_STATUS, 1));
        driver.windowWrite(0, QUEUE_SELECT, 2, 0);
        driver.windowWrite(0, QUEUE_DESC, 4, 0x1000);
        assertEquals(0x1000, driver.windowRead(0, QUEUE_DESC, 4));
        assertEquals(BlkMachine.DISK_BYTES / 512, driver.windowRead(0, 0x2000, 4));

        driver.windowWrite(0, DEVICE_STATUS, 1, 0);

        assertEquals(0, driver.status());
    }

    @Test
    void resetThroughTheWindowDoesNotWaitForTheLoop() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.read(0, 512);
        machine.go();

        machine.driver.windowWrite(0, DEVICE_STATUS, 1, 0);
        assertNotEquals(0, machine.driver.status());
        machine.context.runPending();
        assertNotEquals(0, machine.driver.status(), "a request is in flight");
        held.completeAll();

        assertEquals(0, machine.driver.status());
    }

    @ParameterizedTest
    @CsvSource({"1,0x14,1", "7,0x14,1", "0,0x15,2", "0,0x14,3", "0,0x14,0", "0,0x4000,4", "0,0xffffffff,1", "0,0x3ffe,4"
    })
    void windowThatIsAimedWrongDoesNothing(int bar, String offset, int length) {
        FakeVirtioDriver driver = stopped().driver;
        int capability = windowCapability(driver);
        driver.config(capability + 4, 1, bar);
        driver.config(capability + 8, 4, Long.decode(offset));
        driver.config(capability + 12, 4, length);

        driver.config(capability + 16, 4, 0x0101_0101);
        long read = driver.config(capability + 16, 4);

        assertEquals(0x0101_0101, read);
        assertEquals(0, driver.status());
    }

    private static int windowCapability(FakeVirtioDriver driver) {
        int at = (int) driver.config(0x34, 1);
        while (at != 0) {
            if (driver.config(at, 1) == 9 && driver.config(at + 3, 1) == 5) {
                return at;
            }
            at = (int) driver.config(at + 1, 1);
        }
        throw new AssertionError("no window");
    }

    @Test
    void notificationThroughTheWindowWorks() {
        BlkMachine machine = BlkMachine.running(disk);
        FakeBlkRequests.Request request = machine.requests.read(0, 512);

        machine.driver.windowWrite(0, 0x3000, 2, 0);
        machine.context.runPending();

        assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, request.status());
    }

    // Order of the driver's steps.

    @Test
    void nothingIsTakenBeforeDriverOk() {
        BlkMachine machine = stopped();
        machine.driver.negotiate(-1L);
        FakeVirtQueue queue = machine.driver.openQueue(0, 16);
        FakeBlkRequests requests = new FakeBlkRequests(machine.driver.heap(), queue);
        FakeBlkRequests.Request request = requests.read(0, 512);
        queue.ring();
        machine.context.runPending();
        assertEquals(FakeBlkRequests.NO_STATUS, request.status());

        machine.driver.driverOk();
        machine.context.runPending();

        assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, request.status(), "taken without another notification");
    }

    @Test
    void queueMayBeEnabledAfterDriverOk() {
        BlkMachine machine = stopped();
        machine.driver.negotiate(-1L);
        machine.driver.driverOk();
        FakeVirtQueue queue = machine.driver.openQueue(0, 16);
        FakeBlkRequests requests = new FakeBlkRequests(machine.driver.heap(), queue);
        FakeBlkRequests.Request request = requests.read(0, 512);
        queue.kick();

        machine.context.runPending();

        assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, request.status());
    }

    @Test
    void enabledQueueIsFixed() {
        BlkMachine machine = BlkMachine.running(disk);
        machine.driver.common(QUEUE_SELECT, 2, 0);
        long address = machine.driver.common(QUEUE_DESC, 8);

        machine.driver.common(QUEUE_SIZE, 2, 4);
        machine.driver.address(QUEUE_DESC, 0);
        machine.driver.common(QUEUE_ENABLE, 2, 0);

        assertEquals(16, machine.driver.common(QUEUE_SIZE, 2));
        assertEquals(address, machine.driver.common(QUEUE_DESC, 8));
        assertEquals(1, machine.driver.common(QUEUE_ENABLE, 2));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 0, 0x101, 0xffff})
    void onlyOneEnablesAQueue(int value) {
        FakeVirtioDriver driver = stopped().driver;
        driver.negotiate(-1L);
        driver.common(QUEUE_SELECT, 2, 0);

        driver.common(QUEUE_ENABLE, 2, value);

        assertEquals(0, driver.common(QUEUE_ENABLE, 2));
    }

    @Test
    void queueWithoutRingsNeedsAReset() {
        BlkMachine machine = stopped();
        machine.driver.negotiate(-1L);
        machine.driver.common(QUEUE_SELECT, 2, 0);
        machine.driver.address(QUEUE_DESC, 1L << 40);
        machine.driver.common(QUEUE_ENABLE, 2, 1);

        machine.driver.driverOk();
        machine.context.runPending();

        assertTrue(machine.needsReset());
        assertEquals(1, machine.context.stats().value("guest-errors"));
    }

    @Test
    void resetForgetsEverything() {
        BlkMachine machine = BlkMachine.running(disk);
        machine.driver.deviceConfig(0x20, 1, 0);

        machine.driver.reset();

        FakeVirtioDriver driver = machine.driver;
        assertEquals(0, driver.status());
        assertEquals(0, driver.common(QUEUE_SELECT, 2));
        assertEquals(256, driver.common(QUEUE_SIZE, 2));
        assertEquals(0, driver.common(QUEUE_ENABLE, 2));
        assertEquals(0, driver.common(QUEUE_DESC, 8));
        assertEquals(VIRTIO_MSI_NO_VECTOR, driver.common(QUEUE_MSIX_VECTOR, 2));
        assertEquals(VIRTIO_MSI_NO_VECTOR, driver.common(CONFIG_MSIX_VECTOR, 2));
        assertEquals(0, driver.common(DRIVER_FEATURE, 4));
        assertEquals(1, driver.deviceConfig(0x20, 1));
    }

    @Test
    void deviceCanBeStartedAgainAndAgain() {
        BlkMachine machine = BlkMachine.running(disk);
        for (int i = 0; i < 20; i++) {
            machine.start(i % 2 == 0 ? -1L : VIRTIO_F_VERSION_1, 8);
            assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, machine.status(machine.requests.read(i, 512)));
        }
    }

    // Interrupts.

    @Test
    void interruptPinIsUsedWithoutMsix() {
        BlkMachine machine = stopped();
        FakeVirtQueue queue = machine.driver.start(-1L, 1, 16).getFirst();
        FakeBlkRequests requests = new FakeBlkRequests(machine.driver.heap(), queue);
        requests.read(0, 512);
        queue.kick();
        machine.context.runPending();
        assertTrue(machine.context.pci().only().intxAsserted());

        int isr = machine.driver.isr();

        assertEquals(1, isr);
        assertFalse(machine.context.pci().only().intxAsserted());
        assertEquals(0, machine.driver.isr());
        assertEquals(List.of(), machine.context.irqs().drainMessages());
    }

    @Test
    void configurationInterruptSetsItsBit() {
        BlkMachine machine = stopped();
        FakeVirtQueue queue = machine.driver.start(-1L, 1, 16).getFirst();
        queue.offer(99);
        queue.ring();

        machine.context.runPending();

        assertTrue(machine.context.pci().only().intxAsserted());
        assertEquals(2, machine.driver.isr());
    }

    @Test
    void unmappedVectorsSendNothing() {
        BlkMachine machine = BlkMachine.running(disk);
        machine.driver.common(QUEUE_SELECT, 2, 0);
        machine.driver.common(QUEUE_MSIX_VECTOR, 2, VIRTIO_MSI_NO_VECTOR);

        machine.status(machine.requests.read(0, 512));

        assertEquals(List.of(), machine.context.irqs().drainMessages());
        assertFalse(machine.context.pci().only().intxAsserted());
    }

    @Test
    void maskedVectorIsSentWhenUnmasked() {
        BlkMachine machine = BlkMachine.running(disk);
        machine.driver.maskMsix(true);
        machine.status(machine.requests.read(0, 512));
        assertEquals(List.of(), machine.context.irqs().drainMessages());

        machine.driver.maskMsix(false);

        assertEquals(1, machine.context.irqs().drainMessages().size());
    }

    // Bus mastering.

    @Test
    void memoryIsLeftAloneWithoutBusMastering() {
        BlkMachine machine = BlkMachine.running(disk);
        machine.driver.busMaster(false);
        machine.context.memory().forgetWritten();
        FakeBlkRequests.Request request = machine.requests.read(0, 512);

        machine.queue.ring();
        machine.context.runPending();
        assertEquals(FakeBlkRequests.NO_STATUS, request.status());
        assertEquals(0, machine.context.memory().writtenBytes());
        machine.driver.busMaster(true);
        machine.context.runPending();

        assertEquals(FakeBlkRequests.VIRTIO_BLK_S_OK, request.status(), "taken without another notification");
    }

    // Configuration changes.

    @Test
    void resizedDriveIsAnnouncedAfterAPause() {
        ResizableBackend drive = new ResizableBackend(1 << 20);
        BlkMachine machine = BlkMachine.running(drive);
        assertEquals(2048, machine.driver.deviceConfig(0, 8));
        long generation = machine.driver.common(CONFIG_GENERATION, 1);

        machine.device.pause();
        drive.resize(2 << 20);
        machine.device.resume();

        assertEquals(
                List.of(FakeVirtioDriver.messageVector(0)),
                machine.context.irqs().drainMessages().stream()
                        .map(message -> message.vector())
                        .toList());
        assertEquals(4096, machine.driver.deviceConfig(0, 8));
        assertNotEquals(generation, machine.driver.common(CONFIG_GENERATION, 1));
    }

    @Test
    void unchangedConfigurationKeepsItsGeneration() {
        BlkMachine machine = BlkMachine.running(disk);
        long generation = machine.driver.common(CONFIG_GENERATION, 1);

        machine.device.pause();
        machine.device.resume();
        machine.driver.deviceConfig(0, 8);

        assertEquals(generation, machine.driver.common(CONFIG_GENERATION, 1));
        assertEquals(List.of(), machine.context.irqs().drainMessages());
    }

    @Test
    void statusStepsCannotBeSkipped() {
        FakeVirtioDriver driver = stopped().driver;

        driver.status(DRIVER_OK);

        assertEquals(0, driver.status());
    }
}
