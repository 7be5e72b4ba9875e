package org.benchtop.scsi.target;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;

/** Order, task management and reservations. */
final class TaskSetTest {
    private static final String READ = "28 00 00 00 00 00 00 00 01 00";
    private static final String READY = "00 00 00 00 00 00";

    private final HeldBlockBackend drive = new HeldBlockBackend(Initiator.DISK_BYTES);
    private final Initiator i = Initiator.ready(drive);

    TaskSetTest() {
        drive.manual();
    }

    private void completeNext() {
        Initiator.complete(drive.next(), i.loop);
    }

    @Test
    void simpleCommandsRunTogether() {
        i.send(READ);
        i.send(READ);

        assertEquals(2, drive.pending().size());
    }

    @Test
    void orderedWaitsForOlderAndYoungerWaitForIt() {
        Initiator.Sent older = i.send(READ);
        Initiator.Sent ordered = i.ordered(READ, ScsiCommand.Attribute.ORDERED);
        Initiator.Sent younger = i.send(READ);
        assertEquals(1, drive.pending().size());

        completeNext();
        assertTrue(older.done());
        assertEquals(1, drive.pending().size());
        assertFalse(ordered.done());

        completeNext();
        assertTrue(ordered.done());
        assertFalse(younger.done());
        completeNext();
        assertTrue(younger.done());
    }

    @Test
    void headOfQueueOvertakes() {
        i.send(READ);
        i.ordered(READ, ScsiCommand.Attribute.ORDERED);

        Initiator.Sent head = i.ordered(READY, ScsiCommand.Attribute.HEAD_OF_QUEUE);

        assertTrue(head.done());
    }

