package org.benchtop.xen;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Random;
import java.util.stream.LongStream;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The disk with a driver that behaves, one that does not, and one that comes and goes. */
final class XenDiskTest {
    private static final int XVDA = 51712;
    private static final long SIZE = 1 << 20;

    private final XenMachine machine = new XenMachine();
    private final HeldBlockBackend drive = new HeldBlockBackend(SIZE).automatic();
    private final FakeBlkfront front = new FakeBlkfront(machine, XVDA);
    private final XenDisk disk;

    XenDiskTest() {
        machine.context.drive("d", drive);
        disk = machine.add(new XenDisk("disk", options("", false)), "disk");
        machine.start();
    }

    private static XenDiskOptions options(String name, boolean readOnly) {
        return new XenDiskOptions("d", name, Optional.empty(), 4, 4, 256, true, true, readOnly);
    }

    @AfterEach
    void close() {
        drive.automatic();
        drive.completeAll();
        machine.close();
        assertEquals(0, drive.openQueues());
    }

    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private String detail(String name) {
        return machine.store().read(front.back + "/" + name).orElse("");
    }

    @Test
    void backendOffersWaitsAndConnects() {
        assertEquals("2", front.backState());
        assertEquals("256", detail("feature-max-indirect-segments"));
        assertEquals("4", detail("multi-queue-max-queues"));
        assertEquals("1", machine.store().read(front.path + "/state").orElse(""));

        front.connect();

        assertEquals("4", front.backState());
        assertEquals(Long.toString(SIZE / 512), detail("sectors"));
        assertEquals("512", detail("sector-size"));
    }

    @Test
    void writesAndReadsInPlace() {
        front.connect();
        long page = machine.page();
        machine.putBytes(page, pattern(4096));
        int reference = machine.grant(page, true);
        front.direct(BlkifAbi.WRITE, 77, 8, 0, 7, reference);
        front.kick();

        assertEquals("77 1 0", front.response());
        assertArrayEquals(pattern(4096), drive.bytes(4096, 4096));
        assertEquals(5, machine.entryFlags(reference), "nothing holds the grant any more");

        long other = machine.page();
        front.direct(BlkifAbi.READ, 78, 9, 2, 3, machine.grant(other, false));
        front.kick();

        assertEquals("78 0 0", front.response());
        assertArrayEquals(drive.bytes(9 * 512, 1024), machine.getBytes(other + 1024, 1024));
    }

    @Test
    void grantsAreInUseWhileARequestIs() {
        front.connect();
        drive.manual();
        int reference = machine.grant(machine.page(), false);
        front.direct(BlkifAbi.READ, 1, 0, 0, 7, reference);
        front.kick();
        assertEquals(1 | 8 | 16, machine.entryFlags(reference));

        drive.next().complete();
        machine.context.runPending();

        assertEquals(1, machine.entryFlags(reference));
    }

    @Test
    void persistentGrantsStayInUse() {
        front.write("feature-persistent", "1");
        front.connect();
        int reference = machine.grant(machine.page(), false);
        for (int i = 0; i < 3; i++) {
            front.direct(i % 2 == 0 ? BlkifAbi.READ : BlkifAbi.WRITE, i, 0, 0, 7, reference);
            front.kick();
            assertEquals(i + " " + i % 2 + " 0", front.response());
        }
        assertEquals(1 | 8 | 16, machine.entryFlags(reference));

        front.state(5);
        front.state(6);

        assertEquals(1, machine.entryFlags(reference));
        assertEquals(1, machine.entryFlags(front.ringReference));
    }

    @Test
    void indirectRequestsCarryTheirInnerOperation() {
        front.connect();
        long list = machine.page();
        int pages = 20;
        for (int i = 0; i < pages; i++) {
            long page = machine.page();
            machine.putBytes(page, pattern(4096));
            front.segment(list + 8L * i, machine.grant(page, true), 0, 7);
        }
        long at = front.next();
        machine.putByte(at, BlkifAbi.INDIRECT);
        machine.putByte(at + 1, BlkifAbi.WRITE);
        machine.putShort(at + 2, pages);
        machine.putLong(at + 8, 5);
        machine.putLong(at + 16, 16);
        machine.putInt(at + 28, machine.grant(list, true));
        front.produce();
        front.kick();

        assertEquals("5 1 0", front.response());
        for (int i = 0; i < pages; i++) {
            assertArrayEquals(pattern(4096), drive.bytes(16 * 512 + i * 4096L, 4096));
        }
    }

