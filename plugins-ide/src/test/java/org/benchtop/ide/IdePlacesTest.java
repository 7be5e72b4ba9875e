package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.benchtop.ide.piix.PiixIde;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;

/** Drives find their places on a controller. */
final class IdePlacesTest {
    private final FakeDeviceContext context = IdeMachine.context()
            .drive("a", new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic())
            .drive("b", new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic())
            .drive("c", new HeldBlockBackend(IdeMachine.DISK_BYTES).automatic());

    private static Device disk(String id, String drive, Optional<String> bus, int channel, int unit) {
        IdeHdOptions o = IdeHdOptions.of(drive);
        return IdeDrive.disk(
                id,
                new IdeHdOptions(
                        drive,
                        bus,
                        channel < 0 ? Optional.empty() : Optional.of(channel),
                        unit < 0 ? Optional.empty() : Optional.of(unit),
                        Optional.empty(),
                        Optional.of(id),
                        o.model(),
                        o.version(),
                        o.wwn(),
                        o.writeCache(),
                        true,
                        0,
                        o.logicalBlockSize(),
                        o.physicalBlockSize(),
                        o.cyls(),
                        o.heads(),
                        o.secs(),
                        o.rerror(),
                        o.werror(),
                        Optional.empty()));
    }

    private static String serial(IdeMachine m) {
        m.out(IdeMachine.STATUS, 0xec);
        m.context.runPending();
        int[] words = IdeMachine.words(m.readData(512));
        StringBuilder text = new StringBuilder();
        for (int i = 10; i < 20; i++) {
            text.append((char) (words[i] >> 8)).append((char) (words[i] & 0xff));
        }
        return text.toString().trim();
    }

    @Test
    void masterSlaveAndSecondChannelAreSeparateDrives() {
        IdeMachine m = new IdeMachine(
                context,
                new PiixIde("ide", PiixIde.Chip.PIIX4, Optional.empty()),
                disk("one", "a", Optional.of("ide"), -1, -1),
                disk("two", "b", Optional.of("ide"), -1, -1),
                disk("three", "c", Optional.of("ide"), 1, 1));

        m.out(IdeMachine.DEVICE, 0xa0);
        assertEquals("one", serial(m));
        m.out(IdeMachine.DEVICE, 0xb0);
        assertEquals("two", serial(m));
        m.secondary();
        m.out(IdeMachine.DEVICE, 0xb0);
        assertEquals("three", serial(m));
        assertEquals(0x7111, m.context.pci().only().config(2, 2));
    }

    @Test
    void slaveWithoutMasterWorksAndResets() {
        IdeMachine m = new IdeMachine(
                context,
                new PiixIde("ide", PiixIde.Chip.PIIX3, Optional.empty()),
                disk("lonely", "a", Optional.empty(), 0, 1));
        m.control(4);
        m.control(0);
        assertEquals(0, m.altStatus(), "the master is absent");

        m.out(IdeMachine.DEVICE, 0xf0);
        m.out(IdeMachine.COUNT, 1);
        m.out(IdeMachine.STATUS, 0x20);
        m.context.runPending();

        assertTrue(m.interrupt());
        assertArrayEquals(new byte[512], m.readData(512));
    }

    @Test
    void bothDrivesTakeRegisterWritesAndOneInterrupts() {
        IdeMachine m = new IdeMachine(
                context,
                new PiixIde("ide", PiixIde.Chip.PIIX3, Optional.empty()),
                disk("one", "a", Optional.empty(), 0, 0),
                disk("two", "b", Optional.empty(), 0, 1));

        m.out(IdeMachine.DEVICE, 0xe0);
        m.out(IdeMachine.COUNT, 7);
        m.out(IdeMachine.DEVICE, 0xf0);

        assertEquals(7, m.in(IdeMachine.COUNT));
        m.out(IdeMachine.STATUS, 0x90);
        assertEquals(0x50, m.altStatus());
        assertEquals(0xa0, m.in(IdeMachine.DEVICE), "the diagnostic selects the first drive");
        assertTrue(m.interrupt());
    }

    @Test
    void takenPlaceIsRefused() {
        Device first = disk("one", "a", Optional.empty(), 0, 0);
        first.attach(context);
        Device second = disk("two", "b", Optional.empty(), 0, 0);

        BenchtopException e = assertThrows(BenchtopException.class, () -> second.attach(context));

        assertEquals(
                "two: channel 0 unit 0 of ide0 is taken or does not exist; it has channels 0..1 with units 0..1",
                e.getMessage().replace("one", "ide0"));
        first.close();
    }

    @Test
    void unknownControllerIsRefused() {
        Device alone = disk("one", "a", Optional.of("nowhere"), -1, -1);

        BenchtopException e = assertThrows(BenchtopException.class, () -> alone.attach(context));

        assertTrue(e.getMessage().contains("nowhere"), e.getMessage());
    }

    @Test
    void channelThatIsNotDecodedReadsAsOnes() {
        IdeMachine m = new IdeMachine(context, disk("one", "a", Optional.empty(), 0, 0));

        m.context.pci().configWrite(0, m.context.pci().only().address().devfn(), 0x40, 2, 0);

        assertEquals(0xff, m.in(IdeMachine.STATUS));
    }
}
