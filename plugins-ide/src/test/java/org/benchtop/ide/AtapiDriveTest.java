package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CD drives by packets. */
final class AtapiDriveTest {
    private static final int DISC_SECTORS = IdeMachine.DISK_BYTES / 2048;
    private static final int NOT_READY = 2;
    private static final int MEDIUM_ERROR = 3;
    private static final int ILLEGAL_REQUEST = 5;
    private static final int UNIT_ATTENTION = 6;

    private final HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
    private final IdeMachine m = IdeMachine.cd(backend);

    /** A drive reports its reset, and that its disc may be another, before anything else. */
    @BeforeEach
    void takeAttention() {
        m.senseKey(0);
    }

    private int[] lastSense() {
        byte[] data = m.answer(0x03, 0, 0, 0, 18);
        return new int[] {data[2] & 15, data[12] & 0xff, data[13] & 0xff};
    }

    @Test
    void firstCommandGetsAUnitAttention() {
        IdeMachine fresh = IdeMachine.cd(new HeldBlockBackend(IdeMachine.DISK_BYTES));

        assertEquals(UNIT_ATTENTION, fresh.senseKey(0));
        assertEquals(0, fresh.senseKey(0));
    }

    @Test
    void signatureTellsAPacketDevice() {
        m.control(4);
        m.control(0);

        assertEquals(0, m.altStatus());
        assertEquals(0x14, m.in(IdeMachine.LBA_MID));
        assertEquals(0xeb, m.in(IdeMachine.LBA_HIGH));
    }

    /** CVE-2015-6855: disk commands on a packet device. */
    @ParameterizedTest
    @ValueSource(
            ints = {0xec, 0x20, 0x30, 0xc4, 0xc5, 0xc6, 0xc8, 0xca, 0x25, 0x35, 0x24, 0x34, 0x91, 0x40, 0x06, 0xb0})
    void diskCommandsAreAborted(int command) {
        assertEquals(0x41, m.simple(command, 0, 1));
        assertEquals(0x04, m.in(IdeMachine.ERROR));
    }

    @Test
    void identifyPacketDeviceDescribesADvdDrive() {
        m.command(0xa1, 0, 0);

        assertTrue(m.interrupt());
        assertEquals(0x58, m.in(IdeMachine.STATUS));
        int[] words = IdeMachine.words(m.readData(512));
        assertEquals(0x85c0, words[0]);
        assertFalse(m.interrupt(), "no interrupt follows the data");
        assertEquals(0x50, m.in(IdeMachine.STATUS));
    }

    @Test
    void inquiryNamesTheDrive() {
        byte[] data = m.answer(0x12, 0, 0, 0, 36);

        assertEquals(5, data[0]);
        assertEquals("BENCHTOP", new String(data, 8, 8, java.nio.charset.StandardCharsets.US_ASCII));
        assertEquals("DVD-ROM", new String(data, 16, 16, java.nio.charset.StandardCharsets.US_ASCII).trim());
        assertEquals(3, m.in(IdeMachine.COUNT), "status phase");
    }

    @Test
    void vitalProductDataIsThere() {
        byte[] pages = m.answer(0x12, 1, 0x00, 0, 64);
        byte[] serial = m.answer(0x12, 1, 0x80, 0, 64);

        assertArrayEquals(new byte[] {0, (byte) 0x80, (byte) 0x83}, java.util.Arrays.copyOfRange(pages, 4, 7));
        assertEquals("BT00001", new String(serial, 4, 20, java.nio.charset.StandardCharsets.US_ASCII).trim());
        assertEquals(ILLEGAL_REQUEST, m.senseKey(0x12, 1, 0xb1, 0, 64));
    }

    @Test
    void capacityIsTheLastSector() {
        byte[] data = m.answer(0x25);

        assertEquals(DISC_SECTORS - 1, (data[2] & 0xff) << 8 | data[3] & 0xff);
        assertEquals(8, data[6]);
    }

