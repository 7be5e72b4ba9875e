package org.benchtop.scsi.target;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeStats;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CdUnitTest {
    private static final int BLOCKS = 512;

    private final HeldBlockBackend disc = new HeldBlockBackend(BLOCKS * 2048L).automatic();

    private static Initiator drive(Optional<BlockBackend> backend) {
        CdUnit unit = new CdUnit(
                "cd0",
                new CdOptions("SER", "VENDOR", "PRODUCT", "1.0", 0),
                backend,
                backend.map(b -> new ErrorHandling("cd0", b, ErrorPolicy.REPORT, ErrorPolicy.REPORT, reason -> {})),
                new FakeStats());
        unit.powerOn();
        Initiator i = new Initiator(new FakeEventLoop(), unit);
        i.send("00 00 00 00 00 00");
        return i;
    }

    private Initiator ready() {
        return drive(Optional.of(disc));
    }

    private static void assertSense(int expected, Initiator.Sent sent) {
        assertEquals(ScsiCommand.CHECK_CONDITION, sent.status());
        assertEquals(Integer.toHexString(expected), Integer.toHexString(sent.sense()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "28 00 00 00 00 03 00 00 02 00", "a8 00 00 00 00 03 00 00 00 02 00 00",
                "be 00 00 00 00 03 00 00 02 10 00 00", "be 08 00 00 00 03 00 00 02 10 00 00"
            })
    void blocksAreRead(String cdb) {
        byte[] data = Initiator.pattern(4096, 1);
        disc.poke(3 * 2048, data);

        Initiator.Sent sent = ready().send(cdb);

        assertEquals(0, sent.status());
        assertArrayEquals(data, sent.data());
    }

    @Test
    void rawSectorsAreRefusedAsTheImageHasNone() {
        assertSense(Sense.ILLEGAL_MODE_FOR_TRACK, ready().send("be 00 00 00 00 03 00 00 02 f8 00 00"));
    }

    @Test
    void inquirySaysThatItIsACd() {
        byte[] data = ready().send("12 00 00 00 24 00").data();

        assertEquals(5, data[0]);
        assertEquals(0x80, data[1] & 0xff);
    }

    @Test
    void capacityAndEndAreThoseOfTheDisc() {
        Initiator i = ready();

        byte[] capacity = i.send("25 00 00 00 00 00 00 00 00 00").data();

        assertEquals(BLOCKS - 1, Bytes.uint32(capacity, 0));
        assertEquals(2048, Bytes.uint32(capacity, 4));
        assertSense(Sense.LBA_OUT_OF_RANGE, i.send("28 00 00 00 02 00 00 00 01 00"));
        assertSense(Sense.INVALID_COMMAND, i.write("2a 00 00 00 00 00 00 00 01 00", new byte[2048]));
    }

    @Test
    void driveErrorIsAReadError() {
        Initiator i = ready();
        disc.manual();

        Initiator.Sent sent = i.send("28 00 00 00 00 03 00 00 02 00");
        Initiator.fail(disc.next(), BlockStatus.IO_ERROR, i.loop);

        assertSense(Sense.UNRECOVERED_READ_ERROR, sent);
    }

    @Test
    void tableOfContentsHasOneTrackAndTheLeadOut() {
        Initiator i = ready();

        byte[] lba = i.send("43 00 00 00 00 00 00 00 ff 00").data();
        byte[] msf = i.send("43 02 00 00 00 00 aa 00 ff 00").data();
        byte[] sessions = i.send("43 00 01 00 00 00 00 00 ff 00").data();

        assertEquals(20, lba.length);
        assertEquals(1, lba[6]);
        assertEquals(0xaa, lba[14] & 0xff);
        assertEquals(BLOCKS, Bytes.uint32(lba, 16));
        assertArrayEquals(new byte[] {0, 10, 1, 1, 0, 0x14, (byte) 0xaa, 0, 0, 0, 8, 62}, msf);
        assertEquals(12, sessions.length);
        assertSense(Sense.INVALID_FIELD_IN_CDB, i.send("43 00 00 00 00 00 05 00 ff 00"));
    }

    @Test
    void configurationNamesTheProfile() {
        Initiator i = ready();

        byte[] all = i.send("46 00 00 00 00 00 00 00 ff 00").data();
        byte[] one = i.send("46 02 00 1e 00 00 00 00 ff 00").data();

        assertEquals(8, Bytes.uint16(all, 6));
        assertEquals(all.length - 4, Bytes.uint32(all, 0));
        assertEquals(0x1e, Bytes.uint16(one, 8));
        assertEquals(8, one.length - 8);
    }

    @Test
    void discInformationAndMechanismStatusAreAnswered() {
        Initiator i = ready();

        assertEquals(34, i.send("51 00 00 00 00 00 00 00 ff 00").data().length);
        assertEquals(8, i.send("bd 00 00 00 00 00 00 00 00 ff 00 00").data().length);
        assertEquals(0x2a, i.send("5a 08 2a 00 00 00 00 00 ff 00").data()[8]);
    }

    @Test
    void ejectedDiscIsAnEventAndComesBackWithAnAttention() {
        Initiator i = ready();

        assertEquals(0, i.send("1b 00 00 00 02 00").status());
        assertSense(Sense.NOT_PRESENT_TRAY_OPEN, i.send("00 00 00 00 00 00"));
        byte[] event = i.send("4a 01 00 00 10 00 00 00 ff 00").data();
        assertEquals(3, event[4]);
        assertEquals(1, event[5]);
        assertEquals(0, i.send("1b 00 00 00 03 00").status());
        assertSense(Sense.MEDIUM_MAY_HAVE_CHANGED, i.send("00 00 00 00 00 00"));
        event = i.send("4a 01 00 00 10 00 00 00 ff 00").data();
        assertEquals(2, event[4]);
        assertEquals(2, event[5]);
    }

    @Test
    void lockedTrayStaysClosedAndReportsTheRequest() {
        Initiator i = ready();

        assertEquals(0, i.send("1e 00 00 00 01 00").status());
        assertSense(Sense.REMOVAL_PREVENTED, i.send("1b 00 00 00 02 00"));
        assertEquals(1, i.send("4a 01 00 00 10 00 00 00 ff 00").data()[4]);
        assertEquals(0, i.send("00 00 00 00 00 00").status());
    }

    @Test
    void emptyDriveIsNotReady() {
        Initiator i = drive(Optional.empty());

        assertSense(Sense.NOT_PRESENT_TRAY_CLOSED, i.send("28 00 00 00 00 00 00 00 01 00"));
        assertSense(Sense.NOT_PRESENT_TRAY_CLOSED, i.send("25 00 00 00 00 00 00 00 00 00"));
        assertEquals(0, Bytes.uint16(i.send("46 00 00 00 00 00 00 00 ff 00").data(), 6));
    }
}
