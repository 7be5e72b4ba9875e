package org.benchtop.virtio.scsi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.benchtop.scsi.ScsiDisk;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.scsi.ScsiHost;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtQueue.Buffer;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class VirtioScsiTest {
    private static final String READ8 = "28 00 00 00 00 08 00 00 08 00";
    private static final String WRITE8 = "2a 00 00 00 00 08 00 00 08 00";

    private final HeldBlockBackend drive = new HeldBlockBackend(ScsiMachine.DISK_BYTES);

    private ScsiMachine automatic() {
        drive.automatic();
        return ScsiMachine.running(drive);
    }

    private ScsiHost host(ScsiMachine m) {
        return ScsiHosts.of(m.context).getFirst();
    }

    @Test
    void writtenBlocksAreReadBack() {
        ScsiMachine m = automatic();
        byte[] data = ScsiMachine.pattern(4096, 1);

        ScsiMachine.Request write = m.command(WRITE8, data, 0);
        ScsiMachine.Request read = m.command(READ8, new byte[0], 4096);

        assertEquals(0, write.response());
        assertEquals(0, write.residual());
        assertEquals(108, write.used);
        assertEquals(0, read.response());
        assertEquals(108 + 4096, read.used);
        assertArrayEquals(data, read.data());
        assertTrue(m.context.memory().wasWritten(read.data, 4096), "the machine knows what was written");
    }

    @Test
    void firstCommandGivesTheAttentionAsAutosense() {
        drive.automatic();
        ScsiMachine m = ScsiMachine.stopped(drive, VirtioScsiPciOptions.defaults(), ScsiHdOptions.of("disk0"))
                .start(-1L);

        ScsiMachine.Request first = m.command(ScsiMachine.READY);

        assertEquals(0, first.response());
        assertEquals(2, first.status());
        assertEquals(0x62900, first.sense());
    }

    @Test
    void shortAnswerLeavesAResidual() {
        ScsiMachine.Request inquiry = automatic().command("12 00 00 00 24 00", new byte[0], 255);

        assertEquals(0, inquiry.response());
        assertEquals(255 - 36, inquiry.residual());
        assertEquals(108 + 36, inquiry.used);
    }

    @Test
    void tooLittleRoomIsAnOverrun() {
        ScsiMachine.Request read = automatic().command(READ8, new byte[0], 1024);

        assertEquals(1, read.response());
        assertEquals(0, read.residual());
    }

    @Test
    void commandWithDataBothWaysFails() {
        ScsiMachine.Request both = automatic().command(READ8, new byte[512], 4096);

        assertEquals(9, both.response());
    }

    @ParameterizedTest
    @CsvSource({"1, 5, 0, 0", "2, 0, 0, 0", "0, 0, 0, 0"})
    void absentTargetsAreBad(int first, int target, int high, int low) {
        ScsiMachine m = automatic();
        byte[] lun = {(byte) first, (byte) target, (byte) high, (byte) low, 0, 0, 0, 0};

        ScsiMachine.Request sent = m.submit(2, lun, 0, ScsiMachine.READY, new byte[0], 0);
        m.go();

        assertEquals(3, sent.response());
    }

    @ParameterizedTest
    @CsvSource({"0, 7", "0x40, 0", "0x80, 0", "0x40, 9"})
    void lunsOfAllFormatsAreUnderstood(String high, int low) {
        ScsiMachine m = automatic();
        byte[] lun = {1, 0, Integer.decode(high).byteValue(), (byte) low, 0, 0, 0, 0};

        ScsiMachine.Request sent = m.submit(2, lun, 0, ScsiMachine.READY, new byte[0], 0);
        m.go();

        assertEquals(0, sent.response());
        assertEquals(low == 0 && high.equals("0x40") ? 0 : 2, sent.status());
    }

    @Test
    void wellKnownLogicalUnitReportsTheLuns() {
        ScsiMachine m = automatic();

        ScsiMachine.Request whole = m.submit(
                2,
                new byte[] {(byte) 0xc1, 1, 0, 0, 0, 0, 0, 0},
                0,
                "a0 00 00 00 00 00 00 00 00 40 00 00",
                new byte[0],
                64);
        ScsiMachine.Request ofTarget = m.submit(
                2,
                new byte[] {1, 0, (byte) 0xc1, 1, 0, 0, 0, 0},
                0,
                "a0 00 00 00 00 00 00 00 00 40 00 00",
                new byte[0],
                64);
        m.go();

        assertEquals(8, whole.data()[3]);
        assertEquals(8, ofTarget.data()[3]);
    }

    @Test
    void manyCommandsAreInFlightOnAllQueues() {
        VirtioScsiPciOptions options = new VirtioScsiPciOptions(
                Optional.of("io0"), 4, 64, 65535, 128, true, true, true, true, true, Optional.empty());
        ScsiMachine m =
                ScsiMachine.stopped(drive, options, ScsiHdOptions.of("disk0")).start(-1L);
        m.command(ScsiMachine.READY);

        List<ScsiMachine.Request> sent = new java.util.ArrayList<>();
        for (int i = 0; i < 16; i++) {
            sent.add(m.submit(2 + i % 4, ScsiMachine.lun(0, 0), 0, READ8, new byte[0], 4096));
        }
        m.go();
        assertEquals(16, drive.pending().size());
        drive.completeAll();
        m.go();

        assertTrue(sent.stream().allMatch(r -> r.response() == 0));
    }

    @Test
    void orderedCommandWaitsAcrossQueues() {
        ScsiMachine m = ScsiMachine.running(drive);
        m.submit(2, ScsiMachine.lun(0, 0), 0, READ8, new byte[0], 4096);
        ScsiMachine.Request ordered = m.submit(2, ScsiMachine.lun(0, 0), 1, READ8, new byte[0], 4096);
        m.go();
        assertEquals(1, drive.pending().size());

        drive.next().complete();
        m.go();
        assertFalse(ordered.done());
        drive.next().complete();
        m.go();

        assertEquals(0, ordered.response());
    }

    // Task management.

    @Test
    void abortedCommandSaysSoBeforeTheFunctionCompletes() {
        ScsiMachine m = ScsiMachine.running(drive);
        ScsiMachine.Request read = m.command(READ8, new byte[0], 4096);

        ScsiMachine.Request abort = m.tmf(0, ScsiMachine.lun(0, 0), read.tag);
        m.go();
        assertFalse(abort.done());
        drive.next().complete();
        m.go();

        assertEquals(2, read.response());
        assertEquals(0, abort.response());
    }

    @Test
    void logicalUnitResetAnswersCommandsAsReset() {
        ScsiMachine m = ScsiMachine.running(drive);
        ScsiMachine.Request read = m.command(READ8, new byte[0], 4096);

        ScsiMachine.Request reset = m.tmf(5, ScsiMachine.lun(0, 0), 0);
        m.go();
        drive.next().complete();
        m.go();

        assertEquals(4, read.response());
        assertEquals(0, reset.response());
        assertEquals(0x62903, m.command(ScsiMachine.READY).sense());
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 6, 99, 0", "0, 3, 5, 0, 12", "9, 0, 5, 0, 3", "0, 0, 77, 0, 11", "0, 0, 2, 0, 0", "0, 0, 4, 0, 0"
    })
    void taskManagementAnswers(int target, int lun, int subtype, long tag, int response) {
        ScsiMachine m = automatic();

        ScsiMachine.Request sent = m.tmf(subtype, ScsiMachine.lun(target, lun), tag);
        m.go();

        assertEquals(response, sent.response());
    }

    @Test
    void queryTaskFindsACommandInFlight() {
        ScsiMachine m = ScsiMachine.running(drive);
        ScsiMachine.Request read = m.command(READ8, new byte[0], 4096);

        ScsiMachine.Request query = m.tmf(6, ScsiMachine.lun(0, 0), read.tag);
        m.go();

        assertEquals(10, query.response());
        drive.completeAll();
        m.go();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void asynchronousNotificationsAreAnswered(int type) {
        ScsiMachine m = automatic();
        byte[] request = new byte[16];
        request[0] = (byte) type;
        System.arraycopy(ScsiMachine.lun(0, 0), 0, request, 4, 8);
        request[12] = 2;

        ScsiMachine.Request sent = m.control(request, 5);
        m.go();

        assertEquals(0, sent.response());
        assertEquals(5, sent.used);
    }

    // Events.

    private byte[] event(ScsiMachine m) {
        FakeVirtQueue.Used used = m.queues.get(1).poll().orElseThrow();
        assertEquals(16, used.writtenBytes());
        return m.context.memory().bytes(eventGpa, 16);
    }

    private long eventGpa;

    private void eventBuffer(ScsiMachine m) {
        eventGpa = m.driver.heap().allocate(16, 16);
        m.queues.get(1).add(List.of(Buffer.writable(eventGpa, 16)));
        m.queues.get(1).kick();
        m.context.runPending();
    }

    @Test
    void addedAndRemovedDisksAreEvents() {
        ScsiMachine m = automatic();
        m.context.drive("disk1", new HeldBlockBackend(ScsiMachine.DISK_BYTES));
        ScsiDisk second = new ScsiDisk("disk1", ScsiHdOptions.of("disk1"));
        eventBuffer(m);

        second.attach(m.context.device("disk1"));
        m.context.runPending();
        assertArrayEquals(new byte[] {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, event(m));

        eventBuffer(m);
        second.close();
        m.context.runPending();
        assertArrayEquals(new byte[] {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}, event(m));
    }

    @Test
    void eventWithoutBufferIsReportedAsMissed() {
        ScsiMachine m = automatic();

        host(m).lunChanged(0, 0, 0x2a, 9);
        m.context.runPending();
        eventBuffer(m);
        assertArrayEquals(new byte[] {0, 0, 0, (byte) 0x80}, Arrays.copyOf(event(m), 4));

        eventBuffer(m);
        host(m).lunChanged(0, 300, 0x2a, 9);
        m.context.runPending();
        assertArrayEquals(new byte[] {3, 0, 0, 0, 1, 0, 0x41, 0x2c, 0, 0, 0, 0, 0x2a, 9, 0, 0}, event(m));
    }

    @Test
    void eventsNeedTheirFeature() {
        drive.automatic();
        ScsiMachine m = ScsiMachine.stopped(drive, VirtioScsiPciOptions.defaults(), ScsiHdOptions.of("disk0"))
                .start(~(VirtioScsi.VIRTIO_SCSI_F_CHANGE));
        eventBuffer(m);

        host(m).lunChanged(0, 0, 0x2a, 9);
        m.context.runPending();

        assertTrue(m.queues.get(1).poll().isEmpty());
    }

    // Malformed requests.

    @Test
    void requestWithoutRoomForAnAnswerNeedsAReset() {
        ScsiMachine m = automatic();
        m.queues
                .get(2)
                .add(List.of(Buffer.readable(m.place(new byte[51]), 51), Buffer.writable(m.place(new byte[50]), 50)));
        m.go();

        assertTrue(m.needsReset());
    }

    @Test
    void unknownControlRequestNeedsAReset() {
        ScsiMachine m = automatic();
        byte[] request = new byte[24];
        request[0] = 9;
        m.control(request, 1);
        m.go();

        assertTrue(m.needsReset());
    }

    @Test
    void sizesOfCdbAndSenseCanBeChanged() {
        ScsiMachine m = automatic();
        m.driver.deviceConfig(0x18, 4, 16);
        m.driver.deviceConfig(0x14, 4, 32);
        byte[] request = new byte[19 + 16];
        System.arraycopy(ScsiMachine.lun(0, 0), 0, request, 0, 8);
        request[19] = 0x12;
        request[23] = 36;
        long response = m.driver.heap().allocate(12 + 32 + 36, 16);
        m.queues
                .get(2)
                .add(List.of(
                        Buffer.readable(m.place(request), request.length), Buffer.writable(response, 12 + 32 + 36)));
        m.go();

        assertFalse(m.needsReset());
        byte[] answer = m.context.memory().bytes(response, 12 + 32 + 36);
        assertEquals(0, answer[11]);
        assertEquals('B', answer[12 + 32 + 8]);
    }

    // Error policy.

    @Test
    void stoppedCommandIsTriedAgainWhenTheMachineGoesOn() {
        ScsiMachine m = ScsiMachine.withPolicy(drive, ErrorPolicy.STOP);
        m.command(ScsiMachine.READY);
        ScsiMachine.Request read = m.command(READ8, new byte[0], 4096);

        drive.next().fail(BlockStatus.IO_ERROR);
        m.go();
        assertFalse(read.done());
        m.group.pause();
        m.group.resume();
        m.context.runPending();
        drive.next().complete();
        m.go();

        assertEquals(0, read.response());
    }

    // Places.

    @Test
    void diskWithoutAdapterNamesTheProblem() {
        BenchtopException e = Assertions.assertThrows(
                BenchtopException.class,
                () -> new ScsiDisk("disk0", ScsiHdOptions.of("disk0")).attach(ScsiMachine.context(drive)));

        assertTrue(e.getMessage().startsWith("disk0: no SCSI adapter"), e.getMessage());
    }

    @Test
    void disksTakeOneTargetAfterTheOther() {
        ScsiMachine m = automatic();
        m.context.drive("disk1", new HeldBlockBackend(ScsiMachine.DISK_BYTES));

        new ScsiDisk("disk1", ScsiHdOptions.of("disk1")).attach(m.context.device("disk1"));

        assertEquals(List.of(0), host(m).target(1).orElseThrow().luns());
    }
}