    @Test
    void readComesInBlocksOfTheDriversLimit() {
        byte[] disc = IdeMachine.pattern(3 * 2048, 1);
        backend.poke(5 * 2048, disc);

        m.packet(2048, false, 0x28, 0, 0, 0, 0, 5, 0, 0, 3);

        byte[] read = new byte[disc.length];
        for (int i = 0; i < 3; i++) {
            assertTrue(m.interrupt());
            assertEquals(0x58, m.in(IdeMachine.STATUS));
            assertEquals(2, m.in(IdeMachine.COUNT), "data to the host");
            assertEquals(2048, m.offered());
            System.arraycopy(m.readData(2048), 0, read, 2048 * i, 2048);
        }
        assertArrayEquals(disc, read);
        assertTrue(m.interrupt());
        assertEquals(3, m.in(IdeMachine.COUNT));
        assertEquals(0x50, m.in(IdeMachine.STATUS));
    }

    @Test
    void readByDmaFillsMemory() {
        byte[] disc = IdeMachine.pattern(4096, 2);
        backend.poke(2048, disc);
        m.table(IdeMachine.DATA, 4096);

        m.packet(0, true, 0xa8, 0, 0, 0, 0, 1, 0, 0, 0, 2);
        m.startMaster(true);

        assertArrayEquals(disc, m.memory(IdeMachine.DATA, 4096));
        assertEquals(4, m.masterStatus() & 7);
    }

    @Test
    void answerByDmaFillsMemory() {
        m.table(IdeMachine.DATA, 8);

        m.packet(0, true, 0x25);
        m.startMaster(true);

        assertEquals(8, m.memory(IdeMachine.DATA, 8)[6]);
        assertEquals(4, m.masterStatus() & 7);
    }

    /** CVE-2020-29443: addresses and lengths. */
    @Test
    void readsOutsideTheDiscAreRefused() {
        assertEquals(ILLEGAL_REQUEST, m.senseKey(0x28, 0, 0, 0, 2, 0, 0, 0, 1));
        assertArrayEquals(new int[] {ILLEGAL_REQUEST, 0x21, 0}, lastSense());
        assertEquals(ILLEGAL_REQUEST, m.senseKey(0xa8, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff));
        assertEquals(ILLEGAL_REQUEST, m.senseKey(0x28, 0, 0, 0, 1, 0xff, 0, 0, 2));
        assertEquals(0, backend.submitted());
    }

    @Test
    void dataWithoutALimitIsAborted() {
        m.packet(0, false, 0x28, 0, 0, 0, 0, 0, 0, 0, 1);

        assertEquals(0x41, m.in(IdeMachine.STATUS));
    }

    @Test
    void hostErrorIsAMediumError() {
        HeldBlockBackend held = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        IdeMachine machine = IdeMachine.cd(held);
        machine.senseKey(0);
        machine.packet(2048, false, 0x28, 0, 0, 0, 0, 0, 0, 0, 1);

        held.next().fail(BlockStatus.IO_ERROR);

        assertEquals(MEDIUM_ERROR, machine.in(IdeMachine.ERROR) >> 4);
    }

    @Test
    void tocHasOneDataTrackAndALeadOut() {
        byte[] toc = m.answer(0x43, 0, 0, 0, 0, 0, 0, 0, 64);

        assertEquals(18, toc[1]);
        assertEquals(0x14, toc[5]);
        assertEquals(1, toc[6]);
        assertEquals((byte) 0xaa, toc[14]);
        assertEquals(DISC_SECTORS, (toc[18] & 0xff) << 8 | toc[19] & 0xff);
    }

    @Test
    void tocInMinutesSecondsFrames() {
        byte[] toc = m.answer(0x43, 2, 0, 0, 0, 0, 0xaa, 0, 64);

        int frame = DISC_SECTORS + 150;
        assertArrayEquals(
                new byte[] {0, (byte) (frame / 75 / 60), (byte) (frame / 75 % 60), (byte) (frame % 75)},
                java.util.Arrays.copyOfRange(toc, 8, 12));
    }