    @Test
    void flushBarrierAndDiscard() {
        front.connect();
        front.direct(BlkifAbi.FLUSH_DISKCACHE, 1, 0, 0, 0);
        front.kick();
        assertEquals("1 3 0", front.response());
        assertEquals(1, drive.flushes());

        drive.poke(0, pattern(8192));
        long at = front.next();
        machine.putByte(at, BlkifAbi.DISCARD);
        machine.putByte(at + 1, 0);
        machine.putLong(at + 8, 2);
        machine.putLong(at + 16, 8);
        machine.putLong(at + 24, 8);
        front.produce();
        front.kick();
        assertEquals("2 5 0", front.response());
        assertArrayEquals(new byte[4096], drive.bytes(4096, 4096));
    }

    @Test
    void barrierWaitsForWhatIsBeforeAndHoldsWhatIsBehind() {
        front.connect();
        drive.manual();
        front.direct(BlkifAbi.WRITE, 1, 0, 0, 7, machine.grant(machine.page(), true));
        front.direct(BlkifAbi.WRITE_BARRIER, 2, 8, 0, 7, machine.grant(machine.page(), true));
        front.direct(BlkifAbi.WRITE, 3, 16, 0, 7, machine.grant(machine.page(), true));
        front.kick();
        assertEquals(1, drive.pending().size());

        StringBuilder order = new StringBuilder();
        while (!drive.pending().isEmpty()) {
            assertEquals(1, drive.pending().size());
            order.append(drive.next().request() instanceof BlockRequest.Flush ? "F" : "W");
            drive.next().complete();
            machine.context.runPending();
        }

        assertEquals("WFWFW", order.toString());
        assertEquals("1 1 0", front.response());
        assertEquals("2 2 0", front.response());
        assertEquals("3 1 0", front.response());
    }

    @Test
    void mistakesBecomeErrorsOfTheirRequest() {
        front.connect();
        int reference = machine.grant(machine.page(), true);
        front.direct(BlkifAbi.READ, 1, 0, 0, 7, reference);
        front.direct(BlkifAbi.WRITE, 2, SIZE / 512, 0, 7, reference);
        front.direct(BlkifAbi.WRITE, 3, -1, 0, 7, reference);
        front.direct(BlkifAbi.WRITE, 4, 0, 5, 4, reference);
        front.direct(BlkifAbi.WRITE, 5, 0, 0, 8, reference);
        front.direct(BlkifAbi.WRITE, 6, 0, 0, 7, 600);
        front.direct(BlkifAbi.WRITE, 7, 0, 0, 7);
        front.direct(99, 8, 0, 0, 7, reference);
        int outside = machine.grant(0x7_0000_0000L, false);
        front.direct(BlkifAbi.READ, 9, 0, 0, 7, outside);
        front.kick();

        for (int id = 1; id <= 7; id++) {
            String response = front.response();
            assertTrue(response.startsWith(id + " ") && response.endsWith(" -1"), response);
        }
        assertEquals("8 99 -2", front.response());
        assertEquals("9 0 -1", front.response());
        assertEquals(0, drive.submitted());
        assertEquals("4", front.backState());
    }

    @Test
    void hostErrorsReachTheGuest() {
        front.connect();
        drive.manual();
        front.direct(BlkifAbi.READ, 1, 0, 0, 7, machine.grant(machine.page(), false));
        front.kick();
        drive.next().fail(BlockStatus.IO_ERROR);
        machine.context.runPending();

        assertEquals("1 0 -1", front.response());
    }

    @Test
    void requestIndexFarAheadDisconnectsThisDiskAndItCanComeBack() {
        front.connect();
        machine.putInt(front.ring, 1000);
        front.kick();

        assertEquals("5", front.backState());
        assertTrue(detail("error").contains("index"), detail("error"));
        front.state(6);
        assertEquals("6", front.backState());
        front.state(1);
        assertEquals("2", front.backState());
        front.connect();
        assertEquals("4", front.backState());
    }

    @Test
    void frontendsThatWriteNonsenseAreNotConnected() {
        front.prepare();
        front.write("ring-ref", "7000");
        front.state(3);
        assertEquals("5", front.backState());
        assertTrue(detail("error").contains("ring-ref"), detail("error"));
        front.state(6);
        front.state(1);
        front.prepare();
        front.write("event-channel", "99999999999999999999");
        front.state(3);
        assertEquals("5", front.backState());
        front.state(6);
        front.state(1);
        front.prepare();
        front.write("multi-queue-num-queues", "65");
        front.state(3);
        assertEquals("5", front.backState());
        assertEquals(0, drive.openQueues());
    }

