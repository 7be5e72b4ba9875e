package org.benchtop.scsi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import java.util.stream.LongStream;
import org.benchtop.scsi.megasas.Megasas;
import org.benchtop.scsi.megasas.MegasasOptions;
import org.benchtop.scsi.pvscsi.Pvscsi;
import org.benchtop.scsi.pvscsi.PvscsiOptions;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.FakePciFunction;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Rings and frames full of nonsense: adapters neither throw nor keep anything, and still reset. */
final class AdapterFuzzTest {
    private static final int ROUNDS = 400;
    private static final int MEMORY_BYTES = 1 << 20;

    /** Seeds that have found something, and a new one; {@code -Dbenchtop.test.seed=N} repeats it. */
    static LongStream seeds() {
        Long given = Long.getLong("benchtop.test.seed");
        return LongStream.of(1, 2, 3, given == null ? new Random().nextLong() : given);
    }

    private final HeldBlockBackend drive = new HeldBlockBackend(1 << 20);
    private final FakeDeviceContext context =
            new FakeDeviceContext("machine", FakeGuestMemory.ofSize(MEMORY_BYTES)).drive("disk0", drive);

    private DeviceGroup start(Device adapter) {
        DeviceGroup group = DeviceGroup.of(adapter, new ScsiDisk("disk0", ScsiHdOptions.of("disk0")));
        group.attach(context);
        group.reset();
        place();
        return group;
    }

    private void place() {
        context.pci().assignResources();
        context.pci().only().config(FakePciFunction.COMMAND, 2, 7);
    }

    private void write(int offset, int value) {
        context.mmioWrite(context.pci().only().barAddress(0) + offset, 4, value & 0xffff_ffffL);
    }

    /** Bytes that are small, or addresses in memory, more often than chance has it. */
    private static byte[] nonsense(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        for (int i = 0; i < length; i++) {
            if (random.nextInt(4) != 0) {
                bytes[i] = (byte) (random.nextInt(4) == 0 ? random.nextInt(32) : 0);
            }
        }
        return bytes;
    }

    private void settle(Random random) {
        context.runPending();
        for (int i = 0; i < 10_000 && !drive.pending().isEmpty(); i++) {
            HeldBlockBackend.Held held = drive.next();
            if (random.nextInt(8) == 0) {
                held.fail(BlockStatus.IO_ERROR);
            } else {
                held.complete();
            }
            context.runPending();
        }
    }

    private void assertRestsAfterReset(DeviceGroup group, long seed) {
        group.reset();
        assertEquals(0, drive.pending().size(), "requests in flight after reset; seed " + seed);
        group.close();
        assertEquals(0, drive.openQueues(), "queues open after close; seed " + seed);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void pvscsiSurvivesNonsenseInItsRings(long seed) {
        Random random = new Random(seed);
        DeviceGroup group = start(new Pvscsi("hba0", PvscsiOptions.defaults()));
        for (int round = 0; round < ROUNDS; round++) {
            int state = random.nextInt(16);
            write(0, 3);
            int[] words = new int[132];
            words[0] = 1 + random.nextInt(2);
            words[1] = 1 + random.nextInt(2);
            words[2] = state;
            for (int i = 0; i < 2; i++) {
                words[4 + 2 * i] = random.nextInt(260);
                words[68 + 2 * i] = random.nextInt(260);
            }
            for (int word : words) {
                write(4, word);
            }
            context.memory().poke(words[4] % 255 * 4096L, nonsense(random, 4096));
            context.memory().poke(state * 4096L, nonsense(random, 4));
            write(0x2010, random.nextInt(16));
            write(random.nextBoolean() ? 0x4018 : 0x3014, 0);
            if (random.nextInt(4) == 0) {
                write(0, 1 + random.nextInt(10));
                for (int i = 0; i < random.nextInt(8); i++) {
                    write(4, random.nextInt(64));
                }
            }
            settle(random);
        }

        assertRestsAfterReset(group, seed);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void megasasSurvivesNonsenseInItsFrames(long seed) {
        Random random = new Random(seed);
        DeviceGroup group = start(new Megasas("hba0", MegasasOptions.defaults()));
        for (int round = 0; round < ROUNDS; round++) {
            int frame = random.nextInt(MEMORY_BYTES / 64) * 64;
            byte[] bytes = nonsense(random, 64);
            bytes[0] = (byte) random.nextInt(8);
            if (bytes[0] == 5 && random.nextBoolean()) {
                int[] opcodes = {0x01010000, 0x03010000, 0x01040500, 0x01101000, 0x02010100};
                int opcode = opcodes[random.nextInt(opcodes.length)];
                for (int i = 0; i < 4; i++) {
                    bytes[24 + i] = (byte) (opcode >>> 8 * i);
                }
            }
            context.memory().poke(frame, bytes);
            write(random.nextInt(8) == 0 ? 0xc0 : 0x40, random.nextInt(16) == 0 ? random.nextInt() : frame | 1);
            switch (random.nextInt(32)) {
                case 0 -> write(0x20, random.nextInt(64));
                case 1 -> write(0x34, random.nextInt());
                case 2 -> write(0xa0, -1);
                default -> {}
            }
            settle(random);
        }

        assertRestsAfterReset(group, seed);
    }
}
