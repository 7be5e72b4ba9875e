package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Random;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

/**
 * Random commands, tables and packets with values that reach deep into the drives. Whatever a guest does, nothing
 * throws, a reset brings the drive back, and the backend never sees a request outside the medium: the fake backend would
 * count it.
 */
final class IdeFuzzTest {
    private static final int[] COMMANDS = {
        0x06, 0x08, 0x20, 0x24, 0x25, 0x29, 0x2f, 0x30, 0x34, 0x35, 0x39, 0x3d, 0x40, 0x47, 0x60, 0x61, 0x90, 0x91,
                0xa0,
        0xa1, 0xb0, 0xc4, 0xc5, 0xc6, 0xc8, 0xca, 0xce, 0xe0, 0xe4, 0xe5, 0xe7, 0xe8, 0xea, 0xec, 0xef, 0xf8, 0xf9,
                0x27,
        0x37
    };
    private static final int[] PACKETS = {
        0x00, 0x03, 0x12, 0x1b, 0x1e, 0x25, 0x28, 0x2b, 0x42, 0x43, 0x44, 0x46, 0x4a, 0x51, 0x52, 0x55, 0x5a, 0xa8,
        0xad, 0xb9, 0xbb, 0xbd, 0xbe
    };
    private static final int ROUNDS = 4_000;

    private final long seed = Long.getLong("benchtop.test.seed", new Random().nextLong());
    private final Random random = new Random(seed);
    private final HeldBlockBackend backend = new HeldBlockBackend(IdeMachine.DISK_BYTES);

    private void fuzz(Runnable body) {
        Assertions.assertTimeoutPreemptively(
                Duration.ofSeconds(120), body::run, "repeat with -Dbenchtop.test.seed=" + seed);
    }

