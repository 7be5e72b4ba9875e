package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** DMA by the PIIX bus master: what drivers rely on, and what hostile ones try. */
final class BusMasterTest {
    private static final int READ_DMA = 0xc8;
    private static final int WRITE_DMA = 0xca;
    private static final int ACTIVE = 1;
    private static final int ERROR = 2;
    private static final int INTERRUPT = 4;
    private static final int READY = 0x50;

    private final HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
    private final IdeMachine m = IdeMachine.disk(backend);

    @Test
    void readFillsGuestMemoryInPlace() {
        byte[] data = IdeMachine.pattern(8 * 512, 1);
        backend.poke(16 * 512, data);
        m.table(IdeMachine.DATA, 1024, IdeMachine.DATA + 8192, 3072);

        m.command(READ_DMA, 16, 8);
        m.startMaster(true);
        assertEquals(ACTIVE, m.masterStatus() & 7);
        assertEquals(2, ((BlockRequest.Read) backend.next().request()).buffer().count());
        backend.next().complete();

        assertTrue(m.interrupt());
        assertEquals(INTERRUPT, m.masterStatus() & 7);
        assertEquals(READY, m.in(IdeMachine.STATUS));
        byte[] read = new byte[data.length];
        System.arraycopy(m.memory(IdeMachine.DATA, 1024), 0, read, 0, 1024);
        System.arraycopy(m.memory(IdeMachine.DATA + 8192, 3072), 0, read, 1024, 3072);
        assertArrayEquals(data, read);
        assertTrue(m.context.memory().wasWritten(IdeMachine.DATA, 1024));
    }

    @Test
    void masterMayStartBeforeTheCommand() {
        backend.automatic();
        byte[] data = IdeMachine.pattern(512, 2);
        m.poke(IdeMachine.DATA, data);
        m.table(IdeMachine.DATA, 512);

        m.startMaster(false);
        m.command(WRITE_DMA, 3, 1);

        assertEquals(INTERRUPT, m.masterStatus() & 7);
        assertArrayEquals(data, backend.bytes(3 * 512, 512));
    }

    @Test
    void zeroLengthMeans64Kibibytes() {
        backend.automatic();
        byte[] data = IdeMachine.pattern(65536, 3);
        backend.poke(0, data);
        m.table(IdeMachine.DATA, 0);

        m.command(READ_DMA, 0, 128);
        m.startMaster(true);

        assertArrayEquals(data, m.memory(IdeMachine.DATA, 65536));
        assertEquals(INTERRUPT, m.masterStatus() & 7);
    }

    @Test
    void longerTableLeavesTheMasterActive() {
        backend.automatic();
        m.table(IdeMachine.DATA, 4096);

        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        assertEquals(INTERRUPT | ACTIVE, m.masterStatus() & 7);
        m.stopMaster();
        assertEquals(INTERRUPT, m.masterStatus() & 7);
    }

