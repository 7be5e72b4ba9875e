package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.benchtop.ide.ahci.Ahci;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** AHCI: command lists, queues, errors and packets. */
final class AhciTest {
    private static final int READ_DMA_EXT = 0x25;
    private static final int WRITE_DMA_EXT = 0x35;
    private static final int READ_QUEUED = 0x60;
    private static final int WRITE_QUEUED = 0x61;
    private static final int DHRS = 1;
    private static final int PSS = 2;
    private static final int SDBS = 8;
    private static final int PCS = 1 << 6;
    private static final int TFES = 1 << 30;
    private static final int HBFS = 1 << 29;

    private final HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);
    private final AhciMachine m = AhciMachine.disk(backend);

    @Test
    void diskIsThere() {
        assertEquals(0x113, m.read(AhciMachine.SSTS));
        assertEquals(0x0101, m.read(AhciMachine.SIG));
        assertEquals(0x50, m.read(AhciMachine.TFD) & 0xff);
        assertEquals(0x3f, m.read(0x0c));
    }

    @Test
    void identifyComesByPioSetup() {
        m.prepare(0, 0xec, 0, 0, 0, 0, AhciMachine.DATA, 512);

        m.issue(1);

        assertEquals(0, m.read(AhciMachine.CI));
        assertTrue(m.interrupt());
        assertEquals(PSS, m.clearInterrupts());
        assertFalse(m.interrupt());
        int[] words = IdeMachine.words(m.memory(AhciMachine.DATA, 512));
        assertEquals(0x0106, words[76], "serial ATA with queuing");
        assertEquals(31, words[75]);
        assertEquals(0x5f, m.memory(AhciMachine.RECEIVED + 0x20, 1)[0]);
        assertEquals(0x50, m.memory(AhciMachine.RECEIVED + 0x20 + 15, 1)[0], "final status");
        assertEquals(512, m.memory(AhciMachine.LIST + 5, 1)[0] * 256, "bytes transferred");
    }

    @Test
    void dmaReadsAndWritesInPlace() {
        byte[] data = IdeMachine.pattern(4096, 1);
        m.context.memory().poke(AhciMachine.DATA, data);
        m.prepare(3, WRITE_DMA_EXT, 0, 10, 8, 0x40, AhciMachine.DATA, 1024, AhciMachine.DATA + 1024, 3072);
        m.issue(8);
        assertEquals(8, m.read(AhciMachine.CI));
        backend.completeAll();

        assertEquals(0, m.read(AhciMachine.CI));
        assertEquals(DHRS, m.clearInterrupts());
        assertArrayEquals(data, backend.bytes(5120, 4096));
        m.prepare(0, READ_DMA_EXT, 0, 10, 8, 0x40, AhciMachine.DATA + 8192, 4096);
        m.issue(1);
        backend.completeAll();
        assertArrayEquals(data, m.memory(AhciMachine.DATA + 8192, 4096));
        assertTrue(m.context.memory().wasWritten(AhciMachine.DATA + 8192, 4096));
    }

    @Test
    void queuedCommandsRunTogetherAndEndInAnyOrder() {
        byte[] data = IdeMachine.pattern(32 * 512, 2);
        backend.poke(0, data);
        for (int i = 0; i < 32; i++) {
            m.prepare(i, READ_QUEUED, 1, i, i << 3, 0x40, AhciMachine.DATA + 512L * i, 512);
        }

        m.queue(-1);
        assertEquals(0, m.read(AhciMachine.CI), "all are with the drive");
        assertEquals(32, backend.pending().size());
        m.clearInterrupts();
        backend.pending().get(5).complete();
        assertEquals(~(1 << 5), m.read(AhciMachine.SACT));
        assertEquals(SDBS, m.clearInterrupts());
        backend.completeAll();

        assertEquals(0, m.read(AhciMachine.SACT));
        assertArrayEquals(data, m.memory(AhciMachine.DATA, data.length));
    }

    @Test
    void queuedWriteWithFuaIsDurable() {
        m.prepare(0, WRITE_QUEUED, 1, 7, 0, 0xc0, AhciMachine.DATA, 512);

        m.queue(1);

        assertTrue(((org.benchtop.spi.block.BlockRequest.Write) backend.next().request()).durable());
        backend.completeAll();
    }

    @Test
    void queueErrorStopsTheListAndTheLogNamesTheCommand() {
        for (int i = 0; i < 3; i++) {
            m.prepare(i, READ_QUEUED, 1, 100 + i, i << 3, 0x40, AhciMachine.DATA + 512L * i, 512);
        }
        m.queue(7);
        m.clearInterrupts();

        backend.pending().get(1).fail(BlockStatus.IO_ERROR);

        assertEquals(TFES, m.read(AhciMachine.IS) & TFES);
        assertEquals(0x51, m.read(AhciMachine.TFD) & 0xff);
        m.write(AhciMachine.CMD, 0x10);
        assertEquals(1 << 15, m.read(AhciMachine.CMD) & 1 << 15, "the list runs while memory is in use");
        backend.completeAll();
        assertEquals(0, m.read(AhciMachine.CMD) & 1 << 15);
        m.write(AhciMachine.SERR, -1);
        m.write(AhciMachine.IS, -1);
        m.write(AhciMachine.CMD, 0x11);
        m.prepare(0, 0x2f, 0, 0x10, 1, 0, AhciMachine.DATA, 512);
        m.issue(1);

        byte[] log = m.memory(AhciMachine.DATA, 512);
        assertEquals(1, log[0], "tag");
        assertEquals(101, log[4], "LBA");
        m.prepare(4, READ_QUEUED, 1, 5, 4 << 3, 0x40, AhciMachine.DATA, 512);
        m.queue(1 << 4);
        assertEquals(1, backend.pending().size(), "queued commands run again");
        backend.completeAll();
    }

    @Test
    void queuedCommandPastTheEndIsRefused() {
        m.prepare(0, READ_QUEUED, 1, IdeMachine.DISK_BYTES / 512, 0, 0x40, AhciMachine.DATA, 512);

        m.queue(1);

        assertEquals(0, backend.submitted());
        assertEquals(TFES, m.read(AhciMachine.IS) & TFES);
    }

    @Test
    void errorStopsTheListUntilTheDriverRestartsIt() {
        m.prepare(0, READ_DMA_EXT, 0, IdeMachine.DISK_BYTES / 512, 1, 0x40, AhciMachine.DATA, 512);
        m.prepare(1, READ_DMA_EXT, 0, 0, 1, 0x40, AhciMachine.DATA, 512);

        m.issue(3);

        assertEquals(TFES | DHRS, m.read(AhciMachine.IS));
        assertEquals(0x1051, m.read(AhciMachine.TFD));
        assertEquals(0, backend.submitted());
        m.write(AhciMachine.CMD, 0x10);
        m.write(AhciMachine.IS, -1);
        m.write(AhciMachine.CMD, 0x11);
        m.issue(2);
        backend.completeAll();
        assertEquals(0, m.read(AhciMachine.CI));
    }

    @Test
    void dataOutsideRamIsAnError() {
        m.prepare(0, READ_DMA_EXT, 0, 0, 1, 0x40, 0xe000_0000L, 512);

        m.issue(1);

        assertEquals(HBFS | TFES, m.read(AhciMachine.IS) & (HBFS | TFES));
        assertEquals(0, backend.submitted());
    }

    @Test
    void commandListOutsideRamIsAnError() {
        m.write(AhciMachine.CMD, 0);
        m.write(AhciMachine.PORT, 0xf000_0000L);
        m.write(AhciMachine.CMD, 0x11);

        m.issue(1);

        assertEquals(HBFS, m.read(AhciMachine.IS) & HBFS);
    }

    @Test
    void portResetShowsTheDriveAgain() {
        m.clearInterrupts();

        m.write(AhciMachine.SCTL, 1);
        assertEquals(0, m.read(AhciMachine.SSTS));
        m.write(AhciMachine.SCTL, 0);

        assertEquals(0x113, m.read(AhciMachine.SSTS));
        assertEquals(PCS, m.read(AhciMachine.IS) & PCS);
        m.write(AhciMachine.SERR, -1);
        assertEquals(0, m.read(AhciMachine.IS) & PCS);
        assertEquals(0x0101, m.read(AhciMachine.SIG));
    }

    @Test
    void softResetByControlFis() {
        byte[] fis = new byte[20];
        fis[0] = 0x27;
        fis[15] = 4;
        m.prepare(0, fis, new byte[0]);
        m.issue(1);
        assertEquals(0x80, m.read(AhciMachine.TFD) & 0xff);
        fis[15] = 0;
        m.prepare(0, fis, new byte[0]);

        m.issue(1);

        assertEquals(0x50, m.read(AhciMachine.TFD) & 0xff);
        assertEquals(0, m.read(AhciMachine.CI));
        assertEquals(0x34, m.memory(AhciMachine.RECEIVED + 0x40, 1)[0]);
    }

    @Test
    void unpluggedDriveIsNoticed() {
        m.clearInterrupts();

        m.drive.close();

        assertEquals(0, m.read(AhciMachine.SSTS));
        assertEquals(1 << 22, m.read(AhciMachine.IS) & 1 << 22);
        assertTrue(m.interrupt());
    }

    @Test
    void packetsReadADisc() {
        byte[] disc = IdeMachine.pattern(4096, 3);
        HeldBlockBackend cd = new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic();
        cd.poke(2048, disc);
        AhciMachine machine = AhciMachine.cd(cd);
        assertEquals(0xeb140101, machine.read(AhciMachine.SIG));
        machine.packet(0, new int[] {0});
        assertEquals(TFES | DHRS, machine.read(AhciMachine.IS), "unit attention");
        machine.write(AhciMachine.CMD, 0x10);
        machine.write(AhciMachine.IS, -1);
        machine.write(AhciMachine.CMD, 0x11);

        machine.packet(1, new int[] {0x28, 0, 0, 0, 0, 1, 0, 0, 2}, AhciMachine.DATA, 4096);

        assertEquals(DHRS, machine.read(AhciMachine.IS));
        assertArrayEquals(disc, machine.memory(AhciMachine.DATA, 4096));
        machine.clearInterrupts();
        machine.packet(0, new int[] {0});
        assertEquals(DHRS, machine.clearInterrupts(), "a packet without data");
        machine.packet(0, new int[] {0x25}, AhciMachine.DATA, 8);
        assertEquals(8, machine.memory(AhciMachine.DATA, 8)[6]);
    }

    @Test
    void messageInsteadOfALine() {
        var function = m.context.pci().only();
        int msi = function.findCapability(5);
        int devfn = function.address().devfn();
        m.context.pci().configWrite(0, devfn, msi + 4, 4, 0xfee0_0000L);
        m.context.pci().configWrite(0, devfn, msi + 12, 2, 0x55);
        m.context.pci().configWrite(0, devfn, msi + 2, 2, 1);
        m.clearInterrupts();
        m.context.irqs().drainMessages();
        m.prepare(0, 0xec, 0, 0, 0, 0, AhciMachine.DATA, 512);

        m.issue(1);

        assertEquals(1, m.context.irqs().drainMessages().size());
        assertFalse(m.interrupt());
    }

    /** An adapter with a disk on its first port, as one device. */
    private static final class Whole implements Device {
        private final Ahci hba = new Ahci("ahci", Optional.empty(), 6);
        private final Device drive = IdeDrive.disk("disk", IdeHdOptions.of("disk0"));

        @Override
        public void attach(org.benchtop.spi.device.DeviceContext context) {
            hba.attach(context);
            drive.attach(context);
        }

        @Override
        public void reset() {
            hba.reset();
            drive.reset();
        }

        @Override
        public void pause() {
            drive.pause();
            hba.pause();
        }

        @Override
        public void resume() {
            hba.resume();
            drive.resume();
        }

        /** Both states. */
        record State(org.benchtop.spi.state.SavedState hba, org.benchtop.spi.state.SavedState drive) {}

        @Override
        public org.benchtop.spi.state.SavedState saveState() {
            return new org.benchtop.spi.state.SavedState(1, new State(hba.saveState(), drive.saveState()));
        }

        @Override
        public void restoreState(org.benchtop.spi.state.SavedState state) {
            State both = (State) state.content();
            hba.restoreState(new org.benchtop.spi.state.SavedState(
                    Math.max(state.version(), both.hba.version()), both.hba.content()));
            drive.restoreState(both.drive);
        }

        @Override
        public java.util.List<org.benchtop.spi.device.RegisterMap<?>> registers() {
            return hba.registers();
        }

        @Override
        public void close() {
            drive.close();
            hba.close();
        }
    }

    /** The rules of every device. */
    @Nested
    final class Contract implements DeviceContract {
        @Override
        public Subject subject() {
            HeldBlockBackend drive = new HeldBlockBackend(IdeMachine.DISK_BYTES);
            FakeDeviceContext context = IdeMachine.context().drive("disk0", drive);
            return new Subject(new Whole(), context, Optional.of(drive), () -> {
                long base = context.pci().only().barAddress(5);
                context.mmioWrite(base + 0x100, 4, AhciMachine.LIST);
                context.mmioWrite(base + 0x108, 4, AhciMachine.RECEIVED);
                byte[] fis = new byte[20];
                fis[0] = 0x27;
                fis[1] = (byte) 0x80;
                fis[2] = READ_DMA_EXT;
                fis[7] = 0x40;
                fis[12] = 1;
                byte[] region = {0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, 1, 0, 0};
                byte[] header = {5, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0, 0};
                context.memory().poke(AhciMachine.TABLES, fis);
                context.memory().poke(AhciMachine.TABLES + 0x80, region);
                context.memory().poke(AhciMachine.LIST, header);
                context.mmioWrite(base + 0x118, 4, 0x11);
                context.mmioWrite(base + 0x138, 4, 1);
            });
        }

        @Override
        public Set<String> variableRegisters() {
            Stream<String> port = Stream.of("TFD", "SIG", "SSTS", "SERR", "IS").map(name -> "port0." + name);
            Stream<String> hba = Stream.of("hba.CAP", "hba.PI");
            return Stream.concat(port, hba).collect(Collectors.toSet());
        }
    }

    @Test
    void portsBeyondTheLastReadAsZero() {
        assertEquals(
                0,
                IntStream.range(6, 32).map(p -> m.read(0x100 + 0x80 * p + 0x28)).sum());
    }
}
