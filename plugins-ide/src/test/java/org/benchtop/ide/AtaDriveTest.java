package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Disks by programmed I/O, as firmware and old drivers use them. */
final class AtaDriveTest {
    private static final int READ_SECTORS = 0x20;
    private static final int READ_SECTORS_EXT = 0x24;
    private static final int WRITE_SECTORS = 0x30;
    private static final int READ_MULTIPLE = 0xc4;
    private static final int WRITE_MULTIPLE = 0xc5;
    private static final int READY = 0x50;
    private static final int FAILED = 0x51;

    @Test
    void identifyDescribesTheDisk() {
        int[] words = IdeMachine.disk().identify();

        assertEquals(IdeMachine.DISK_BYTES / 512, words[60] | words[61] << 16);
        assertEquals(IdeMachine.DISK_BYTES / 512, words[100] | words[101] << 16);
        assertEquals('B' << 8 | 'T', words[10]);
        assertEquals(0x0f00, words[49]);
        assertEquals(1, words[169], "TRIM");
        int sum = 0;
        for (int word : words) {
            sum += (word & 0xff) + (word >> 8);
        }
        assertEquals(0, sum & 0xff, "checksum");
    }

    @Test
    void readSectorsGivesABlockAndAnInterruptPerSector() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        byte[] data = IdeMachine.pattern(3 * 512, 1);
        backend.poke(7 * 512, data);
        IdeMachine m = IdeMachine.disk(backend);

        m.command(READ_SECTORS, 7, 3);