    private long someLength() {
        return switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> random.nextInt(65536);
            case 2 -> 512L << random.nextInt(7);
            default -> 2L * random.nextInt(600);
        };
    }

    private long someAddress() {
        return random.nextInt(8) == 0 ? random.nextLong() & 0xffff_ffffL : IdeMachine.DATA + random.nextInt(1 << 20);
    }

    private int someByte() {
        return switch (random.nextInt(3)) {
            case 0 -> 0;
            case 1 -> random.nextInt(4);
            default -> random.nextInt(256);
        };
    }

    private void answerSome(org.benchtop.testkit.FakeDeviceContext context, boolean all) {
        for (int i = 0; !backend.pending().isEmpty() && (all || i < 2); i++) {
            var waiting = backend.pending();
            var held = waiting.get(random.nextInt(waiting.size()));
            if (random.nextInt(6) == 0) {
                held.fail(BlockStatus.IO_ERROR);
            } else {
                held.complete();
            }
            context.runPending();
        }
    }

    private void ideRound(IdeMachine m) {
        switch (random.nextInt(10)) {
            case 0 -> m.control(random.nextInt(8));
            case 1, 2 -> {
                long[] regions = new long[2 + 2 * random.nextInt(6)];
                for (int i = 0; i < regions.length; i += 2) {
                    regions[i] = someAddress();
                    regions[i + 1] = someLength();
                }
                m.table(regions);
                m.context.pioWrite(m.master(), 1, random.nextInt(16));
            }
            case 3 -> m.context.pioRead(0x1f0, random.nextBoolean() ? 2 : 4);
            case 4 -> {
                for (int i = random.nextInt(600); i > 0; i--) {
                    m.context.pioWrite(0x1f0, 2, random.nextInt());
                }
            }
            case 5 -> {
                for (int i = random.nextInt(3000); i > 0; i--) {
                    m.context.pioRead(0x1f0, 2);
                }
            }
            case 6 -> m.context.pioWrite(m.master(), 1, random.nextInt(2) * 9);
            default -> {
                m.out(IdeMachine.DEVICE, random.nextBoolean() ? 0xe0 : random.nextInt(256));
                for (int register = 1; register < 6; register++) {
                    m.out(register, someByte());
                    m.out(register, someByte());
                }
                int command = COMMANDS[random.nextInt(COMMANDS.length)];
                m.out(IdeMachine.STATUS, command);
                if (command == 0xa0) {
                    m.context.pioWrite(0x1f0, 4, PACKETS[random.nextInt(PACKETS.length)] | random.nextInt() << 8);
                    m.context.pioWrite(0x1f0, 4, random.nextBoolean() ? random.nextInt() : 0);
                    m.context.pioWrite(0x1f0, 4, someByte() << 8 | someByte());
                }
            }
        }
        m.context.runPending();
        answerSome(m.context, false);
    }

    private void fuzzIde(IdeMachine m, int identify) {
        fuzz(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                ideRound(m);
            }
            answerSome(m.context, true);
            m.device.pause();
            m.device.saveState();
            m.device.resume();
            m.control(4);
            m.control(0);
            answerSome(m.context, true);
            m.out(IdeMachine.DEVICE, 0xa0);
            m.out(IdeMachine.STATUS, identify);
            m.context.runPending();
            assertEquals(0x58, m.in(IdeMachine.STATUS), "seed " + seed);
            m.device.close();
        });
    }

    @Test
    void hostileDriverCannotBreakADisk() {
        fuzzIde(IdeMachine.disk(backend), 0xec);
    }

    @Test
    void hostileDriverCannotBreakACdDrive() {
        fuzzIde(IdeMachine.cd(backend), 0xa1);
    }

    private void ahciRound(AhciMachine m) {
        switch (random.nextInt(8)) {
            case 0 -> m.write(AhciMachine.CMD, random.nextInt(4) == 0 ? random.nextInt() : 0x11);
            case 1 -> m.write(AhciMachine.SCTL, random.nextInt(3));
            case 2 -> m.write(AhciMachine.IS, -1);
            case 3 -> {
                m.write(AhciMachine.CMD, 0x10);
                m.write(AhciMachine.PORT, AhciMachine.LIST);
                m.write(AhciMachine.PORT + 8, AhciMachine.RECEIVED);
                m.write(AhciMachine.CMD, 0x11);
            }
            case 4 -> m.write(AhciMachine.PORT + 4 * random.nextInt(16), random.nextInt());
            default -> {
                int slot = random.nextInt(32);
                byte[] fis = new byte[20];
                random.nextBytes(fis);
                fis[0] = (byte) (random.nextInt(20) == 0 ? random.nextInt() : 0x27);
                fis[1] = (byte) (random.nextInt(20) == 0 ? 0 : 0x80);
                fis[2] = (byte) COMMANDS[random.nextInt(COMMANDS.length)];
                for (int i = 3; i < 16; i++) {
                    fis[i] = (byte) someByte();
                }
                fis[12] = random.nextBoolean() ? (byte) (slot << 3) : fis[12];
                byte[] packet = new byte[random.nextBoolean() ? 16 : 0];
                random.nextBytes(packet);
                if (packet.length > 0) {
                    packet[0] = (byte) PACKETS[random.nextInt(PACKETS.length)];
                }
                long[] regions = new long[2 * random.nextInt(6)];
                for (int i = 0; i < regions.length; i += 2) {
                    regions[i] = someAddress();
                    regions[i + 1] = Math.max(2, someLength());
                }
                m.prepare(slot, fis, packet, regions);
                m.write(AhciMachine.SACT, random.nextBoolean() ? 1 << slot : 0);
                m.write(AhciMachine.CI, 1 << slot);
            }
        }
        m.context.runPending();
        answerSome(m.context, false);
    }

    private void fuzzAhci(AhciMachine m, int identify) {
        fuzz(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                ahciRound(m);
            }
            answerSome(m.context, true);
            m.hba.pause();
            m.drive.saveState();
            m.hba.saveState();
            m.write(AhciMachine.GHC, 0x8000_0001L);
            answerSome(m.context, true);
            m.start();
            m.prepare(0, identify, 0, 0, 0, 0, AhciMachine.DATA, 512);
            m.issue(1);
            assertEquals(0, m.read(AhciMachine.CI), "seed " + seed);
            assertEquals(0x50, m.read(AhciMachine.TFD) & 0xff, "seed " + seed);
            m.drive.close();
            m.hba.close();
        });
    }

    @Test
    void hostileDriverCannotBreakADiskBehindAhci() {
        fuzzAhci(AhciMachine.disk(backend), 0xec);
    }

    @Test
    void hostileDriverCannotBreakACdDriveBehindAhci() {
        fuzzAhci(AhciMachine.cd(backend), 0xa1);
    }
}
