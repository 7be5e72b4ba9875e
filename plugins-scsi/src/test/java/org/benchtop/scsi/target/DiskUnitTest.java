package org.benchtop.scsi.target;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class DiskUnitTest {
    private static final int LAST = Initiator.DISK_BYTES / 512 - 1;

    private final HeldBlockBackend drive = new HeldBlockBackend(Initiator.DISK_BYTES);

    private static void assertSense(int expected, Initiator.Sent sent) {
        assertEquals(ScsiCommand.CHECK_CONDITION, sent.status());
        assertEquals(Integer.toHexString(expected), Integer.toHexString(sent.sense()));
    }

    private static void assertGood(Initiator.Sent sent) {
        assertEquals(0, sent.status(), () -> "sense " + Integer.toHexString(sent.sense()));
    }

    // Attentions and unknown things.

    @Test
    void firstCommandReportsPowerOnAndTheNextIsGood() {
        Initiator i = new Initiator(drive.automatic(), Initiator.options());

        assertSense(Sense.POWER_ON, i.send("00 00 00 00 00 00"));
        assertGood(i.send("00 00 00 00 00 00"));
    }

    @Test
    void inquiryAndReportLunsLeaveTheAttentionPending() {
        Initiator i = new Initiator(drive.automatic(), Initiator.options());

        assertGood(i.send("12 00 00 00 24 00"));
        assertGood(i.send("a0 00 00 00 00 00 00 00 00 ff 00 00"));

        assertSense(Sense.POWER_ON, i.send("00 00 00 00 00 00"));
    }

    @Test
    void requestSenseTakesTheAttention() {
        Initiator i = new Initiator(drive.automatic(), Initiator.options());

        Initiator.Sent sent = i.send("03 00 00 00 12 00");

        assertEquals(0x06, sent.data()[2]);
        assertEquals(0x29, sent.data()[12]);
        assertGood(i.send("00 00 00 00 00 00"));
    }

    @Test
    void requestSenseInDescriptorFormat() {
        Initiator i = new Initiator(drive.automatic(), Initiator.options());

        byte[] data = i.send("03 01 00 00 ff 00").data();

        assertArrayEquals(new byte[] {0x72, 6, 0x29, 0, 0, 0, 0, 0}, data);
    }

    @Test
    void senseIsKeptForRequestSenseWithoutAutosense() {
        Initiator i = Initiator.ready(drive);
        Initiator.Sent sent = new Initiator.Sent(1);
        ScsiCommand command = sent.command.begin(0, 99);
        command.autosense(false);
        command.cdb()[0] = (byte) 0xff;
        command.cdbLength(10);
        i.loop.call(() -> i.port.execute(command, done -> sent.completions++));

        assertEquals(ScsiCommand.CHECK_CONDITION, sent.status());
        assertEquals(0, command.senseLength());
        byte[] data = i.send("03 00 00 00 12 00").data();
        assertEquals(5, data[2]);
        assertEquals(0x20, data[12]);
        assertEquals(0, i.send("03 00 00 00 12 00").data()[2], "sense is told once");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ff 00 00 00 00 00 00 00 00 00",
                "43 00 00 00 00 00 00 00 ff 00",
                "04 00 00 00 00 00",
                "02 00 00 00 00 00",
                "7f 00 00 00 00 00 00 18 00 00"
            })
    void unknownCommandIsRefused(String cdb) {
        assertSense(Sense.INVALID_COMMAND, Initiator.ready(drive).send(cdb));
    }

    @ParameterizedTest
    @CsvSource({
        "00 01 00 00 00 00, 1",
        "12 02 00 00 24 00, 1",
        "12 00 83 00 24 00, 2",
        "28 20 00 00 00 00 00 00 01 00, 1",
        "2a 08 00 00 00 00 40 00 01 00, 6",
        "28 00 00 00 00 00 00 00 01 04, 9",
        "9e 1f 00 00 00 00 00 00 00 00 00 00 00 20 00 00, 1",
        "1a 00 3e 00 ff 00, 2",
        "12 01 99 00 ff 00, 2",
        "a3 0c 04 00 00 00 00 00 00 ff 00 00, 2"
    })
    void reservedBitIsRefusedWithItsPlace(String cdb, int field) {
        Initiator.Sent sent = Initiator.ready(drive).send(cdb);

        assertSense(Sense.INVALID_FIELD_IN_CDB, sent);
        byte[] sense = sent.command.sense();
        assertEquals(0xc0, sense[15] & 0xff, "the pointer is valid and points into the CDB");
        assertEquals(field, sense[16] << 8 | sense[17]);
    }

    @Test
    void lunBitsOfOldDriversAreIgnoredInSixByteCommands() {
        assertGood(Initiator.ready(drive).send("00 20 00 00 00 00"));
    }

    @Test
    void absentLogicalUnitAnswersInquiryAndRefusesTheRest() {
        Initiator i = Initiator.ready(drive);

        Initiator.Sent inquiry = i.send(3, "12 00 00 00 24 00", 36, null, ScsiCommand.Attribute.SIMPLE, 0);
        Initiator.Sent read = i.send(3, "28 00 00 00 00 00 00 00 01 00", 512, null, ScsiCommand.Attribute.SIMPLE, 0);
        Initiator.Sent nowhere = i.send(-1, "00 00 00 00 00 00", 0, null, ScsiCommand.Attribute.SIMPLE, 0);

        assertEquals(0x7f, inquiry.data()[0]);
        assertSense(Sense.LOGICAL_UNIT_NOT_SUPPORTED, read);
        assertSense(Sense.LOGICAL_UNIT_NOT_SUPPORTED, nowhere);
    }

    @Test
    void reportLunsListsAllAndTheWellKnownOneWhenAsked() {
        Initiator i = Initiator.ready(drive);
        HeldBlockBackend other = new HeldBlockBackend(Initiator.DISK_BYTES);
        i.target.add(
                300,
                new DiskUnit(
                        "disk300",
                        Initiator.options(),
                        other,
                        new org.benchtop.spi.block.ErrorHandling(
                                "disk300", other, ErrorPolicy.REPORT, ErrorPolicy.REPORT, reason -> {}),
                        new org.benchtop.testkit.FakeStats()));

        byte[] data = i.send("a0 00 02 00 00 00 00 00 00 ff 00 00").data();

        assertEquals(8 + 24, data.length);
        assertEquals(24, data[3]);
        assertEquals(0, data[8] | data[9]);
        assertEquals(0x412c, (data[16] & 0xff) << 8 | data[17] & 0xff);
        assertEquals(0xc101, (data[24] & 0xff) << 8 | data[25] & 0xff);
        assertSense(Sense.REPORTED_LUNS_CHANGED, i.send("00 00 00 00 00 00"));
    }

    // INQUIRY.

    @Test
    void inquiryNamesTheDiskAndIsCutToTheAllocationLength() {
        Initiator i = Initiator.ready(drive);

        byte[] data = i.send("12 00 00 00 ff 00").data();

        assertEquals(96, data.length);
        assertEquals("VENDOR  PRODUCT         1.0 ", new String(data, 8, 28, StandardCharsets.US_ASCII));
        assertEquals(36, i.send("12 00 00 00 24 00").data().length);
        assertEquals(5, i.read("12 00 00 00 ff 00", 5).data().length);
    }

    @Test
    void vitalProductDataPagesAreListedAndAllReadable() {
        Initiator i = Initiator.ready(drive);

        byte[] list = i.send("12 01 00 00 ff 00").data();

        assertArrayEquals(
                new byte[] {0, 0, 0, 6, 0, (byte) 0x80, (byte) 0x83, (byte) 0xb0, (byte) 0xb1, (byte) 0xb2}, list);
        for (int n = 4; n < list.length; n++) {
            byte[] page = i.send(String.format("12 01 %02x 00 ff 00", list[n])).data();
            assertEquals(list[n], page[1]);
            assertEquals(page.length - 4, (page[2] & 0xff) << 8 | page[3] & 0xff);
        }
    }

    @Test
    void blockLimitsGiveGranularityAndUnmapLimits() {
        byte[] page = Initiator.ready(drive).send("12 01 b0 00 ff 00").data();

        assertEquals(64, page.length);
        assertEquals(8, Bytes.uint16(page, 6), "optimal granularity is one physical block");
        assertEquals(255, Bytes.uint32(page, 24), "unmap descriptors");
        assertEquals((2L << 30) / 512, Bytes.int64(page, 36), "write same");
    }

    // READ and WRITE.

    @ParameterizedTest
    @CsvSource({
        "0a 00 00 08 02 00, 08 00 00 08 02 00",
        "2a 00 00 00 00 08 00 00 02 00, 28 00 00 00 00 08 00 00 02 00",
        "aa 00 00 00 00 08 00 00 00 02 00 00, a8 00 00 00 00 08 00 00 00 02 00 00",
        "8a 00 00 00 00 00 00 00 00 08 00 00 00 02 00 00, 88 00 00 00 00 00 00 00 00 08 00 00 00 02 00 00"
    })
    void whatIsWrittenIsReadBack(String write, String read) {
        Initiator i = Initiator.ready(drive);
        byte[] data = Initiator.pattern(1024, 1);

        assertGood(i.write(write, data));
        Initiator.Sent back = i.send(read);

        assertGood(back);
        assertArrayEquals(data, back.data());
        assertArrayEquals(data, drive.bytes(8 * 512, 1024));
    }

    @Test
    void readSixWithCountZeroReads256Blocks() {
        Initiator.Sent sent = Initiator.ready(drive).read("08 00 00 00 00 00", 256 * 512);

        assertGood(sent);
        assertEquals(256 * 512, sent.command.transferredBytes());
    }

    @Test
    void readTenWithCountZeroMovesNothing() {
        Initiator.Sent sent = Initiator.ready(drive).send("28 00 00 00 00 00 00 00 00 00");

        assertGood(sent);
        assertEquals(0, sent.command.transferredBytes());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "28 00 00 00 07 ff 00 00 02 00",
                "28 00 ff ff ff ff 00 00 01 00",
                "2a 00 00 00 08 00 00 00 01 00",
                "88 00 ff ff ff ff ff ff ff ff 00 00 00 01 00 00",
                "88 00 00 00 00 00 00 00 00 01 ff ff ff ff 00 00",
                "35 00 00 00 08 00 00 00 01 00",
                "2f 00 00 00 08 00 00 00 01 00",
                "93 00 00 00 00 00 00 00 08 00 00 00 00 01 00 00",
                "89 00 00 00 00 00 00 00 08 00 00 00 00 01 00 00",
                "9e 12 00 00 00 00 00 00 08 00 00 00 00 20 00 00",
                "08 00 08 00 01 00"
            })
    void blocksBehindTheEndAreRefused(String cdb) {
        Initiator i = Initiator.ready(drive);
        long before = drive.submitted();

        assertSense(Sense.LBA_OUT_OF_RANGE, i.write(cdb, new byte[1024]));

        assertEquals(before, drive.submitted());
    }

    @Test
    void lastBlockIsReadable() {
        assertGood(Initiator.ready(drive)
                .send(String.format("28 00 00 00 %02x %02x 00 00 01 00", LAST >> 8, LAST & 0xff)));
    }

    @Test
    void readIntoShorterBufferFillsItAndSaysHowMuchWasWanted() {
        Initiator i = Initiator.ready(drive);
        byte[] data = Initiator.pattern(2048, 2);
        drive.poke(0, data);

        Initiator.Sent sent = i.read("28 00 00 00 00 00 00 00 04 00", 1100);

        assertGood(sent);
        assertEquals(1100, sent.command.transferredBytes());
        assertEquals(2048, sent.command.expectedBytes());
        assertArrayEquals(Arrays.copyOf(data, 1100), sent.data());
    }

    @Test
    void writeOfLessDataThanBlocksWritesTheWholeBlocksThereAre() {
        Initiator i = Initiator.ready(drive);
        byte[] data = Initiator.pattern(1300, 3);

        Initiator.Sent sent = i.write("2a 00 00 00 00 00 00 00 04 00", data);

        assertGood(sent);
        assertEquals(1024, sent.command.transferredBytes());
        assertArrayEquals(Arrays.copyOf(data, 1024), drive.bytes(0, 1024));
        assertArrayEquals(new byte[1024], drive.bytes(1024, 1024));
    }

    @Test
    void fuaWriteIsDurableAndOthersAreWhileTheCacheIsOff() {
        Initiator i = Initiator.ready(drive);
        drive.manual();

        i.write("2a 00 00 00 00 00 00 00 01 00", new byte[512]);
        assertEquals(false, ((BlockRequest.Write) drive.next().request()).durable());
        drive.next().complete();
        i.write("2a 08 00 00 00 00 00 00 01 00", new byte[512]);
        assertTrue(((BlockRequest.Write) drive.next().request()).durable());
        drive.next().complete();

        drive.automatic();
        long flushes = drive.flushes();
        assertGood(i.write("15 10 00 00 18 00", cachingPage(0)));
        assertEquals(flushes + 1, drive.flushes(), "switching the cache off makes its content durable");
        drive.manual();
        i.write("2a 00 00 00 00 00 00 00 01 00", new byte[512]);
        assertTrue(((BlockRequest.Write) drive.next().request()).durable());
        drive.next().complete();
    }

    private static byte[] cachingPage(int byte2) {
        byte[] list = new byte[24];
        list[4] = 8;
        list[5] = 18;
        list[6] = (byte) byte2;
        return list;
    }

    @Test
    void fuaReadFlushesFirst() {
        Initiator i = Initiator.ready(drive);
        long flushes = drive.flushes();

        assertGood(i.send("28 08 00 00 00 00 00 00 01 00"));

        assertEquals(flushes + 1, drive.flushes());
    }

    @Test
    void writeProtectedDiskSaysSoAndRefusesWrites() {
        DiskOptions o = Initiator.options();
        Initiator i = new Initiator(
                drive.automatic(),
                new DiskOptions(
                        o.serial(), o.vendor(), o.product(), o.version(), 0, 0, true, true, true, false, 512, 512));
        i.send("00 00 00 00 00 00");

        assertEquals(0x90, i.send("1a 00 08 00 ff 00").data()[2] & 0xff);
        assertSense(Sense.WRITE_PROTECTED, i.write("2a 00 00 00 00 00 00 00 01 00", new byte[512]));
        assertSense(Sense.WRITE_PROTECTED, i.write("41 00 00 00 00 00 00 00 01 00", new byte[512]));
        assertSense(Sense.WRITE_PROTECTED, i.write("42 00 00 00 00 00 00 00 18 00", new byte[24]));
        assertGood(i.send("28 00 00 00 00 00 00 00 01 00"));
    }

    @Test
    void piecesSmallerThanABlockAreGathered() {
        Initiator i = Initiator.ready(new HeldBlockBackend(new org.benchtop.spi.block.BlockCapabilities(
                Initiator.DISK_BYTES,
                512,
                512,
                false,
                true,
                true,
                org.benchtop.spi.block.CacheMode.WRITEBACK,
                2,
                1024)));
        byte[] data = Initiator.pattern(4096, 4);
        Initiator.Sent sent = new Initiator.Sent(1);
        ScsiCommand command = sent.command.begin(0, 7);
        java.lang.foreign.MemorySegment pieces =
                java.lang.foreign.Arena.ofAuto().allocate(4096 * 2);
        for (int n = 0; n < 4096; n += 100) {
            int length = Math.min(100, 4096 - n);
            java.lang.foreign.MemorySegment.copy(
                    data, n, pieces, java.lang.foreign.ValueLayout.JAVA_BYTE, n * 2L, length);
            command.dataOut().add(pieces, n * 2L, length);
        }
        command.cdb()[0] = 0x2a;
        command.cdb()[8] = 8;
        command.cdbLength(10);

        i.loop.call(() -> i.port.execute(command, done -> sent.completions++));

        assertGood(sent);
        assertArrayEquals(data, i.send("28 00 00 00 00 00 00 00 08 00").data());
    }

    // Errors of the drive.

    @ParameterizedTest
    @CsvSource({"IO_ERROR, 31100, 30c00", "NO_SPACE, 72707, 72707", "READ_ONLY, 72700, 72700"})
    void driveErrorBecomesSenseWithTheBlock(BlockStatus status, String reading, String writing) {
        Initiator i = Initiator.ready(drive);
        drive.manual();

        Initiator.Sent read = i.send("28 00 00 00 00 05 00 00 01 00");
        Initiator.fail(drive.next(), status, i.loop);
        Initiator.Sent write = i.write("2a 00 00 00 00 05 00 00 01 00", new byte[512]);
        Initiator.fail(drive.next(), status, i.loop);

        assertSense(Integer.parseInt(reading, 16), read);
        assertEquals(5, read.command.sense()[6]);
        assertEquals(0xf0, read.command.sense()[0] & 0xff);
        assertSense(Integer.parseInt(writing, 16), write);
    }

    @Test
    void stopPolicyParksTheCommandAndPausesTheMachine() {
        Initiator i =
                new Initiator(new FakeEventLoop(), drive, Initiator.options(), ErrorPolicy.STOP, ErrorPolicy.STOP);
        i.send("00 00 00 00 00 00");

        Initiator.Sent sent = i.send("28 00 00 00 00 05 00 00 01 00");
        Initiator.fail(drive.next(), BlockStatus.IO_ERROR, i.loop);

        assertTrue(sent.done());
        assertEquals(ScsiCommand.Outcome.PARKED, sent.command.outcome());
        assertEquals(1, i.pauses.size());
        assertTrue(i.pauses.getFirst().startsWith("disk0: I/O error in read of 512 bytes"), i.pauses.getFirst());
    }

    @Test
    void ignorePolicyCompletesWell() {
        Initiator i =
                new Initiator(new FakeEventLoop(), drive, Initiator.options(), ErrorPolicy.IGNORE, ErrorPolicy.IGNORE);
        i.send("00 00 00 00 00 00");

        Initiator.Sent sent = i.write("2a 00 00 00 00 05 00 00 01 00", new byte[512]);
        Initiator.fail(drive.next(), BlockStatus.IO_ERROR, i.loop);

        assertGood(sent);
        assertEquals(512, sent.command.transferredBytes());
    }

    // WRITE SAME, UNMAP, VERIFY, COMPARE AND WRITE.

    @Test
    void writeSameRepeatsABlock() {
        Initiator i = Initiator.ready(drive);
        byte[] block = Initiator.pattern(512, 5);

        Initiator.Sent sent = i.write("41 00 00 00 00 02 00 01 00 00", block);

        assertGood(sent);
        assertEquals(512, sent.command.transferredBytes());
        for (int n = 2; n < 258; n++) {
            assertArrayEquals(block, drive.bytes(n * 512L, 512), "block " + n);
        }
        assertArrayEquals(new byte[512], drive.bytes(258 * 512L, 512));
    }

    @Test
    void writeSameWithCountZeroGoesToTheEnd() {
        Initiator i = Initiator.ready(drive);
        byte[] block = Initiator.pattern(512, 6);

        assertGood(i.write("93 00 00 00 00 00 00 00 07 f0 00 00 00 00 00 00", block));

        assertArrayEquals(block, drive.bytes(LAST * 512L, 512));
        assertArrayEquals(new byte[512], drive.bytes(0x7ef * 512L, 512));
    }

    @Test
    void writeSameOfZeroesAndWithoutDataBecomesWriteZeroes() {
        Initiator i = Initiator.ready(drive);
        drive.poke(0, Initiator.pattern(4096, 7));
        drive.manual();

        Initiator.Sent unmap = i.write("93 08 00 00 00 00 00 00 00 00 00 00 00 04 00 00", new byte[512]);
        assertTrue(((BlockRequest.WriteZeroes) drive.next().request()).mayUnmap());
        drive.next().complete();
        Initiator.Sent without = i.write("93 01 00 00 00 00 00 00 00 04 00 00 00 04 00 00", new byte[0]);
        assertEquals(false, ((BlockRequest.WriteZeroes) drive.next().request()).mayUnmap());
        drive.next().complete();

        assertGood(unmap);
        assertGood(without);
        assertArrayEquals(new byte[4096], drive.bytes(0, 4096));
    }

    @Test
    void unmapDiscardsItsRanges() {
        Initiator i = Initiator.ready(drive);
        drive.poke(0, Initiator.pattern(8192, 8));
        byte[] list = new byte[8 + 32];
        Bytes.int16(list, 0, 38);
        Bytes.int16(list, 2, 32);
        Bytes.int64(list, 8, 1);
        Bytes.int32(list, 16, 2);
        Bytes.int64(list, 24, 10);
        Bytes.int32(list, 32, 1);
        drive.manual();

        Initiator.Sent sent = i.write("42 00 00 00 00 00 00 00 28 00", list);
        BlockRequest first = drive.next().request();
        assertEquals(512, first.offsetBytes());
        assertEquals(1024, first.lengthBytes());
        drive.next().complete();
        assertEquals(5120, drive.next().request().offsetBytes());
        drive.next().complete();

        assertGood(sent);
    }

    @ParameterizedTest
    @CsvSource({"4, 51a00", "24, 52100"})
    void malformedUnmapIsRefused(int length, String sense) {
        byte[] list = new byte[length];
        if (length == 24) {
            Bytes.int16(list, 2, 16);
            Bytes.int64(list, 8, 2048);
            Bytes.int32(list, 16, 1);
        }

        assertSense(
                Integer.parseInt(sense, 16),
                Initiator.ready(drive).write(String.format("42 00 00 00 00 00 00 00 %02x 00", length), list));
    }

    @Test
    void parameterListShorterThanTheCdbSaysIsRefused() {
        Initiator i = Initiator.ready(drive);

        assertSense(Sense.PARAMETER_LIST_LENGTH_ERROR, i.write("42 00 00 00 00 00 00 00 28 00", new byte[24]));
        assertSense(Sense.PARAMETER_LIST_LENGTH_ERROR, i.write("15 10 00 00 18 00", new byte[3]));
        assertSense(
                Sense.PARAMETER_LIST_LENGTH_ERROR,
                i.write("89 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00", new byte[512]));
        assertSense(Sense.PARAMETER_LIST_LENGTH_ERROR, i.write("41 00 00 00 00 00 00 00 01 00", new byte[100]));
    }

    @Test
    void verifyComparesWhereAsked() {
        Initiator i = Initiator.ready(drive);
        byte[] data = Initiator.pattern(1024, 9);
        drive.poke(4096, data);
        byte[] wrong = data.clone();
        wrong[700] ^= 1;

        assertGood(i.send("2f 00 00 00 00 08 00 00 02 00"));
        assertGood(i.write("2f 02 00 00 00 08 00 00 02 00", data));
        Initiator.Sent miscompared = i.write("2f 02 00 00 00 08 00 00 02 00", wrong);

        assertSense(Sense.MISCOMPARE, miscompared);
        assertEquals(700, Bytes.uint32(miscompared.command.sense(), 3));
        assertSense(Sense.INVALID_FIELD_IN_CDB, i.write("2f 04 00 00 00 08 00 00 02 00", data));
    }

    @Test
    void compareAndWriteWritesOnlyWhatCompares() {
        Initiator i = Initiator.ready(drive);
        byte[] before = Initiator.pattern(1024, 10);
        byte[] after = Initiator.pattern(1024, 11);
        drive.poke(0, before);
        byte[] both = new byte[2048];
        System.arraycopy(before, 0, both, 0, 1024);
        System.arraycopy(after, 0, both, 1024, 1024);

        assertGood(i.write("89 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00", both));
        assertArrayEquals(after, drive.bytes(0, 1024));
        assertSense(Sense.MISCOMPARE, i.write("89 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00", both));
        assertArrayEquals(after, drive.bytes(0, 1024));
    }

    @Test
    void nothingElseRunsDuringCompareAndWrite() {
        Initiator i = Initiator.ready(drive);
        drive.manual();
        Initiator.Sent compare = i.write("89 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00", new byte[1024]);

        Initiator.Sent write = i.write("2a 00 00 00 00 00 00 00 01 00", new byte[512]);

        assertEquals(1, drive.pending().size());
        while (!compare.done()) {
            assertEquals(1, drive.pending().size());
            Initiator.complete(drive.next(), i.loop);
        }
        Initiator.complete(drive.next(), i.loop);
        assertGood(write);
    }

    @Test
    void writeAndVerifyWritesDurably() {
        Initiator i = Initiator.ready(drive);
        byte[] data = Initiator.pattern(512, 12);

        Initiator.Sent sent = i.write("2e 02 00 00 00 01 00 00 01 00", data);

        assertGood(sent);
        assertEquals(512, sent.command.transferredBytes());
        assertArrayEquals(data, drive.bytes(512, 512));
    }

    @Test
    void synchronizeCacheFlushes() {
        Initiator i = Initiator.ready(drive);
        long before = drive.flushes();

        assertGood(i.send("35 00 00 00 00 00 00 00 00 00"));
        assertGood(i.send("91 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"));

        assertEquals(before + 2, drive.flushes());
    }

    // What a disk says.

    @Test
    void capacityIsReportedInBothForms() {
        Initiator i = Initiator.ready(drive);

        byte[] ten = i.send("25 00 00 00 00 00 00 00 00 00").data();
        byte[] sixteen =
                i.send("9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00").data();

        assertEquals(LAST, Bytes.uint32(ten, 0));
        assertEquals(512, Bytes.uint32(ten, 4));
        assertEquals(LAST, Bytes.int64(sixteen, 0));
        assertEquals(512, Bytes.uint32(sixteen, 8));
        assertEquals(3, sixteen[13], "eight logical blocks in a physical one");
        assertEquals(0x80, sixteen[14] & 0xff, "thin provisioning");
    }

    @Test
    void hugeDiskShowsThatTheShortFormIsTooShort() {
        Initiator i = Initiator.ready(new HeldBlockBackend(4L << 40));

        assertEquals(
                0xffff_ffffL,
                Bytes.uint32(i.send("25 00 00 00 00 00 00 00 00 00").data(), 0));
        assertEquals(
                (4L << 40) / 512 - 1,
                Bytes.int64(
                        i.send("9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00")
                                .data(),
                        0));
    }

    @Test
    void modeSenseHasPagesAndDescriptorInBothForms() {
        Initiator i = Initiator.ready(drive);

        byte[] six = i.send("1a 00 3f 00 ff 00").data();
        byte[] ten = i.send("5a 08 08 00 00 00 00 00 ff 00").data();
        byte[] changeable = i.send("1a 08 48 00 ff 00").data();

        assertEquals(six.length - 1, six[0] & 0xff);
        assertEquals(8, six[3]);
        assertEquals(LAST + 1, Bytes.uint32(six, 4));
        assertEquals(ten.length - 2, Bytes.uint16(ten, 0));
        assertEquals(8, ten[8]);
        assertEquals(4, ten[10], "write cache enabled");
        assertEquals(4, changeable[6], "only the write cache is changeable");
        assertSense(Sense.SAVING_NOT_SUPPORTED, i.send("1a 00 c8 00 ff 00"));
    }

    @Test
    void modeSelectRefusesWhatIsNotChangeable() {
        Initiator i = Initiator.ready(drive);

        assertSense(Sense.INVALID_FIELD_IN_PARAMETERS, i.write("15 10 00 00 18 00", cachingPage(5)));
        byte[] cut = Arrays.copyOf(cachingPage(0), 20);
        assertSense(Sense.PARAMETER_LIST_LENGTH_ERROR, i.write("15 10 00 00 14 00", cut));
        assertSense(Sense.INVALID_FIELD_IN_CDB, i.write("15 11 00 00 18 00", cachingPage(0)));
        assertEquals(4, i.send("1a 08 08 00 ff 00").data()[6], "nothing has changed");
    }

    @Test
    void modeChangeIsToldToTheOthers() {
        Initiator i = Initiator.ready(drive);
        i.as(1, "00 00 00 00 00 00", null);

        assertGood(i.write("15 10 00 00 18 00", cachingPage(0)));

        assertGood(i.send("00 00 00 00 00 00"));
        assertSense(Sense.MODE_PARAMETERS_CHANGED, i.as(1, "00 00 00 00 00 00", null));
    }

    @Test
    void supportedOperationsAreListedAndDescribed() {
        Initiator i = Initiator.ready(drive);

        byte[] all = i.send("a3 0c 00 00 00 00 00 00 ff ff 00 00").data();
        byte[] one = i.send("a3 0c 01 28 00 00 00 00 00 ff 00 00").data();
        byte[] action = i.send("a3 0c 02 9e 00 10 00 00 00 ff 00 00").data();
        byte[] none = i.send("a3 0c 01 d0 00 00 00 00 00 ff 00 00").data();

        assertEquals(all.length - 4, Bytes.uint32(all, 0));
        assertEquals(3, one[1]);
        assertEquals(10, Bytes.uint16(one, 2));
        assertEquals(0x28, one[4]);
        assertEquals(0x10, action[5]);
        assertEquals(1, none[1]);
        assertSense(Sense.INVALID_FIELD_IN_CDB, i.send("a3 0c 01 9e 00 00 00 00 00 ff 00 00"));
        assertEquals(4, i.send("a3 0d 00 00 00 00 00 00 00 ff 00 00").data().length);
    }

    @Test
    void lbaStatusCoversTheRest() {
        byte[] data = Initiator.ready(drive)
                .send("9e 12 00 00 00 00 00 00 00 10 00 00 00 20 00 00")
                .data();

        assertEquals(16, Bytes.int64(data, 8));
        assertEquals(LAST + 1 - 16, Bytes.uint32(data, 16));
    }

    @Test
    void stoppedDiskIsNotReadyUntilStarted() {
        Initiator i = Initiator.ready(drive);

        assertGood(i.send("1b 00 00 00 00 00"));
        assertSense(Sense.NOT_READY_INITIALIZING_REQUIRED, i.send("28 00 00 00 00 00 00 00 01 00"));
        assertSense(Sense.NOT_READY_INITIALIZING_REQUIRED, i.send("00 00 00 00 00 00"));
        assertGood(i.send("1b 00 00 00 01 00"));
        assertGood(i.send("00 00 00 00 00 00"));
        assertSense(Sense.INVALID_FIELD_IN_CDB, i.send("1b 00 00 00 02 00"));
    }

    @Test
    void removableDiskEjectsUnlessPrevented() {
        DiskOptions o = Initiator.options();
        Initiator i = new Initiator(
                drive.automatic(),
                new DiskOptions(
                        o.serial(), o.vendor(), o.product(), o.version(), 0, 0, true, true, false, true, 512, 512));
        i.send("00 00 00 00 00 00");

        assertGood(i.send("1e 00 00 00 01 00"));
        assertSense(Sense.REMOVAL_PREVENTED, i.send("1b 00 00 00 02 00"));
        assertGood(i.send("00 00 00 00 00 00"));
        assertGood(i.send("1e 00 00 00 00 00"));
        assertGood(i.send("1b 00 00 00 02 00"));
        assertSense(Sense.NOT_PRESENT_TRAY_OPEN, i.send("00 00 00 00 00 00"));
        assertGood(i.send("1b 00 00 00 03 00"));
        assertGood(i.send("00 00 00 00 00 00"));
    }

    @Test
    void selfTestPassesAndDiagnosticPagesAreRefused() {
        Initiator i = Initiator.ready(drive);

        assertGood(i.send("1d 04 00 00 00 00"));
        assertSense(Sense.INVALID_FIELD_IN_PARAMETERS, i.write("1d 10 00 00 04 00", new byte[4]));
    }

    @Test
    void resizedDriveIsToldByAttention() {
        org.benchtop.spi.block.BlockCapabilities[] now = {drive.capabilities()};
        org.benchtop.spi.block.BlockBackend resizable = new org.benchtop.spi.block.BlockBackend() {
            @Override
            public org.benchtop.spi.block.BlockCapabilities capabilities() {
                return now[0];
            }

            @Override
            public org.benchtop.spi.block.BlockQueue openQueue(org.benchtop.spi.event.EventLoop loop) {
                return drive.openQueue(loop);
            }

            @Override
            public String describe() {
                return "resizable";
            }

            @Override
            public void close() {}
        };
        Initiator i = new Initiator(resizable, Initiator.options());
        i.send("00 00 00 00 00 00");

        now[0] = new HeldBlockBackend(2 * Initiator.DISK_BYTES).capabilities();
        boolean changed = i.disk().refreshCapacity();

        assertTrue(changed);
        assertSense(Sense.CAPACITY_CHANGED, i.send("00 00 00 00 00 00"));
        assertEquals(
                2L * Initiator.DISK_BYTES / 512 - 1,
                Bytes.uint32(i.send("25 00 00 00 00 00 00 00 00 00").data(), 0));
    }

    // What will be moved.

    @ParameterizedTest
    @CsvSource({
        "28 00 00 00 00 00 00 00 04 00, IN, 2048, true",
        "2a 00 00 00 00 00 00 00 04 00, OUT, 2048, true",
        "28 00 00 00 08 00 00 00 04 00, NONE, 0, false",
        "12 00 00 00 24 00, IN, 36, false",
        "00 00 00 00 00 00, NONE, 0, false",
        "15 10 00 00 18 00, OUT, 24, false",
        "ff 00 00 00 00 00, NONE, 0, false",
        "25 00 00 00 00 00 00 00 00 00, IN, 8, false",
        "41 00 00 00 00 00 00 00 04 00, OUT, 512, false",
        "89 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00, OUT, 2048, false"
    })
    void prepareSaysWhatWillMove(String cdb, ScsiCommand.Direction direction, long bytes, boolean medium) {
        Initiator i = Initiator.ready(drive);
        ScsiCommand command = new ScsiCommand().begin(0, 1);
        byte[] raw = java.util.HexFormat.ofDelimiter(" ").parseHex(cdb);
        System.arraycopy(raw, 0, command.cdb(), 0, raw.length);
        command.cdbLength(raw.length);

        i.port.prepare(command);

        assertEquals(direction, command.direction());
        assertEquals(bytes, command.expectedBytes());
        assertEquals(medium, command.mediumTransfer());
    }

    // State.

    @Test
    void savedStateIsTheSameAfterRestore() {
        Initiator first = Initiator.ready(drive);
        first.write("15 10 00 00 18 00", cachingPage(0));
        first.send("1b 00 00 00 00 00");
        Initiator second = new Initiator(new HeldBlockBackend(Initiator.DISK_BYTES), Initiator.options());

        second.disk().restore(first.disk().save());

        assertEquals(0, second.send("1a 08 08 00 ff 00").data()[6]);
        assertSense(Sense.NOT_READY_INITIALIZING_REQUIRED, second.send("00 00 00 00 00 00"));
    }
}