        byte[] read = new byte[data.length];
        for (int i = 0; i < 3; i++) {
            assertTrue(m.interrupt(), "interrupt of sector " + i);
            assertEquals(0x58, m.in(IdeMachine.STATUS));
            assertFalse(m.interrupt(), "reading the status takes the interrupt back");
            System.arraycopy(m.readData(512), 0, read, 512 * i, 512);
        }
        assertArrayEquals(data, read);
        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertFalse(m.interrupt(), "no interrupt follows the last block of a read");
    }

    @Test
    void writeSectorsStoresAndInterruptsAtTheEnd() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        byte[] data = IdeMachine.pattern(2 * 512, 2);
        IdeMachine m = IdeMachine.disk(backend);

        m.command(WRITE_SECTORS, 100, 2);
        assertFalse(m.interrupt(), "the first block is asked for without interrupt");
        m.writeData(data);

        assertTrue(m.interrupt());
        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertArrayEquals(data, backend.bytes(100 * 512, data.length));
    }

    @Test
    void multipleMovesSeveralSectorsPerInterrupt() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        byte[] data = IdeMachine.pattern(6 * 512, 3);
        IdeMachine m = IdeMachine.disk(backend);
        assertEquals(READY, m.simple(0xc6, 0, 4));

        m.command(WRITE_MULTIPLE, 8, 6);
        m.writeData(data);
        m.in(IdeMachine.STATUS);
        m.command(READ_MULTIPLE, 8, 6);

        assertTrue(m.interrupt());
        m.in(IdeMachine.STATUS);
        byte[] first = m.readData(4 * 512);
        assertTrue(m.interrupt(), "the second block interrupts");
        m.in(IdeMachine.STATUS);
        byte[] second = m.readData(2 * 512);
        byte[] all = new byte[data.length];
        System.arraycopy(first, 0, all, 0, first.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        assertArrayEquals(data, all);
        assertEquals(READY, m.in(IdeMachine.STATUS));
    }

    @Test
    void multipleIsRefusedBeforeItsSizeIsSet() {
        IdeMachine m = IdeMachine.disk();

        m.command(READ_MULTIPLE, 0, 1);

        assertEquals(FAILED, m.in(IdeMachine.STATUS));
        assertEquals(0x04, m.in(IdeMachine.ERROR));
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 5, 17, 32})
    void oddMultipleSizesAreRefused(int count) {
        assertEquals(FAILED, IdeMachine.disk().simple(0xc6, 0, count));
    }

    @Test
    void chsAddressesTheSameSectors() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        byte[] data = IdeMachine.pattern(512, 4);
        backend.poke((1 * 16 + 2) * 63L * 512 + 4 * 512, data);
        IdeMachine m = IdeMachine.disk(backend);

        m.out(IdeMachine.DEVICE, 0xa2);
        m.out(IdeMachine.COUNT, 1);
        m.out(IdeMachine.LBA_LOW, 5);
        m.out(IdeMachine.LBA_MID, 1);
        m.out(IdeMachine.LBA_HIGH, 0);
        m.out(IdeMachine.STATUS, READ_SECTORS);
        m.context.runPending();

        assertArrayEquals(data, m.readData(512));
    }

    @Test
    void sectorZeroDoesNotExistInChs() {
        IdeMachine m = IdeMachine.disk();

        m.out(IdeMachine.DEVICE, 0xa0);
        m.out(IdeMachine.COUNT, 1);
        m.out(IdeMachine.LBA_LOW, 0);
        m.out(IdeMachine.STATUS, READ_SECTORS);

        assertEquals(FAILED, m.in(IdeMachine.STATUS));
        assertEquals(0x10, m.in(IdeMachine.ERROR));
    }

    @ParameterizedTest
    @ValueSource(ints = {READ_SECTORS, WRITE_SECTORS, 0x40, 0xc8, 0xca})
    void rangesPastTheEndAreRefused(int command) {
        IdeMachine m = IdeMachine.disk();

        m.command(command, IdeMachine.DISK_BYTES / 512 - 1, 2);

        assertEquals(FAILED, m.in(IdeMachine.STATUS));
        assertEquals(0x10, m.in(IdeMachine.ERROR), "IDNF");
    }

    @Test
    void hugeLba48IsRefused() {
        IdeMachine m = IdeMachine.disk();

        m.commandExt(READ_SECTORS_EXT, 0, 0xffff_ffff_ffffL, 1);

        assertEquals(FAILED, m.in(IdeMachine.STATUS));
        assertEquals(0x10, m.in(IdeMachine.ERROR));
    }

    @Test
    void lba48ReadsMoreThan256Sectors() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        byte[] data = IdeMachine.pattern(300 * 512, 5);
        backend.poke(512, data);
        IdeMachine m = IdeMachine.disk(backend);

        m.commandExt(READ_SECTORS_EXT, 0, 1, 300);

        assertArrayEquals(data, m.readData(data.length));
        assertEquals(READY, m.in(IdeMachine.STATUS));
    }

    @Test
    void highOrderBitShowsThePreviousValues() {
        IdeMachine m = IdeMachine.disk();
        m.out(IdeMachine.LBA_LOW, 0x12);
        m.out(IdeMachine.LBA_LOW, 0x34);

        m.control(0x80);
        int previous = m.in(IdeMachine.LBA_LOW);
        m.control(0);

        assertEquals(0x12, previous);
        assertEquals(0x34, m.in(IdeMachine.LBA_LOW));
    }

    @Test
    void readErrorNamesTheSector() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        IdeMachine m = IdeMachine.disk(backend);

        m.command(READ_SECTORS, 0x123, 1);
        assertEquals(0x80, m.in(IdeMachine.STATUS), "busy");
        backend.next().fail(BlockStatus.IO_ERROR);

        assertTrue(m.interrupt());
        assertEquals(FAILED, m.in(IdeMachine.STATUS));
        assertEquals(0x40, m.in(IdeMachine.ERROR), "UNC");
        assertEquals(0x23, m.in(IdeMachine.LBA_LOW));
        assertEquals(0x01, m.in(IdeMachine.LBA_MID));
    }

    @Test
    void writeErrorIsADeviceFault() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        IdeMachine m = IdeMachine.disk(backend);

        m.command(WRITE_SECTORS, 1, 1);
        m.writeData(new byte[512]);
        backend.next().fail(BlockStatus.IO_ERROR);

        assertEquals(0x71, m.in(IdeMachine.STATUS));
    }

    @Test
    void flushReachesTheBackend() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        IdeMachine m = IdeMachine.disk(backend);

        int status = m.simple(0xe7, 0, 0);
        m.commandExt(0xea, 0, 0, 0);

        assertEquals(READY, status);
        assertEquals(2, backend.flushes());
    }

    @Test
    void writesAreDurableWhileTheCacheIsOff() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        IdeMachine m = IdeMachine.disk(backend);
        m.out(IdeMachine.ERROR, 0x82);
        m.command(0xef, 0, 0);
        assertTrue(backend.next().request() instanceof BlockRequest.Flush, "switching off flushes");
        backend.next().complete();
        assertEquals(0, m.identify()[85] & 0x20);

        m.command(WRITE_SECTORS, 0, 1);
        m.writeData(new byte[512]);

        assertTrue(((BlockRequest.Write) backend.next().request()).durable());
        backend.completeAll();
        m.out(IdeMachine.ERROR, 0x02);
        m.command(0xef, 0, 0);
        assertEquals(0x20, m.identify()[85] & 0x20);
        m.command(WRITE_SECTORS, 0, 1);
        m.writeData(new byte[512]);
        assertFalse(((BlockRequest.Write) backend.next().request()).durable());
        backend.completeAll();
    }

    @Test
    void cacheModeOfTheDriveChoosesTheWriteCache() {
        BlockCapabilities through = new BlockCapabilities(
                IdeMachine.DISK_BYTES, 512, 512, false, false, true, CacheMode.WRITETHROUGH, 128, 1 << 20);

        int[] words = IdeMachine.disk(new HeldBlockBackend(through).automatic()).identify();

        assertEquals(0, words[85] & 0x20, "write cache");
        assertEquals(0, words[169], "TRIM");
    }

    @Test
    void transferModeIsShown() {
        IdeMachine m = IdeMachine.disk();

        assertEquals(READY, m.simple(0xef, 3, 0x22));
        assertEquals(0x0407, m.identify()[63]);
        assertEquals(READY, m.simple(0xef, 3, 0x45));
        assertEquals(0x203f, m.identify()[88]);
        assertEquals(0x0007, m.identify()[63]);
        assertEquals(FAILED, m.simple(0xef, 3, 0x47));
    }

    @Test
    void hiddenEndComesBackWithReset() {
        IdeMachine m = IdeMachine.disk();
        m.command(0xf8, 0, 0);
        assertEquals((IdeMachine.DISK_BYTES / 512 - 1) & 0xff, m.in(IdeMachine.LBA_LOW));

        m.command(0xf9, 99, 0);

        assertEquals(100, m.identify()[60]);
        m.command(READ_SECTORS, 100, 1);
        assertEquals(FAILED, m.in(IdeMachine.STATUS));
        m.command(0xf9, 199, 0);
        assertEquals(FAILED, m.in(IdeMachine.STATUS), "only right after READ NATIVE MAX ADDRESS");
        m.device.reset();
        assertEquals(IdeMachine.DISK_BYTES / 512, m.identify()[60]);
    }

    @ParameterizedTest
    @ValueSource(ints = {0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xb1, 0x92, 0xa0, 0xa1, 0x08, 0x00, 0x60})
    void commandsThatADiskDoesNotHaveAreAborted(int command) {
        IdeMachine m = IdeMachine.disk();

        assertEquals(FAILED, m.simple(command, 0, 1));
        assertEquals(0x04, m.in(IdeMachine.ERROR));
    }

    @Test
    void standbyFlushesAndIsShown() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        IdeMachine m = IdeMachine.disk(backend);

        m.simple(0xe0, 0, 0);
        m.simple(0xe5, 0, 0);

        assertEquals(1, backend.flushes());
        assertEquals(0, m.in(IdeMachine.COUNT), "standby");
        m.simple(0xe1, 0, 0);
        m.simple(0xe5, 0, 0);
        assertEquals(0xff, m.in(IdeMachine.COUNT), "active");
    }

    @Test
    void smartSaysHealthy() {
        IdeMachine m = IdeMachine.disk();

        m.out(IdeMachine.ERROR, 0xda);
        m.command(0xb0, 0xc24f00, 0);
        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertEquals(0x4f, m.in(IdeMachine.LBA_MID));
        assertEquals(0xc2, m.in(IdeMachine.LBA_HIGH));
        m.out(IdeMachine.ERROR, 0xd0);
        m.command(0xb0, 0xc24f00, 1);
        byte[] data = m.readData(512);

        int sum = 0;
        for (byte b : data) {
            sum += b;
        }
        assertEquals(0, sum & 0xff);
        assertEquals(0x10, data[0]);
    }

    @Test
    void smartWithoutKeyIsAborted() {
        assertEquals(FAILED, IdeMachine.disk().simple(0xb0, 0xd0, 1));
    }

    @Test
    void softResetShowsTheSignatureAndKeepsSettings() {
        IdeMachine m = IdeMachine.disk();
        m.simple(0xc6, 0, 8);

        m.control(4);
        assertEquals(0x80, m.altStatus(), "busy while reset is asserted");
        m.control(0);

        assertEquals(READY, m.altStatus());
        assertEquals(1, m.in(IdeMachine.COUNT));
        assertEquals(1, m.in(IdeMachine.LBA_LOW));
        assertEquals(0, m.in(IdeMachine.LBA_MID));
        assertEquals(1, m.in(IdeMachine.ERROR));
        assertEquals(0x0108, m.identify()[59]);
    }

    @Test
    void softResetWaitsForARequestInFlight() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        IdeMachine m = IdeMachine.disk(backend);
        m.command(READ_SECTORS, 0, 1);

        m.control(4);
        m.control(0);

        assertEquals(0x80, m.altStatus());
        backend.next().complete();
        assertEquals(READY, m.altStatus());
        assertFalse(m.interrupt());
    }

    @Test
    void commandWhileBusyIsIgnored() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        IdeMachine m = IdeMachine.disk(backend);
        m.command(READ_SECTORS, 0, 1);

        m.command(WRITE_SECTORS, 5, 1);

        assertEquals(1, backend.submitted());
        backend.completeAll();
        assertEquals(0x58, m.in(IdeMachine.STATUS));
    }

    @Test
    void interruptsCanBeDisabled() {
        IdeMachine m = IdeMachine.disk();
        m.control(2);

        m.command(0xec, 0, 0);
        assertFalse(m.interrupt());
        m.control(0);

        assertTrue(m.interrupt());
    }

    @Test
    void bufferKeepsWhatIsWritten() {
        IdeMachine m = IdeMachine.disk();
        byte[] data = IdeMachine.pattern(512, 6);
        m.command(0xe8, 0, 0);
        m.writeData(data);

        m.command(0xe4, 0, 0);

        assertArrayEquals(data, m.readData(512));
    }

    @Test
    void absentSlaveReadsAsZero() {
        IdeMachine m = IdeMachine.disk();

        m.out(IdeMachine.DEVICE, 0xb0);
        m.out(IdeMachine.COUNT, 0x55);

        assertEquals(0, m.in(IdeMachine.STATUS));
        assertEquals(0, m.in(IdeMachine.COUNT));
    }

    @Test
    void largeSectorsAreAnnouncedAndMoved() {
        HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        byte[] data = IdeMachine.pattern(4096, 7);
        backend.poke(4096, data);
        IdeHdOptions plain = IdeHdOptions.of("disk0");
        IdeHdOptions options = new IdeHdOptions(
                "disk0",
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                plain.model(),
                plain.version(),
                Optional.empty(),
                Optional.empty(),
                true,
                1,
                Optional.of(4096),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                plain.rerror(),
                plain.werror(),
                Optional.empty());
        IdeMachine m = new IdeMachine(IdeMachine.context().drive("disk0", backend), IdeDrive.disk("ide0", options));

        int[] words = m.identify();
        m.command(READ_SECTORS, 1, 1);

        assertEquals(0x5000, words[106]);
        assertEquals(2048, words[117]);
        assertEquals(1, words[217]);
        assertEquals(IdeMachine.DISK_BYTES / 4096, words[60]);
        assertArrayEquals(data, m.readData(4096));
    }

    @Test
    void readOnlyDriveIsRefused() {
        BlockCapabilities readOnly = new BlockCapabilities(
                IdeMachine.DISK_BYTES, 512, 512, true, false, true, CacheMode.WRITEBACK, 128, 1 << 20);

        BenchtopException e =
                assertThrows(BenchtopException.class, () -> IdeMachine.disk(new HeldBlockBackend(readOnly)));

        assertTrue(e.getMessage().contains("read-only"), e.getMessage());
    }
}
