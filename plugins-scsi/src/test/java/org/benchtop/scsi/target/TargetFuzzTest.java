package org.benchtop.scsi.target;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Random commands, buffers, orders, aborts and drive errors: everything comes back once and nothing throws. */
final class TargetFuzzTest {
    private static final int COMMANDS = 3_000;

    /** Seeds that have found something, and a new one; {@code -Dbenchtop.test.seed=N} repeats it. */
    static LongStream seeds() {
        Long given = Long.getLong("benchtop.test.seed");
        return LongStream.of(1, 2, 3, given == null ? new Random().nextLong() : given);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyCommandComesBackOnce(long seed) {
        Random random = new Random(seed);
        HeldBlockBackend drive = new HeldBlockBackend(Initiator.DISK_BYTES);
        Initiator i = new Initiator(drive, Initiator.options());
        List<Initiator.Sent> all = new ArrayList<>();

        for (int n = 0; n < COMMANDS; n++) {
            all.add(i.send(
                    random.nextInt(16) == 0 ? random.nextInt(3) - 1 : 0,
                    HexFormat.ofDelimiter(" ").formatHex(cdb(random)),
                    random.nextInt(3) == 0 ? 0 : random.nextInt(16384),
                    random.nextInt(3) == 0 ? null : Initiator.pattern(random.nextInt(8192), n),
                    ScsiCommand.Attribute.values()[random.nextInt(8) % 3],
                    random.nextInt(3)));
            if (random.nextInt(32) == 0) {
                ScsiTaskManagement[] functions = ScsiTaskManagement.values();
                i.manage(functions[random.nextInt(functions.length)], random.nextInt(n + 1));
            }
            complete(i, drive, random, random.nextInt(4));
        }
        while (!drive.pending().isEmpty()) {
            complete(i, drive, random, 1);
        }

        assertTrue(all.stream().allMatch(Initiator.Sent::done), "all commands came back once; seed " + seed);
        assertEquals(0, i.disk().inspect().get("commands"), "seed " + seed);
        assertEquals(0, i.disk().inspect().get("waiting"), "seed " + seed);
    }

    private static void complete(Initiator i, HeldBlockBackend drive, Random random, int most) {
        for (int n = 0; n < most && !drive.pending().isEmpty(); n++) {
            HeldBlockBackend.Held held =
                    drive.pending().get(random.nextInt(drive.pending().size()));
            if (random.nextInt(16) == 0) {
                Initiator.fail(held, BlockStatus.IO_ERROR, i.loop);
            } else {
                Initiator.complete(held, i.loop);
            }
        }
    }

    /** Mostly a command that exists, with small numbers in fields that mean something. */
    private static byte[] cdb(Random random) {
        if (random.nextInt(8) == 0) {
            byte[] any = new byte[6 + random.nextInt(11)];
            random.nextBytes(any);
            return any;
        }
        List<Operation> known = Operation.all(Operation.Unit.DISK).toList();
        Operation operation = known.get(random.nextInt(known.size()));
        byte[] usage = operation.usage();
        byte[] cdb = new byte[usage.length];
        cdb[0] = usage[0];
        for (int i = 1; i < cdb.length; i++) {
            cdb[i] = (byte) (usage[i] & (random.nextInt(3) == 0 ? random.nextInt(256) : random.nextInt(4)));
        }
        if (operation.serviceAction() >= 0) {
            cdb[1] = usage[1];
        }
        // High bytes of addresses are zero, so that some hit the disk.
        for (int i = 2; i < cdb.length - 4 && random.nextInt(8) != 0; i++) {
            cdb[i] = 0;
        }
        return cdb;
    }
}