    @Test
    void abortedWaitingCommandComesBackAtOnce() {
        i.send(READ);
        Initiator.Sent waiting = i.ordered(READ, ScsiCommand.Attribute.ORDERED);

        List<ScsiTaskManagement.Result> result = i.manage(ScsiTaskManagement.ABORT_TASK, waiting.command.tag());

        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), result);
        assertEquals(ScsiCommand.Outcome.ABORTED, waiting.command.outcome());
        assertEquals(1, drive.pending().size());
    }

    @Test
    void abortOfACommandInTheDriveWaitsForIt() {
        Initiator.Sent sent = i.send(READ);

        List<ScsiTaskManagement.Result> result = i.manage(ScsiTaskManagement.ABORT_TASK, sent.command.tag());
        assertTrue(result.isEmpty());
        assertFalse(sent.done());
        completeNext();

        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), result);
        assertEquals(ScsiCommand.Outcome.ABORTED, sent.command.outcome());
    }

    @Test
    void abortedLongWriteStopsAtTheNextPart() {
        Initiator.Sent sent = i.write("93 00 00 00 00 00 00 00 00 00 00 00 08 00 00 00", Initiator.pattern(512, 1));
        completeNext();
        i.manage(ScsiTaskManagement.ABORT_TASK_SET, 0);

        completeNext();

        assertEquals(ScsiCommand.Outcome.ABORTED, sent.command.outcome());
        assertEquals(0, drive.pending().size());
    }

    @Test
    void queryTaskFindsWhatIsInFlight() {
        Initiator.Sent sent = i.send(READ);

        assertEquals(
                List.of(ScsiTaskManagement.Result.SUCCEEDED),
                i.manage(ScsiTaskManagement.QUERY_TASK, sent.command.tag()));
        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), i.manage(ScsiTaskManagement.QUERY_TASK, 4711));
        completeNext();
        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), i.manage(ScsiTaskManagement.QUERY_TASK_SET, 0));
    }

    @Test
    void logicalUnitResetAbortsAllAndLeavesAnAttention() {
        Initiator.Sent own = i.send(READ);
        Initiator.Sent other = i.as(1, READY, null);
        other = i.as(1, READ, null);

        List<ScsiTaskManagement.Result> result = i.manage(ScsiTaskManagement.LOGICAL_UNIT_RESET, 0);
        completeNext();
        completeNext();

        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), result);
        assertEquals(ScsiCommand.Outcome.ABORTED, own.command.outcome());
        assertEquals(ScsiCommand.Outcome.ABORTED, other.command.outcome());
        Initiator.Sent next = i.send(READY);
        assertEquals(Sense.LOGICAL_UNIT_RESET, next.sense());
    }

    @Test
    void targetAndBusResetReachEveryLogicalUnit() {
        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), i.manage(ScsiTaskManagement.TARGET_RESET, 0));
        assertEquals(Sense.LOGICAL_UNIT_RESET, i.send(READY).sense());
        assertEquals(List.of(ScsiTaskManagement.Result.COMPLETE), i.manage(ScsiTaskManagement.BUS_RESET, 0));
        assertEquals(Sense.BUS_RESET, i.send(READY).sense());
    }

    @Test
    void managementOfAnAbsentLogicalUnitSaysSo() {
        java.util.ArrayList<ScsiTaskManagement.Result> results = new java.util.ArrayList<>();

        i.loop.call(() -> i.port.manage(ScsiTaskManagement.LOGICAL_UNIT_RESET, 5, 0, 0, results::add));

        assertEquals(List.of(ScsiTaskManagement.Result.INCORRECT_LUN), results);
    }

    @Test
    void reserveKeepsOthersOutUntilReleasedOrReset() {
        i.as(1, READY, null);
        assertEquals(0, i.send("16 00 00 00 00 00").status());

        assertEquals(ScsiCommand.RESERVATION_CONFLICT, i.as(1, READY, null).status());
        assertEquals(0, i.as(1, "12 00 00 00 24 00", null).status());
        assertEquals(
                ScsiCommand.RESERVATION_CONFLICT,
                i.as(1, "16 00 00 00 00 00", null).status());
        assertEquals(0, i.as(1, "17 00 00 00 00 00", null).status());
        assertEquals(ScsiCommand.RESERVATION_CONFLICT, i.as(1, READY, null).status());
        assertEquals(0, i.send("17 00 00 00 00 00").status());
        assertEquals(0, i.as(1, READY, null).status());
    }

    private static byte[] keys(long own, long next) {
        byte[] list = new byte[24];
        Bytes.int64(list, 0, own);
        Bytes.int64(list, 8, next);
        return list;
    }

    private Initiator.Sent reserveOut(int initiator, int action, int type, long own, long next) {
        return i.as(initiator, String.format("5f %02x %02x 00 00 00 00 00 18 00", action, type), keys(own, next));
    }

    @Test
    void persistentReservationKeepsOthersFromWritingAndCanBePreempted() {
        drive.automatic();
        i.as(1, READY, null);
        String write = "2a 00 00 00 00 00 00 00 01 00";
        assertEquals(ScsiCommand.RESERVATION_CONFLICT, reserveOut(0, 1, 1, 5, 0).status(), "not registered");
        assertEquals(0, reserveOut(0, 0, 0, 0, 0xa).status());
        assertEquals(0, reserveOut(1, 0, 0, 0, 0xb).status());
        assertEquals(0, reserveOut(0, 1, Reservations.WRITE_EXCLUSIVE, 0xa, 0).status());

        assertEquals(
                ScsiCommand.RESERVATION_CONFLICT, i.as(1, write, new byte[512]).status());
        assertEquals(0, i.as(1, READ, null).status());
        byte[] found = i.send("5e 01 00 00 00 00 00 00 ff 00").data();
        assertEquals(24, found.length);
        assertEquals(0xa, Bytes.int64(found, 8));
        assertEquals(1, found[21]);
        byte[] keys = i.send("5e 00 00 00 00 00 00 00 ff 00").data();
        assertEquals(2, Bytes.uint32(keys, 0), "generation");
        assertEquals(16, Bytes.uint32(keys, 4));

        assertEquals(
                ScsiCommand.RESERVATION_CONFLICT,
                reserveOut(1, 1, Reservations.WRITE_EXCLUSIVE, 0xb, 0).status());
        assertEquals(
                0, reserveOut(1, 4, Reservations.EXCLUSIVE_ACCESS, 0xb, 0xa).status());
        assertEquals(Sense.REGISTRATIONS_PREEMPTED, i.send(READY).sense());
        assertEquals(ScsiCommand.RESERVATION_CONFLICT, i.send(READ).status());
        assertEquals(0, reserveOut(1, 3, 0, 0xb, 0).status());
        assertEquals(0, i.send(READ).status());
    }

    @Test
    void registrantsShareAReservationForThem() {
        drive.automatic();
        i.as(1, READY, null);
        reserveOut(0, 6, 0, 0, 0xa);
        reserveOut(0, 1, Reservations.EXCLUSIVE_ACCESS_REGISTRANTS, 0xa, 0);

        assertEquals(ScsiCommand.RESERVATION_CONFLICT, i.as(1, READ, null).status());
        reserveOut(1, 6, 0, 0, 0xb);
        assertEquals(0, i.as(1, READ, null).status());
        assertEquals(
                Sense.INVALID_RELEASE,
                reserveOut(0, 2, Reservations.WRITE_EXCLUSIVE, 0xa, 0).sense());
        assertEquals(
                0,
                reserveOut(0, 2, Reservations.EXCLUSIVE_ACCESS_REGISTRANTS, 0xa, 0)
                        .status());
        assertEquals(Sense.RESERVATIONS_RELEASED, i.as(1, READY, null).sense());
    }

    @Test
    void persistentReserveWithWrongListOrTypeIsRefused() {
        assertEquals(
                Sense.PARAMETER_LIST_LENGTH_ERROR,
                i.as(0, "5f 00 00 00 00 00 00 00 10 00", new byte[16]).sense());
        assertEquals(
                Sense.INVALID_FIELD_IN_CDB,
                i.as(0, "5f 01 04 00 00 00 00 00 18 00", new byte[24]).sense());
        byte[] aptpl = keys(0, 1);
        aptpl[20] = 1;
        assertEquals(
                Sense.INVALID_FIELD_IN_PARAMETERS,
                i.as(0, "5f 00 00 00 00 00 00 00 18 00", aptpl).sense());
    }
}