    @Test
    void frontendThatVanishesOrRestartsIsLetGo() {
        front.connect();
        machine.store().remove(front.path);
        machine.context.runPending();
        assertEquals("6", front.backState());
        assertEquals(0, drive.openQueues());

        machine.store().write(front.path + "/backend", front.back);
        front.state(1);
        front.connect();
        assertEquals("4", front.backState());
        front.state(1);
        assertEquals("2", front.backState(), "it began anew without having closed");
        front.connect();
        assertEquals("4", front.backState());
    }

    @Test
    void closingWaitsForRequestsInFlight() {
        front.connect();
        drive.manual();
        front.direct(BlkifAbi.READ, 1, 0, 0, 7, machine.grant(machine.page(), false));
        front.kick();
        front.state(5);
        assertEquals("4", front.backState());

        drive.next().complete();
        machine.context.runPending();

        assertEquals("5", front.backState());
        assertEquals("1 0 0", front.response());
    }

    @Test
    void severalQueuesWithLargeRings() {
        front.write("multi-queue-num-queues", "2");
        front.write("ring-page-order", "1");
        long[] rings = new long[2];
        int[] ports = new int[2];
        for (int q = 0; q < 2; q++) {
            rings[q] = machine.page();
            long second = machine.page();
            machine.putInt(rings[q] + 12, 1);
            ports[q] = machine.allocatePort();
            front.write("queue-" + q + "/ring-ref0", Integer.toString(machine.grant(rings[q], false)));
            front.write("queue-" + q + "/ring-ref1", Integer.toString(machine.grant(second, false)));
            front.write("queue-" + q + "/event-channel", Integer.toString(ports[q]));
        }
        front.state(3);
        assertEquals("4", front.backState(), detail("error"));

        front.ring = rings[1];
        front.direct(BlkifAbi.FLUSH_DISKCACHE, 9, 0, 0, 0);
        machine.send(ports[1]);

        assertEquals("9 3 0", front.response());
        assertTrue(disk.inspect().containsKey("queue-1"));
    }

    @Test
    void namesChooseNumbers() {
        assertEquals(51712 + 16, DiskName.number(1));
        assertEquals(1 << 28 | 16 << 8, DiskName.number(16));
        machine.context.drive("e", new HeldBlockBackend(SIZE));
        XenDisk taken =
                new XenDisk("other", new XenDiskOptions("e", "xvda", Optional.empty(), 1, 0, 0, true, true, false));
        assertThrows(BenchtopException.class, () -> taken.attach(machine.context.device("other")));
    }

    static LongStream seeds() {
        Long given = Long.getLong("benchtop.test.seed");
        return LongStream.of(1, 2, 3, 4, given == null ? new Random().nextLong() : given);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void nonsenseInRingsAndGrantsEndsThisDiskAtWorst(long seed) {
        Random random = new Random(seed);
        drive.poke(0, pattern((int) SIZE));
        for (int round = 0; round < 25; round++) {
            if (random.nextBoolean()) {
                front.write("feature-persistent", random.nextBoolean() ? "1" : "0");
            }
            front.connect();
            for (int i = 0; i < 20; i++) {
                byte[] entry = new byte[FakeBlkfront.ENTRY];
                random.nextBytes(entry);
                entry[0] = (byte) random.nextInt(8);
                entry[1] = (byte) random.nextInt(14);
                for (int b = 2; b < entry.length; b++) {
                    entry[b] =
                            random.nextInt(3) == 0 ? (byte) random.nextInt(16) : random.nextInt(3) == 0 ? entry[b] : 0;
                }
                machine.putBytes(front.next(), entry);
                front.produce();
                machine.entry(random.nextInt(64), random.nextInt(1 << 10), random.nextInt(1 << 12));
                if (random.nextInt(10) == 0) {
                    machine.putInt(front.ring + 4L * random.nextInt(4), random.nextInt());
                }
                front.kick();
            }
            front.state(random.nextInt(8));
            front.state(6);
            front.state(1);
            machine.context.runPending();
        }

        machine.context.runPending();
        front.write("feature-persistent", "0");
        front.connect();
        assertEquals("4", front.backState(), detail("error"));
        long page = machine.page();
        front.direct(BlkifAbi.READ, 3, 0, 0, 7, machine.grant(page, false));
        front.kick();
        assertEquals("3 0 0", front.response());
    }
}