    @Test
    void shorterTableEndsWithoutInterruptAndMayGoOn() {
        backend.automatic();
        byte[] data = IdeMachine.pattern(4 * 512, 4);
        backend.poke(0, data);
        m.table(IdeMachine.DATA, 1024);

        m.command(READ_DMA, 0, 4);
        m.startMaster(true);

        assertEquals(0, m.masterStatus() & 7);
        assertFalse(m.interrupt());
        m.stopMaster();
        m.table(IdeMachine.DATA + 1024, 1024);
        m.startMaster(true);
        assertEquals(INTERRUPT, m.masterStatus() & 7);
        assertArrayEquals(data, m.memory(IdeMachine.DATA, data.length));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 256, 510})
    void tableWithoutAWholeSectorMovesNothing(int bytes) {
        m.table(IdeMachine.DATA, bytes);

        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        assertEquals(0, backend.submitted());
        assertEquals(0, m.masterStatus() & 7);
        m.control(4);
        m.control(0);
        assertEquals(READY, m.altStatus());
    }

    @Test
    void tableWithoutEndIsBounded() {
        for (int i = 0; i < 65536; i += 8) {
            m.poke(IdeMachine.TABLE + i, word(IdeMachine.DATA, 2));
        }
        m.context.pioWrite(m.master() + 4, 4, IdeMachine.TABLE);

        m.commandExt(0x25, 0, 0, 2048);
        m.startMaster(true);

        BlockRequest.Read read = (BlockRequest.Read) backend.next().request();
        assertTrue(read.buffer().sizeBytes() <= 8192 * 2);
        backend.completeAll();
        assertEquals(0, m.masterStatus() & ACTIVE);
    }

    private static byte[] word(long address, int count) {
        return ByteBuffer.allocate(8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt((int) address)
                .putInt(count)
                .array();
    }

    @Test
    void regionOutsideRamIsRefused() {
        m.table(0xe000_0000L, 512);

        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        assertEquals(0, backend.submitted());
        assertEquals(ERROR | INTERRUPT, m.masterStatus() & 7);
        assertEquals(0x51, m.in(IdeMachine.STATUS));
    }

    @Test
    void tableOutsideRamIsRefused() {
        m.context.pioWrite(m.master() + 4, 4, 0xfffffff0L);

        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        assertEquals(ERROR, m.masterStatus() & ERROR);
    }

    @Test
    void nothingMovesWithoutBusMastering() {
        PciFunction function = m.context.pci().only();
        function.config(4, 2, 1);
        m.table(IdeMachine.DATA, 512);

        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        assertEquals(0, backend.submitted());
        assertEquals(ERROR, m.masterStatus() & ERROR);
    }

    @Test
    void statusBitsAreClearedByWritingOnes() {
        backend.automatic();
        m.table(IdeMachine.DATA, 512);
        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        m.context.pioWrite(m.master() + 2, 1, 0x60);
        assertEquals(0x60 | INTERRUPT, m.masterStatus());
        m.context.pioWrite(m.master() + 2, 1, 0x66);

        assertEquals(0x60, m.masterStatus());
    }

    /** CVE-2023-5088: a write that a reset has overtaken must not land anywhere. */
    @Test
    void resetDropsAWriteThatIsNotInFlight() {
        m.poke(IdeMachine.DATA, IdeMachine.pattern(512, 9));
        m.table(IdeMachine.DATA, 512);
        m.command(WRITE_DMA, 77, 1);

        m.control(4);
        m.control(0);
        m.startMaster(false);
        backend.completeAll();

        assertEquals(0, backend.submitted());
        assertArrayEquals(new byte[512], backend.bytes(0, 512));
    }

    @Test
    void resetDuringAWriteWaitsAndLeavesOtherSectorsAlone() {
        byte[] data = IdeMachine.pattern(512, 10);
        m.poke(IdeMachine.DATA, data);
        m.table(IdeMachine.DATA, 512);
        m.command(WRITE_DMA, 77, 1);
        m.startMaster(false);

        m.control(4);
        m.control(0);
        assertEquals(0x80, m.altStatus());
        assertEquals(ACTIVE, m.masterStatus() & ACTIVE, "memory is still in use");
        backend.completeAll();

        assertEquals(READY, m.altStatus());
        assertEquals(0, m.masterStatus() & ACTIVE);
        assertFalse(m.interrupt());
        assertArrayEquals(new byte[512], backend.bytes(0, 512));
        assertEquals(1, backend.submitted());
    }

    @Test
    void stoppingTheMasterShowsActiveUntilTheMemoryIsFree() {
        m.table(IdeMachine.DATA, 512);
        m.command(READ_DMA, 0, 1);
        m.startMaster(true);

        m.stopMaster();
        assertEquals(ACTIVE, m.masterStatus() & 7);
        backend.completeAll();

        assertEquals(INTERRUPT, m.masterStatus() & 7);
    }

    @Test
    void trimDiscardsItsRanges() {
        backend.poke(0, IdeMachine.pattern(64 * 512, 11));
        ByteBuffer ranges = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN);
        ranges.putLong(4L << 48 | 8);
        ranges.putLong(1L << 48 | 32);
        m.poke(IdeMachine.DATA, ranges.array());
        m.table(IdeMachine.DATA, 512);

        m.commandExt(0x06, 1, 0, 1);
        m.startMaster(false);
        backend.completeAll();

        assertTrue(m.interrupt());
        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertArrayEquals(new byte[4 * 512], backend.bytes(8 * 512, 4 * 512));
        assertArrayEquals(new byte[512], backend.bytes(32 * 512, 512));
        assertEquals(2, backend.submitted());
    }

    @Test
    void trimOutsideTheDiskDiscardsNothing() {
        ByteBuffer ranges = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN);
        ranges.putLong(4L << 48 | 8);
        ranges.putLong(1L << 48 | IdeMachine.DISK_BYTES / 512);
        m.poke(IdeMachine.DATA, ranges.array());
        m.table(IdeMachine.DATA, 512);

        m.commandExt(0x06, 1, 0, 1);
        m.startMaster(false);

        assertEquals(0, backend.submitted());
        assertEquals(0x51, m.in(IdeMachine.STATUS));
    }

    /** A reset while discards are still to come, on a slave without a master. */
    @Test
    void resetDuringTrimEndsIt() {
        ByteBuffer ranges = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 64; i++) {
            ranges.putLong(1L << 48 | i);
        }
        m.poke(IdeMachine.DATA, ranges.array());
        m.table(IdeMachine.DATA, 512);
        m.commandExt(0x06, 1, 0, 1);
        m.startMaster(false);

        m.control(4);
        m.control(0);
        backend.completeAll();

        assertEquals(1, backend.submitted());
        assertEquals(READY, m.altStatus());
    }

    @Test
    void errorInTheMiddleNamesItsPlace() {
        m.table(IdeMachine.DATA, 4096);
        m.command(READ_DMA, 40, 8);
        m.startMaster(true);

        backend.next().fail(BlockStatus.IO_ERROR);

        assertEquals(INTERRUPT, m.masterStatus() & 7);
        assertEquals(0x51, m.in(IdeMachine.STATUS));
        assertEquals(0x40, m.in(IdeMachine.ERROR));
        assertEquals(40, m.in(IdeMachine.LBA_LOW));
    }

    @Test
    void stateTravelsInTheMiddleOfACommand() {
        byte[] data = IdeMachine.pattern(8 * 512, 12);
        m.command(0x30, 5, 8);
        byte[] half = java.util.Arrays.copyOf(data, 1000);
        m.writeData(half);
        m.device.pause();
        var saved = m.device.saveState();

        HeldBlockBackend other = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        IdeMachine second = IdeMachine.disk(other);
        second.device.pause();
        second.device.restoreState(saved);
        second.device.resume();
        second.writeData(java.util.Arrays.copyOfRange(data, 1000, data.length));

        assertEquals(READY, second.in(IdeMachine.STATUS));
        assertArrayEquals(data, other.bytes(5 * 512, data.length));
    }
}
