package org.benchtop.virtio.blk;

import static org.benchtop.testkit.virtio.FakeBlkRequests.NO_STATUS;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_IOERR;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_OK;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_S_UNSUPP;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_T_DISCARD;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_T_IN;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_T_OUT;
import static org.benchtop.testkit.virtio.FakeBlkRequests.VIRTIO_BLK_T_WRITE_ZEROES;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtQueue.Buffer;
import org.benchtop.testkit.virtio.FakeVirtioDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** VIRTIO 1.2, 5.2.6: what becomes of each request. */
final class VirtioBlkRequestsTest {
    private static final long SECTORS = BlkMachine.DISK_BYTES / 512;

    private final HeldBlockBackend disk = BlkMachine.disk().automatic();

    @Test
    void writtenDataReachesTheDrive() {
        BlkMachine machine = BlkMachine.running(disk);
        byte[] data = BlkMachine.pattern(4096, 1);

        int status = machine.status(machine.requests.write(8, data));

        assertEquals(VIRTIO_BLK_S_OK, status);
        assertArrayEquals(data, disk.bytes(8 * 512, 4096));
    }

    @Test
    void readDataReachesTheGuest() {
        BlkMachine machine = BlkMachine.running(disk);
        byte[] data = BlkMachine.pattern(4096, 2);
        disk.poke(16 * 512, data);
        FakeBlkRequests.Request request = machine.requests.read(16, 4096);
        machine.context.memory().forgetWritten();

        int status = machine.status(request);

        assertEquals(VIRTIO_BLK_S_OK, status);
        assertArrayEquals(data, request.data());
        assertEquals(4097, request.used().orElseThrow().writtenBytes());
        assertTrue(machine.context.memory().wasWritten(request.dataGpa(), 4096));
    }