    @Test
    void fullTocAndSessionsAreThere() {
        assertEquals(12, m.answer(0x43, 0, 1, 0, 0, 0, 0, 0, 64).length);
        assertEquals(48, m.answer(0x43, 2, 2, 0, 0, 0, 0, 0, 64).length);
        assertEquals(ILLEGAL_REQUEST, m.senseKey(0x43, 0, 5, 0, 0, 0, 0, 0, 64));
    }

    @Test
    void configurationSaysCdRom() {
        byte[] data = m.answer(0x46, 0, 0, 0, 0, 0, 0, 1, 0);

        assertEquals(8, data[7], "current profile");
        assertEquals(data.length - 4, (data[2] & 0xff) << 8 | data[3] & 0xff);
        byte[] one = m.answer(0x46, 2, 0, 3, 0, 0, 0, 1, 0);
        assertEquals(16, one.length);
        assertEquals(3, one[9], "removable medium");
    }

    @Test
    void largeDiscIsADvd() {
        HeldBlockBackend dvd = new HeldBlockBackend(2L << 30);
        IdeMachine machine = IdeMachine.cd(dvd);
        machine.senseKey(0);

        byte[] data = machine.answer(0x46, 0, 0, 0, 0, 0, 0, 1, 0);
        byte[] structure = machine.answer(0xad, 0, 0, 0, 0, 0, 0, 0, 8, 8);

        assertEquals(0x10, data[7]);
        assertEquals(2052, structure.length);
        assertEquals(3, structure[9]);
    }

    @Test
    void userDataByReadCd() {
        byte[] disc = IdeMachine.pattern(2048, 3);
        backend.poke(9 * 2048, disc);

        assertArrayEquals(disc, m.answer(0xbe, 0, 0, 0, 0, 9, 0, 0, 1, 0x10));
    }

    @Test
    void rawSectorHasSyncHeaderAndChecks() {
        byte[] disc = IdeMachine.pattern(2048, 4);
        backend.poke(16 * 2048, disc);

        byte[] raw = m.answer(0xbe, 0, 0, 0, 0, 16, 0, 0, 1, 0xf8);

        assertEquals(2352, raw.length);
        assertEquals(0, raw[0]);
        assertEquals(-1, raw[1]);
        assertArrayEquals(new byte[] {0, 2, 0x16, 1}, java.util.Arrays.copyOfRange(raw, 12, 16));
        assertArrayEquals(disc, java.util.Arrays.copyOfRange(raw, 16, 2064));
        assertEquals(0, edc(raw), "the EDC over data and EDC itself is zero");
        assertEquals(0, syndrome(raw, 86, 24, 2, 86, 2076), "P parity");
        assertEquals(0, syndrome(raw, 52, 43, 86, 88, 2248), "Q parity");
    }

