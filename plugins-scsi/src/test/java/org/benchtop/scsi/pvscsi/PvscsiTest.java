package org.benchtop.scsi.pvscsi;

import static org.benchtop.scsi.pvscsi.PvscsiMachine.DATA;
import static org.benchtop.scsi.pvscsi.PvscsiMachine.LISTS;
import static org.benchtop.scsi.pvscsi.PvscsiMachine.TO_DEVICE;
import static org.benchtop.scsi.pvscsi.PvscsiMachine.TO_HOST;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PvscsiTest {
    private static final String READ8 = "28 00 00 00 00 08 00 00 08 00";
    private static final String WRITE8 = "2a 00 00 00 00 08 00 00 08 00";

    private final HeldBlockBackend drive = new HeldBlockBackend(PvscsiMachine.DISK_BYTES);

    private PvscsiMachine automatic() {
        return PvscsiMachine.running(drive.automatic());
    }

    @Test
    void writtenBlocksAreReadBackThroughAScatterList() {
        PvscsiMachine m = automatic();
        byte[] data = PvscsiMachine.pattern(4096, 1);
        m.poke(DATA, data);
        m.submit(7, 0, WRITE8, TO_DEVICE, DATA, 4096);
        assertEquals(List.of(new PvscsiMachine.Done(7, 4096, 0, 0, 0)), m.go());

        sge(m, LISTS, DATA + 0x10000, 1000, 0);
        sge(m, LISTS + 16, LISTS + 0x100, 16, 1);
        sge(m, LISTS + 0x100, DATA + 0x20000, 3096, 0);
        m.submit(8, 0, READ8, TO_HOST | 1, LISTS, 4096);
        assertEquals(List.of(new PvscsiMachine.Done(8, 4096, 0, 0, 0)), m.go());

        byte[] back = new byte[4096];
        System.arraycopy(m.context.memory().bytes(DATA + 0x10000, 1000), 0, back, 0, 1000);
        System.arraycopy(m.context.memory().bytes(DATA + 0x20000, 3096), 0, back, 1000, 3096);
        assertArrayEquals(data, back);
    }

    private static void sge(PvscsiMachine m, long at, long address, int length, int flags) {
        m.int32(at, (int) address);
        m.int32(at + 4, (int) (address >>> 32));
        m.int32(at + 8, length);
        m.int32(at + 12, flags);
    }

    @Test
    void failedCommandDeliversSense() {
        PvscsiMachine m = automatic();

        m.submit(9, 0, "ff 00 00 00 00 00", 0, 0, 0);

        assertEquals(List.of(new PvscsiMachine.Done(9, 0, 18, 0, 2)), m.go());
        assertEquals(0x20, m.context.memory().bytes(PvscsiMachine.SENSE, 18)[12]);
    }

    @ParameterizedTest
    @CsvSource({"5, 0, 0x20000, 512, 17", "0, 8, 0xffff0000000, 512, 26", "0, 24, 0x20000, 512, 26"})
    void requestThatCannotBeCarriedOutHasAHostStatus(int target, int flags, String address, long length, int status) {
        PvscsiMachine m = automatic();

        m.submit(1, target, "28 00 00 00 00 00 00 00 01 00", flags, Long.decode(address), length);

        assertEquals(status, m.go().getFirst().hostStatus());
    }

    @Test
    void ownRegistersAreNoData() {
        PvscsiMachine m = automatic();

        m.submit(1, 0, "28 00 00 00 00 00 00 00 01 00", TO_HOST, m.base(), 512);

        assertEquals(0x1a, m.go().getFirst().hostStatus());
    }

    @Test
    void listThatRunsInACircleEnds() {
        PvscsiMachine m = automatic();
        sge(m, LISTS, LISTS, 16, 1);

        m.submit(1, 0, READ8, TO_HOST | 1, LISTS, 4096);

        assertEquals(0x1a, m.go().getFirst().hostStatus());
    }

    @Test
    void tooLittleRoomIsADataOverrun() {
        PvscsiMachine m = automatic();

        m.submit(1, 0, READ8, TO_HOST, DATA, 1024);

        assertEquals(List.of(new PvscsiMachine.Done(1, 1024, 0, 0x12, 0)), m.go());
    }

    @Test
    void completionInterruptsUntilAcknowledged() {
        PvscsiMachine m = automatic();
        m.write(PvscsiRegister.INTR_STATUS, 0xf);
        assertFalse(m.context.pci().only().intxAsserted());

        m.submit(1, 0, "00 00 00 00 00 00", 0, 0, 0);
        m.go();

        assertEquals(1, m.read(PvscsiRegister.INTR_STATUS));
        assertTrue(m.context.pci().only().intxAsserted());
        m.write(PvscsiRegister.INTR_STATUS, 1);
        assertFalse(m.context.pci().only().intxAsserted());
    }

    @Test
    void aFullRingIsTakenAtOnceAndMoreFollows() {
        PvscsiMachine m = PvscsiMachine.running(drive);
        for (int i = 0; i < 32; i++) {
            m.submit(i, 0, READ8, TO_HOST, DATA, 4096);
        }
        assertTrue(m.go().isEmpty());
        assertEquals(32, drive.pending().size());
        assertEquals(33, m.int32(PvscsiMachine.STATE + 4));
        for (int i = 0; i < 8; i++) {
            m.submit(32 + i, 0, READ8, TO_HOST, DATA, 4096);
        }
        m.go();
        assertEquals(32, drive.pending().size(), "no more than the ring holds is in flight");

        for (int i = 0; i < 40; i++) {
            drive.next().complete();
            m.context.runPending();
        }

        assertEquals(40, m.collect().size());
    }

    @Test
    void ringThatClaimsMoreThanItHoldsIsLeftAlone() {
        PvscsiMachine m = automatic();

        m.int32(PvscsiMachine.STATE, 5000);

        assertTrue(m.go().isEmpty());
        assertEquals(1, m.int32(PvscsiMachine.STATE + 4));
    }

    @Test
    void abortedCommandCompletesAsAborted() {
        PvscsiMachine m = PvscsiMachine.running(drive);
        m.submit(77, 0, READ8, TO_HOST, DATA, 4096);
        m.submit(78, 0, READ8, TO_HOST, DATA, 4096);
        m.go();

        assertEquals(0, m.command(6, 77, 0, 0, 0));
        drive.next().complete();
        m.context.runPending();

        assertEquals(List.of(new PvscsiMachine.Done(77, 0, 0, 0x26, 0)), m.collect());
        drive.completeAll();
        m.context.runPending();
        assertEquals(0, m.collect().getFirst().hostStatus());
    }

    @Test
    void deviceResetLeavesAnAttention() {
        PvscsiMachine m = automatic();

        assertEquals(0, m.command(5, 0, 0, 0));
        m.submit(1, 0, "00 00 00 00 00 00", 0, 0, 0);

        assertEquals(2, m.go().getFirst().scsiStatus());
        assertEquals(3, m.context.memory().bytes(PvscsiMachine.SENSE, 18)[13]);
    }

    @Test
    void busResetReachesTheTarget() {
        PvscsiMachine m = automatic();

        assertEquals(0, m.command(4));
        m.submit(1, 0, "00 00 00 00 00 00", 0, 0, 0);

        assertEquals(2, m.go().getFirst().scsiStatus());
        assertEquals(2, m.context.memory().bytes(PvscsiMachine.SENSE, 18)[13]);
    }

    @Test
    void adapterResetForgetsTheRings() {
        PvscsiMachine m = automatic();

        m.command(1);
        m.submit(1, 0, "00 00 00 00 00 00", 0, 0, 0);

        assertTrue(m.go().isEmpty());
        assertEquals(0, m.read(PvscsiRegister.INTR_MASK));
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "33, 1", "1, 0", "1, 33", "-1, 1"})
    void ringsOfImpossibleSizeAreRefused(int requestPages, int completionPages) {
        assertEquals(-1, automatic().command(3, PvscsiMachine.setupRings(requestPages, completionPages)));
    }

    @Test
    void ringsOutsideOfMemoryAreRefused() {
        int[] words = PvscsiMachine.setupRings(1, 1);
        words[2] = 0x7fff_ffff;

        assertEquals(-1, automatic().command(3, words));
    }

    @Test
    void commandsOfOtherAdaptersAreRefusedAndHalfOnesWait() {
        PvscsiMachine m = automatic();

        assertEquals(-1, m.command(99));
        assertEquals(-2, m.command(6, 1, 2));
        assertEquals(1, m.command(10, 1), "a threshold for kicks is supported");
    }

    @Test
    void configurationPageGivesTheNumberOfTargets() {
        PvscsiMachine m = automatic();

        assertEquals(0, m.command(7, DATA, 0, 0, 0x2120, 0x1958, 0));
        assertEquals(64, m.int32(DATA + 472));
        assertEquals(-1, m.command(7, DATA, 0, 0, 0x2120, 0x1959, 0));
    }

    @Test
    void removedDiskIsAMessage() {
        PvscsiMachine m = automatic();
        int[] words = new int[34];
        words[0] = 1;
        words[2] = PvscsiMachine.MESSAGES >> 12;
        assertEquals(0, m.command(8, words));

        m.group.device("disk0").close();
        m.context.runPending();

        assertEquals(1, m.int32(PvscsiMachine.STATE + 128));
        assertEquals(1, m.int32(PvscsiMachine.MESSAGES));
        assertEquals(4, m.read(PvscsiRegister.INTR_STATUS) & 4);
    }

    @Test
    void stoppedRequestIsTriedAgainWhenTheMachineGoesOn() {
        ScsiHdOptions o = ScsiHdOptions.of("disk0");
        PvscsiMachine m = PvscsiMachine.running(
                drive,
                new ScsiHdOptions(
                        "disk0",
                        Optional.empty(),
                        Optional.empty(),
                        0,
                        Optional.empty(),
                        o.vendor(),
                        o.product(),
                        o.ver(),
                        Optional.empty(),
                        Optional.empty(),
                        true,
                        false,
                        false,
                        0,
                        Optional.empty(),
                        Optional.empty(),
                        ErrorPolicy.STOP,
                        ErrorPolicy.STOP,
                        Optional.empty()));
        m.submit(5, 0, READ8, TO_HOST, DATA, 4096);
        m.go();

        drive.next().fail(BlockStatus.IO_ERROR);
        m.context.runPending();
        m.group.pause();
        assertTrue(m.collect().isEmpty());
        m.group.resume();
        drive.next().complete();
        m.context.runPending();

        assertEquals(List.of(new PvscsiMachine.Done(5, 4096, 0, 0, 0)), m.collect());
    }
}
