package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** rerror and werror of IDE and AHCI drives: what happens to requests that the host cannot carry out. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class IdeErrorPolicyTest {
    private static final int READ_DMA = 0xc8;
    private static final int READ_SECTORS = 0x20;
    private static final int WRITE_SECTORS = 0x30;
    private static final int WRITE_DMA = 0xca;
    private static final int FLUSH_CACHE = 0xe7;
    private static final int WRITE_QUEUED = 0x61;
    private static final int READY = 0x50;

    private final HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
    private final FakeDeviceContext context = IdeMachine.context().drive("disk0", backend);

    private Device disk(ErrorPolicy rerror, ErrorPolicy werror) {
        IdeHdOptions o = IdeHdOptions.of("disk0");
        return IdeDrive.disk(
                "ide0",
                new IdeHdOptions(
                        "disk0",
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        o.model(),
                        o.version(),
                        Optional.empty(),
                        Optional.empty(),
                        true,
                        0,
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        rerror,
                        werror,
                        Optional.empty()));
    }

    private IdeMachine ide(ErrorPolicy rerror, ErrorPolicy werror) {
        return new IdeMachine(context, disk(rerror, werror));
    }

    private List<String> pauses() {
        return context.machine().requests();
    }

    private void pauseAndResume(Device device) {
        device.pause();
        device.resume();
        context.runPending();
    }

    @Test
    void reportTellsTheGuest() {
        IdeMachine m = ide(ErrorPolicy.REPORT, ErrorPolicy.REPORT);
        m.command(READ_SECTORS, 0, 1);

        backend.next().fail(BlockStatus.IO_ERROR);

        assertEquals(IdeMachine.ERR, m.in(IdeMachine.STATUS) & IdeMachine.ERR);
        assertEquals(List.of(), pauses());
    }

    @Test
    void ignoreTellsTheGuestThatAllIsWell() {
        IdeMachine m = ide(ErrorPolicy.REPORT, ErrorPolicy.IGNORE);
        m.command(FLUSH_CACHE, 0, 0);

        backend.next().fail(BlockStatus.IO_ERROR);

        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertEquals(List.of(), pauses());
        assertEquals(1, context.stats().value("errors"));
    }

    @Test
    void stoppedMachineTriesAWriteFromTheDataRegisterAgain() {
        IdeMachine m = ide(ErrorPolicy.REPORT, ErrorPolicy.ENOSPC);
        byte[] data = IdeMachine.pattern(512, 1);
        m.command(WRITE_SECTORS, 4, 1);
        m.writeData(data);

        backend.next().fail(BlockStatus.NO_SPACE);
        context.runPending();
        assertEquals(IdeMachine.BSY, m.altStatus() & IdeMachine.BSY, "the guest sees nothing");
        assertFalse(m.interrupt());
        assertEquals(1, pauses().size());
        assertTrue(pauses().getFirst().contains("no space left for write 512 bytes at sector 4"), pauses().getFirst());
        pauseAndResume(m.device);
        backend.next().complete();

        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertArrayEquals(data, backend.bytes(2048, 512));
        assertEquals(1, pauses().size());
    }

    @Test
    void stoppedMachineTriesDmaAgainAsOftenAsItTakes() {
        IdeMachine m = ide(ErrorPolicy.STOP, ErrorPolicy.STOP);
        byte[] data = IdeMachine.pattern(4096, 2);
        backend.poke(8 * 512, data);
        m.table(IdeMachine.DATA, 4096);
        m.command(READ_DMA, 8, 8);
        m.startMaster(true);
        for (int i = 1; i <= 3; i++) {
            backend.next().fail(BlockStatus.IO_ERROR);
            context.runPending();
            assertEquals(i, pauses().size());
            assertEquals(1, m.masterStatus() & 7, "the bus master is active");
            pauseAndResume(m.device);
        }

        backend.next().complete();

        assertTrue(m.interrupt());
        assertEquals(READY, m.in(IdeMachine.STATUS));
        assertArrayEquals(data, m.memory(IdeMachine.DATA, 4096));
    }

    @Test
    void resetForgetsWhatWaits() {
        IdeMachine m = ide(ErrorPolicy.STOP, ErrorPolicy.STOP);
        m.table(IdeMachine.DATA, 512);
        m.command(WRITE_DMA, 0, 1);
        m.startMaster(false);
        backend.next().fail(BlockStatus.IO_ERROR);
        context.runPending();
        long submitted = backend.submitted();

        m.device.pause();
        m.device.reset();
        m.device.resume();
        context.runPending();

        assertEquals(submitted, backend.submitted());
        assertEquals(READY, m.in(IdeMachine.STATUS));
    }

    @Test
    void softResetByTheGuestForgetsWhatWaits() {
        IdeMachine m = ide(ErrorPolicy.STOP, ErrorPolicy.STOP);
        m.command(READ_SECTORS, 0, 1);
        backend.next().fail(BlockStatus.IO_ERROR);
        context.runPending();
        long submitted = backend.submitted();

        m.control(4);
        m.control(0);
        pauseAndResume(m.device);

        assertEquals(submitted, backend.submitted());
        assertEquals(READY, m.in(IdeMachine.STATUS));
    }

    @Test
    void savingWhileARequestWaitsIsRefusedWithAReason() {
        IdeMachine m = ide(ErrorPolicy.STOP, ErrorPolicy.STOP);
        m.command(READ_SECTORS, 7, 1);
        backend.next().fail(BlockStatus.IO_ERROR);
        context.runPending();
        m.device.pause();

        BenchtopException refused = assertThrows(BenchtopException.class, m.device::saveState);

        assertTrue(refused.getMessage().contains("read 512 bytes at sector 7"), refused.getMessage());
    }

    @Test
    void queuedCommandThatWaitsDoesNotHoldUpTheOthers() {
        AhciMachine m = new AhciMachine(context, disk(ErrorPolicy.STOP, ErrorPolicy.STOP));
        byte[] data = IdeMachine.pattern(2 * 512, 3);
        context.memory().poke(AhciMachine.DATA, data);
        for (int i = 0; i < 2; i++) {
            m.prepare(i, WRITE_QUEUED, 1, 10 + i, i << 3, 0x40, AhciMachine.DATA + 512L * i, 512);
        }
        m.queue(3);

        backend.pending().getFirst().fail(BlockStatus.NO_SPACE);
        backend.completeAll();
        context.runPending();
        assertEquals(1, m.read(AhciMachine.SACT), "the first one waits");
        assertEquals(1, pauses().size());
        m.hba.pause();
        m.drive.pause();
        m.drive.resume();
        m.hba.resume();
        context.runPending();
        backend.completeAll();

        assertEquals(0, m.read(AhciMachine.SACT));
        assertArrayEquals(data, backend.bytes(5120, 1024));
    }

    @Test
    void cdDriveFollowsRerror() {
        HeldBlockBackend disc = new HeldBlockBackend(IdeMachine.DISK_BYTES);
        byte[] data = IdeMachine.pattern(2048, 4);
        disc.poke(2048, data);
        IdeCdOptions o = IdeCdOptions.of("cd0");
        FakeDeviceContext cdContext = IdeMachine.context().drive("cd0", disc);
        IdeMachine m = new IdeMachine(
                cdContext,
                IdeDrive.cd(
                        "ide0",
                        new IdeCdOptions(
                                o.drive(),
                                o.bus(),
                                o.channel(),
                                o.unit(),
                                o.iothread(),
                                o.serial(),
                                o.model(),
                                o.version(),
                                o.wwn(),
                                ErrorPolicy.STOP,
                                Optional.empty())));
        m.senseKey(0);
        m.packet(0xfffe, false, 0x28, 0, 0, 0, 0, 1, 0, 0, 1);

        disc.next().fail(BlockStatus.IO_ERROR);
        cdContext.runPending();
        assertEquals(1, cdContext.machine().requests().size());
        m.device.pause();
        m.device.resume();
        cdContext.runPending();
        disc.next().complete();

        assertArrayEquals(data, m.readData(2048));
    }
}