    private static int edc(byte[] raw) {
        int crc = 0;
        for (int i = 0; i < 2068; i++) {
            crc ^= raw[i] & 0xff;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc >>> 1 ^ ((crc & 1) != 0 ? 0xd801_8001 : 0);
            }
        }
        return crc;
    }

    /** The sum of each code word, and its sum weighted by powers of alpha, must be zero (ECMA-130, annex A). */
    private static int syndrome(byte[] raw, int vectors, int length, int major, int minor, int parity) {
        int wrong = 0;
        for (int v = 0; v < vectors; v++) {
            int index = (v >> 1) * major + (v & 1);
            int plain = 0;
            int weighted = 0;
            for (int i = 0; i < length; i++) {
                int value = raw[12 + index] & 0xff;
                index = (index + minor) % (vectors * length);
                plain ^= value;
                weighted = timesAlpha(weighted) ^ value;
            }
            for (int p = 0; p < 2; p++) {
                int value = raw[parity + p * vectors + v] & 0xff;
                plain ^= value;
                weighted = timesAlpha(weighted) ^ value;
            }
            wrong |= plain | weighted;
        }
        return wrong;
    }

    private static int timesAlpha(int value) {
        return value << 1 ^ ((value & 0x80) != 0 ? 0x11d : 0);
    }

    @Test
    void lockedTrayStaysClosed() {
        assertEquals(0, m.senseKey(0x1e, 0, 0, 0, 1));

        assertEquals(ILLEGAL_REQUEST, m.senseKey(0x1b, 0, 0, 0, 2));
        assertArrayEquals(new int[] {ILLEGAL_REQUEST, 0x53, 2}, lastSense());
        assertEquals(0, m.senseKey(0x1e, 0, 0, 0, 0));
        assertEquals(0, m.senseKey(0x1b, 0, 0, 0, 2));
    }

    @Test
    void ejectedDiscComesBackAsANewMedium() {
        m.senseKey(0x1b, 0, 0, 0, 2);

        assertEquals(NOT_READY, m.senseKey(0));
        assertArrayEquals(new int[] {NOT_READY, 0x3a, 2}, lastSense());
        assertEquals(0x10, m.answer(0xbd, 0, 0, 0, 0, 0, 0, 0, 0, 8)[1], "door open");
        assertEquals(0, m.senseKey(0x1b, 0, 0, 0, 3));
        byte[] event = m.answer(0x4a, 1, 0, 0, 0x10, 0, 0, 0, 8);
        assertEquals(2, event[4], "new media");
        assertEquals(2, event[5], "media present, tray closed");
        assertEquals(UNIT_ATTENTION, m.senseKey(0));
        assertArrayEquals(new int[] {UNIT_ATTENTION, 0x28, 0}, lastSense());
        assertEquals(0, m.senseKey(0));
    }

    @Test
    void emptyDriveIsNotReadyButAnswers() {
        IdeCdOptions plain = IdeCdOptions.of("x");
        IdeCdOptions empty = new IdeCdOptions(
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                plain.model(),
                plain.version(),
                Optional.empty(),
                org.benchtop.spi.block.ErrorPolicy.REPORT,
                Optional.empty());
        IdeMachine machine = new IdeMachine(IdeMachine.context(), IdeDrive.cd("ide0", empty));
        machine.senseKey(0);

        assertEquals(NOT_READY, machine.senseKey(0));
        assertEquals(NOT_READY, machine.senseKey(0x28, 0, 0, 0, 0, 0, 0, 0, 1));
        assertEquals(36, machine.answer(0x12, 0, 0, 0, 36).length);
    }

    @Test
    void modePagesAreThere() {
        byte[] all = m.answer(0x5a, 0, 0x3f, 0, 0, 0, 0, 1, 0);

        assertEquals(all.length - 2, (all[0] & 0xff) << 8 | all[1] & 0xff);
        assertEquals(0x01, all[8]);
        assertEquals(8 + 20, m.answer(0x5a, 0, 0x2a, 0, 0, 0, 0, 1, 0).length);
        assertEquals(ILLEGAL_REQUEST, m.senseKey(0x5a, 0, 0x08, 0, 0, 0, 0, 1, 0));
    }

    @ParameterizedTest
    @ValueSource(ints = {0x04, 0x0a, 0x2a, 0x41, 0x45, 0xa1, 0xaa, 0xff})
    void unknownPacketsAreIllegal(int operation) {
        assertEquals(ILLEGAL_REQUEST, m.senseKey(operation));
        assertArrayEquals(new int[] {ILLEGAL_REQUEST, 0x20, 0}, lastSense());
    }

    @Test
    void deviceResetEndsAPacket() {
        m.packet(2048, false, 0x28, 0, 0, 0, 0, 0, 0, 0, 2);
        m.readData(100);

        m.out(IdeMachine.STATUS, 0x08);

        assertEquals(0, m.in(IdeMachine.STATUS));
        assertEquals(0x14, m.in(IdeMachine.LBA_MID));
    }
}