    @Test
    void writeSaysThatOnlyTheStatusWasWritten() {
        BlkMachine machine = BlkMachine.running(disk);
        FakeBlkRequests.Request request = machine.requests.write(0, new byte[512]);

        machine.go();

        assertEquals(1, request.used().orElseThrow().writtenBytes());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7})
    void framingDoesNotMatter(int seed) {
        BlkMachine machine = BlkMachine.running(disk);
        byte[] data = BlkMachine.pattern(1024, seed);
        disk.poke(0, data);
        long header = machine.requests.header(VIRTIO_BLK_T_IN, 0);
        long dataAndStatus = machine.driver.heap().allocate(1025, 1);
        byte[] statusBefore = {(byte) NO_STATUS};
        machine.context.memory().poke(dataAndStatus + 1024, statusBefore);
        List<Buffer> buffers = new ArrayList<>(split(header, 16, seed, false));
        buffers.addAll(split(dataAndStatus, 1025, seed, true));
        FakeBlkRequests.Request request =
                machine.requests.track(machine.queue.add(buffers), dataAndStatus, 1024, dataAndStatus + 1024);

        int status = machine.status(request);

        assertEquals(VIRTIO_BLK_S_OK, status);
        assertArrayEquals(data, request.data());
    }

    /** Cuts a buffer into up to five pieces at places that depend on the seed. */
    private static List<Buffer> split(long gpa, int length, int seed, boolean write) {
        java.util.Random random = new java.util.Random(seed);
        int[] cuts = random.ints(1 + seed % 4, 1, length).sorted().distinct().toArray();
        List<Buffer> buffers = new ArrayList<>();
        int from = 0;
        for (int cut : cuts) {
            buffers.add(new Buffer(gpa + from, cut - from, write));
            from = cut;
        }
        buffers.add(new Buffer(gpa + from, length - from, write));
        return buffers;
    }

    @Test
    void headerInPiecesFarApartIsPutTogether() {
        BlkMachine machine = BlkMachine.running(disk);
        byte[] data = BlkMachine.pattern(512, 3);
        long header = machine.requests.header(VIRTIO_BLK_T_OUT, 5);
        byte[] bytes = machine.context.memory().bytes(header, 16);
        List<Buffer> buffers = new ArrayList<>();
        for (int i = 0; i < 16; i += 4) {
            long piece = machine.requests.place(Arrays.copyOfRange(bytes, i, i + 4));
            buffers.add(Buffer.readable(piece, 4));
            machine.driver.heap().allocate(64, 64);
        }
        buffers.add(Buffer.readable(machine.requests.place(data), 512));
        long status = machine.requests.statusByte();
        buffers.add(Buffer.writable(status, 1));
        FakeBlkRequests.Request request = machine.requests.track(machine.queue.add(buffers), 0, 0, status);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(request));
        assertArrayEquals(data, disk.bytes(5 * 512, 512));
    }

    @Test
    void indirectRequestWorks() {
        BlkMachine machine = BlkMachine.running(disk);
        byte[] data = BlkMachine.pattern(512, 4);
        long status = machine.requests.statusByte();
        List<Buffer> buffers = List.of(
                Buffer.readable(machine.requests.header(VIRTIO_BLK_T_OUT, 1), 16),
                Buffer.readable(machine.requests.place(data), 512),
                Buffer.writable(status, 1));
        FakeBlkRequests.Request request = machine.requests.track(machine.queue.addIndirect(buffers), 0, 0, status);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(request));
        assertArrayEquals(data, disk.bytes(512, 512));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 511, 513, 1000})
    void dataThatIsNoWholeSectorIsAnError(int bytes) {
        BlkMachine machine = BlkMachine.running(disk);

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.read(0, bytes)));
        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.write(0, new byte[bytes])));
        assertFalse(machine.needsReset());
        assertEquals(0, disk.submitted());
    }

    @ParameterizedTest
    @ValueSource(longs = {SECTORS, SECTORS - 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 55, (1L << 55) - 1})
    void accessBehindTheEndIsAnError(long sector) {
        BlkMachine machine = BlkMachine.running(disk);

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.read(sector, 1024)));
        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.write(sector, new byte[1024])));
        assertEquals(0, disk.submitted());
    }

    @Test
    void lastSectorCanBeReadAndWritten() {
        BlkMachine machine = BlkMachine.running(disk);
        byte[] data = BlkMachine.pattern(512, 9);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.write(SECTORS - 1, data)));

        assertArrayEquals(data, disk.bytes(BlkMachine.DISK_BYTES - 512, 512));
    }

    @Test
    void transferWithoutDataSucceedsWithoutTheDrive() {
        BlkMachine machine = BlkMachine.running(disk);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.submit(VIRTIO_BLK_T_IN, 0, 0, 0, true)));
        assertEquals(0, disk.submitted());
    }

    @ParameterizedTest
    @EnumSource(BlockStatus.class)
    void statusOfTheDriveIsTranslated(BlockStatus status) {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        FakeBlkRequests.Request request = machine.requests.read(0, 512);
        machine.go();
        assertEquals(NO_STATUS, request.status());

        held.next().fail(status);

        int expected = switch (status) {
            case OK -> VIRTIO_BLK_S_OK;
            case UNSUPPORTED -> VIRTIO_BLK_S_UNSUPP;
            case IO_ERROR, NO_SPACE, READ_ONLY, OUT_OF_RANGE -> VIRTIO_BLK_S_IOERR;
        };
        assertEquals(expected, machine.status(request));
        assertEquals(
                expected == VIRTIO_BLK_S_OK ? 513 : 1,
                request.used().orElseThrow().writtenBytes());
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5, 7, 10, 14, 15, 16, 24, 0x8000_0000, -1})
    void unknownRequestIsUnsupported(int type) {
        BlkMachine machine = BlkMachine.running(disk);
        long data = machine.requests.place(new byte[512]);

        assertEquals(VIRTIO_BLK_S_UNSUPP, machine.status(machine.requests.submit(type, 0, data, 512, false)));
        assertEquals(VIRTIO_BLK_S_UNSUPP, machine.status(machine.requests.submit(type, 0, data, 512, true)));
        assertFalse(machine.needsReset());
    }

    @Test
    void flushReachesTheDrive() {
        BlkMachine machine = BlkMachine.running(disk);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.flush()));
        assertEquals(1, disk.flushes());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "SN-1", "exactly-twenty-bytes"})
    void getIdGivesTheSerialPaddedWithZeroes(String serial) {
        BlkMachine machine = BlkMachine.running(
                disk, BlkMachine.options().with(o -> o.serial = serial).build());
        FakeBlkRequests.Request request = machine.requests.getId(20);

        assertEquals(VIRTIO_BLK_S_OK, machine.status(request));

        byte[] expected = Arrays.copyOf(serial.getBytes(StandardCharsets.US_ASCII), 20);
        assertArrayEquals(expected, request.data());
        assertEquals(21, request.used().orElseThrow().writtenBytes());
    }

    @Test
    void getIdWithTooLittleRoomIsAnError() {
        BlkMachine machine = BlkMachine.running(disk);

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.getId(19)));
    }

    @Test
    void discardOfSeveralRangesReachesTheDrive() {
        BlkMachine machine = BlkMachine.running(disk);
        disk.poke(0, BlkMachine.pattern(8192, 5));

        int status = machine.status(
                machine.requests.ranges(VIRTIO_BLK_T_DISCARD, new long[] {0, 1, 0}, new long[] {4, 2, 0}));

        assertEquals(VIRTIO_BLK_S_OK, status);
        assertArrayEquals(new byte[512], disk.bytes(0, 512));
        assertArrayEquals(new byte[1024], disk.bytes(4 * 512, 1024));
        assertEquals(2, disk.submitted());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1})
    void writeZeroesPassesOnWhetherItMayUnmap(long unmap) {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.ranges(VIRTIO_BLK_T_WRITE_ZEROES, new long[] {3, 5, unmap});

        machine.go();

        BlockRequest.WriteZeroes request =
                assertInstanceOf(BlockRequest.WriteZeroes.class, held.next().request());
        assertEquals(unmap != 0, request.mayUnmap());
        assertEquals(3 * 512, request.offsetBytes());
        assertEquals(5 * 512, request.lengthBytes());
        held.completeAll();
    }

    @ParameterizedTest
    @CsvSource({"11,1", "11,2", "13,2", "13,0x80000000"})
    void unknownFlagsOfRangesAreUnsupported(int type, String flags) {
        BlkMachine machine = BlkMachine.running(disk);

        int status = machine.status(machine.requests.ranges(type, new long[] {0, 1, Long.decode(flags)}));

        assertEquals(VIRTIO_BLK_S_UNSUPP, status);
        assertEquals(0, disk.submitted());
    }

    @ParameterizedTest
    @CsvSource({"11,2047,2", "11,2048,1", "11,0,0", "13,-1,1", "13,0,-1", "13,0,4194305"})
    void rangeOutsideTheDiskIsAnError(int type, long sector, long sectors) {
        BlkMachine machine = BlkMachine.running(disk);

        int status =
                machine.status(machine.requests.ranges(type, new long[] {0, 1, 0}, new long[] {sector, sectors, 0}));

        assertEquals(VIRTIO_BLK_S_IOERR, status);
        assertEquals(0, disk.submitted());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 8, 15, 17, 17 * 16})
    void listOfRangesOfABadSizeIsAnError(int bytes) {
        BlkMachine machine = BlkMachine.running(disk);
        long data = machine.requests.place(new byte[bytes]);

        int status = machine.status(machine.requests.submit(VIRTIO_BLK_T_DISCARD, 0, data, bytes, false));

        assertEquals(VIRTIO_BLK_S_IOERR, status);
    }

    @ParameterizedTest
    @ValueSource(ints = {11, 13})
    void rangesWithoutTheFeatureAreUnsupported(int type) {
        BlkMachine machine = BlkMachine.stopped(disk, VirtioBlkPciOptions.of("disk0"));
        long without = ~(VirtioBlk.VIRTIO_BLK_F_DISCARD | VirtioBlk.VIRTIO_BLK_F_WRITE_ZEROES);
        machine.start(without, 16);

        assertEquals(VIRTIO_BLK_S_UNSUPP, machine.status(machine.requests.ranges(type, new long[] {0, 1, 0})));
    }

    @Test
    void readOnlyDiskRefusesEverythingThatWrites() {
        HeldBlockBackend readOnly =
                new HeldBlockBackend(BlkMachine.capabilities(true, CacheMode.WRITEBACK, 128, 1 << 20)).automatic();
        BlkMachine machine = BlkMachine.running(readOnly);

        assertTrue((machine.driver.features() & VirtioBlk.VIRTIO_BLK_F_RO) != 0);
        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.write(0, new byte[512])));
        for (int type : new int[] {VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES}) {
            assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.ranges(type, new long[] {0, 1, 0})));
        }
        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.read(0, 512)));
        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.flush()));
        assertEquals(1 + 1, readOnly.submitted());
    }

    @Test
    void readOnlyOptionProtectsAWritableDrive() {
        BlkMachine machine = BlkMachine.running(
                disk, BlkMachine.options().with(o -> o.readOnly = true).build());

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(machine.requests.write(0, new byte[512])));
        assertEquals(0, disk.submitted());
    }

    @Test
    void longTransferIsSubmittedInPartsThatTheDriveTakes() {
        HeldBlockBackend small =
                new HeldBlockBackend(BlkMachine.capabilities(false, CacheMode.WRITEBACK, 128, 4096 + 100));
        CrankyBlockBackend checked = CrankyBlockBackend.asserting(small);
        BlkMachine machine = BlkMachine.running(checked);
        byte[] data = BlkMachine.pattern(20 * 512, 6);
        FakeBlkRequests.Request request = machine.requests.write(2, data);

        machine.go();
        assertEquals(1, small.pending().size());
        assertEquals(4096, small.next().request().lengthBytes());
        small.completeAll();

        assertEquals(VIRTIO_BLK_S_OK, machine.status(request));
        assertArrayEquals(data, small.bytes(1024, data.length));
        assertEquals(3, small.submitted());
        assertEquals(List.of(), checked.violations());
    }

    @Test
    void manyPartsThatCompleteAtOnceDoNotNeedADeepStack() {
        HeldBlockBackend tiny = new HeldBlockBackend(
                        new BlockCapabilities(16 << 20, 512, 512, false, true, true, CacheMode.WRITEBACK, 128, 512))
                .automatic();
        BlkMachine machine = BlkMachine.running(tiny);
        int bytes = 4 << 20;

        assertEquals(VIRTIO_BLK_S_OK, machine.status(machine.requests.read(0, bytes)));
        assertEquals(bytes / 512, tiny.submitted());
    }

    @Test
    void failureOfOnePartEndsTheRequest() {
        HeldBlockBackend small = new HeldBlockBackend(BlkMachine.capabilities(false, CacheMode.WRITEBACK, 128, 512));
        BlkMachine machine = BlkMachine.running(small);
        FakeBlkRequests.Request request = machine.requests.read(0, 2048);
        machine.go();
        small.next().complete();

        small.next().fail(BlockStatus.IO_ERROR);

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(request));
        assertEquals(2, small.submitted());
    }

    @Test
    void moreSegmentsThanTheDriveTakesAreAnError() {
        HeldBlockBackend few =
                new HeldBlockBackend(BlkMachine.capabilities(false, CacheMode.WRITEBACK, 2, 1 << 20)).automatic();
        CrankyBlockBackend checked = CrankyBlockBackend.asserting(few);
        BlkMachine machine = BlkMachine.running(checked);
        assertEquals(2, machine.driver.deviceConfig(0x0c, 4), "seg_max");
        long status = machine.requests.statusByte();
        List<Buffer> buffers = new ArrayList<>();
        buffers.add(Buffer.readable(machine.requests.header(VIRTIO_BLK_T_IN, 0), 16));
        for (int i = 0; i < 3; i++) {
            buffers.add(Buffer.writable(machine.driver.heap().allocate(1024, 1024), 512));
        }
        buffers.add(Buffer.writable(status, 1));
        FakeBlkRequests.Request request = machine.requests.track(machine.queue.add(buffers), 0, 0, status);

        assertEquals(VIRTIO_BLK_S_IOERR, machine.status(request));
        assertEquals(List.of(), checked.violations());
    }

    // Durability: 5.2.6.2.

    private BlockRequest.Write writeOf(HeldBlockBackend held, BlkMachine machine) {
        machine.requests.write(0, new byte[512]);
        machine.go();
        BlockRequest.Write write =
                assertInstanceOf(BlockRequest.Write.class, held.next().request());
        held.completeAll();
        machine.context.runPending();
        return write;
    }

    @ParameterizedTest
    @CsvSource({
        // FLUSH and CONFIG_WCE negotiated, cache mode of the drive → durable writes
        "true,true,WRITEBACK,false",
        "true,true,WRITETHROUGH,true",
        "true,false,WRITEBACK,false",
        "true,false,WRITETHROUGH,false",
        "false,true,WRITEBACK,true",
        "false,false,WRITEBACK,true",
        "false,false,NONE,true"
    })
    void durabilityFollowsWhatWasNegotiated(boolean flush, boolean configWce, CacheMode mode, boolean durable) {
        HeldBlockBackend held = new HeldBlockBackend(BlkMachine.capabilities(false, mode, 128, 1 << 20));
        BlkMachine machine = BlkMachine.stopped(held, VirtioBlkPciOptions.of("disk0"));
        long features =
                (flush ? VirtioBlk.VIRTIO_BLK_F_FLUSH : 0) | (configWce ? VirtioBlk.VIRTIO_BLK_F_CONFIG_WCE : 0);

        machine.start(features, 16);

        assertEquals(durable, writeOf(held, machine).durable());
    }

    @Test
    void writebackFieldSwitchesDurability() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        assertEquals(1, machine.driver.deviceConfig(0x20, 1));

        machine.driver.deviceConfig(0x20, 1, 0);
        assertTrue(writeOf(held, machine).durable());
        machine.driver.deviceConfig(0x20, 1, 1);
        assertFalse(writeOf(held, machine).durable());
    }

    @Test
    void writebackFieldIsReadOnlyWithoutTheFeature() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.stopped(held, VirtioBlkPciOptions.of("disk0"));
        machine.start(~VirtioBlk.VIRTIO_BLK_F_CONFIG_WCE, 16);

        machine.driver.deviceConfig(0x20, 1, 0);

        assertEquals(1, machine.driver.deviceConfig(0x20, 1));
        assertFalse(writeOf(held, machine).durable());
    }

    @Test
    void writeZeroesInWriteThroughModeIsFlushedBeforeItCompletes() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        machine.driver.deviceConfig(0x20, 1, 0);
        FakeBlkRequests.Request request = machine.requests.ranges(VIRTIO_BLK_T_WRITE_ZEROES, new long[] {0, 1, 0});
        machine.go();

        held.next().complete();
        machine.go();
        assertEquals(NO_STATUS, request.status());
        assertInstanceOf(BlockRequest.Flush.class, held.next().request());
        held.next().complete();

        assertEquals(VIRTIO_BLK_S_OK, machine.status(request));
    }

    // Order, statistics, queues.

    @Test
    void requestsCompleteInTheOrderOfTheDrive() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        FakeBlkRequests.Request first = machine.requests.read(0, 512);
        FakeBlkRequests.Request second = machine.requests.read(1, 512);
        machine.go();

        held.pending().get(1).complete();
        machine.go();
        assertEquals(NO_STATUS, first.status());
        assertEquals(VIRTIO_BLK_S_OK, second.status());
        held.completeAll();

        assertEquals(VIRTIO_BLK_S_OK, machine.status(first));
    }

    @Test
    void everythingIsCounted() {
        BlkMachine machine = BlkMachine.running(disk);
        machine.status(machine.requests.read(0, 1024));
        machine.status(machine.requests.read(0, 512));
        machine.status(machine.requests.write(0, new byte[2048]));
        machine.status(machine.requests.flush());
        machine.status(machine.requests.getId(20));
        machine.status(machine.requests.ranges(VIRTIO_BLK_T_DISCARD, new long[] {0, 1, 0}));
        machine.status(machine.requests.ranges(VIRTIO_BLK_T_WRITE_ZEROES, new long[] {0, 1, 0}));
        machine.status(machine.requests.read(SECTORS, 512));

        var stats = machine.context.stats();
        assertEquals(3, stats.value("reads"));
        assertEquals(1536, stats.value("read-bytes"));
        assertEquals(1, stats.value("writes"));
        assertEquals(2048, stats.value("write-bytes"));
        assertEquals(1, stats.value("flushes"));
        assertEquals(1, stats.value("discards"));
        assertEquals(1, stats.value("write-zeroes"));
        assertEquals(1, stats.value("other-requests"));
        assertEquals(1, stats.value("errors"));
        assertEquals(8, stats.value("notifications"));
        assertEquals(8, stats.value("queue-interrupts"));
        assertEquals(8, stats.recorded("latency"));
        assertEquals(0, stats.value("queue-depth"));
    }

    @Test
    void queueDepthCountsRequestsInFlight() {
        HeldBlockBackend held = BlkMachine.disk();
        BlkMachine machine = BlkMachine.running(held);
        machine.requests.read(0, 512);
        machine.requests.read(1, 512);
        machine.go();

        assertEquals(2, machine.context.stats().value("queue-depth"));
        held.completeAll();
    }

    @Test
    void everyQueueWorks() {
        BlkMachine machine = BlkMachine.running(
                disk, BlkMachine.options().with(o -> o.queues = 4).build());
        assertEquals(4, machine.queues.size());
        assertEquals(4, machine.driver.deviceConfig(0x22, 2));
        for (int i = 0; i < 4; i++) {
            FakeVirtQueue queue = machine.queues.get(i);
            FakeBlkRequests requests = new FakeBlkRequests(machine.driver.heap(), queue);
            byte[] data = BlkMachine.pattern(512, i);
            FakeBlkRequests.Request request = requests.write(i, data);
            queue.kick();
            machine.context.runPending();
            requests.collect();

            assertEquals(VIRTIO_BLK_S_OK, request.status());
            assertArrayEquals(data, disk.bytes(512L * i, 512));
            assertEquals(
                    List.of(FakeVirtioDriver.messageVector(1 + i)),
                    machine.context.irqs().drainMessages().stream()
                            .map(message -> message.vector())
                            .toList());
        }
        assertEquals(1, disk.openQueues(), "queues on one loop share a block queue");
    }

    @Test
    void workIsDoneOnTheIothread() {
        BlkMachine machine = BlkMachine.running(
                disk,
                BlkMachine.options()
                        .with(o -> o.iothread = java.util.Optional.of("io0"))
                        .build());
        FakeBlkRequests.Request request = machine.requests.read(0, 512);
        machine.queue.kick();

        machine.context.eventLoop().runPending();
        assertEquals(NO_STATUS, request.status());
        machine.context.eventLoop("io0").runPending();

        assertEquals(VIRTIO_BLK_S_OK, request.status());
    }

    @Test
    void crankyDriveKeepsEveryRequestRight() {
        CrankyBlockBackend cranky = new CrankyBlockBackend(disk, 42);
        cranky.failing(request -> request.offsetBytes() == 7 * 512 ? BlockStatus.IO_ERROR : BlockStatus.OK);
        BlkMachine machine = BlkMachine.running(cranky);
        for (int round = 0; round < 100; round++) {
            List<FakeBlkRequests.Request> writes = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                writes.add(machine.requests.write(5 + i, BlkMachine.pattern(512, round * 10L + i)));
            }
            machine.go();
            for (int i = 0; i < 5; i++) {
                assertEquals(
                        i == 2 ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK,
                        writes.get(i).status());
            }
            assertArrayEquals(BlkMachine.pattern(512, round * 10L), disk.bytes(5 * 512, 512));
        }
        assertEquals(List.of(), cranky.violations());
    }
}
