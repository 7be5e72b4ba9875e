package org.benchtop.scsi.megasas;

import static org.benchtop.scsi.megasas.MegasasMachine.DATA;
import static org.benchtop.scsi.megasas.MegasasMachine.READ;
import static org.benchtop.scsi.megasas.MegasasMachine.WRITE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MegasasTest {
    private final HeldBlockBackend drive = new HeldBlockBackend(MegasasMachine.DISK_BYTES);

    private MegasasMachine automatic() {
        return MegasasMachine.running(drive.automatic());
    }

    private static void io(MegasasMachine m, int id, boolean write, long lba, int blocks, int flags, long... list) {
        ByteBuffer frame = MegasasMachine.header(write ? 2 : 1, id, flags, blocks);
        frame.putInt(24, MegasasMachine.SENSE).putInt(32, (int) lba).putInt(36, (int) (lba >>> 32));
        frame.put(7, (byte) (list.length / 2));
        boolean wide = (flags & 2) != 0;
        int at = 40;
        for (int i = 0; i < list.length; i += 2) {
            if (wide) {
                frame.putLong(at, list[i]).putInt(at + 8, (int) list[i + 1]);
                at += (flags & 0x20) != 0 ? 16 : 12;
            } else {
                frame.putInt(at, (int) list[i]).putInt(at + 4, (int) list[i + 1]);
                at += 8;
            }
        }
        m.poke(MegasasMachine.frame(id), frame.array());
        m.go(id);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2, 0x22})
    void blocksAreWrittenAndReadBackWithEveryKindOfList(int flags) {
        MegasasMachine m = automatic();
        byte[] data = MegasasMachine.pattern(4096, 1);
        m.poke(DATA, data);

        io(m, 1, true, 8, 8, flags | WRITE, DATA, 4096);
        io(m, 2, false, 8, 8, flags | READ, DATA + 0x10000, 1000, DATA + 0x20000, 3096);

        assertEquals(0, m.status(1));
        assertEquals(0, m.status(2));
        assertEquals(List.of(1, 2), m.replies());
        byte[] back = new byte[4096];
        System.arraycopy(m.context.memory().bytes(DATA + 0x10000, 1000), 0, back, 0, 1000);
        System.arraycopy(m.context.memory().bytes(DATA + 0x20000, 3096), 0, back, 1000, 3096);
        assertArrayEquals(data, back);
    }

    @ParameterizedTest
    @ValueSource(ints = {READ, 0})
    void passThroughInquiryAnswersEvenWithoutDirection(int flags) {
        MegasasMachine m = automatic();

        m.pass(1, 0, "12 00 00 00 24 00", flags, DATA, 36);
        m.go(1);

        assertEquals(0, m.status(1));
        assertEquals("BENCHTOP", new String(m.context.memory().bytes(DATA + 8, 8), StandardCharsets.US_ASCII));
    }

    @Test
    void failedCommandDeliversStatusAndSense() {
        MegasasMachine m = automatic();

        m.pass(1, 0, "ff 00 00 00 00 00", 0, 0, 0);
        m.go(1);
        io(m, 2, false, 1L << 40, 1, READ, DATA, 512);

        assertEquals(0x2d, m.status(1));
        assertEquals(2, m.scsiStatus(1));
        assertEquals(0x2d, m.status(2));
        assertEquals(0x21, m.context.memory().bytes(MegasasMachine.SENSE, 18)[12]);
    }

    @ParameterizedTest
    @CsvSource({"9, 0x30000, 512, 0x0c", "0, 0xffff0000, 512, 3"})
    void impossibleFramesHaveAStatus(int target, String address, int length, String status) {
        MegasasMachine m = automatic();

        m.pass(1, target, "28 00 00 00 00 00 00 00 01 00", READ, Long.decode(address), length);
        m.go(1);

        assertEquals(Integer.decode(status), m.status(1));
    }

    @Test
    void ownRegistersAreNoData() {
        MegasasMachine m = automatic();

        m.pass(1, 0, "28 00 00 00 00 00 00 00 01 00", READ, m.base(), 512);
        m.go(1);

        assertEquals(3, m.status(1));
    }

    @Test
    void frameOutsideOfMemoryIsSwallowed() {
        MegasasMachine m = automatic();

        m.write(MfiRegister.INBOUND_QUEUE_PORT, 0x7fff_ff01);
        m.context.runPending();
        m.write(MfiRegister.INBOUND_HIGH_QUEUE_PORT, -1);
        m.write(MfiRegister.INBOUND_LOW_QUEUE_PORT, -1);
        m.context.runPending();

        m.pass(1, 0, "00 00 00 00 00 00", 0, 0, 0);
        m.go(1);
        assertEquals(0, m.status(1));
    }

    @Test
    void polledFramesAreNotPosted() {
        MegasasMachine m = automatic();

        m.pass(1, 0, "00 00 00 00 00 00", 1, 0, 0);
        m.go(1);

        assertEquals(0, m.status(1));
        assertEquals(List.of(), m.replies());
        assertFalse(m.context.pci().only().intxAsserted());
    }

    @Test
    void interruptStaysUntilAcknowledged() {
        MegasasMachine m = automatic();
        m.pass(1, 0, "00 00 00 00 00 00", 0, 0, 0);
        m.go(1);

        assertTrue(m.context.pci().only().intxAsserted());
        assertEquals(0x8000_0001, m.read(MfiRegister.OUTBOUND_INTR_STATUS));
        m.write(MfiRegister.OUTBOUND_INTR_MASK, -1);
        assertFalse(m.context.pci().only().intxAsserted());
        m.write(MfiRegister.OUTBOUND_INTR_MASK, 0x7fff_ffff);
        assertTrue(m.context.pci().only().intxAsserted());
        m.write(MfiRegister.OUTBOUND_DOORBELL_CLEAR, -1);
        assertFalse(m.context.pci().only().intxAsserted());
    }

    @Test
    void firmwareStateFollowsInitAndReset() {
        MegasasMachine m = automatic();
        assertEquals(0xc, m.read(MfiRegister.OUTBOUND_SCRATCH_PAD_0) >>> 28);
        assertEquals(1008, m.read(MfiRegister.OUTBOUND_SCRATCH_PAD_0) & 0xffff);

        m.write(MfiRegister.INBOUND_DOORBELL, 7);

        assertEquals(0xb, m.read(MfiRegister.OUTBOUND_SCRATCH_PAD_0) >>> 28);
        m.write(MfiRegister.INBOUND_DOORBELL, 0x20);
        assertEquals(0xf, m.read(MfiRegister.OUTBOUND_SCRATCH_PAD_0) >>> 28);
    }

    @Test
    void logicalDrivesAreListedWithTheirSize() {
        MegasasMachine m = automatic();

        m.direct(1, Mfi.DCMD_LD_GET_LIST, DATA, 1032);
        m.go(1);

        assertEquals(0, m.status(1));
        assertEquals(1, m.int32(DATA));
        assertEquals(3, m.context.memory().bytes(DATA + 12, 1)[0]);
        assertEquals(MegasasMachine.DISK_BYTES / 512, m.int32(DATA + 16));
    }

    @ParameterizedTest
    @CsvSource({
        "0x01010000, 2048, 0",
        "0x01020100, 64, 0",
        "0x01040100, 20, 0",
        "0x01080201, 4, 0",
        "0x01101000, 0, 0",
        "0x01050000, 0, 0",
        "0x02010100, 64, 0",
        "0x03010100, 76, 0",
        "0x0f000000, 16, 2"
    })
    void directCommandsAreAnswered(String opcode, int length, int status) {
        MegasasMachine m = automatic();

        m.direct(1, Integer.decode(opcode), DATA, length);
        m.go(1);

        assertEquals(status, m.status(1));
    }

    @Test
    void cacheFlushFlushesTheDrive() {
        MegasasMachine m = automatic();
        long before = drive.flushes();

        m.direct(1, Mfi.DCMD_CTRL_CACHE_FLUSH, DATA, 0);
        m.go(1);

        assertEquals(before + 1, drive.flushes());
    }

    @Test
    void waitForAnEventEndsWithOneOrIsAborted() {
        MegasasMachine m = automatic();
        m.direct(1, Mfi.DCMD_CTRL_EVENT_WAIT, DATA, 256);
        m.go(1);
        assertEquals(0xff, m.status(1));

        m.group.device("disk0").close();
        m.context.runPending();
        assertEquals(0, m.status(1));
        assertEquals(Mfi.EVENT_LD_DELETED, m.int32(DATA + 8));

        m.direct(2, Mfi.DCMD_CTRL_EVENT_WAIT, DATA, 256);
        m.go(2);
        m.poke(
                MegasasMachine.frame(3),
                MegasasMachine.header(6, 3, 0, 0)
                        .putInt(24, 2)
                        .putLong(32, MegasasMachine.frame(2))
                        .array());
        m.go(3);
        assertEquals(0, m.status(3));
        assertEquals(0, m.status(2));
    }

    @Test
    void abortedFrameFails() {
        MegasasMachine m = MegasasMachine.running(drive);
        io(m, 1, false, 0, 8, READ, DATA, 4096);
        m.poke(
                MegasasMachine.frame(3),
                MegasasMachine.header(6, 3, 0, 0)
                        .putInt(24, 1)
                        .putLong(32, MegasasMachine.frame(1))
                        .array());

        m.go(3);
        assertEquals(0xff, m.status(3));
        drive.next().complete();
        m.context.runPending();

        assertEquals(0x2e, m.status(1));
        assertEquals(0, m.status(3));
    }

    @Test
    void manyFramesAreInFlight() {
        MegasasMachine m = MegasasMachine.running(drive);
        for (int i = 0; i < 32; i++) {
            io(m, i, false, i, 8, READ, DATA, 4096);
        }
        assertEquals(32, drive.pending().size());

        drive.completeAll();
        m.context.runPending();

        assertEquals(32, m.replies().size());
    }

    @ParameterizedTest
    @CsvSource({"0, 0x21000", "64, 0xfff00000", "70000, 0x21000"})
    void impossibleReplyQueueIsRefused(int entries, String ring) {
        MegasasMachine m = automatic();
        m.poke(
                MegasasMachine.INFO,
                MegasasMachine.b(32)
                        .putInt(4, entries)
                        .putLong(8, Long.decode(ring))
                        .putLong(16, MegasasMachine.PRODUCER)
                        .array());
        m.poke(
                MegasasMachine.frame(5),
                MegasasMachine.header(0, 5, 1, 0)
                        .putLong(24, MegasasMachine.INFO)
                        .array());

        m.go(5);

        assertEquals(3, m.status(5));
    }

    @Test
    void registersAreReachableByPortsToo() {
        MegasasMachine m = automatic();
        int port = (int) m.context.pci().only().barAddress(2);

        assertEquals(m.read(MfiRegister.OUTBOUND_SCRATCH_PAD_0) & 0xffff_ffffL, m.context.pioRead(port + 0xb0, 4));
    }
}
